package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"fairlead/client"
	"fairlead/wire"
)

type await struct {
	connection
	output
}

func awaitCommand() *cobra.Command {
	var a await
	cmd := &cobra.Command{
		Use:   "await ID",
		Short: "Show the kept result of a request, waiting for it if need be",
		Long: `Show the kept result of a request, waiting for it if need be.

Results of requests that were asked with --stored are kept for an hour unless
the deployment says otherwise. An interrupt stops waiting and leaves the
request alone.`,
		Args: want(1, 1, "one request id", exampleID),
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args[0]) },
	}
	a.connection.addFlags(cmd)
	a.output.addFlags(cmd.Flags())
	return cmd
}

func (a *await) run(cmd *cobra.Command, arg string) error {
	a.to(cmd)
	id, err := parseID(arg)
	if err != nil {
		return usage(err)
	}
	nc, names, err := a.connect(cmd)
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := never(cmd.Context(), nc, names, id); err != nil {
		return a.failed(err)
	}
	c, err := client.New(nc, client.Config{Namespace: a.namespace})
	if err != nil {
		return err
	}
	defer c.Close()
	p, err := c.Await(cmd.Context(), id)
	if err != nil {
		return err
	}
	defer p.Close()
	return a.follow(cmd.Context(), p)
}

// infoWait is how long the store may take to say which ids there have been.
const infoWait = 2 * time.Second

// never is an error when no request has ever had the id. A store that does not
// say, or not to this user, leaves it open.
func never(ctx context.Context, nc *nats.Conn, names wire.Names, id uint64) error {
	ctx, cancel := context.WithTimeout(ctx, infoWait)
	defer cancel()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	req, err := js.Stream(ctx, names.StreamREQ())
	if err != nil {
		return nil
	}
	first, last := req.CachedInfo().Config.FirstSeq, req.CachedInfo().State.LastSeq
	if id >= first && id <= last {
		return nil
	}
	e := &client.Error{ID: id, Reason: wire.InvalidRequest, Code: wire.InvalidRequest.Code()}
	e.Detail = fmt.Sprintf("no such request has ever been asked here; ids go from %d to %d", first, last)
	if last < first {
		e.Detail = "no such request has ever been asked here, nor any other"
	}
	return e
}

// exampleID is what an id looks like.
const exampleID = "1795977623809902"

func parseID(arg string) (uint64, error) {
	id, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("%q is no request id; want the number of a receipt, such as %s", arg, exampleID)
	}
	return id, nil
}

func parseIDs(args []string) ([]uint64, error) {
	ids := make([]uint64, 0, len(args))
	for _, arg := range args {
		id, err := parseID(arg)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
