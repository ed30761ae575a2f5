package agent

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// newPuller makes a puller with a consumer, on a channel of its own.
func (w *world) newPuller() *puller {
	w.t.Helper()
	p := &puller{st: w.st, name: "agent-w1-1", filter: w.st.Names.Work("w1", 1), slots: 4, answers: make(chan *nats.Msg, 64)}
	w.must(p.reset())
	w.must(p.renew(w.t.Context()))
	p.existing = true
	return p
}

// One of the open pulls, and only one, is a sentry: the server beats on it for as
// long as it has it, and its silence shows that all of them are gone.
func TestSentry(t *testing.T) {
	w := newWorldWithStreams(t)
	p := w.newPuller()
	now := time.Now()
	w.must(p.fill(3, now))
	if len(p.issued) != 3 || !p.issued[0].sentry || p.issued[1].sentry || p.issued[2].sentry {
		t.Fatalf("open pulls %+v; want the first of three to be a sentry", p.issued)
	}
	if p.overdue(now.Add(sentrySilence)) || !p.overdue(now.Add(sentrySilence+1)) {
		t.Errorf("a silence counts from another time than %v on", sentrySilence)
	}
	m := receive(t, "a beat", p.answers, nil)
	if isClaim, broken := p.answered(m); isClaim || broken || len(p.issued) != 3 || m.Header.Get("Status") != statusBeat {
		t.Errorf("a beat with the headers %v counts as an answer", m.Header)
	}
	if p.overdue(now.Add(sentrySilence + 1)) {
		t.Error("a beat does not end the silence")
	}
}

// A claim takes the oldest pull, the sentry, with it: another one is posted, even
// when there are as many pulls as are wanted.
func TestSentryIsReplaced(t *testing.T) {
	w := newWorldWithStreams(t)
	p := w.newPuller()
	w.must(p.fill(3, time.Now()))
	_, err := p.st.JS.Publish(t.Context(), p.filter, []byte("a claim"))
	w.must(err)
	m := receive(t, "the claim", p.answers, func(m *nats.Msg) bool { return m.Header.Get("Status") == "" })
	if isClaim, broken := p.answered(m); !isClaim || broken || p.guarded() {
		t.Fatalf("after the claim the open pulls are %+v", p.issued)
	}
	w.must(p.fill(2, time.Now()))
	if len(p.issued) != 3 || !p.issued[2].sentry {
		t.Errorf("open pulls %+v; want a new sentry", p.issued)
	}
	w.must(p.fill(0, time.Now()))
	if len(p.issued) != 3 {
		t.Errorf("%d open pulls, though none is wanted any more", len(p.issued))
	}
}
