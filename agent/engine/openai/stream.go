package openai

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tmaxmax/go-sse"

	"fairlead/agent/engine"
)

// errBrokenOff is how a stream ends that the engine did not finish.
var errBrokenOff = errors.New("the engine broke off its stream")

// chunk is what must be known of one SSE payload.
type chunk struct {
	Type    string          `json:"type"` // of the responses API
	Error   json.RawMessage `json:"error"`
	Usage   engine.Usage    `json:"usage"`
	Choices []struct {
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Response struct {
		Usage engine.Usage `json:"usage"`
	} `json:"response"`
}

func (c chunk) failed() bool {
	return len(c.Error) > 0 && string(c.Error) != "null" || c.Type == "error" || c.Type == "response.failed"
}

// ends says that the chunk is the last one of the responses API, which has no
// "[DONE]".
func (c chunk) ends() bool { return c.Type == "response.completed" || c.Type == "response.incomplete" }

// finishes says that the chunk carries a finish reason, so that an end of the
// stream soon after it is not premature.
func (c chunk) finishes() bool {
	for _, ch := range c.Choices {
		if ch.FinishReason != nil && *ch.FinishReason != "" {
			return true
		}
	}
	return false
}

func (c chunk) usage() engine.Usage {
	if c.Response.Usage.Known {
		return c.Response.Usage
	}
	return c.Usage
}

// stream passes the chunks of an SSE body on until the engine says that it is
// done.
func (a answer) stream(body io.Reader) (engine.Result, error) {
	res := engine.Result{ContentType: "text/event-stream"}
	// A blank line after the body completes a last event that lacks its own; a
	// body that broke off reports that before this line is read.
	body = io.MultiReader(body, strings.NewReader("\n\n"))
	finished := false
	for event, err := range sse.Read(body, &sse.ReadConfig{MaxEventSize: a.engine.cfg.MaxEvent}) {
		if err != nil {
			return res, a.readError(err)
		}
		if event.Data == "" {
			continue
		}
		if event.Data == "[DONE]" {
			return res, nil
		}
		c, err := a.pass(event.Data, &res)
		if err != nil || c.ends() {
			return res, err
		}
		finished = finished || c.finishes()
	}
	if !finished {
		return res, errBrokenOff
	}
	return res, nil
}

// pass reads one payload, books its usage and sends it on, unless it is an
// error or the usage that only we asked for.
func (a answer) pass(data string, res *engine.Result) (chunk, error) {
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return c, fmt.Errorf("read a chunk of the engine's stream: %w", err)
	}
	if c.failed() {
		return c, fmt.Errorf("the engine failed in the middle of its stream: %.500s", data)
	}
	if u := c.usage(); u.Known {
		res.Usage = u
		if a.hideUsage && len(c.Choices) == 0 {
			return c, nil
		}
	}
	return c, a.emit([]byte(data), res)
}

func (a answer) readError(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("an event of the engine's stream is over the limit of %d bytes", a.engine.cfg.MaxEvent)
	}
	return fmt.Errorf("%w: %w", errBrokenOff, err)
}
