package load

import (
	"encoding/json"
	"errors"
	"time"

	"fairlead/chaos/check"
	"fairlead/client"
	"fairlead/wire"
)

const retryAlways = wire.RetryAlways

// read takes the outcome as its client is told it; nil when it was given up. An
// error that is no outcome, such as a store that does not answer, is one to go on
// after.
func (l *Load) read(p *client.Pending, a ask) *check.Outcome {
	o := &check.Outcome{Stream: a.stream}
	for {
		err := l.readOn(p, o)
		if err == nil {
			return o
		}
		var e *client.Error
		if errors.As(err, &e) {
			o.Reason, o.Attempt, o.Detail, o.Shown = e.Reason, e.Attempt, e.Detail, nil
			return o
		}
		l.count(func(n *Counts) { n.Interrupted++ })
		if errors.Is(err, client.ErrClosed) || !l.pause(time.Second) {
			return nil
		}
	}
}

func (l *Load) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// readOn reads from where it stopped to the end.
func (l *Load) readOn(p *client.Pending, o *check.Outcome) error {
	if o.Stream {
		for c, err := range p.Chunks(l.ctx) {
			switch {
			case err != nil:
				return err
			case c.Restart:
				o.Shown = nil
			default:
				o.Shown = append(o.Shown, piece(c.Index, c.Attempt, c.Data))
			}
		}
	}
	r, err := p.Result(l.ctx) // of a stream that was shown, what came with its end
	if err != nil {
		return err
	}
	o.Attempt, o.Output = r.Attempt, r.Usage.Output
	for _, data := range r.Chunks {
		o.Shown = append(o.Shown, piece(len(o.Shown), r.Attempt, data))
	}
	if len(r.Body) > 0 {
		o.Shown = append(o.Shown, piece(0, r.Attempt, r.Body))
	}
	return nil
}

// piece reads whose answer a payload is.
func piece(index int, attempt uint32, data []byte) check.Piece {
	name, token := Engine(data)
	return check.Piece{Index: index, Attempt: attempt, Engine: name, Token: token}
}

// Engine reads from a payload the engine's name of the answer, and whether it
// carries a token.
func Engine(data []byte) (name string, token bool) {
	var v struct {
		ID      string `json:"id"`
		Choices []struct {
			Text  string `json:"text"`
			Delta struct {
				Content string `json:"content"`
			} `json:"delta"`
		} `json:"choices"`
	}
	if json.Unmarshal(data, &v) != nil {
		return "", false
	}
	for _, c := range v.Choices {
		token = token || c.Text != "" || c.Delta.Content != ""
	}
	return v.ID, token
}
