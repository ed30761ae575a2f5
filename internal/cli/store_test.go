package cli_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// TestAwaitOfWhatNeverWas needs no leader to say so.
func TestAwaitOfWhatNeverWas(t *testing.T) {
	r := newRig(t)
	if got := r.run("", "await", "7"); got.code != 3 || !strings.Contains(got.err, "request 7: ") || !strings.Contains(got.err, "nor any other") {
		t.Errorf("in an empty store: %+v", got)
	}
	id := strings.TrimSpace(r.run("{}", "submit", "-c", "a", "--stored").out)
	for _, other := range []string{"7", id + "0"} {
		if got := r.run("", "await", other); got.code != 3 || !strings.Contains(got.err, "request "+other+": ") || !strings.Contains(got.err, "to "+id) {
			t.Errorf("%+v", got)
		}
	}
	if got := r.run("", "await", "7", "--json"); got.code != 3 || !strings.Contains(got.out, `"reason":"invalid_request"`) {
		t.Errorf("%+v", got)
	}
}

// TestFullStore: whatever wants to be stored says that there is no room.
func TestFullStore(t *testing.T) {
	r := newRig(t)
	r.bury("batch", "101", "acme")
	for _, stream := range []string{r.store.Names.StreamREQ(), r.store.Names.StreamPOLICY()} {
		s, err := r.store.JS.Stream(r.ctx, stream)
		must(t, err)
		cfg := s.CachedInfo().Config
		cfg.MaxBytes, cfg.Discard = 1, jetstream.DiscardNew
		_, err = r.store.JS.UpdateStream(r.ctx, cfg)
		must(t, err)
	}
	for _, args := range [][]string{{"submit", "-c", "a"}, {"dead", "redrive", "101"}, {"policy", "apply", "-"}} {
		got := r.run(policyOne, args...)
		if got.code != 4 || !strings.Contains(got.err, "the store has no room") || strings.Contains(got.err, "nats: nats:") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
