package system_test

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fairlead/internal/store"
	"fairlead/wire"
)

// audit is what the stream of results says, read message by message by someone
// who knows only subjects.md.
type audit struct {
	t     *testing.T
	runs  map[uint64][]*execution // by id, in the order of the first message
	mixed map[uint64]bool         // ids of which an execution spoke after another had begun
}

// execution is the messages that one claim, or the broker, left of a request.
type execution struct {
	claim  uint64
	chunks map[int]int // how often each index is there, without the final
	final  *wire.ResultMessage
	finals int
	order  int // of the final among those of the request
}

// readResults reads all of RES.
func readResults(t *testing.T, st *store.Store) *audit {
	t.Helper()
	ctx := t.Context()
	r, err := st.Range(ctx, st.Names.StreamRES())
	must(t, err)
	a := &audit{t: t, runs: map[uint64][]*execution{}, mixed: map[uint64]bool{}}
	if r.Messages == 0 {
		return a
	}
	cons, err := st.JS.OrderedConsumer(ctx, st.Names.StreamRES(), jetstream.OrderedConsumerConfig{})
	must(t, err)
	messages, err := cons.Messages()
	must(t, err)
	defer messages.Stop()
	for seq := uint64(0); seq < r.Last; {
		m, err := messages.Next(jetstream.NextMaxWait(patience))
		must(t, err)
		meta, err := m.Metadata()
		must(t, err)
		seq = meta.Sequence.Stream
		rm, err := wire.ParseResult(m.Headers())
		must(t, err)
		if m.Subject() != st.Names.Res(rm.ID) {
			t.Errorf("a message of %d lies on %s", rm.ID, m.Subject())
		}
		a.add(rm)
	}
	return a
}

// add takes in a message.
func (a *audit) add(m wire.ResultMessage) {
	a.t.Helper()
	runs := a.runs[m.ID]
	i := slices.IndexFunc(runs, func(e *execution) bool { return e.claim == m.Claim })
	if i < 0 {
		i, runs = len(runs), append(runs, &execution{claim: m.Claim, chunks: map[int]int{}})
		a.runs[m.ID] = runs
	}
	if i < len(runs)-1 {
		a.mixed[m.ID] = true
	}
	e := runs[i]
	if m.Final {
		if e.finals++; e.finals == 1 {
			e.final, e.order = &m, ended(runs)
		}
		return
	}
	if m.Index != len(e.chunks) && e.chunks[m.Index] == 0 {
		a.t.Errorf("request %d: chunk %d comes after %d others", m.ID, m.Index, len(e.chunks))
	}
	e.chunks[m.Index]++
}

// ended counts executions with a final message.
func ended(runs []*execution) (n int) {
	for _, e := range runs {
		if e.finals > 0 {
			n++
		}
	}
	return n
}

// unacknowledged bounds the ids that nobody was told. A publish whose answer was
// lost is repeated under its Nats-Msg-Id, but a restarted server has forgotten
// the ids of messages that it no longer holds: a request that was stored, worked
// off and removed before the crash is then stored again.
func (a *audit) unacknowledged(l *load) {
	a.t.Helper()
	unknown := 0
	for id := range a.runs {
		if _, ok := l.got[id]; !ok {
			unknown++
		}
	}
	if unknown > len(l.got)/20 {
		a.t.Errorf("%d ids have results that were never acknowledged, beside %d that were", unknown, len(l.got))
	}
}

// check compares the store with what the clients know: every acknowledged id
// has exactly one outcome, and executions are whole. It returns how many ids
// have final messages of two executions, which a lost worker may cause.
func (a *audit) check(l *load) (duplicated int) {
	a.t.Helper()
	a.unacknowledged(l)
	for id, o := range l.got {
		switch n := ended(a.runs[id]); {
		case n == 0:
			a.t.Errorf("request %d was acknowledged and is lost", id)
		case n > 1:
			duplicated++
		}
		for _, e := range a.runs[id] {
			a.execution(id, e, o)
		}
	}
	return duplicated
}

// execution checks one execution of a request; the first to end is the outcome.
func (a *audit) execution(id uint64, e *execution, o outcome) {
	a.t.Helper()
	if e.finals == 0 {
		return
	}
	if e.order == 1 {
		a.outcome(id, e, o)
	}
	if e.finals != 1 {
		a.t.Errorf("request %d: claim %d has %d final messages", id, e.claim, e.finals)
	}
	if e.final.Index != len(e.chunks) && e.claim != 0 {
		a.t.Errorf("request %d: claim %d has %d chunks, its final message is number %d", id, e.claim, len(e.chunks), e.final.Index)
	}
}

// outcome checks that the client was told what the store says first.
func (a *audit) outcome(id uint64, e *execution, o outcome) {
	a.t.Helper()
	var reason wire.Reason
	if e.final.Failure != nil {
		reason = e.final.Failure.Reason
	}
	if reason != o.reason {
		a.t.Errorf("request %d: the store says %q, the client %q", id, reason, o.reason)
	}
	if reason == "" && e.final.Usage.Output != tokens {
		a.t.Errorf("request %d: %d tokens out, want %d", id, e.final.Usage.Output, tokens)
	}
	if reason == "" && o.chunks != len(e.chunks) {
		a.t.Errorf("request %d: the store has %d chunks, the client %d", id, len(e.chunks), o.chunks)
	}
}
