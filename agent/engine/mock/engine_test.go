package mock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"fairlead/agent/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// withEngine runs body with a mock in a bubble of fake time.
func withEngine(t *testing.T, cfg Config, body func(*testing.T, *Engine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		body(t, e)
	})
}

func collect(chunks *[]string) engine.Emit {
	return func(data []byte) error {
		*chunks = append(*chunks, string(data))
		return nil
	}
}

func chat(body string) engine.Request {
	return engine.Request{ID: 9, Attempt: 1, Path: engine.PathChat, Body: []byte(body), InputTokens: 100, CachedTokens: 40,
		Stream: strings.Contains(body, `"stream":true`)}
}

func TestStreamTakesItsTime(t *testing.T) {
	cfg := Config{PrefillRate: 1000, TokenTime: 10 * time.Millisecond}
	withEngine(t, cfg, func(t *testing.T, e *Engine) {
		var chunks []string
		res, err := e.Run(t.Context(), chat(`{"stream":true,"max_tokens":3,"stream_options":{"include_usage":true}}`), collect(&chunks))
		if err != nil {
			t.Fatal(err)
		}
		if res.FirstToken != 70*time.Millisecond || res.Total != 90*time.Millisecond {
			t.Errorf("first token after %s, all after %s; want 60+10 ms and two tokens more", res.FirstToken, res.Total)
		}
		if want := (engine.Usage{PromptTokens: 100, CachedTokens: 40, OutputTokens: 3, Known: true, CachedKnown: true}); res.Usage != want {
			t.Errorf("usage %+v, want %+v", res.Usage, want)
		}
		text, reason, usage := readStream(t, chunks)
		if text != "the line ran" || reason != "length" || usage != res.Usage || len(chunks) != 5 {
			t.Errorf("said %q, ended by %q with %+v in %d chunks", text, reason, usage, len(chunks))
		}
	})
}

func readStream(t *testing.T, chunks []string) (text, reason string, usage engine.Usage) {
	t.Helper()
	for _, c := range chunks {
		var env envelope
		if err := json.Unmarshal([]byte(c), &env); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		if env.Usage != nil {
			usage = *env.Usage
		}
		for _, ch := range env.Choices {
			text += ch.Delta.Content
			if ch.FinishReason != nil {
				reason = *ch.FinishReason
			}
		}
	}
	return text, reason, usage
}

func TestWholeBodies(t *testing.T) {
	withEngine(t, Config{OutputTokens: 2}, func(t *testing.T, e *Engine) {
		for path, want := range map[string]string{
			engine.PathChat:        `"message":{"role":"assistant","content":"the line"},"finish_reason":"stop"`,
			engine.PathCompletions: `"text":"the line","finish_reason":"stop"`,
			engine.PathEmbeddings:  `"embedding":[0.5,-0.5,0.5,-0.5]`,
		} {
			req := chat(`{"model":"mock"}`)
			req.Path = path
			res, err := e.Run(t.Context(), req, nil)
			if err != nil || !strings.Contains(string(res.Body), want) || !json.Valid(res.Body) {
				t.Errorf("%s: got %s, %v, want it to hold %s", path, res.Body, err, want)
			}
		}
	})
}

