package broker

import (
	"strings"
	"sync"

	"fairlead/wire"
)

// Bounds of labels: a series lives as long as the process.
const (
	mostModels = 256
	mostBytes  = 64
	others     = "other"
)

// models are the names that may be labels: those that workers served in the life
// of this process. A model that only clients name is one of the others.
type models struct {
	mu    sync.Mutex // guards known
	known map[string]string
}

// serve takes in a model that a worker serves; beyond mostModels it is forgotten.
func (m *models) serve(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.known[name]; ok || len(m.known) >= mostModels {
		return
	}
	if m.known == nil {
		m.known = map[string]string{}
	}
	m.known[name] = clean(name)
}

// label is the label of a model; no model at all has an empty one.
func (m *models) label(name string) string {
	if name == "" {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, ok := m.known[name]; ok {
		return l
	}
	return others
}

// clean makes a label of a name, which may come from anywhere: short, and UTF-8.
func clean(name string) string {
	if len(name) > mostBytes {
		name = name[:mostBytes]
	}
	return strings.ToValidUTF8(name, "")
}

// reasonLabel is one of the closed list, whatever an agent wrote; "" is none.
func reasonLabel(r wire.Reason) string {
	const unlisted = 500
	if r == "" || r.Code() != unlisted {
		return string(r)
	}
	return others
}

// statusLabel is one of the statuses that end a request.
func statusLabel(s wire.Status) string {
	switch s {
	case wire.StatusOK, wire.StatusError, wire.StatusCancelled, wire.StatusGone:
		return string(s)
	case wire.StatusReturned:
	}
	return others
}
