package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlead/internal/store"
	"fairlead/wire"
)

// bodyTimeout bounds one try to read a body from the bucket.
const bodyTimeout = time.Minute

// body is that of the message, or what it names in the bucket for bodies that no
// message can carry. A refusal is the client's to hear; an error ends the attempt.
func (j *job) body(req *wire.Request, data []byte) ([]byte, *wire.Failure, error) {
	if req.Body == "" {
		return data, nil, nil
	}
	var refused *wire.Failure
	var absent time.Time // since when the store says that there is none; zero it does not
	err := insist(j.ctx, func(context.Context) (err error) {
		ctx, cancel := context.WithTimeout(j.ctx, bodyTimeout) // not the try's: it may be long
		defer cancel()
		data, err = j.l.st.GetBody(ctx, req.Body, j.l.cfg.MaxBody)
		switch {
		case !errors.Is(err, store.ErrNotFound):
			absent = time.Time{}
		case absent.IsZero(): // a just-elected leader does not show all that is there
			absent = time.Now()
			return err
		case time.Since(absent) < j.l.cfg.BodyGrace:
			return err
		}
		refused = j.bodyRefusal(req, err)
		if refused != nil {
			return nil
		}
		return err
	}, j.l.complain("read a body"))
	if err == nil && refused == nil {
		j.stored = req.Body
	}
	return data, refused, err
}

// bodyRefusal is what an error says about the request; nil says nothing.
func (j *job) bodyRefusal(req *wire.Request, err error) *wire.Failure {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return &wire.Failure{Reason: wire.InvalidRequest,
			Detail: wire.HeaderBody + ": the bucket " + j.l.st.Names.BucketBodies() + " has no body " + req.Body + "; it was never put there, or has expired"}
	case errors.Is(err, store.ErrTooLarge):
		return &wire.Failure{Reason: wire.TooLarge, Detail: fmt.Sprintf("the body is over this worker's limit of %d bytes", j.l.cfg.MaxBody)}
	}
	return nil
}

// dropBody removes the body of a request that has ended here. Of one that may run
// again it stays; what is left behind expires.
func (j *job) dropBody(o outcome) {
	if j.stored == "" || o.status != wire.StatusOK && o.status != wire.StatusError {
		return
	}
	ctx, cancel := context.WithTimeout(j.l.leave, tryTimeout)
	defer cancel()
	if err := j.l.st.DeleteBody(ctx, j.stored); err != nil {
		j.l.cfg.Log.Debug().Err(err).Uint64("id", j.claim.ID).Msg("a body stays behind until it expires")
	}
}
