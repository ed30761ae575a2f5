package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fairlead/gateway"
	"fairlead/wire"
)

// bodies counts what is in the bucket, marks of deletions included.
func (r *rig) bodies() uint64 {
	r.t.Helper()
	js, err := jetstream.New(r.connect())
	must(r.t, err)
	s, err := js.Stream(r.ctx, "OBJ_"+wire.Names{}.BucketBodies())
	must(r.t, err)
	info, err := s.Info(r.ctx)
	must(r.t, err)
	return info.State.Msgs
}

// A prompt of 200,000 tokens and a body of 20 MB pass, through the bucket, and
// nothing of them is left when they have ended.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", quick())
	g := r.gateway(gateway.Config{Class: "regular"})
	const shape = `{"model":"mock","max_tokens":3,"messages":[{"role":"user","content":%q}]}`
	for name, c := range map[string]struct {
		body          string
		tokens, about int // of the prompt
	}{
		"200k tokens": {fmt.Sprintf(shape, strings.Repeat("the pilot took the slack ", 40_000)), 200_000, 10_000},
		"20 MB":       {fmt.Sprintf(shape, strings.Repeat("the line ran out over the bow ", 700_000)), 4_900_000, 250_000},
	} {
		got := g.do(http.MethodPost, "/v1/chat/completions", c.body)
		if got.status != 200 || !strings.Contains(got.body, `"the line ran"`) {
			t.Errorf("%s (%d bytes): %d %.300s", name, len(c.body), got.status, got.body)
			continue
		}
		_, usage, _ := strings.Cut(got.body, `"prompt_tokens":`)
		prompt := 0
		if _, err := fmt.Sscan(strings.SplitN(usage, ",", 2)[0], &prompt); err != nil || prompt < c.tokens-c.about || prompt > c.tokens+c.about {
			t.Errorf("%s: %d prompt tokens, %v; want some %d", name, prompt, err, c.tokens)
		}
	}
	r.until("nothing is left in the bucket", func() bool { return r.bodies() == 0 })
}

// What the broker ends leaves no body behind either.
func TestLargeBodyRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", hanging())
	g := r.gateway(gateway.Config{Class: "regular"})
	body := fmt.Sprintf(`{"model":"mock","messages":[{"role":"user","content":%q}]}`, strings.Repeat("x ", 1<<20))
	hangUp := g.raw(hello) // takes the only slot
	defer hangUp()
	r.until("it runs", func() bool { running, _ := r.load(); return running == 1 })
	got := g.do(http.MethodPost, "/v1/chat/completions", body, "x-fairlead-ttl: 1s")
	if e := got.errorOf(t); got.status != 504 || e.Code != "deadline_exceeded" {
		t.Errorf("%d %+v", got.status, e)
	}
	r.until("nothing is left in the bucket", func() bool { return r.bodies() == 0 })
}
