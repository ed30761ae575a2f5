// Command worker-agent runs beside one inference engine and works for a Fairlead
// broker: it takes claims, runs them on the engine and streams the answers back.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"fairlead/agent"
)

// Exit codes. A supervisor should not restart an agent that was superseded.
const (
	exitFailed     = 1
	exitSuperseded = 3
)

func main() {
	err := newCommand().ExecuteContext(context.Background())
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "worker-agent:", err)
	if errors.Is(err, agent.ErrSuperseded) {
		os.Exit(exitSuperseded)
	}
	os.Exit(exitFailed)
}
