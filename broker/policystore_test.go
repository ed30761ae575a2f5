package broker_test

import (
	"context"
	"strings"
	"testing"

	"fairlead/broker"
	"fairlead/internal/storedpolicy"
	"fairlead/wire"
)

// named is a policy of one class that refuses every other name.
func named(class string) string {
	return `
unknown_class: reject
default_policy_family: ` + class + `
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes: [{name: ` + class + `, policy_family: ` + class + `, cache_bucket: all, quantum: 100}]
`
}

// apply stores a policy; an empty one drops what is stored.
func (w *world) apply(yaml string) uint64 {
	w.t.Helper()
	shelf := storedpolicy.Shelf{Store: w.store}
	version, err := shelf.Put(context.Background(), storedpolicy.Version{Author: "ann@ops", File: "p.yaml", Body: []byte(yaml)})
	if err != nil {
		w.t.Fatal(err)
	}
	return version
}

// awaitPolicy waits until the leader's word about its policy is as wanted.
func (w *world) awaitPolicy(want wire.PolicyStatus) {
	w.t.Helper()
	var got wire.PolicyStatus
	eventually(w.t, "policy in force", func() bool {
		got = status(w).Policy
		if want.Error != "" && strings.Contains(got.Error, want.Error) {
			got.Error = want.Error
		}
		return got == want
	})
}

func file(t *testing.T, class string) func(*broker.Config) {
	p := mustPolicy(t, named(class))
	return func(c *broker.Config) { c.Policy, c.PolicyFile = p, class+".yaml" }
}

// TestStoredPolicy: a policy that is stored replaces the file of every broker, on
// the spot and after a change of leader, until it is dropped.
func TestStoredPolicy(t *testing.T) {
	w := newWorld(t)
	one := w.broker(file(t, "one"))
	w.awaitLeader(one)
	two := w.broker(file(t, "two"))
	w.awaitPolicy(wire.PolicyStatus{Source: wire.PolicyFile, File: "one.yaml"})

	v := w.apply(named("stored"))
	stored := wire.PolicyStatus{Source: wire.PolicyStored, Version: v, File: "p.yaml", Author: "ann@ops", Read: v}
	w.awaitPolicy(stored)
	to := w.inbox()
	w.request("req.one", to)
	to.failure(wire.InvalidRequest)

	one.end()
	w.awaitLeader(two)
	w.awaitPolicy(stored)
	three := w.broker(file(t, "three"))
	if err := two.Reload(mustPolicy(t, named("again"))); err == nil || !strings.Contains(err.Error(), "drop") {
		t.Errorf("a file that does not count: error %v", err)
	}
	w.awaitPolicy(stored)

	dropped := w.apply("")
	w.awaitPolicy(wire.PolicyStatus{Source: wire.PolicyFile, File: "two.yaml", Read: dropped})
	w.request("req.again", to)
	if j := w.worker("w1", nil).take(); j.Claim.Class != "again" {
		t.Errorf("class %q; want that of the file read last", j.Claim.Class)
	} else {
		j.finish()
	}
	two.end()
	w.awaitLeader(three)
	w.awaitPolicy(wire.PolicyStatus{Source: wire.PolicyFile, File: "three.yaml", Read: dropped})
}

// TestBadStoredPolicy: what cannot be served changes nothing, not in a broker that
// runs, and not in one that starts afterwards.
func TestBadStoredPolicy(t *testing.T) {
	w := newWorld(t)
	one := w.broker(nil)
	w.awaitLeader(one)
	w.awaitPolicy(wire.PolicyStatus{Source: wire.PolicyDefault})
	bad := w.apply("policy_classes: 7")
	w.awaitPolicy(wire.PolicyStatus{Source: wire.PolicyDefault, Read: bad, Refused: bad, Error: "policy_classes"})

	good := w.apply(named("good"))
	want := wire.PolicyStatus{Source: wire.PolicyStored, Version: good, File: "p.yaml", Author: "ann@ops", Read: good}
	w.awaitPolicy(want)
	want.Read = w.apply("no_such_field: 1")
	want.Refused, want.Error = want.Read, "no_such_field"
	w.awaitPolicy(want)
	one.end()
	w.awaitLeader(w.broker(nil))
	w.awaitPolicy(want)
}

// TestPolicyChangeKeepsQueues: what waits in a class that the new policy does not
// have is classified again; nothing is lost.
func TestPolicyChangeKeepsQueues(t *testing.T) {
	w := newWorld(t)
	w.awaitLeader(w.broker(file(t, "old")))
	to := w.inbox()
	w.request("req.old", to)
	eventually(t, "it waits", func() bool { s := status(w); return len(s.Classes) == 1 && s.Classes[0].Queued == 1 })
	v := w.apply(named("new"))
	w.awaitPolicy(wire.PolicyStatus{Source: wire.PolicyStored, Version: v, File: "p.yaml", Author: "ann@ops", Read: v})
	j := w.worker("w1", nil).take()
	if j.Claim.Class != "new" {
		t.Fatalf("class %q", j.Claim.Class)
	}
	j.finish()
	if r, _ := to.next(); r.Usage == nil {
		t.Fatalf("result %+v", r)
	}
	w.awaitEmpty()
}

// TestPolicyStreamLost: the loss of the stream drops nothing, and whoever leads or
// stands by follows what is stored afterwards.
func TestPolicyStreamLost(t *testing.T) {
	w := newWorld(t)
	one := w.broker(nil)
	w.awaitLeader(one)
	two := w.broker(nil)
	eventually(t, "the other stands by", func() bool { return two.State() == "standing by" })
	v := w.apply(named("a"))
	want := wire.PolicyStatus{Source: wire.PolicyStored, Version: v, File: "p.yaml", Author: "ann@ops", Read: v}
	w.awaitPolicy(want)
	epoch, _ := one.Leading()
	if err := w.store.JS.DeleteStream(context.Background(), w.names.StreamPOLICY()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new term", func() bool {
		for _, b := range []*running{one, two} {
			if e, ok := b.Leading(); ok && e > epoch {
				return true
			}
		}
		return false
	})
	w.awaitPolicy(want)
	want.Version = w.apply(named("b"))
	want.Read = want.Version
	w.awaitPolicy(want)
	w.awaitLeader(one, two).end()
	w.awaitLeader(one, two)
	w.awaitPolicy(want)
}
