package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"fairlead/client"
	"fairlead/internal/store"
	"fairlead/wire"
)

// Exit codes, as the root's help lists them.
const (
	codeDone        = 0
	codeNoOutcome   = 1
	codeUsage       = 2
	codeRefused     = 3
	codeBusy        = 4
	codeFailed      = 5
	codeLate        = 6
	codeInterrupted = 130
)

// exitError is an error with an exit code of its own; without err there is
// nothing more to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as the command line's.
func usage(err error) error { return &exitError{codeUsage, err} }

// words says an error to people: what a full store means, and no prefix twice.
func words(err error) string {
	text := strings.ReplaceAll(err.Error(), "nats: nats: ", "nats: ")
	if full(err) {
		return "the store has no room: " + text
	}
	return text
}

// codeInsufficient is JetStream's answer when the server has no room, whatever
// the stream may hold.
const codeInsufficient jetstream.ErrorCode = 10023

// full reports that the store took nothing for want of room.
func full(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case store.CodeStreamStoreFailed, store.CodeStorageResources, codeInsufficient:
		return true
	}
	return false
}

func exitCode(err error) int {
	var own *exitError
	var outcome *client.Error
	switch {
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &outcome):
		return outcomeCode(outcome.Reason)
	case full(err):
		return codeBusy
	case errors.Is(err, context.Canceled):
		return codeInterrupted
	}
	return codeNoOutcome
}

func outcomeCode(r wire.Reason) int {
	switch r {
	case wire.InvalidRequest, wire.ModelNotFound, wire.TooLarge:
		return codeRefused
	case wire.QueueFull, wire.Displaced, wire.NoWorker, wire.WorkerGone, wire.ShuttingDown:
		return codeBusy
	case wire.DeadlineExceeded, wire.Shed:
		return codeLate
	case wire.Cancelled:
		return codeInterrupted
	case wire.EngineError, wire.WorkerLost, wire.AttemptsExhausted, wire.ResultLost:
	}
	return codeFailed
}
