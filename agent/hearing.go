package agent

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// silenceSubject is where the server reports that nobody listened to a message.
func (l *loop) silenceSubject(claim, index string) string {
	return l.inbox + ".silence." + claim + "." + index
}

// statusNoResponders is the server's word that nobody listened.
const statusNoResponders = "503"

// silence takes in that nobody listened to a chunk or a probe. Anything else on its
// subject, such as the acknowledgement of a client's own stream, is none.
func (l *loop) silence(m *nats.Msg) {
	if m.Header.Get("Status") != statusNoResponders {
		return
	}
	tokens := strings.Split(m.Subject, ".")
	seq, err := strconv.ParseUint(tokens[len(tokens)-2], 10, 64)
	if e := l.ledger.entries[seq]; err == nil && e != nil {
		e.job.hearing.unheard(time.Now())
	}
}

// probeWait is how long a message must stay without complaint before somebody
// counts as listening again.
const probeWait = time.Second

// minProbe is the least time between two probes.
const minProbe = 10 * time.Millisecond

// hearing judges whether anybody listens to a result. The loop and the job share
// it.
type hearing struct {
	mu    sync.Mutex // guards the rest
	since time.Time  // of the first message in a row that nobody heard; zero when heard
	probe time.Time  // of the first message after the last that nobody heard
}

// unheard notes that nobody heard a message.
func (h *hearing) unheard(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		h.since = now
	}
	h.probe = time.Time{}
}

// reset forgets what was noted.
func (h *hearing) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since, h.probe = time.Time{}, time.Time{}
}

// silent notes that a message goes out, and says whether nobody has listened for
// as long as the grace.
func (h *hearing) silent(now time.Time, grace time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return false
	}
	if h.probe.IsZero() {
		h.probe = now
	}
	if now.Sub(h.probe) >= probeWait {
		h.since, h.probe = time.Time{}, time.Time{}
		return false
	}
	return now.Sub(h.since) >= grace
}

// next is how long to wait until the next look at a result of which nothing is
// sent: half the grace, or less when the grace ends sooner. The last probe always
// has the time to be complained about.
func (h *hearing) next(now time.Time, grace time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	wait := max(grace/2, minProbe)
	if h.since.IsZero() {
		return wait
	}
	return min(wait, max(h.since.Add(grace).Sub(now), probeWait))
}
