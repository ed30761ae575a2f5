package cli_test

import (
	"strings"
	"testing"

	"fairlead/wire"
)

func TestPolicyExplain(t *testing.T) {
	r := newRig(t)
	asked := ""
	r.leader("blue.ctl.status", func(body string) any {
		asked = body
		if strings.Contains(body, `"id":8`) {
			return wire.BrokerStatus{Error: "body: no"}
		}
		return wire.BrokerStatus{Explain: &wire.Explanation{
			Prospect: wire.ProspectWaits, Why: "every eligible worker is busy, 1 of them", Model: "m", Class: "a", Tenant: "acme",
			Input: 700, Cached: 200, Cost: 500, Key: "tier 1; by arrival, 0 s earlier for its priority", Lane: "shared", Position: 3, Ahead: 900,
			Quantum: 512, Deficit: -20, Limits: []wire.LimitStatus{{Limit: "request_queue_limit_per_worker", PerWorker: 8, Allowed: 16, Current: 2}},
			Workers: []wire.WorkerFit{{Worker: "gpu-1", Eligible: true, Busy: true, Why: "4 of 4 slots are used"}, {Worker: "gpu-2", Why: "it is draining"}},
		}}
	})
	got := r.run("", "policy", "explain", "--class", "a", "--input-tokens", "700", "--cached-tokens", "200", "--strict-priority", "1", "--tenant", "acme", "--size", "5")
	want := `waits: every eligible worker is busy, 1 of them

class     a of model "m", deficit -20, quantum 512
cost      500 tokens: 700 of the prompt, 200 of them cached
order     tier 1; by arrival, 0 s earlier for its priority
lane      shared, place 3, behind 900 tokens
tenant    acme

LIMIT                           PER WORKER  ALLOWED  NOW
request_queue_limit_per_worker  8           16       2

WORKER  ELIGIBLE  BUSY   WHY
gpu-1   true      true   4 of 4 slots are used
gpu-2   false     false  it is draining
`
	if got != (run{out: want}) {
		t.Errorf("%+v", got)
	}
	if want := `{"explain":{"class":"a","headers":{"Fairlead-Cached-Tokens":"200","Fairlead-Input-Tokens":"700","Fairlead-Strict-Priority":"1","Fairlead-Tenant":"acme"},"size":5}}`; asked != want {
		t.Errorf("asked %s, want %s", asked, want)
	}
	if got := r.run("", "policy", "explain", "7", "--json"); got.code != 0 || !strings.Contains(got.out, `"cost":500`) || asked != `{"explain":{"id":7}}` {
		t.Errorf("asked %s: %+v", asked, got)
	}
	if got := r.run("", "policy", "explain", "8"); got.code != 1 || !strings.Contains(got.err, "body: no") {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{}, {"7", "--class", "a"}, {"7", "--tenant", "x"}, {"x"}, {"--class", "a", "--size", "-1"}} {
		if got := r.run("", append([]string{"policy", "explain"}, args...)...); got.code != 2 || got.err == "" {
			t.Errorf("%v: %+v, want the exit code of a wrong command line", args, got)
		}
	}
}
