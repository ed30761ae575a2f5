package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// watchStreams ends the term when somebody deletes a stream: the next one begins
// by creating it again. Nothing else would tell; consumers wait for ever. It
// reports streams that a full disk has stopped: their publishers see time-outs.
func (t *term) watchStreams(ctx context.Context) error {
	defer t.b.report(nil)
	for {
		if err := t.missing(ctx); err != nil {
			return err
		}
		t.b.report(t.unwritable(ctx))
		if pause(ctx, t.b.cfg.Timing.Renew) != nil {
			return nil
		}
	}
}

func (t *term) missing(ctx context.Context) error {
	for _, stream := range t.b.store.Configs(t.b.cfg.Streams) {
		_, err := t.b.store.Range(ctx, stream.Name)
		var api *jetstream.APIError
		if errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamNotFound {
			return fmt.Errorf("stream %s is gone", stream.Name)
		}
	}
	return nil
}

// unwritable names the streams that repeat the error of a write that failed. WORK
// is well while this broker leads: the lease is renewed there. Of a replicated
// stream, a replica that cannot write steps back by itself.
func (t *term) unwritable(ctx context.Context) error {
	if t.b.cfg.Streams.Replicas > 1 {
		return nil
	}
	var well *jetstream.APIError
	if !errors.As(t.b.store.Untouched(ctx, t.b.cfg.Names.StreamWORK()), &well) {
		return nil
	}
	var errs []error
	for _, stream := range t.b.store.Configs(t.b.cfg.Streams) {
		var api *jetstream.APIError
		if err := t.b.store.Untouched(ctx, stream.Name); errors.As(err, &api) && api.Description != well.Description {
			errs = append(errs, fmt.Errorf("stream %s takes no more writes: %s", stream.Name, api.Description))
		}
	}
	return errors.Join(errs...)
}

// report says once that the store is in trouble, or no longer is.
func (b *Broker) report(trouble error) {
	var now *error
	if trouble != nil {
		now = &trouble
	}
	switch before := b.trouble.Swap(now); {
	case trouble != nil && before == nil:
		b.log.Error().Err(trouble).Msg("the store cannot be written; free space on its disk (an embedded server then restarts by itself, restart an external one)")
	case trouble == nil && before != nil:
		b.log.Info().Msg("the store can be written again")
	}
}
