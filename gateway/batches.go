package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"fairlead/client"
	"fairlead/gateway/batch"
	"fairlead/gateway/prompt"
	"fairlead/wire"
)

// batchShape is OpenAI's.
type batchShape struct {
	ID           string            `json:"id"`
	Object       string            `json:"object"`
	Endpoint     string            `json:"endpoint"`
	Errors       *problemList      `json:"errors"`
	Input        string            `json:"input_file_id"`
	Window       string            `json:"completion_window"`
	Status       batch.Status      `json:"status"`
	Output       *string           `json:"output_file_id"`
	ErrorFile    *string           `json:"error_file_id"`
	CreatedAt    int64             `json:"created_at"`
	InProgressAt *int64            `json:"in_progress_at"`
	ExpiresAt    int64             `json:"expires_at"`
	FinalizingAt *int64            `json:"finalizing_at"`
	CompletedAt  *int64            `json:"completed_at"`
	FailedAt     *int64            `json:"failed_at"`
	ExpiredAt    *int64            `json:"expired_at"`
	CancellingAt *int64            `json:"cancelling_at"`
	CancelledAt  *int64            `json:"cancelled_at"`
	Counts       batch.Counts      `json:"request_counts"`
	Metadata     map[string]string `json:"metadata"`
}

type problemList struct {
	Object string          `json:"object"`
	Data   []batch.Problem `json:"data"`
}

func shapeBatch(b *batch.Batch) batchShape {
	s := batchShape{ID: b.ID, Object: "batch", Endpoint: b.Endpoint, Input: b.Input, Window: b.Window, Status: b.Status,
		Output: orNull(b.Output), ErrorFile: orNull(b.Errors), CreatedAt: b.CreatedAt, ExpiresAt: b.ExpiresAt,
		InProgressAt: orNull(b.InProgressAt), FinalizingAt: orNull(b.FinalizingAt), CancellingAt: orNull(b.CancellingAt),
		Counts: b.Counts, Metadata: b.Metadata}
	if len(b.Problems) > 0 {
		s.Errors = &problemList{Object: "list", Data: b.Problems}
	}
	switch b.Status {
	case batch.Completed:
		s.CompletedAt = &b.EndedAt
	case batch.Failed:
		s.FailedAt = &b.EndedAt
	case batch.Expired:
		s.ExpiredAt = &b.EndedAt
	case batch.Cancelled:
		s.CancelledAt = &b.EndedAt
	}
	return s
}

func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// completionWindow is the only one that OpenAI has.
const completionWindow = "24h"

// Bounds of a batch's metadata, as OpenAI has them.
const (
	maxMetadata      = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
)

