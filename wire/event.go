package wire

// EventKind says what happened to a request at its worker.
type EventKind string

// The events. They only sharpen bookings; heartbeats correct them.
const (
	EventStarted    EventKind = "started"     // the engine has it
	EventPrefilled  EventKind = "prefilled"   // its prefill has ended, nothing has been sent
	EventFirstToken EventKind = "first_token" // its first token has been sent
)

// Event is published on ev.<worker> (core NATS, may be lost).
type Event struct {
	V           uint8     `msgpack:"v"`
	Kind        EventKind `msgpack:"kind"`
	Worker      string    `msgpack:"w"`
	Incarnation uint64    `msgpack:"inc"`
	ID          uint64    `msgpack:"id"`
	Attempt     uint32    `msgpack:"att"`
	Claim       uint64    `msgpack:"claim"`
}

func (*Event) kind() string      { return "event" }
func (e *Event) version() *uint8 { return &e.V }

// CommandKind says what the broker wants of an agent.
type CommandKind string

// The commands.
const (
	CommandCancel CommandKind = "cancel" // end one attempt: cancel the engine call, send nothing more
	CommandStop   CommandKind = "stop"   // end this incarnation: a newer one of the same worker runs
)

// Command is published on agent.<worker>.<incarnation> (core NATS, may be lost;
// heartbeats lead to its repetition). An agent ignores an epoch below the
// highest that it has seen.
type Command struct {
	V       uint8       `msgpack:"v"`
	Kind    CommandKind `msgpack:"kind"`
	Epoch   uint64      `msgpack:"ep"`
	ID      uint64      `msgpack:"id,omitempty"`
	Claim   uint64      `msgpack:"claim,omitempty"`
	Attempt uint32      `msgpack:"att,omitempty"`
	Reason  string      `msgpack:"reason,omitempty"`
}

func (*Command) kind() string      { return "command" }
func (c *Command) version() *uint8 { return &c.V }
