package keys

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits counts what each key has under way. Its state outlives a new file. It is
// safe for concurrent use.
type Limits struct {
	mu   sync.Mutex // guards used
	used map[string]*usage
}

// usage is what one key has used.
type usage struct {
	running int
	rate    *rate.Limiter
}

// NewLimits counts from nothing.
func NewLimits() *Limits { return &Limits{used: map[string]*usage{}} }

// Kinds of limits.
const (
	LimitRate       = "requests_per_second"
	LimitConcurrent = "max_concurrent"
)

// LimitError says which limit of its own a key has reached.
type LimitError struct {
	Key, Limit string
	Retry      time.Duration // when to ask again
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the key %q has reached its limit %s", e.Key, e.Limit)
}

// concurrentRetry is when to ask again after too many at once: nobody knows when
// one of them ends.
const concurrentRetry = time.Second

// Enter counts a request in. The caller must call leave when it has ended. The
// error is a *LimitError.
func (l *Limits) Enter(k *Key, now time.Time) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.used[k.Name]
	if u == nil {
		u = &usage{}
		l.used[k.Name] = u
	}
	if k.Concurrent > 0 && u.running >= k.Concurrent {
		return nil, &LimitError{Key: k.Name, Limit: LimitConcurrent, Retry: concurrentRetry}
	}
	if wait := u.pace(k, now); wait > 0 {
		return nil, &LimitError{Key: k.Name, Limit: LimitRate, Retry: wait}
	}
	u.running++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		u.running--
	}, nil
}

// pace takes a token of the key's rate, or says when there will be one.
func (u *usage) pace(k *Key, now time.Time) time.Duration {
	if k.Rate == 0 {
		u.rate = nil
		return 0
	}
	if u.rate == nil {
		u.rate = rate.NewLimiter(rate.Limit(k.Rate), k.Burst)
	}
	if u.rate.Limit() != rate.Limit(k.Rate) || u.rate.Burst() != k.Burst { // a new file says so
		u.rate.SetLimitAt(now, rate.Limit(k.Rate))
		u.rate.SetBurstAt(now, k.Burst)
	}
	if u.rate.AllowN(now, 1) {
		return 0
	}
	missing := 1 - u.rate.TokensAt(now)
	return time.Duration(math.Ceil(missing / k.Rate * float64(time.Second)))
}