func (c *call) createBatch() error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	var q struct {
		Input    string            `json:"input_file_id"`
		Endpoint string            `json:"endpoint"`
		Window   string            `json:"completion_window"`
		Metadata map[string]string `json:"metadata"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return reasoned(wire.InvalidRequest, "body: want input_file_id, endpoint, completion_window and metadata: %v", err)
	}
	b := batch.Batch{Owner: c.owner(), Endpoint: q.Endpoint, Input: q.Input, Window: q.Window, Metadata: q.Metadata}
	if err := c.checkBatch(&b); err != nil {
		return err
	}
	if b.Options, err = c.lineOptions(b.Endpoint); err != nil {
		return err
	}
	if b, err = c.batches.Create(c.ctx(), b); err != nil {
		return err
	}
	c.runner.Kick()
	return c.json(http.StatusOK, shapeBatch(&b))
}

func (c *call) checkBatch(b *batch.Batch) error {
	bad := func(param, want string) error {
		return &fault{status: http.StatusBadRequest, code: string(wire.InvalidRequest), param: param, message: param + ": want " + want}
	}
	tooLong := false
	for k, v := range b.Metadata {
		tooLong = tooLong || len(k) > maxMetadataKey || len(v) > maxMetadataValue
	}
	switch {
	case !slices.Contains(wire.Paths(), b.Endpoint):
		return bad("endpoint", "one of "+strings.Join(wire.Paths(), " "))
	case b.Window != completionWindow:
		return bad("completion_window", `"`+completionWindow+`"`)
	case len(b.Metadata) > maxMetadata || tooLong:
		return bad("metadata", "at most 16 keys of 64 bytes with values of 512")
	}
	f, err := c.batches.File(c.ctx(), b.Owner, b.Input)
	if err != nil {
		return told(err, "such input file")
	}
	if f.Purpose != purposeBatch {
		return bad("input_file_id", "a file with the purpose "+purposeBatch)
	}
	return nil
}

func (c *call) getBatch() error {
	b, err := c.batches.Batch(c.ctx(), c.owner(), c.r.PathValue("id"))
	if err != nil {
		return told(err, "such batch")
	}
	return c.json(http.StatusOK, shapeBatch(&b))
}

func (c *call) cancelBatch() error {
	b, err := c.batches.Cancel(c.ctx(), c.owner(), c.r.PathValue("id"))
	if err != nil {
		return told(err, "such batch")
	}
	return c.json(http.StatusOK, shapeBatch(&b))
}

func (c *call) listBatches() error {
	p, err := c.page()
	if err != nil {
		return err
	}
	list, more, err := c.batches.Batches(c.ctx(), c.owner(), p)
	if err != nil {
		return err
	}
	data := make([]batchShape, 0, len(list))
	for i := range list {
		data = append(data, shapeBatch(&list[i]))
	}
	return c.json(http.StatusOK, listShape(data, func(b batchShape) string { return b.ID }, more))
}

// lineOptions is what the headers of a batch say of its lines.
func (c *call) lineOptions(endpoint string) (o batch.Options, err error) {
	req, err := c.options(endpoint, 1)
	if err != nil {
		return o, err
	}
	if req.NoQueue {
		return o, badHeader(wire.HeaderNoQueue, "false; the lines of a batch wait")
	}
	for _, header := range []string{headerAsync, headerQueue} {
		if is, err := c.flag(header); err != nil || is {
			return o, cmp.Or(err, error(badHeader(header[len("X-"):], "false; a batch is always picked up later")))
		}
	}
	return batch.Options{
		Class: req.Class, Tenant: req.Tenant, Priority: req.Priority, Strict: req.StrictPriority, Input: req.InputTokens, Cached: req.CachedTokens,
		Worker: req.Worker, Pin: req.Pin, Rank: req.Rank, Allow: req.AllowWorkers, Require: req.RequireTaints, Prefer: req.PreferTaints,
		TTL: req.TTL, Retry: req.Retry, Traceparent: req.Traceparent,
	}, nil
}

// prepareLine makes the request of a batch's line.
func (g *Gateway) prepareLine(endpoint string, body []byte, o *batch.Options) (client.Request, error) {
	if int64(len(body)) > g.cfg.MaxBody {
		return client.Request{}, reasoned(wire.TooLarge, "the body is over the limit of %d bytes", g.cfg.MaxBody)
	}
	if err := g.counting.Acquire(g.life, 1); err != nil {
		return client.Request{}, errLeaving
	}
	p, err := prompt.Read(body)
	g.counting.Release(1)
	if err != nil {
		return client.Request{}, reasoned(wire.InvalidRequest, "%v", err)
	}
	return client.Request{
		Class: o.Class, Path: endpoint, Body: body, Model: p.Model, Tenant: o.Tenant, InputTokens: cmp.Or(o.Input, p.Input), CachedTokens: o.Cached,
		MaxOutputTokens: p.MaxOutput, Priority: o.Priority, StrictPriority: o.Strict, Worker: o.Worker, Pin: o.Pin, Rank: o.Rank,
		AllowWorkers: o.Allow, RequireTaints: o.Require, PreferTaints: o.Prefer, TTL: o.TTL, Retry: o.Retry, Traceparent: o.Traceparent,
	}, nil
}

// served says whether a batch may wait for workers with a model.
func (g *Gateway) served(model string) error {
	return g.models.check(context.Background(), g.client, model)
}

// describeLine tells an error of a batch's line.
func describeLine(err error) (status int, body []byte, code, message string) {
	f := faultOf(err)
	s := f.shape()
	return f.status, f.body(), f.code, s.Message
}
