package batch

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"fairlead/wire"
)

// Errors that callers branch on.
var (
	ErrNotFound = errors.New("not found")
	ErrEnded    = errors.New("it has ended already")
	ErrInUse    = errors.New("a batch that has not ended uses it")
)

// File is what is known of a file.
type File struct {
	ID        string `json:"id"`
	Owner     string `json:"owner"` // whose it is: one token
	Name      string `json:"filename"`
	Purpose   string `json:"purpose"`
	Bytes     int64  `json:"bytes"`
	CreatedAt int64  `json:"created_at"` // Unix seconds, as all times here
}

// Status is where a batch is.
type Status string

// The states of a batch, as OpenAI names them.
const (
	Validating Status = "validating"
	Failed     Status = "failed"
	InProgress Status = "in_progress"
	Finalizing Status = "finalizing"
	Completed  Status = "completed"
	Expired    Status = "expired"
	Cancelling Status = "cancelling"
	Cancelled  Status = "cancelled"
)

// Ended reports whether a batch stays as it is.
func (s Status) Ended() bool {
	return s == Failed || s == Completed || s == Expired || s == Cancelled
}

// Counts are of a batch's lines.
type Counts struct {
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
}

// Problem is what is wrong with a line of the input.
type Problem struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
	Line    int     `json:"line"` // the first is 1
}

// Options are how the lines of a batch are asked.
type Options struct {
	Class       string        `json:"class"`
	Tenant      string        `json:"tenant,omitempty"`
	Priority    float64       `json:"priority,omitempty"`
	Strict      uint32        `json:"strict,omitempty"`
	Input       uint32        `json:"input,omitempty"` // tokens of each line; 0 are counted
	Cached      uint32        `json:"cached,omitempty"`
	Worker      string        `json:"worker,omitempty"`
	Pin         wire.Pin      `json:"pin,omitempty"`
	Rank        *uint16       `json:"rank,omitempty"`
	Allow       []string      `json:"allow,omitempty"`
	Require     []string      `json:"require,omitempty"`
	Prefer      []string      `json:"prefer,omitempty"`
	TTL         time.Duration `json:"ttl,omitempty"`
	Retry       wire.Retry    `json:"retry,omitempty"`
	Traceparent string        `json:"traceparent,omitempty"`
}

// Batch is what is known of a batch.
type Batch struct {
	ID       string            `json:"id"`
	Owner    string            `json:"owner"`
	Endpoint string            `json:"endpoint"`
	Input    string            `json:"input_file_id"`
	Window   string            `json:"completion_window"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Options  Options           `json:"options"`

	Status   Status    `json:"status"`
	Ending   Status    `json:"ending,omitempty"` // of a batch that is being finalised: what it will be
	Models   []string  `json:"models,omitempty"` // of its lines, that were served when it began: their workers are waited for
	Counts   Counts    `json:"counts"`
	Problems []Problem `json:"problems,omitempty"`
	Output   string    `json:"output_file_id,omitempty"`
	Errors   string    `json:"error_file_id,omitempty"`
	Holder   string    `json:"holder,omitempty"` // of the run that may change it

	CreatedAt    int64 `json:"created_at"`
	ExpiresAt    int64 `json:"expires_at"`
	InProgressAt int64 `json:"in_progress_at,omitempty"`
	FinalizingAt int64 `json:"finalizing_at,omitempty"`
	CancellingAt int64 `json:"cancelling_at,omitempty"`
	EndedAt      int64 `json:"ended_at,omitempty"`
}

// newID makes an id that later ones come after.
func newID(prefix string, now time.Time) (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return fmt.Sprintf("%s%012x%s", prefix, now.UnixMilli(), hex.EncodeToString(b[:])), nil
}
