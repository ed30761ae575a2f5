// Command gateway is an HTTP frontend that speaks OpenAI's API and asks Fairlead.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if err := newCommand().ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}
