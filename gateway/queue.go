package gateway

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"fairlead/client"
	"fairlead/wire"
)

// queueWait is how long a client may wait for the words about its place.
const queueWait = time.Second

// paces measures how many tokens a second each class is handed, from what the
// leader says at two times.
type paces struct {
	mu   sync.Mutex // guards what follows, and is held while the leader is asked
	old  sample
	last sample
}

// sample is what had been handed out at a time.
type sample struct {
	at     time.Time
	epoch  uint64
	tokens map[string]int64 // by model and class
}

const (
	paceFresh = 2 * time.Second  // a sample is not taken again so soon
	paceOld   = 30 * time.Second // further back no pace is measured
)

func paceKey(model, class string) string { return model + "\x00" + class }

// rate is in tokens a second, 0 when it is not known yet.
func (p *paces) rate(ctx context.Context, c *client.Client, x wire.Explanation) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.last.at) >= paceFresh {
		s, err := c.Status(ctx)
		if err != nil {
			return 0
		}
		p.old, p.last = p.last, newSample(s, time.Now())
	}
	took := p.last.at.Sub(p.old.at)
	if p.old.epoch != p.last.epoch || took > paceOld {
		return 0
	}
	k := paceKey(x.Model, x.Class)
	return float64(p.last.tokens[k]-p.old.tokens[k]) / took.Seconds()
}

func newSample(s wire.BrokerStatus, at time.Time) sample {
	out := sample{at: at, epoch: s.Epoch, tokens: make(map[string]int64, len(s.Classes))}
	for i := range s.Classes {
		out.tokens[paceKey(s.Classes[i].Model, s.Classes[i].Class)] = s.Classes[i].DispatchedTokens
	}
	return out
}

// queueWords is what a comment says while a request waits. A client that asked
// for it is told its place, also in headers as long as these are not sent.
func (c *call) queueWords(p *client.Pending) string {
	if want, err := c.flag(headerQueue); err != nil || !want {
		return "waiting"
	}
	ctx, cancel := context.WithTimeout(c.ctx(), queueWait)
	defer cancel()
	x, err := c.client.Explain(ctx, p.ID)
	if err != nil || x.State != wire.StateQueued {
		return "waiting"
	}
	h := c.w.Header() // of no effect once they are sent
	h.Set("X-Fairlead-Queue-Position", strconv.Itoa(x.Position))
	h.Set("X-Fairlead-Queue-Ahead-Tokens", strconv.FormatInt(x.Ahead, 10))
	text := fmt.Sprintf("queued position=%d ahead_tokens=%d", x.Position, x.Ahead)
	if rate := c.paces.rate(ctx, c.client, x); rate > 0 {
		wait := strconv.FormatFloat(float64(x.Ahead)/rate, 'f', 1, 64)
		h.Set("X-Fairlead-Estimated-Wait", wait)
		text += " estimated_wait=" + wait
	}
	return text
}
