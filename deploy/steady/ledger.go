package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead/client"
	"fairlead/wire"
)

// summary counts what became of the requests.
type summary struct {
	Asked        int            `json:"asked"`
	Acknowledged int            `json:"acknowledged"` // over HTTP: answered with 200
	Completed    int            `json:"completed"`
	Failed       map[string]int `json:"failed"` // acknowledged, ended with a reason
	Lost         []uint64       `json:"lost"`   // acknowledged, without an outcome
	Unanswered   int            `json:"unanswered"`
	SlowestMS    int64          `json:"slowest_ms"` // to be acknowledged, or answered over HTTP
}

// verdict is an error when anything was lost, or nothing was tried.
func (s summary) verdict() error {
	switch {
	case len(s.Lost) > 0:
		return fmt.Errorf("%d acknowledged requests have no outcome: %v", len(s.Lost), s.Lost)
	case s.Completed == 0:
		return errors.New("nothing was completed")
	}
	return nil
}

// ledger is a summary under way.
type ledger struct {
	mu  sync.Mutex // guards sum
	sum summary
}

func (l *ledger) note(change func(*summary)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.sum)
}

// inFlight bounds the requests under way, so that an outage does not pile them up.
const inFlight = 256

// overNATS asks with stored results, so that each can be read whatever became of the
// connection, and reads them all in the end.
func (s *settings) overNATS(stop context.Context, c *client.Client) summary {
	l := &ledger{sum: summary{Failed: map[string]int{}}}
	var ids []uint64 // guarded by the ledger's lock
	var asking errgroup.Group
	asking.SetLimit(inFlight)
	s.ticks(stop, func(n int) {
		asking.Go(func() error {
			began := time.Now()
			p, err := c.Submit(context.Background(), client.Request{
				Class: s.classes[n%len(s.classes)], Body: []byte(`{"max_tokens":16,"messages":[{"role":"user","content":"steady"}]}`),
				IdempotencyKey: fmt.Sprintf("steady-%d-%d", began.UnixNano(), n), Retry: wire.RetryAlways,
			})
			l.note(func(sum *summary) {
				sum.Asked++
				if err != nil {
					sum.Unanswered++
					return
				}
				sum.Acknowledged++
				sum.SlowestMS = max(sum.SlowestMS, time.Since(began).Milliseconds())
				ids = append(ids, p.ID)
			})
			if err == nil {
				p.Close()
			}
			return nil
		})
	})
	_ = asking.Wait() // its functions return no error
	s.readAll(c, ids, l)
	return l.sum
}

// readAll reads the outcome of every request.
func (s *settings) readAll(c *client.Client, ids []uint64, l *ledger) {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	var reading errgroup.Group
	reading.SetLimit(32)
	for _, id := range ids {
		reading.Go(func() error {
			err := outcome(ctx, c, id)
			var failure *client.Error
			l.note(func(sum *summary) {
				switch {
				case err == nil:
					sum.Completed++
				case errors.As(err, &failure) && failure.Reason != wire.ResultLost:
					sum.Failed[string(failure.Reason)]++
				default:
					sum.Lost = append(sum.Lost, id)
				}
			})
			return nil
		})
	}
	_ = reading.Wait() // its functions return no error
}

func outcome(ctx context.Context, c *client.Client, id uint64) error {
	p, err := c.Await(ctx, id)
	if err != nil {
		return err
	}
	_, err = p.Result(ctx)
	return err
}

// overHTTP asks the gateways in turns, and the next one when one does not answer, as a
// client with two addresses does.
func (s *settings) overHTTP(stop context.Context) summary {
	l := &ledger{sum: summary{Failed: map[string]int{}}}
	web := &http.Client{Timeout: s.patience}
	defer web.CloseIdleConnections()
	var asking errgroup.Group
	asking.SetLimit(inFlight)
	s.ticks(stop, func(n int) {
		asking.Go(func() error {
			began := time.Now()
			status, err := s.post(web, n)
			l.note(func(sum *summary) {
				sum.Asked++
				sum.SlowestMS = max(sum.SlowestMS, time.Since(began).Milliseconds())
				switch {
				case err != nil:
					sum.Unanswered++
				case status == http.StatusOK:
					sum.Acknowledged++
					sum.Completed++
				default:
					sum.Failed[http.StatusText(status)]++
				}
			})
			return nil
		})
	})
	_ = asking.Wait() // its functions return no error
	return l.sum
}

// post asks one gateway after the other until one answers with a whole answer.
func (s *settings) post(web *http.Client, n int) (status int, err error) {
	for try := range s.web {
		url := s.web[(n+try)%len(s.web)] + "/v1/chat/completions"
		var req *http.Request
		req, err = http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewBufferString(`{"max_tokens":16,"messages":[{"role":"user","content":"steady"}]}`))
		if err != nil {
			return 0, fmt.Errorf("ask %s: %w", url, err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Fairlead-Class", s.classes[n%len(s.classes)])
		if status, err = answered(web, req); err == nil {
			return status, nil
		}
	}
	return 0, err
}

func answered(web *http.Client, req *http.Request) (int, error) {
	resp, err := web.Do(req)
	if err != nil {
		return 0, fmt.Errorf("ask %s: %w", req.URL, err)
	}
	defer resp.Body.Close()
	var whole map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&whole); err != nil {
		return 0, fmt.Errorf("read the answer of %s: %w", req.URL, err)
	}
	return resp.StatusCode, nil
}
