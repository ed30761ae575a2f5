package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/internal/store"
)

const (
	// pullExpiry is how long a pull waits at the server.
	pullExpiry = 30 * time.Second
	// pullSlack is how much later its answer may come before it counts as lost.
	pullSlack = 5 * time.Second
	// sentryBeat is how often the server shows, on one of the open pulls, that it
	// still has them. A consumer whose server dies takes its pulls along and tells
	// nobody; sentrySilence is how long that stays unnoticed.
	sentryBeat    = 2 * time.Second
	sentrySilence = 3 * sentryBeat
	// inactiveThreshold is how long the consumer outlives its agent.
	inactiveThreshold = 2 * time.Minute
	// renewPause is the least time from one consumer to the next: a server that
	// refuses every pull must not be made to create consumers without end.
	renewPause = 250 * time.Millisecond
	// never is the ack wait: nothing is redelivered by timeout.
	never = 30 * 24 * time.Hour
)

// puller keeps one-message pulls open on the agent's own consumer. It belongs
// to the loop, except for renew, which touches nothing that changes.
type puller struct {
	st       *store.Store
	name     string // of the consumer
	filter   string // the claims' subject
	slots    int
	answers  chan *nats.Msg
	sub      *nats.Subscription // where the open pulls are answered
	issued   []pull             // open pulls of this generation, oldest first
	heard    time.Time          // when the server last showed that it has them
	existing bool               // the consumer is there, as far as we know
	made     time.Time          // when it was made
	renewing bool               // it is being made
	again    bool               // it must be made once more after that
	breakOff context.CancelFunc // of the making that is under way
}

// pull is an open pull.
type pull struct {
	at     time.Time
	sentry bool // the server beats on it
}

// fill opens pulls until there are as many as wanted, one of which is a sentry.
func (p *puller) fill(want int, now time.Time) error {
	for p.existing && want > 0 && (len(p.issued) < want || !p.guarded()) {
		next := pull{at: now, sentry: !p.guarded()}
		request := pullRequest{Batch: 1, Expires: pullExpiry}
		if next.sentry {
			request.Beat, p.heard = sentryBeat, now
		}
		body, err := json.Marshal(request)
		if err != nil {
			return fmt.Errorf("encode a pull: %w", err)
		}
		subject := p.st.API("CONSUMER.MSG.NEXT." + p.st.Names.StreamWORK() + "." + p.name)
		if err := p.st.NC.PublishRequest(subject, p.sub.Subject, body); err != nil {
			return fmt.Errorf("pull: %w", err)
		}
		p.issued = append(p.issued, next)
	}
	return nil
}

// pullRequest asks a consumer for messages.
type pullRequest struct {
	Batch   int           `json:"batch"`
	Expires time.Duration `json:"expires"`
	Beat    time.Duration `json:"idle_heartbeat,omitempty"`
}

// guarded reports whether one of the open pulls is a sentry.
func (p *puller) guarded() bool {
	return slices.ContainsFunc(p.issued, func(q pull) bool { return q.sentry })
}

const (
	statusBeat    = "100" // no answer: the pull is still open
	statusExpired = "408" // nothing came in time
)

// answered books the answer to a pull. isClaim says that it carries a claim;
// broken, that the consumer must be made anew.
func (p *puller) answered(m *nats.Msg) (isClaim, broken bool) {
	status := m.Header.Get("Status")
	if m.Sub == p.sub {
		p.heard = time.Now()
	}
	if status == statusBeat {
		return false, false
	}
	if m.Sub == p.sub {
		if len(p.issued) > 0 {
			p.issued = p.issued[1:]
		}
		broken = status != "" && status != statusExpired
	}
	return status == "", broken
}

// overdue says that a pull got no answer at all, not even that it expired, or
// that the server has gone silent on the sentry.
func (p *puller) overdue(now time.Time) bool {
	return len(p.issued) > 0 && now.Sub(p.issued[0].at) > pullExpiry+pullSlack ||
		p.guarded() && now.Sub(p.heard) > sentrySilence
}

// reset forgets the open pulls, before the consumer is made anew: what is still
// delivered to them comes again. It must be called once before the first fill.
func (p *puller) reset() error {
	p.issued, p.existing = nil, false
	if p.sub != nil {
		_ = p.sub.Unsubscribe() // fails only when the connection is closed, as the next line finds out
	}
	sub, err := p.st.NC.ChanSubscribe(p.st.NC.NewInbox(), p.answers)
	if err != nil {
		return fmt.Errorf("subscribe to claims: %w", err)
	}
	p.sub = sub
	return nil
}

// renew makes the consumer anew, so that everything in WORK for this agent that
// is not acknowledged is delivered again.
func (p *puller) renew(ctx context.Context) error {
	stream := p.st.Names.StreamWORK()
	if err := p.st.JS.DeleteConsumer(ctx, stream, p.name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("delete consumer %s: %w", p.name, err)
	}
	_, err := p.st.JS.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
		Name: p.name, FilterSubject: p.filter,
		DeliverPolicy: jetstream.DeliverAllPolicy, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: never, MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 2*p.slots + 16,
		InactiveThreshold: inactiveThreshold, MemoryStorage: true,
	})
	if err != nil {
		return fmt.Errorf("create consumer %s: %w", p.name, err)
	}
	return nil
}
