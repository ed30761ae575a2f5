package demo

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rs/zerolog"
)

// Output is where a run writes.
type Output struct {
	Stdout, Stderr io.Writer
	Keys           io.Reader // the terminal's, when Live; nil takes no keys
	JSON           bool      // one line of JSON on Stdout, last
	Live           bool      // Stdout is a terminal: show a live table
}

// Run plays a scenario and writes what came of it. It leaves nothing behind,
// however it ends. The error wraps [context.Canceled] when ctx ended early; a
// request lost or answered twice is an error too.
func Run(ctx context.Context, s *Scenario, out Output) error {
	began := time.Now()
	f, err := show(ctx, s, out)
	if err != nil {
		if f.Acknowledged > 0 {
			fmt.Fprintf(out.Stderr, "%s of %s requests had an outcome\n", count(f.Completed+f.Failed), count(f.Total))
		}
		return err
	}
	if out.JSON {
		err = writeJSON(out.Stdout, &f)
	} else {
		err = writeSummary(out.Stdout, s, &f, time.Since(began))
	}
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return f.verdict()
}

// verdict is what a run must not show.
func (f *Figures) verdict() error {
	switch {
	case f.Open() > 0:
		return fmt.Errorf("%d acknowledged requests have no outcome", f.Open())
	case f.Duplicated > 0:
		return fmt.Errorf("%d requests were answered twice", f.Duplicated)
	}
	return nil
}

// show plays while a view shows it.
func show(ctx context.Context, s *Scenario, out Output) (Figures, error) {
	ctx, interrupt := context.WithCancel(ctx)
	defer interrupt()
	var v view = plain{out.Stderr}
	if out.Live {
		v = newLive(s, out, interrupt)
	}
	l := &logs{w: out.Stderr, keep: out.Live}
	defer l.flush()
	defer context.AfterFunc(ctx, l.close)()
	log := zerolog.New(zerolog.ConsoleWriter{Out: l, NoColor: !out.Live, TimeFormat: time.TimeOnly}).
		Level(zerolog.WarnLevel).With().Timestamp().Logger()
	return play(ctx, s, v, log)
}

// interrupted is the error of a run whose context ended early.
type interrupted struct{}

func (interrupted) Error() string { return "interrupted" }
func (interrupted) Unwrap() error { return context.Canceled }
