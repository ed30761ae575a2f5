// Command fairlead asks Fairlead for inference, cancels, looks at its state and
// checks policy files.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"fairlead/internal/cli"
)

func main() {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore) // a second signal ends the process at once
	code := cli.Run(ctx, cli.Root(demoCommand()), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	restore()
	os.Exit(code)
}
