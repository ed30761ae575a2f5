package wire

// Reason is why a request did not end with a result. The list is closed:
// clients may switch on it.
type Reason string

// The reasons, each with the HTTP-like code of [Reason.Code].
const (
	InvalidRequest    Reason = "invalid_request"    // 400: a header or the body is wrong; the detail names it
	ModelNotFound     Reason = "model_not_found"    // 404: no live worker serves the model
	TooLarge          Reason = "too_large"          // 413: the payload is over a limit
	QueueFull         Reason = "queue_full"         // 429: the class is at its limit
	Displaced         Reason = "displaced"          // 429: made room for a request of a higher tier
	Cancelled         Reason = "cancelled"          // 499: the client asked, or nobody listened
	EngineError       Reason = "engine_error"       // 502: the engine failed
	WorkerLost        Reason = "worker_lost"        // 502: the worker died after it had begun to answer
	AttemptsExhausted Reason = "attempts_exhausted" // 502: every allowed attempt lost its worker
	ResultLost        Reason = "result_lost"        // 502: finished, but its result went to an inbox that was gone
	NoWorker          Reason = "no_worker"          // 503: no eligible worker for longer than the grace
	WorkerGone        Reason = "worker_gone"        // 503: the worker it was pinned to stayed away
	ShuttingDown      Reason = "shutting_down"      // 503: the frontend is going away
	DeadlineExceeded  Reason = "deadline_exceeded"  // 504: its time to live ended first
	Shed              Reason = "shed"               // 504: could not have met its deadline any more
)

var codes = map[Reason]int{
	InvalidRequest: 400, ModelNotFound: 404, TooLarge: 413, QueueFull: 429, Displaced: 429, Cancelled: 499,
	EngineError: 502, WorkerLost: 502, AttemptsExhausted: 502, ResultLost: 502,
	NoWorker: 503, WorkerGone: 503, ShuttingDown: 503, DeadlineExceeded: 504, Shed: 504,
}

// Code is the HTTP status that says the same; 500 for a reason not in the list.
func (r Reason) Code() int {
	if c, ok := codes[r]; ok {
		return c
	}
	return 500
}

// Reasons lists every reason with its code.
func Reasons() map[Reason]int {
	m := make(map[Reason]int, len(codes))
	for r, c := range codes {
		m[r] = c
	}
	return m
}

// Refusal is why a request is not taken: the reason, and a sentence that names
// the header or field and says what would be right.
type Refusal struct {
	Reason Reason
	Detail string
}

// Error is the detail with its reason.
func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Detail }
