package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/spf13/cobra"

	"fairlead/internal/storedpolicy"
	"fairlead/wire"
)

// Bounds of waiting for the leader's word. It takes milliseconds while one leads.
const (
	confirmWithin = 5 * time.Second
	confirmPause  = 20 * time.Millisecond
)

// errBehind says that the leader has not read a version yet.
var errBehind = errors.New("the leader has not read it yet")

// confirm says whether the leader took a version. One that cannot serve it is an
// error; no leader is none: the version is stored, and counts when there is one.
func confirm(cmd *cobra.Command, shelf storedpolicy.Shelf, version uint64) error {
	ask := func() (wire.BrokerStatus, error) { return askPolicy(cmd.Context(), shelf, version) }
	st, err := backoff.Retry(cmd.Context(), ask,
		backoff.WithBackOff(backoff.NewConstantBackOff(confirmPause)), backoff.WithMaxElapsedTime(confirmWithin))
	switch p := st.Policy; {
	case cmd.Context().Err() != nil:
		return cmd.Context().Err()
	case err != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "stored; no leader has said so far that it is in force (%v)\n", err)
	case p.Refused == version:
		return &exitError{codeRefused, fmt.Errorf("stored, but leader %s cannot serve it and keeps what it had: %s", st.Leader, p.Error)}
	case p.Version == version:
		fmt.Fprintf(cmd.ErrOrStderr(), "in force, says leader %s\n", st.Leader)
	default:
		fmt.Fprintf(cmd.ErrOrStderr(), "policy: %s, says leader %s\n", inForce(p), st.Leader)
	}
	return nil
}

// askPolicy asks the leader which policy is in force; until it has read a version
// the answer is an error.
func askPolicy(ctx context.Context, shelf storedpolicy.Shelf, version uint64) (st wire.BrokerStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	// One id asks for no classes and workers, which are of no interest here.
	m, err := shelf.Store.NC.RequestWithContext(ctx, shelf.Store.Names.CtlStatus(), []byte(`{"ids":[1]}`))
	if err != nil {
		return st, err
	}
	if err := json.Unmarshal(m.Data, &st); err != nil {
		return st, backoff.Permanent(fmt.Errorf("the leader's answer: %w", err))
	}
	if st.Policy.Read < version {
		return st, errBehind
	}
	return st, nil
}

// inForce names a policy for people.
func inForce(p wire.PolicyStatus) string {
	switch p.Source {
	case wire.PolicyStored:
		return fmt.Sprintf("stored version %d (%s, by %s)", p.Version, p.File, p.Author)
	case wire.PolicyFile:
		return p.File
	case wire.PolicyDefault:
	}
	return "the default, for want of a file"
}
