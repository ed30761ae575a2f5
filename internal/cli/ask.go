package cli

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"fairlead/client"
	"fairlead/wire"
)

// ask is a request as flags.
type ask struct {
	req        client.Request
	body, file string
	pin, retry string
	rank       int
}

func (a *ask) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	r := &a.req
	f.StringVar(&a.body, "body", "", "the engine's JSON")
	f.StringVarP(&a.file, "file", "f", "", "file that holds it; - is stdin, the default")
	f.StringVarP(&r.Class, "class", "c", "", "class or family of the policy (required)")
	f.StringVarP(&r.Model, "model", "m", "", "model; may be left out while only one is served")
	f.StringVar(&r.Path, "path", wire.PathChat, "engine path")
	f.StringVar(&r.Tenant, "tenant", "", "tenant that asks")
	f.Uint32Var(&r.InputTokens, "input-tokens", 0, "tokens of the prompt; 0 lets the broker estimate")
	f.Uint32Var(&r.CachedTokens, "cached-tokens", 0, "tokens of them expected in the engine's prefix cache")
	f.Uint32Var(&r.MaxOutputTokens, "max-output-tokens", 0, "most tokens to generate; 0 says nothing")
	f.Float64Var(&r.Priority, "priority", 0, "priority within the class")
	f.Uint32Var(&r.StrictPriority, "strict-priority", 0, "tier within the class; a higher one always goes first")
	f.StringVar(&r.Worker, "worker", "", "pin to this worker")
	f.StringVar(&a.pin, "pin", "hard", "when the pinned worker stays away: hard fails, prefer takes another")
	f.IntVar(&a.rank, "dp-rank", -1, "data-parallel rank of the pinned worker; -1 any")
	f.StringSliceVar(&r.AllowWorkers, "allow-workers", nil, "workers that may take it")
	f.StringSliceVar(&r.RequireTaints, "require-taints", nil, "taints that the worker must have")
	f.StringSliceVar(&r.PreferTaints, "prefer-taints", nil, "taints that break ties")
	f.DurationVar(&r.TTL, "ttl", 0, "time until its deadline, at least 1s; 0 none")
	f.StringVar(&a.retry, "retry", "auto", "after a lost worker: auto before its first token, always, never")
	f.BoolVar(&r.NoQueue, "no-queue", false, "refuse rather than queue")
	f.BoolVar(&r.Stored, "stored", false, "keep the result for await, and print only the id")
	f.StringVar(&r.IdempotencyKey, "idempotency-key", "", "asking again with this key within 30s is the same request; implies --stored")
	f.StringVar(&r.Traceparent, "traceparent", "", "W3C trace context")
}

// request reads the flags that need a second look, and the body.
func (a *ask) request(stdin io.Reader) (client.Request, error) {
	r := a.req
	if r.Class == "" {
		return r, errors.New("--class is missing; want a class or family of the policy, such as --class interactive")
	}
	var err error
	if r.Pin, err = choose("pin", a.pin, map[string]wire.Pin{"hard": wire.PinHard, "prefer": wire.PinPrefer}, "hard or prefer"); err != nil {
		return r, err
	}
	retries := map[string]wire.Retry{"auto": wire.RetryAuto, "always": wire.RetryAlways, "never": wire.RetryNever}
	if r.Retry, err = choose("retry", a.retry, retries, "auto, always or never"); err != nil {
		return r, err
	}
	if a.rank < -1 || a.rank > math.MaxUint16 {
		return r, fmt.Errorf("--dp-rank %d; want 0 to %d, or -1 for any", a.rank, math.MaxUint16)
	}
	if a.rank >= 0 {
		rank := uint16(a.rank)
		r.Rank = &rank
	}
	r.Body, err = readBody(a.body, a.file, stdin)
	return r, err
}

func choose[T any](flag, value string, choices map[string]T, want string) (T, error) {
	v, ok := choices[value]
	if !ok {
		return v, fmt.Errorf("--%s %q; want %s", flag, value, want)
	}
	return v, nil
}
