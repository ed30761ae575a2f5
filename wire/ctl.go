package wire

// CancelRequest asks the leader on ctl.cancel to end a request. The body may
// also be the id alone, as a decimal number.
type CancelRequest struct {
	ID uint64 `json:"id"`
}

// CancelOutcome is what became of a request to cancel.
type CancelOutcome string

// The answers to a cancel.
const (
	CancelFound   CancelOutcome = "found"   // it was queued or running, and is cancelled for good
	CancelDone    CancelOutcome = "done"    // it had already ended
	CancelUnknown CancelOutcome = "unknown" // no such request is known
)

// CancelReply answers a CancelRequest. Error is set instead of Outcome when the
// request could not be read.
type CancelReply struct {
	ID      uint64        `json:"id"`
	Outcome CancelOutcome `json:"outcome,omitempty"`
	Error   string        `json:"error,omitempty"`
}

// StatusRequest asks the leader on ctl.status for its state; an empty body asks
// for classes and workers. With ids it answers for these requests alone, and with
// explain for that one.
type StatusRequest struct {
	IDs     []uint64        `json:"ids,omitempty"`
	Explain *ExplainRequest `json:"explain,omitempty"`
}

// RequestState is where a request is.
type RequestState string

// The states of a request.
const (
	StateQueued  RequestState = "queued"  // or stored and not yet read by the leader
	StateRunning RequestState = "running" // handed out
	StateEnding  RequestState = "ending"  // decided, being told
	StateEnded   RequestState = "ended"   // not known any more: it has ended, or never was
)

// BrokerStatus is the leader's state as answered on ctl.status.
type BrokerStatus struct {
	Leader    string          `json:"leader"`
	Epoch     uint64          `json:"epoch"`
	Recovered bool            `json:"recovered"` // false while it still reads what its predecessor left
	Policy    PolicyStatus    `json:"policy"`
	Classes   []ClassStatus   `json:"classes,omitempty"`
	Workers   []WorkerStatus  `json:"workers,omitempty"`
	Requests  []RequestStatus `json:"requests,omitempty"`
	Explain   *Explanation    `json:"explain,omitempty"`
	Error     string          `json:"error,omitempty"` // why the question could not be read
}

// PolicySource is where a policy came from.
type PolicySource string

// The sources of a policy.
const (
	PolicyDefault PolicySource = "default" // what the broker has without a file
	PolicyFile    PolicySource = "file"    // the file that the broker was started with
	PolicyStored  PolicySource = "stored"  // the store, where every broker finds it
)

// PolicyStatus says which policy is in force, and which is not and why.
type PolicyStatus struct {
	Source  PolicySource `json:"source"`
	Version uint64       `json:"version,omitempty"` // of the stored policy in force
	File    string       `json:"file,omitempty"`    // its name where it was written
	Author  string       `json:"author,omitempty"`  // who stored it
	Read    uint64       `json:"read,omitempty"`    // the newest stored version that the leader has read
	Refused uint64       `json:"refused,omitempty"` // that version, when the leader cannot serve it
	Error   string       `json:"error,omitempty"`   // why not
}

// ClassStatus is a class of a model's profile. Token counts are uncached unless
// their name says otherwise.
type ClassStatus struct {
	Model            string  `json:"model"` // "" is the ring of requests whose model is not known yet
	Class            string  `json:"class"`
	Quantum          int64   `json:"quantum"`
	Deficit          int64   `json:"deficit"`
	Queued           int     `json:"queued"`
	QueuedRaw        int64   `json:"queued_raw_tokens"`
	QueuedCached     int64   `json:"queued_cached_tokens"`
	QueuedTokens     int64   `json:"queued_tokens"`
	Lanes            int     `json:"lanes"`             // exact lanes with requests
	OldestWaitMS     int64   `json:"oldest_wait_ms"`    // of a queued request
	Running          int     `json:"running"`           // handed out and not finished
	DispatchedTokens int64   `json:"dispatched_tokens"` // by this leader
	Dispatched       uint64  `json:"dispatched"`        // requests, by this leader
	Completed        uint64  `json:"completed"`
	Failed           uint64  `json:"failed"`
	SharedTokens     int64   `json:"shared_tokens"`     // charged, with corrections, while every class of the ring was backlogged
	Share            float64 `json:"share"`             // of SharedTokens, 0 to 1
	Entitlement      float64 `json:"entitlement"`       // quantum over the ring's sum of quanta
	Tenants          int     `json:"tenants,omitempty"` // of a class with tenants: how many have something queued
	Jain             float64 `json:"jain,omitempty"`    // Jain's index over these: tokens a second handed to each in the last minute while it waited, over its weight; 1 is equal
}

// WorkerStatus is a worker as the leader sees it.
type WorkerStatus struct {
	Worker        string   `json:"worker"`
	Incarnation   uint64   `json:"incarnation"`
	State         string   `json:"state"` // ready, busy, held, overloaded, draining, unhealthy, unheard, lost
	Models        []string `json:"models"`
	Ranks         int      `json:"ranks"`
	Slots         int      `json:"slots"` // of all ranks
	Used          int      `json:"used"`
	PrefillTokens int64    `json:"prefill_tokens"`
	LastSeenMS    int64    `json:"last_seen_ms"` // ago
}

// RequestStatus is the answer for one id.
type RequestStatus struct {
	ID      uint64       `json:"id"`
	State   RequestState `json:"state"`
	Class   string       `json:"class,omitempty"`
	Model   string       `json:"model,omitempty"`
	Attempt uint32       `json:"attempt,omitempty"`
	Worker  string       `json:"worker,omitempty"`
	WaitMS  int64        `json:"wait_ms,omitempty"` // since it was asked
}

// Models answers ctl.models: the models that live workers serve, sorted.
type Models struct {
	Models []ModelStatus `json:"models"`
}

// ModelStatus is a model with the number of live workers that serve it.
type ModelStatus struct {
	Name    string `json:"name"`
	Workers int    `json:"workers"`
}
