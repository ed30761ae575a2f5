//go:build !race

package sim

import (
	"fmt"
	"testing"

	"fairlead/agent/engine/mock"
)

// TestShareOfOutput: with output_weight classes of equal quanta share what their
// requests took, answers included, however long these are; tokens are of prompts
// alone, each counted once. Estimates and attempts that came to nothing change neither.
func TestShareOfOutput(t *testing.T) {
	const format = `
default_policy_family: short
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: short, policy_family: short, cache_bucket: all, quantum: 1000, output_weight: 3, estimate_output: %[1]t}
  - {name: long, policy_family: long, cache_bucket: all, quantum: 1000, output_weight: 3, estimate_output: %[1]t}
`
	const n, prompt = 600, 500
	outputs := [2]uint32{20, 400} // 560 and 1700 tokens each
	for _, estimate := range []bool{false, true} {
		t.Run(fmt.Sprintf("estimate %t", estimate), func(t *testing.T) {
			var requests []Request
			for range n {
				for i, class := range []string{"short", "long"} {
					requests = append(requests, Request{Class: class, Input: prompt, Output: outputs[i]})
				}
			}
			refusing := []mock.Failure{{Kind: mock.Refuse, Probability: 0.2}}
			r := run(t, Config{
				Policy: parse(t, fmt.Sprintf(format, estimate)), Requests: requests,
				Workers: []Worker{{Engine: mock.Config{Slots: 4, Failures: refusing}}},
			})
			if r.PutBack == 0 {
				t.Error("no attempt came to nothing")
			}
			for i := range r.Classes {
				c := &r.Classes[i]
				if c.Tokens != n*prompt {
					t.Errorf("%s: %d tokens, want %d", c.Class, c.Tokens, n*prompt)
				}
				if abs(c.Share-.5) > .01 || abs(c.Due-.5) > .01 {
					t.Errorf("%s: share %.3f, due %.3f, want a half", c.Class, c.Share, c.Due)
				}
			}
		})
	}
}

// TestDueOfMany: tenants beyond those that are told apart are due what their weights
// make together, and the others no more for it.
func TestDueOfMany(t *testing.T) {
	const tenants, each = 300, 40
	var requests []Request
	for i := range tenants * each {
		requests = append(requests, Request{Class: "a", Tenant: fmt.Sprintf("t%d", i%tenants), Input: 500, Output: 1})
	}
	r := run(t, Config{
		Policy: parse(t, `
default_policy_family: a
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes: [{name: a, policy_family: a, cache_bucket: all, quantum: 500, tenants: true}]
`), Requests: requests, Workers: []Worker{{Engine: mock.Config{Slots: 4}}},
	})
	for i := range r.Tenants {
		g := &r.Tenants[i]
		want := 1.0 / tenants
		if g.Tenant == OtherTenants {
			want *= tenants - maxTenants
		}
		if abs(g.Due-want) > want/10 || abs(g.Share-want) > want/4 {
			t.Errorf("%s: share %.4f, due %.4f, want %.4f", g.Tenant, g.Share, g.Due, want)
		}
	}
}
