package wire

// ExplainRequest asks how a request is scheduled: one that is in the system, by
// its id; or one that nobody asked, by what its message would say.
type ExplainRequest struct {
	ID      uint64            `json:"id,omitempty"`
	Class   string            `json:"class,omitempty"`   // the last token of its subject, req.<class>
	Headers map[string]string `json:"headers,omitempty"` // as in a request
	Size    int               `json:"size,omitempty"`    // of its body, bytes: the estimate of its tokens if no header tells them
}

// Prospect is what would become of a request.
type Prospect string

// The prospects.
const (
	ProspectRuns    Prospect = "runs"    // it would be handed out at once
	ProspectWaits   Prospect = "waits"   // it would be queued
	ProspectRefused Prospect = "refused" // it would be refused, for Reason
)

// Explanation says which class, order, limits and workers a request meets, and
// why it waits.
type Explanation struct {
	ID       uint64        `json:"id,omitempty"`
	State    RequestState  `json:"state,omitempty"`    // of the request with this id
	Prospect Prospect      `json:"prospect,omitempty"` // of one that nobody asked
	Reason   Reason        `json:"reason,omitempty"`   // of a refusal
	Why      string        `json:"why"`                // a sentence: why it waits, is refused, or runs
	Model    string        `json:"model"`
	Class    string        `json:"class"` // physical class
	Tenant   string        `json:"tenant,omitempty"`
	Unknown  bool          `json:"unknown_class,omitempty"` // its class name is not known: the default family takes it
	Input    uint32        `json:"input_tokens"`
	Cached   uint32        `json:"cached_tokens"`
	Cost     int64         `json:"cost"`               // charged to the class, tokens, before any estimate of output
	Key      string        `json:"key"`                // its place in the order of its lane, in words
	Lane     string        `json:"lane"`               // shared, or the worker and rank that it is pinned to
	Position int           `json:"position,omitempty"` // in its lane, or where it would be; 1 is next, 0 is not in a lane
	Ahead    int64         `json:"ahead_tokens"`       // uncached tokens before it in its lane
	Quantum  int64         `json:"quantum"`            // of the class
	Deficit  int64         `json:"deficit"`            // of the class
	Limits   []LimitStatus `json:"limits,omitempty"`
	Workers  []WorkerFit   `json:"workers,omitempty"` // those that serve the model, sorted by name
}

// LimitStatus is a queue limit of a class.
type LimitStatus struct {
	Limit     string `json:"limit"` // as the policy file names it
	PerWorker int64  `json:"per_worker"`
	Allowed   int64  `json:"allowed"` // by the workers that serve the model now
	Current   int64  `json:"current"`
}

// WorkerFit says whether a worker may have a request, and could now.
type WorkerFit struct {
	Worker   string `json:"worker"`
	Eligible bool   `json:"eligible"`
	Busy     bool   `json:"busy"`
	Why      string `json:"why,omitempty"` // why not, or why it is busy
}
