package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead/client"
	"fairlead/wire"
)

// output shows a request: its chunks and result on out, words about it on err.
type output struct {
	out, err     io.Writer
	json, stream bool
}

func (o *output) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.json, "json", false, "print JSON lines on stdout: receipt, chunk, restart, result, error")
	flags.BoolVar(&o.stream, "stream", false, "print chunks as they come (to have any, ask for a stream in the body)")
}

func (o *output) to(cmd *cobra.Command) { o.out, o.err = cmd.OutOrStdout(), cmd.ErrOrStderr() }

// line is one JSON line; fields that do not apply are left out.
type line struct {
	Event       string      `json:"event"`
	ID          uint64      `json:"id,omitempty"`
	Duplicate   bool        `json:"duplicate,omitempty"`
	Attempt     uint32      `json:"attempt,omitempty"`
	Index       *int        `json:"index,omitempty"`
	Worker      string      `json:"worker,omitempty"`
	Data        any         `json:"data,omitempty"`
	Chunks      []any       `json:"chunks,omitempty"`
	ContentType string      `json:"content_type,omitempty"`
	Usage       *wire.Usage `json:"usage,omitempty"`
	Reason      wire.Reason `json:"reason,omitempty"`
	Code        int         `json:"code,omitempty"`
	Detail      string      `json:"detail,omitempty"`
	RetryAfter  float64     `json:"retry_after_seconds,omitempty"`
}

func (o *output) print(l line) {
	b, err := json.Marshal(l)
	if err != nil {
		b = fmt.Appendf(nil, `{"event":"error","detail":%q}`, err)
	}
	fmt.Fprintf(o.out, "%s\n", b)
}

// embed puts bytes into JSON as they are when they are JSON, else as a string.
func embed(b []byte) any {
	switch {
	case len(b) == 0:
		return nil
	case json.Valid(b):
		return json.RawMessage(b)
	}
	return string(b)
}

func (o *output) receipt(p *client.Pending) {
	if o.json {
		o.print(line{Event: "receipt", ID: p.ID, Duplicate: p.Duplicate})
		return
	}
	known := ""
	if p.Duplicate {
		known = ", asked before under the same key"
	}
	fmt.Fprintf(o.err, "request %d%s\n", p.ID, known)
}

// follow shows a request to its end.
func (o *output) follow(ctx context.Context, p *client.Pending) error {
	if o.stream {
		for chunk, err := range p.Chunks(ctx) {
			if err != nil {
				return o.failed(err)
			}
			o.chunk(p.ID, chunk)
		}
	}
	res, err := p.Result(ctx)
	if err != nil {
		return o.failed(err)
	}
	o.result(res)
	return nil
}

func (o *output) chunk(id uint64, c client.Chunk) {
	switch {
	case o.json && c.Restart:
		o.print(line{Event: "restart", ID: id, Attempt: c.Attempt, Worker: c.Worker})
	case o.json:
		o.print(line{Event: "chunk", ID: id, Attempt: c.Attempt, Worker: c.Worker, Index: &c.Index, Data: embed(c.Data)})
	case c.Restart:
		fmt.Fprintf(o.err, "request %d starts over: attempt %d on %s\n", id, c.Attempt, c.Worker)
	default:
		fmt.Fprintf(o.out, "%s\n", c.Data)
	}
}

func (o *output) result(r *client.Result) {
	if o.json {
		l := line{
			Event: "result", ID: r.ID, Attempt: r.Attempt, Worker: r.Worker, Usage: &r.Usage,
			ContentType: r.ContentType, Data: embed(r.Body),
		}
		for _, c := range r.Chunks {
			l.Chunks = append(l.Chunks, embed(c))
		}
		o.print(l)
		return
	}
	for _, c := range r.Chunks {
		fmt.Fprintf(o.out, "%s\n", c)
	}
	if len(r.Body) > 0 {
		fmt.Fprintf(o.out, "%s\n", r.Body)
	}
	fmt.Fprintf(o.err, "request %d: attempt %d on %s; %s\n", r.ID, r.Attempt, r.Worker, tokens(r.Usage))
}

func tokens(u wire.Usage) string {
	if u.Cached < 0 {
		return fmt.Sprintf("%d tokens in, %d out", u.Prompt, u.Output)
	}
	return fmt.Sprintf("%d tokens in, %d of them cached, %d out", u.Prompt, u.Cached, u.Output)
}

// failed shows an outcome without a result, and hands the error on.
func (o *output) failed(err error) error {
	var e *client.Error
	if !errors.As(err, &e) {
		return err
	}
	if o.json {
		o.print(line{
			Event: "error", ID: e.ID, Attempt: e.Attempt, Worker: e.Worker, Data: embed(e.Body),
			Reason: e.Reason, Code: e.Code, Detail: e.Detail, RetryAfter: e.RetryAfter.Seconds(),
		})
		return err
	}
	if len(e.Body) > 0 {
		fmt.Fprintf(o.out, "%s\n", e.Body)
	}
	if e.RetryAfter > 0 {
		return fmt.Errorf("%w (ask again in %v)", err, e.RetryAfter)
	}
	return err
}
