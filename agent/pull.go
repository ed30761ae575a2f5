package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	issued   []time.Time        // open pulls of this generation, oldest first
	existing bool               // the consumer is there, as far as we know
	made     time.Time          // when it was made
	renewing bool               // it is being made
	again    bool               // it must be made once more after that
	breakOff context.CancelFunc // of the making that is under way
}

// fill opens pulls until there are as many as wanted.
func (p *puller) fill(want int, now time.Time) error {
	for p.existing && len(p.issued) < want {
		body, err := json.Marshal(struct {
			Batch   int           `json:"batch"`
			Expires time.Duration `json:"expires"`
		}{1, pullExpiry})
		if err != nil {
			return fmt.Errorf("encode a pull: %w", err)
		}
		subject := fmt.Sprintf("%sCONSUMER.MSG.NEXT.%s.%s", apiPrefix(p.st.JS), p.st.Names.StreamWORK(), p.name)
		if err := p.st.NC.PublishRequest(subject, p.sub.Subject, body); err != nil {
			return fmt.Errorf("pull: %w", err)
		}
		p.issued = append(p.issued, now)
	}
	return nil
}

func apiPrefix(js jetstream.JetStream) string {
	if prefix := js.Options().APIPrefix; prefix != "" {
		return prefix
	}
	return jetstream.DefaultAPIPrefix
}

// statusExpired is the answer to a pull for which nothing came in time.
const statusExpired = "408"

// answered books the answer to a pull. isClaim says that it carries a claim;
// broken, that the consumer must be made anew.
func (p *puller) answered(m *nats.Msg) (isClaim, broken bool) {
	status := m.Header.Get("Status")
	if m.Sub == p.sub {
		if len(p.issued) > 0 {
			p.issued = p.issued[1:]
		}
		broken = status != "" && status != statusExpired
	}
	return status == "", broken
}

// overdue says that a pull got no answer at all, not even that it expired.
func (p *puller) overdue(now time.Time) bool {
	return len(p.issued) > 0 && now.Sub(p.issued[0]) > pullExpiry+pullSlack
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
