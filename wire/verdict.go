package wire

import "fmt"

// Verdict is what a broker decided about a request itself: refused, expired,
// cancelled, lost, given up. It is stored in WORK on verdict.<id>, fenced like a
// claim, before anybody is told; whoever leads carries it out to the end.
type Verdict struct {
	V            uint8  `msgpack:"v"`
	ID           uint64 `msgpack:"id"`
	Epoch        uint64 `msgpack:"ep"`
	Reason       Reason `msgpack:"reason"`
	Detail       string `msgpack:"detail,omitempty"` // a sentence for people
	Class        string `msgpack:"class"`
	Attempt      uint32 `msgpack:"att"`             // highest attempt ever handed out, 0 none
	RetryAfterMS int64  `msgpack:"retry,omitempty"` // when asking again may help; 0 says nothing
	Dead         bool   `msgpack:"dead,omitempty"`  // to be kept in DEAD as well
	Worker       string `msgpack:"worker,omitempty"`
	ReplyTo      string `msgpack:"reply,omitempty"`
}

func (*Verdict) kind() string      { return "verdict" }
func (v *Verdict) version() *uint8 { return &v.V }

// DedupID is the Nats-Msg-Id of the verdict.
func (v *Verdict) DedupID() string { return fmt.Sprintf("%d.v.%d", v.Epoch, v.ID) }
