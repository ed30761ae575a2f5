package gateway_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"fairlead/gateway"
)

func chat(tokens int64) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "mock", MaxTokens: openai.Int(tokens),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello")},
	}
}

// The official client gets whole and streamed answers, of chats and completions,
// embeddings and the list of models.
func TestSDK(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", quick())
	c := r.gateway(gateway.Config{Class: "regular"}).sdk()

	whole, err := c.Chat.Completions.New(r.ctx, chat(5))
	must(t, err)
	want := "the line ran out over"
	if got := whole.Choices[0].Message.Content; got != want || whole.Usage.CompletionTokens != 5 {
		t.Errorf("chat: %q with %+v; want %q", got, whole.Usage, want)
	}
	if whole.Usage.PromptTokens != 3+3+1+1 { // frames, role and text by the gateway's own count
		t.Errorf("chat: %d prompt tokens; want 8", whole.Usage.PromptTokens)
	}

	stream := c.Chat.Completions.NewStreaming(r.ctx, chat(5))
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		acc.AddChunk(stream.Current())
	}
	must(t, stream.Err())
	if got := acc.Choices[0].Message.Content; got != want {
		t.Errorf("streamed chat: %q; want %q", got, want)
	}

	params := openai.CompletionNewParams{Model: "mock", MaxTokens: openai.Int(5), Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("Hello")}}
	completion, err := c.Completions.New(r.ctx, params)
	must(t, err)
	text := c.Completions.NewStreaming(r.ctx, params)
	var b strings.Builder
	for text.Next() {
		b.WriteString(text.Current().Choices[0].Text)
	}
	must(t, text.Err())
	if completion.Choices[0].Text != want || b.String() != want {
		t.Errorf("completions: %q, streamed %q; want %q", completion.Choices[0].Text, b.String(), want)
	}

	vectors, err := c.Embeddings.New(r.ctx, openai.EmbeddingNewParams{Model: "mock", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("Hello")}})
	must(t, err)
	if len(vectors.Data) != 1 || len(vectors.Data[0].Embedding) == 0 {
		t.Errorf("embeddings: %+v", vectors.Data)
	}
}

func TestSDKModels(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	cfg := quick()
	cfg.Models = []string{"mock", "meta-llama/Llama-3"}
	r.agent("w1", cfg)
	c := r.gateway(gateway.Config{}).sdk()
	page, err := c.Models.List(r.ctx)
	must(t, err)
	if len(page.Data) != 2 || page.Data[0].ID != "meta-llama/Llama-3" || page.Data[1].ID != "mock" {
		t.Errorf("models: %+v", page.Data)
	}
	one, err := c.Models.Get(r.ctx, "meta-llama/Llama-3")
	must(t, err)
	if one.ID != "meta-llama/Llama-3" {
		t.Errorf("model: %+v", one)
	}
	_, err = c.Models.Get(r.ctx, "nobody")
	wantError(t, err, http.StatusNotFound, "model_not_found")
}

func wantError(t *testing.T, err error, status int, code string) {
	t.Helper()
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != status || e.Code != code || e.Message == "" || e.Type == "" {
		t.Errorf("%v; want status %d with the code %s", err, status, code)
	}
}

// A cancel in the middle of a stream frees the engine's slot.
func TestSDKCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	cfg := quick()
	cfg.Slots, cfg.TokenTime = 1, cfg.TokenTime*10
	r.agent("w1", cfg)
	g := r.gateway(gateway.Config{Class: "regular"})
	c := g.sdk()
	stream := c.Chat.Completions.NewStreaming(r.ctx, chat(100_000))
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	if used := r.worker("w1").Used; used != 1 {
		t.Errorf("%d slots are used in the middle of a stream; want 1", used)
	}
	must(t, stream.Close())
	r.until("the slot is free", func() bool { return r.worker("w1").Used == 0 })
	if _, err := c.Chat.Completions.New(r.ctx, chat(2)); err != nil {
		t.Errorf("after the cancel: %v", err)
	}
}

// Errors of the key file, through the official client.
func TestSDKKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, twoClasses)
	r.agent("w1", quick())
	g := r.gateway(gateway.Config{Keys: parseKeys(t, `keys: [{name: acme, key: sk-acme-secret, tenant: acme, class: premium}]`)})
	_, err := g.sdk().Chat.Completions.New(r.ctx, chat(2))
	wantError(t, err, http.StatusUnauthorized, "invalid_api_key")
	c := g.sdk(option.WithAPIKey("sk-acme-secret"))
	if _, err := c.Chat.Completions.New(r.ctx, chat(2)); err != nil {
		t.Errorf("with the key: %v", err)
	}
	_, err = c.Chat.Completions.New(r.ctx, chat(2), option.WithHeader("x-fairlead-class", "regular"))
	wantError(t, err, http.StatusForbidden, "not_allowed")
	_, err = c.Chat.Completions.New(r.ctx, chat(2), option.WithHeader("x-fairlead-strict-priority", "1"))
	wantError(t, err, http.StatusForbidden, "not_allowed")
	_, err = c.Chat.Completions.New(r.ctx, chat(2), option.WithHeader("x-fairlead-tenant", "other"))
	wantError(t, err, http.StatusForbidden, "not_allowed")
}
