package demo

import (
	_ "embed"
	"fmt"
	"os"
	"strings"

	"fairlead/policy"
)

//go:embed policies/azure.yaml
var azureYAML string

//go:embed policies/premium-regular.yaml
var premiumRegularYAML string

// equalYAML is the control: the same file with one quantum for both.
func equalYAML() string {
	return strings.Replace(premiumRegularYAML, "quantum: 128", "quantum: 512", 1)
}

// plainYAML gives each of the names an equal share. They are families, not
// explicit classes, because a default family that nobody asks for would be a
// class that is never backlogged.
func plainYAML(names []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "default_policy_family: %q\nuncached_isl_buckets: [{min_tokens: 0, bucket: all}]\npolicy_classes:\n", names[0])
	for _, name := range names {
		fmt.Fprintf(&b, "  - {name: %q, policy_family: %q, cache_bucket: all, quantum: 2048, prefill_busy_threshold: 8192}\n", name, name)
	}
	return b.String()
}

// parseOwn reads a policy of the demo's own making.
func parseOwn(text string) (*policy.Policy, error) {
	p, err := policy.Parse("policy of the demo", []byte(text))
	if err != nil {
		return nil, fmt.Errorf("policy of the demo:\n%w", err)
	}
	return p, nil
}

// readPolicy reads the user's policy.
func readPolicy(path string) (*policy.Policy, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--policy: %w", err)
	}
	p, err := policy.Parse(path, data)
	if err != nil {
		return nil, fmt.Errorf("--policy:\n%w", err)
	}
	return p, nil
}
