package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"fairlead/wire"
)

// explainFlags are the headers of a request as flags. The leader checks their
// values, in the words that a request would get.
var explainFlags = [...]struct{ name, header, usage string }{
	{"model", wire.HeaderModel, "model; may be left out while only one is served"},
	{"tenant", wire.HeaderTenant, "tenant that asks"},
	{"input-tokens", wire.HeaderInputTokens, "tokens of the prompt"},
	{"cached-tokens", wire.HeaderCachedTokens, "tokens of them in a cache"},
	{"priority", wire.HeaderPriority, "priority within the class"},
	{"strict-priority", wire.HeaderStrictPriority, "tier within the class"},
	{"worker", wire.HeaderPinWorker, "pin to this worker"},
	{"pin", wire.HeaderPin, "hard or prefer"},
	{"dp-rank", wire.HeaderDPRank, "data-parallel rank of the pinned worker"},
	{"allow-workers", wire.HeaderAllowWorkers, "workers that may take it, with commas"},
	{"require-taints", wire.HeaderRequireTaints, "taints that the worker must have, with commas"},
	{"ttl", wire.HeaderTTL, "time until its deadline"},
	{"no-queue", wire.HeaderNoQueue, "true: refuse rather than queue"},
}

type explain struct {
	connection
	class string
	size  int
	json  bool
}

func policyExplainCommand() *cobra.Command {
	var e explain
	cmd := &cobra.Command{
		Use:   "explain ID | --class CLASS …",
		Short: "Say which class, order, limits and workers a request meets, and why it waits",
		Long: `Say which class, order, limits and workers a request meets, and why it waits.

With an id it is about that request; with --class about one that nobody has asked,
which is neither queued nor run. The leader answers, by the policy in force.`,
		Args: want(0, 1, "at most one request id", exampleID),
		RunE: e.run,
	}
	e.addFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&e.class, "class", "c", "", "class or family of the policy")
	f.IntVar(&e.size, "size", 0, "bytes of the body, from which the broker estimates tokens that no flag tells")
	f.BoolVar(&e.json, "json", false, "print the leader's answer as one line of JSON")
	for _, h := range &explainFlags {
		f.String(h.name, "", h.usage)
	}
	return cmd
}

func (e *explain) run(cmd *cobra.Command, args []string) error {
	q, err := e.question(cmd, args)
	if err != nil {
		return usage(err)
	}
	nc, names, err := e.connect(cmd)
	if err != nil {
		return err
	}
	defer nc.Close()
	var x wire.Explanation
	err = e.patiently(cmd, "a broker", func() (again bool, err error) {
		x, err = askLeader(nc, names, q)
		return brokerless(err), err
	})
	if err != nil {
		return err
	}
	if e.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(x)
	}
	return writeExplanation(cmd.OutOrStdout(), x)
}

func (e *explain) question(cmd *cobra.Command, args []string) (wire.ExplainRequest, error) {
	q := wire.ExplainRequest{Class: e.class, Size: e.size, Headers: map[string]string{}}
	for _, h := range &explainFlags {
		if f := cmd.Flags().Lookup(h.name); f.Changed {
			q.Headers[h.header] = f.Value.String()
		}
	}
	switch {
	case len(args) == 1 && (e.class != "" || len(q.Headers) > 0 || e.size != 0):
		return q, errors.New("an id and a request that nobody has asked; want one of them")
	case len(args) == 1:
		ids, err := parseIDs(args)
		if err != nil {
			return q, err
		}
		return wire.ExplainRequest{ID: ids[0]}, nil
	case e.class == "":
		return q, errors.New("neither an id nor --class; want one of them")
	case e.size < 0:
		return q, fmt.Errorf("--size %d; want 0 or more bytes", e.size)
	}
	return q, nil
}

// explainWait is how long a leader may take to answer.
const explainWait = 5 * time.Second

func askLeader(nc *nats.Conn, names wire.Names, q wire.ExplainRequest) (wire.Explanation, error) {
	body, err := json.Marshal(wire.StatusRequest{Explain: &q})
	if err != nil {
		return wire.Explanation{}, fmt.Errorf("encode: %w", err)
	}
	m, err := nc.Request(names.CtlStatus(), body, explainWait)
	if errors.Is(err, nats.ErrNoResponders) {
		return wire.Explanation{}, fmt.Errorf("no broker leads on %s: is one running, and is the namespace right: %w", names.CtlStatus(), err)
	}
	if err != nil {
		return wire.Explanation{}, fmt.Errorf("ask the leader on %s: %w", names.CtlStatus(), err)
	}
	var s wire.BrokerStatus
	switch err := json.Unmarshal(m.Data, &s); {
	case err != nil:
		return wire.Explanation{}, fmt.Errorf("read the leader's answer: %w", err)
	case s.Error != "":
		return wire.Explanation{}, errors.New("the leader says: " + s.Error)
	case s.Explain == nil:
		return wire.Explanation{}, errors.New("the leader does not explain: its broker is older than this command")
	}
	return *s.Explain, nil
}

// writeExplanation writes for people: what becomes of the request, then facts,
// limits and workers.
func writeExplanation(w io.Writer, x wire.Explanation) error {
	head := string(x.State) + string(x.Prospect)
	if x.Reason != "" {
		head += ", " + string(x.Reason)
	}
	if _, err := fmt.Fprintf(w, "%s: %s\n", head, x.Why); err != nil || x.Class == "" {
		return err
	}
	unknown := ""
	if x.Unknown {
		unknown = ", for a class name that nobody knows"
	}
	fmt.Fprintf(w, "\nclass     %s of model %q%s, deficit %d, quantum %d\n", x.Class, x.Model, unknown, x.Deficit, x.Quantum)
	fmt.Fprintf(w, "cost      %d tokens: %d of the prompt, %d of them cached\n", x.Cost, x.Input, x.Cached)
	fmt.Fprintf(w, "order     %s\n", x.Key)
	place := "not in it"
	if x.Position > 0 {
		place = fmt.Sprintf("place %d, behind %d tokens", x.Position, x.Ahead)
	}
	fmt.Fprintf(w, "lane      %s, %s\n", x.Lane, place)
	if x.Tenant != "" {
		fmt.Fprintf(w, "tenant    %s\n", x.Tenant)
	}
	fmt.Fprintln(w)
	if len(x.Limits) > 0 {
		t := newTable(w, "LIMIT", "PER WORKER", "ALLOWED", "NOW")
		for _, l := range x.Limits {
			row(t, l.Limit, l.PerWorker, l.Allowed, l.Current)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	t := newTable(w, "WORKER", "ELIGIBLE", "BUSY", "WHY")
	for _, k := range x.Workers {
		row(t, k.Worker, k.Eligible, k.Busy, k.Why)
	}
	return t.Flush()
}
