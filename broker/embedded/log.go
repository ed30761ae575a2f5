package embedded

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
)

// logger turns the server's log into the broker's: its notices are details here.
type logger struct {
	log   zerolog.Logger
	fatal atomic.Bool // the server cannot go on

	mu   sync.Mutex
	last error // the newest error or fatal message
}

func (l *logger) Noticef(format string, v ...any) { l.log.Debug().Msgf(format, v...) }
func (l *logger) Warnf(format string, v ...any)   { l.log.Warn().Msgf(format, v...) }
func (l *logger) Debugf(format string, v ...any)  { l.log.Trace().Msgf(format, v...) }
func (l *logger) Tracef(format string, v ...any)  { l.log.Trace().Msgf(format, v...) }

func (l *logger) Errorf(format string, v ...any) {
	l.keep(format, v)
	l.log.Error().Msgf(format, v...)
}

// Fatalf does not end the process, which is the broker's: Start sees that the
// server is not ready and returns what was said.
func (l *logger) Fatalf(format string, v ...any) {
	l.keep(format, v)
	l.fatal.Store(true)
	l.log.Error().Msgf(format, v...)
}

func (l *logger) keep(format string, v []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = fmt.Errorf(format, v...)
}

func (l *logger) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		return errors.New("no reason given")
	}
	return l.last
}
