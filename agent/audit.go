package agent

import (
	"context"
	"time"
)

// A delivery may get lost although the agent's own connection is sound, such as
// on a broken route between two servers. The server then waits for ever for an
// acknowledgement, and nobody runs the claim. So the agent compares, now and
// then, how many claims the server counts as delivered with how many it has.
const (
	auditBeats = 5 // heartbeats between two audits
	// auditPatience is how many audits in a row must find a surplus: a single one
	// may be a delivery on its way.
	auditPatience = 3
)

// audit asks for the consumer's state in the background.
func (l *loop) audit() {
	if !l.pulls.existing || l.auditing {
		return
	}
	l.auditing = true
	l.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(l.leave, tryTimeout)
		defer cancel()
		delivered := -1 // unknown: without the permission to ask, there is no answer
		if c, err := l.st.JS.Consumer(ctx, l.st.Names.StreamWORK(), l.pulls.name); err == nil {
			delivered = c.CachedInfo().NumAckPending
		}
		select {
		case l.audits <- delivered:
		case <-l.closed:
		}
	})
}

// audited takes in how many claims the server counts as delivered to us.
func (l *loop) audited(delivered int) {
	l.auditing = false
	if delivered <= len(l.ledger.entries)+len(l.unreadable) {
		l.surplus = 0
		return
	}
	if l.surplus++; l.surplus >= auditPatience {
		l.surplus = 0
		l.cfg.Log.Warn().Int("delivered", delivered).Int("in_hand", len(l.ledger.entries)).
			Msg("deliveries were lost; making the consumer anew")
		l.renew()
	}
}

// auditDue says whether a heartbeat is one with an audit.
func (b *beat) auditDue(now time.Time) bool {
	if now.Sub(b.audited) < auditBeats*b.interval {
		return false
	}
	b.audited = now
	return true
}
