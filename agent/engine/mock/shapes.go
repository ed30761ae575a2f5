package mock

import "fairlead/agent/engine"

// The shapes of the OpenAI API, as far as the mock fills them.

type envelope struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []choice      `json:"choices"`
	Usage   *engine.Usage `json:"usage,omitempty"`
}

type choice struct {
	Index        int      `json:"index"`
	Delta        *message `json:"delta,omitempty"`
	Message      *message `json:"message,omitempty"`
	Text         *string  `json:"text,omitempty"`
	FinishReason *string  `json:"finish_reason"`
}

type message struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
}

type embeddings struct {
	Object string        `json:"object"`
	Model  string        `json:"model"`
	Data   []embedding   `json:"data"`
	Usage  *engine.Usage `json:"usage"`
}

type embedding struct {
	Object    string    `json:"object"`
	Index     int       `json:"index"`
	Embedding []float64 `json:"embedding"`
}

func (a *answer) chat() bool { return a.path == engine.PathChat }

func (a *answer) envelope(chunk bool) envelope {
	object := "text_completion"
	switch {
	case a.chat() && chunk:
		object = "chat.completion.chunk"
	case a.chat():
		object = "chat.completion"
	}
	return envelope{ID: a.id, Object: object, Created: a.created, Model: a.model, Choices: []choice{}}
}

// chunk is the SSE payload with the tokens in [from, to).
func (a *answer) chunk(from, to int64) []byte {
	var c choice
	text := a.text(from, to)
	if a.chat() {
		c.Delta = &message{Content: text}
		if from == 0 {
			c.Delta.Role = "assistant"
		}
	} else {
		c.Text = &text
	}
	env := a.envelope(true)
	env.Choices = append(env.Choices, c)
	return mustJSON(env)
}

// closing is the chunks after the last token: why it ended, and the usage when
// the client asked for it.
func (a *answer) closing() [][]byte {
	reason := a.finishReason()
	c := choice{FinishReason: &reason}
	if a.chat() {
		c.Delta = &message{}
	} else {
		c.Text = new(string)
	}
	end := a.envelope(true)
	end.Choices = append(end.Choices, c)
	chunks := [][]byte{mustJSON(end)}
	if a.wantsUsage {
		usage := a.usage(a.output)
		last := a.envelope(true)
		last.Usage = &usage
		chunks = append(chunks, mustJSON(last))
	}
	return chunks
}

// whole is the body of an answer that is not streamed.
func (a *answer) whole() []byte {
	usage := a.usage(a.output)
	if a.path == engine.PathEmbeddings {
		vector := []float64{0.5, -0.5, 0.5, -0.5}
		return mustJSON(embeddings{Object: "list", Model: a.model, Usage: &usage,
			Data: []embedding{{Object: "embedding", Embedding: vector}}})
	}
	reason, text := a.finishReason(), a.text(0, a.output)
	c := choice{FinishReason: &reason}
	if a.chat() {
		c.Message = &message{Role: "assistant", Content: text}
	} else {
		c.Text = &text
	}
	env := a.envelope(false)
	env.Choices, env.Usage = append(env.Choices, c), &usage
	return mustJSON(env)
}
