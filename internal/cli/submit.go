package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fairlead/client"
	"fairlead/wire"
)

// cancelWait is how long an interrupted command tries to cancel its request.
const cancelWait = 10 * time.Second

type submit struct {
	connection
	output
	ask
}

func submitCommand() *cobra.Command {
	var s submit
	cmd := &cobra.Command{
		Use:   "submit",
		Short: "Ask for inference and show the answer",
		Long: `Ask for inference and show the answer.

The body is the engine's JSON, from --body, --file or stdin, and is sent as it
is. The receipt goes to stderr, chunks and result to stdout. With --stored or
--idempotency-key the result is kept for "fairlead await": then the id is all
that is printed, on stdout. An interrupt cancels the request.`,
		Example: `  fairlead submit --class interactive --body '{"messages":[{"role":"user","content":"Hello"}]}'
  fairlead submit --class batch --file request.json --ttl 5m --json
  id=$(fairlead submit --class batch --stored < request.json); fairlead await $id`,
		Args: want(0, 0, "the body from --body, --file or stdin, and no arguments", "--class batch --file request.json"),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	s.connection.addFlags(cmd)
	s.output.addFlags(cmd.Flags())
	s.ask.addFlags(cmd)
	return cmd
}

func (s *submit) run(cmd *cobra.Command) error {
	s.to(cmd)
	req, err := s.request(cmd.InOrStdin())
	if err != nil {
		return usage(err)
	}
	c, done, err := s.open(cmd)
	if err != nil {
		return err
	}
	defer done()
	p, err := c.Submit(cmd.Context(), req)
	if err != nil {
		return s.failed(err)
	}
	defer p.Close()
	if req.Stored || req.IdempotencyKey != "" {
		s.kept(p)
		return nil
	}
	s.receipt(p)
	err = s.follow(cmd.Context(), p)
	if err != nil && cmd.Context().Err() != nil {
		return s.interrupted(cmd.Context(), p)
	}
	return err
}

// kept prints the id of a request whose result is kept.
func (s *submit) kept(p *client.Pending) {
	if s.json {
		s.receipt(p)
		return
	}
	fmt.Fprintln(s.out, p.ID)
	fmt.Fprintf(s.err, "request %d: its result is kept; read it with: fairlead await %d\n", p.ID, p.ID)
}

// interrupted cancels the request and says so.
func (s *submit) interrupted(ctx context.Context, p *client.Pending) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
	defer stop()
	outcome, err := p.Cancel(ctx)
	if err != nil {
		return &exitError{codeInterrupted, fmt.Errorf("interrupted, and not cancelled: %w", err)}
	}
	switch outcome {
	case wire.CancelFound:
		fmt.Fprintf(s.err, "request %d: interrupted and cancelled\n", p.ID)
	case wire.CancelDone, wire.CancelUnknown:
		fmt.Fprintf(s.err, "request %d: interrupted; it had ended already\n", p.ID)
	}
	return &exitError{code: codeInterrupted}
}

// readBody takes the body from the one place that names it.
func readBody(body, file string, stdin io.Reader) ([]byte, error) {
	switch {
	case body != "" && file != "":
		return nil, errors.New("--body and --file are both given; want one")
	case body != "":
		return []byte(body), nil
	case file != "" && file != "-":
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the body: %w", err)
		}
		return b, nil
	}
	if f, ok := stdin.(*os.File); ok && file == "" {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return nil, errors.New("no body; want --body, --file, or the body on stdin")
		}
	}
	b, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("read the body from stdin: %w", err)
	}
	return b, nil
}
