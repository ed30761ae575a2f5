package policy

import (
	"fmt"
	"slices"
	"strings"
)

// A field of the file: its name, and what a right value looks like. The second
// ends every error about it.
type field struct{ name, want string }

// A schema is one kind of mapping in the file: where it stands, what a right
// one looks like, and its fields.
type schema struct {
	where  string
	want   string
	fields []field
}

const (
	maxTokens   = 1_000_000_000_000_000 // beyond any real count, far from overflow
	maxAttempts = 1000
	maxWeight   = 1_000_000
	minWeight   = 0.001
	maxRate     = 1_000_000_000

	profileNames = "default_policy_family, uncached_isl_buckets and policy_classes"

	wantName      = "give a name of letters, digits, _ and - only"
	wantDuration  = "give a duration from 0 to 720h with its unit, such as 30s"
	wantCap       = "give a whole number from 0 (queue nothing) to 1000000000000000 per worker, or leave the field out for no limit"
	wantFlag      = "give true or false"
	wantThreshold = "give a whole number of active prefill tokens, from 0 to 1000000000000000"
)

var profileFields = []field{
	{"default_policy_family", "name the policy_family that takes requests without a class"},
	{"uncached_isl_buckets", "give a list of {min_tokens, bucket}, the first with min_tokens 0"},
	{"policy_classes", "give a list of classes, at least one"},
	{"placement", "give one of " + strings.Join(placementNames[:], ", ")},
	{"unknown_class", "give default (the default family takes it) or reject"},
	{"max_attempts", "give a whole number from 1 to 1000"},
}

var (
	rootSchema = schema{"at the top level", "give a mapping with " + profileNames + ", or with models", slices.Concat(profileFields,
		[]field{{"models", "give a mapping of exact model names to profiles"}})}
	profileSchema = schema{"in a model's profile", "give a mapping with " + profileNames, profileFields}
	bucketSchema  = schema{"in uncached_isl_buckets", "give a mapping with min_tokens and bucket", []field{
		{"min_tokens", "give a whole number of uncached tokens, from 0 to 1000000000000000"},
		{"bucket", wantName},
	}}
	classSchema = schema{"in policy_classes", "give a mapping with name, quantum and other fields as needed", []field{
		{"name", wantName},
		{"policy_family", wantName},
		{"cache_bucket", "give the name of a bucket in uncached_isl_buckets"},
		{"queue_policy", "give one of " + strings.Join(orderNames[:], ", ")},
		{"quantum", "give a whole number of uncached tokens per turn, from 1 to 1000000000000000"},
		{"prefill_busy_threshold", wantThreshold},
		{"prefill_busy_threshold_frac", "give a finite number of at least 0, a multiple of a rank's max batched tokens"},
		{"busy_worker_ratio", "give a fraction of the eligible workers, above 0 and at most 1"},
		{"request_queue_limit_per_worker", wantCap},
		{"raw_isl_token_queue_limit_per_worker", wantCap},
		{"cached_token_queue_limit_per_worker", wantCap},
		{"uncached_token_queue_limit_per_worker", wantCap},
		{"aging", "give a number above 0 and at most 1000000, or leave the field out for none"},
		{"nominal_tokens_per_second", "give the tokens a second one worker prefills, from 1 to 1000000000"},
		{"tenants", wantFlag},
		{"tenant_weights", "give a mapping of tenant names to weights, \"default\" for the rest"},
		{"output_weight", "give a number from 0 to 1000000, uncached tokens charged per output token"},
		{"estimate_output", wantFlag},
		{"no_worker_grace", wantDuration},
		{"pin_grace", wantDuration},
		{"displace", wantFlag},
		{"shed", wantFlag},
	}}
	schemas = []*schema{&rootSchema, &profileSchema, &bucketSchema, &classSchema}
)

// foreign lists fields of other routers' files and of YAML itself that are
// refused by name, with what to do instead.
func foreign(name string) string {
	switch name {
	case "worker_selection":
		return "remove it: Fairlead chooses workers by placement (" + strings.Join(placementNames[:], ", ") + ")"
	case "queue_admission":
		return "remove it: what a class admits is set by its queue limits"
	case "<<":
		return "write the fields out: merge keys are not supported, anchors and aliases are"
	}
	return ""
}

// remedyFor says what is right for a field, "" for one the schema does not have.
func (s *schema) remedyFor(name string) string {
	for _, f := range s.fields {
		if f.name == name {
			return f.want
		}
	}
	return ""
}

func (s *schema) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// replace says what to do about a field the schema does not have.
func (s *schema) replace(name string) string {
	if r := foreign(name); r != "" {
		return r
	}
	for _, other := range schemas {
		if other.remedyFor(name) != "" {
			return "move it: it belongs " + other.where
		}
	}
	if c := nearest(name, s.names()); c != "" {
		return fmt.Sprintf("did you mean %q?", c)
	}
	return "use one of " + strings.Join(s.names(), ", ")
}
