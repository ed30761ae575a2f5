package demo

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"fairlead/broker"
	"fairlead/broker/arbiter"
	"fairlead/broker/embedded"
	"fairlead/policy"
)

// system is the server with its broker, in a folder that goes with it.
type system struct {
	dir   string
	srv   *embedded.Server
	nc    *nats.Conn
	end   context.CancelFunc
	ended chan struct{} // the broker has
}

// start brings up server and broker. An error that ends the broker goes to fail.
func start(p *policy.Policy, log zerolog.Logger, fail func(error)) (s *system, err error) {
	s = &system{}
	if s.dir, err = os.MkdirTemp("", "fairlead-demo-"); err != nil {
		return nil, fmt.Errorf("make a folder for the streams: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	s.srv, err = embedded.Start(embedded.Options{StoreDir: s.dir, Log: log.With().Str("part", "nats").Logger()})
	if err != nil {
		return s, err
	}
	if s.nc, err = s.srv.Connect("fairlead demo broker"); err != nil {
		return s, err
	}
	b, err := broker.New(broker.Config{Conn: s.nc, Name: "demo", Policy: p, Log: log.Hook(calm{})})
	if err != nil {
		return s, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.end, s.ended = cancel, make(chan struct{})
	go func() {
		defer close(s.ended)
		if err := b.Run(ctx); err != nil {
			fail(fmt.Errorf("broker: %w", err))
		}
	}()
	return s, nil
}

// calm keeps out of the log what the summary counts: requests of a trace whose
// classes the policy of --policy does not know.
type calm struct{}

// Run is zerolog.Hook's.
func (calm) Run(e *zerolog.Event, _ zerolog.Level, message string) {
	if message == string(arbiter.NoticeUnknownClass) {
		e.Discard()
	}
}

// stop ends what runs, and leaves nothing behind. It waits for that.
func (s *system) stop() error {
	var errs []error
	if s.end != nil {
		s.end()
		<-s.ended
	}
	if s.nc != nil {
		s.nc.Close()
	}
	if s.srv != nil {
		errs = append(errs, s.srv.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
