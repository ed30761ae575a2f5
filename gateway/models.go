package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"fairlead/client"
	"fairlead/wire"
)

const (
	modelsFresh   = time.Second      // a list is not asked for again so soon
	modelsWait    = 2 * time.Second  // for the leader's list
	modelsMemory  = 15 * time.Minute // a model that was served is waited for so long
	modelOwner    = "fairlead"
	modelsPageMax = 10_000
)

// models knows which models are served, and which were a short while ago.
type models struct {
	mu   sync.Mutex // guards what follows, and is held while the leader is asked
	list []wire.ModelStatus
	err  error
	at   time.Time
	seen map[string]time.Time
}

// current is the leader's list, at most a second old.
func (m *models) current(ctx context.Context, c *client.Client) ([]wire.ModelStatus, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.currentLocked(ctx, c)
}

func (m *models) currentLocked(ctx context.Context, c *client.Client) ([]wire.ModelStatus, error) {
	if !m.at.IsZero() && time.Since(m.at) < modelsFresh {
		return m.list, m.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), modelsWait) // the answer is for others too
	defer cancel()
	m.list, m.err = c.Models(ctx)
	m.at = time.Now()
	if m.seen == nil {
		m.seen = map[string]time.Time{}
	}
	for name, at := range m.seen {
		if m.at.Sub(at) > modelsMemory {
			delete(m.seen, name)
		}
	}
	for _, s := range m.list {
		m.seen[s.Name] = m.at
	}
	return m.list, m.err
}

// check refuses a model that nobody serves, nor has served of late. When its
// workers are only away, or the leader cannot be asked, the request waits in the
// queue, and the broker decides.
func (m *models) check(ctx context.Context, c *client.Client, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, ok := m.seen[name]; name == "" || ok && time.Since(at) < modelsMemory {
		return nil
	}
	list, err := m.currentLocked(ctx, c)
	if _, ok := m.seen[name]; ok || err != nil || len(list) == 0 {
		return nil
	}
	f := reasoned(wire.ModelNotFound, "no worker serves the model %q; GET /v1/models lists those that are", name)
	f.param = "model"
	return f
}

// modelShape is OpenAI's, and how many workers serve it.
type modelShape struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // not known: 0
	OwnedBy string `json:"owned_by"`
	Workers int    `json:"workers"`
}

func shapeModel(s wire.ModelStatus) modelShape {
	return modelShape{ID: s.Name, Object: "model", OwnedBy: modelOwner, Workers: s.Workers}
}

func (c *call) listModels() error {
	list, err := c.models.current(c.ctx(), c.client)
	if err != nil {
		return err
	}
	data := make([]modelShape, 0, len(list))
	for _, s := range list[:min(len(list), modelsPageMax)] {
		data = append(data, shapeModel(s))
	}
	return c.json(http.StatusOK, map[string]any{"object": "list", "data": data})
}

func (c *call) getModel() error {
	list, err := c.models.current(c.ctx(), c.client)
	if err != nil {
		return err
	}
	name := c.r.PathValue("id")
	for _, s := range list {
		if s.Name == name {
			return c.json(http.StatusOK, shapeModel(s))
		}
	}
	return reasoned(wire.ModelNotFound, "no worker serves the model %q; GET /v1/models lists those that are", name)
}