func TestRefusedRequests(t *testing.T) {
	withEngine(t, Config{}, func(t *testing.T, e *Engine) {
		for want, req := range map[string]engine.Request{
			"400 body: is empty":   {Path: engine.PathChat},
			"404 model":            chat(`{"model":"other"}`),
			"404 path":             {Path: engine.PathResponses, Body: []byte(`{}`)},
			"400 output tokens: 2": chat(`{"max_tokens":2000000000}`),
		} {
			_, err := e.Run(t.Context(), req, nil)
			var re *engine.RequestError
			if !errors.As(err, &re) || !strings.Contains(fmt.Sprint(re.Status, " ", string(re.Body)), want[4:]) || fmt.Sprint(re.Status) != want[:3] {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	})
}

func TestFailures(t *testing.T) {
	cfg := Config{Slots: 1, Failures: []Failure{{Kind: Refuse, Every: 2, RetryAfter: 3 * time.Second}, {Kind: Die, Every: 3}}}
	withEngine(t, cfg, func(t *testing.T, e *Engine) {
		body := `{"stream":true,"max_tokens":8}`
		var chunks []string
		if _, err := e.Run(t.Context(), chat(body), collect(&chunks)); err != nil {
			t.Fatal(err)
		}
		var busy *engine.BusyError
		if _, err := e.Run(t.Context(), chat(body), nil); !errors.As(err, &busy) || busy.RetryAfter != 3*time.Second {
			t.Fatalf("got %v, want busy for 3s", err)
		}
		chunks = nil
		res, err := e.Run(t.Context(), chat(body), collect(&chunks))
		if !errors.Is(err, errDied) || len(chunks) != 4 || res.Usage.OutputTokens != 4 {
			t.Fatalf("got %v after %d chunks, want death after 4", err, len(chunks))
		}
		if _, err := e.Run(t.Context(), engine.Request{Path: engine.PathChat, Body: []byte("{}")}, nil); !errors.As(err, &busy) {
			t.Fatalf("got %v, want the fourth refused", err)
		}
		if _, err := e.Run(t.Context(), chat(`{}`), nil); err != nil {
			t.Fatalf("the dead request kept its slot: %v", err)
		}
	})
}

func TestHangEndsWithItsContext(t *testing.T) {
	cfg := Config{Slots: 1, Failures: []Failure{{Kind: Hang, Every: 2}}}
	withEngine(t, cfg, func(t *testing.T, e *Engine) {
		if _, err := e.Run(t.Context(), chat(`{}`), nil); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := e.Run(ctx, chat(`{}`), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want the deadline", err)
		}
		if _, err := e.Run(t.Context(), chat(`{}`), nil); err != nil {
			t.Fatalf("the hung request kept its slot: %v", err)
		}
	})
}

func TestCancelInTheMiddleOfALongStep(t *testing.T) {
	withEngine(t, Config{PrefillRate: 1}, func(t *testing.T, e *Engine) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := e.Run(ctx, chat(`{}`), nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Millisecond {
			t.Fatalf("got %v after %s, want the deadline after 1ms", err, time.Since(start))
		}
	})
}

func TestRefuseWhenFull(t *testing.T) {
	withEngine(t, Config{Slots: 1, RefuseWhenFull: true}, func(t *testing.T, e *Engine) {
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := e.Run(t.Context(), chat(`{}`), nil); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		var busy *engine.BusyError
		if _, err := e.Run(t.Context(), chat(`{}`), nil); !errors.As(err, &busy) {
			t.Errorf("got %v, want busy", err)
		}
		wg.Wait()
	})
}

func TestEmitErrorEndsTheRun(t *testing.T) {
	withEngine(t, Config{}, func(t *testing.T, e *Engine) {
		broken := errors.New("broken pipe")
		_, err := e.Run(t.Context(), chat(`{"stream":true}`), func([]byte) error { return broken })
		if !errors.Is(err, broken) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestCloseEndsCalls(t *testing.T) {
	withEngine(t, Config{Failures: []Failure{{Kind: Hang, Every: 1}}}, func(t *testing.T, e *Engine) {
		done := make(chan error)
		go func() {
			_, err := e.Run(t.Context(), chat(`{}`), nil)
			done <- err
		}()
		synctest.Wait()
		if err := e.Healthy(t.Context()); err != nil {
			t.Error(err)
		}
		e.Close()
		var gone *engine.UnavailableError
		if err := <-done; !errors.As(err, &gone) {
			t.Errorf("got %v, want unavailable", err)
		}
		if err := e.Healthy(t.Context()); !errors.As(err, &gone) {
			t.Errorf("closed and healthy: %v", err)
		}
	})
}

func BenchmarkRun(b *testing.B) {
	e, err := New(Config{Slots: 64, Speedup: 1e6, OutputTokens: 16})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := e.Run(b.Context(), chat(`{"stream":true}`), func([]byte) error { return nil }); err != nil {
				b.Error(err)
			}
		}
	})
}

// TestTellsTheEndOfItsPrefill: two prompts share the engine; each call hears of
// the end of its own, before its first output.
func TestTellsTheEndOfItsPrefill(t *testing.T) {
	cfg := Config{PrefillRate: 1000, MaxBatched: 100, TokenTime: 10 * time.Millisecond}
	withEngine(t, cfg, func(t *testing.T, e *Engine) {
		start := time.Now()
		var told [2]time.Duration
		var calls sync.WaitGroup
		for i, tokens := range []int64{100, 200} {
			calls.Go(func() {
				req := engine.Request{ID: uint64(i), Path: engine.PathChat, Body: []byte(`{"max_tokens":50}`), InputTokens: tokens}
				req.Prefilled = func() {
					if told[i] != 0 {
						t.Error("told twice")
					}
					told[i] = time.Since(start)
				}
				res, err := e.Run(t.Context(), req, nil)
				if err != nil || res.FirstToken <= told[i] || res.Total <= res.FirstToken {
					t.Errorf("%+v, %v, prefilled after %s", res, err, told[i])
				}
			})
			synctest.Wait() // the first comes first
		}
		calls.Wait()
		// The second shares its last two steps with the first one's decoding.
		if told[0] != 100*time.Millisecond || told[1] <= 300*time.Millisecond || told[1] > 350*time.Millisecond {
			t.Errorf("prefilled after %s", told)
		}
	})
}
