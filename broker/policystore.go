package broker

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fairlead/broker/arbiter"
	"fairlead/internal/store"
	"fairlead/internal/storedpolicy"
	"fairlead/policy"
	"fairlead/wire"
)

// policies knows which policy is in force: the newest stored one that this broker
// can serve, or while nothing is stored its own, which it was started with. Every
// broker follows the store all the time, so that whoever leads next has the same.
type policies struct {
	b        *Broker
	shelf    storedpolicy.Shelf
	follower jetstream.ConsumeContext // belongs to the goroutine of Run
	now      atomic.Pointer[standing]

	mu   sync.Mutex // one change at a time, told to the term before the next
	term *term      // the present one; nil while standing by
}

// standing is what is in force and why. It is replaced, never changed.
type standing struct {
	own     *policy.Policy
	stored  *policy.Policy       // nil: none, or the last one was dropped
	version storedpolicy.Version // of stored
	read    uint64               // the newest version looked at
	refused error                // why that one is not in force; nil when it is
}

func (s *standing) policy() *policy.Policy {
	if s.stored != nil {
		return s.stored
	}
	return s.own
}

func newPolicies(b *Broker) *policies {
	p := &policies{b: b, shelf: storedpolicy.Shelf{Store: b.store}}
	p.now.Store(&standing{own: b.cfg.Policy})
	return p
}

// begin makes a term of the policy in force, and tells it of every other until end.
func (p *policies) begin(l *lease) *term {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term = newTerm(p.b, l, p.now.Load().policy())
	return p.term
}

func (p *policies) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term = nil
}

// change replaces the standing and tells the term when that means another policy.
func (p *policies) change(edit func(*standing)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := *p.now.Load()
	before := next.policy()
	edit(&next)
	p.now.Store(&next)
	if now := next.policy(); now != before && p.term != nil {
		p.term.post(arbiter.PolicyChanged{Policy: now})
	}
}

// replaceOwn takes a new policy of this broker's own. While a stored one is in
// force that makes no difference, which is an error.
func (p *policies) replaceOwn(own *policy.Policy) error {
	p.change(func(s *standing) { s.own = own })
	if s := p.now.Load(); s.stored != nil {
		return fmt.Errorf("version %d of the stored policy stays in force; the file counts once that is dropped (fairlead policy drop)", s.version.Seq)
	}
	return nil
}

// again bounds every sync but the first: a follower is at work already, and no
// term waits long for a second opinion.
const again = 500 * time.Millisecond

// sync reads what is stored, and follows the store from there on, until stop. Only
// the first time must it succeed. When nothing is stored, what was in force stays:
// a stream that was lost drops nothing.
func (p *policies) sync(ctx context.Context) error {
	if p.follower != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, again)
		defer cancel()
	}
	versions, err := p.shelf.All(ctx)
	switch {
	case err != nil && p.follower != nil:
		p.b.log.Debug().Err(err).Msg("the stored policy was not read again")
		return nil
	case err != nil:
		return err
	}
	for _, v := range versions[lastGood(versions):] {
		p.take(v)
	}
	if p.follower != nil {
		return nil
	}
	return p.follow(ctx)
}

// lastGood is the place of the newest version that can be served; 0 without one.
func lastGood(versions []storedpolicy.Version) int {
	for i := len(versions) - 1; i > 0; i-- {
		if _, err := parse(versions[i]); err == nil {
			return i
		}
	}
	return 0
}

func (p *policies) follow(ctx context.Context) error {
	cons, err := p.b.store.JS.OrderedConsumer(ctx, p.b.cfg.Names.StreamPOLICY(), jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: p.now.Load().read + 1, InactiveThreshold: consumerIdle,
	})
	if err != nil {
		return fmt.Errorf("follow the stored policy: %w", err)
	}
	p.follower, err = cons.Consume(p.onStored, jetstream.PullHeartbeat(policyBeat),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			p.b.log.Debug().Err(err).Msg("consumer of the stored policy")
		}))
	if err != nil {
		return fmt.Errorf("follow the stored policy: %w", err)
	}
	return nil
}

// stop ends the follower, if there is one, and waits for it.
func (p *policies) stop() {
	if p.follower != nil {
		halt(haltWithin, p.follower)
		p.follower = nil
	}
}

func (p *policies) onStored(m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		p.b.log.Error().Err(err).Msg("a stored policy without a sequence; passing over it")
		return
	}
	p.take(storedpolicy.Read(store.Message{
		Seq: meta.Sequence.Stream, Time: meta.Timestamp, Header: m.Headers(), Data: m.Data(),
	}))
}

// parse reads a version; a drop is nil without an error.
func parse(v storedpolicy.Version) (*policy.Policy, error) {
	if v.Drop() {
		return nil, nil
	}
	name := v.File
	if name == "" {
		name = "stored policy"
	}
	return policy.Parse(name, v.Body)
}

// take puts a version into force that is newer than those before. One that cannot
// be served changes nothing.
func (p *policies) take(v storedpolicy.Version) {
	stored, err := parse(v)
	isNew := false
	p.change(func(s *standing) {
		if isNew = v.Seq > s.read; !isNew {
			return
		}
		s.read, s.refused = v.Seq, err
		if err == nil {
			s.stored, s.version = stored, v
		}
	})
	if !isNew {
		return // read twice
	}
	log := p.b.log.With().Uint64("version", v.Seq).Str("author", v.Author).Time("stored", v.At).Logger()
	switch {
	case err != nil:
		p.b.metrics.policyErrors.Inc()
		log.Error().Err(err).Msg("this broker cannot serve the stored policy; the old one stays")
	case stored == nil:
		log.Info().Msg("stored policy dropped; this broker's own is in force")
	default:
		log.Info().Msg("stored policy in force; this broker's own does not count")
		for _, w := range stored.Warnings() {
			log.Warn().Msg("policy: " + w.String())
		}
	}
}

// status describes what is in force.
func (p *policies) status() wire.PolicyStatus {
	s := p.now.Load()
	st := wire.PolicyStatus{Source: wire.PolicyDefault, Read: s.read}
	switch {
	case s.stored != nil:
		st.Source, st.Version, st.File, st.Author = wire.PolicyStored, s.version.Seq, s.version.File, s.version.Author
	case p.b.cfg.PolicyFile != "":
		st.Source, st.File = wire.PolicyFile, p.b.cfg.PolicyFile
	}
	if s.refused != nil {
		st.Refused, st.Error = s.read, s.refused.Error()
	}
	return st
}
