package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// Guards is the number of epoch guards epoch.0 … epoch.63 in WORK. Each allows
// one fenced write in flight, so it bounds the hand-outs under way at once.
const Guards = 64

// Names builds the subjects and stream names of one Fairlead. The zero value
// has no namespace; a namespace N prefixes subjects with "N." and streams with
// "N_", so that several Fairleads share one account.
type Names struct{ namespace string }

// NewNames returns the names in a namespace; "" is none. A namespace is a
// single token of [A-Za-z0-9_-], at most 64 long.
func NewNames(namespace string) (Names, error) {
	if namespace != "" && !ValidToken(namespace) {
		return Names{}, fmt.Errorf("namespace %q: want 1 to 64 characters of A-Z a-z 0-9 _ -", namespace)
	}
	return Names{namespace: namespace}, nil
}

// ValidToken reports whether s is 1 to 64 characters of [A-Za-z0-9_-]: the form
// of worker, tenant and namespace names.
func ValidToken(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if !tokenByte(s[i]) {
			return false
		}
	}
	return true
}

func tokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func (n Names) subject(s string) string {
	if n.namespace == "" {
		return s
	}
	return n.namespace + "." + s
}

func (n Names) stream(s string) string {
	if n.namespace == "" {
		return s
	}
	return n.namespace + "_" + s
}

// Namespace is the namespace that the names are in; "" is none.
func (n Names) Namespace() string { return n.namespace }

// StreamREQ holds what has been asked.
func (n Names) StreamREQ() string { return n.stream("REQ") }

// StreamWORK holds what has been handed out, and who may hand out.
func (n Names) StreamWORK() string { return n.stream("WORK") }

// StreamDONE holds what has finished.
func (n Names) StreamDONE() string { return n.stream("DONE") }

// StreamRES holds results that nobody waited for on an inbox.
func (n Names) StreamRES() string { return n.stream("RES") }

// StreamDEAD holds requests given up.
func (n Names) StreamDEAD() string { return n.stream("DEAD") }

// StreamPOLICY holds the policy that every broker follows, and those before it.
func (n Names) StreamPOLICY() string { return n.stream("POLICY") }

// BucketBodies is the object store for bodies that no message can carry.
func (n Names) BucketBodies() string { return n.stream("BODIES") }

// Req is where a frontend asks for work of a class or policy family.
func (n Names) Req(class string) string { return n.subject("req." + class) }

// ReqPinned asks for work of a class on one worker.
func (n Names) ReqPinned(class, worker string) string {
	return n.subject("req." + class + "." + worker)
}

// Work is where the claims of one incarnation of a worker lie.
func (n Names) Work(worker string, incarnation uint64) string {
	return n.subject("work." + worker + "." + strconv.FormatUint(incarnation, 10))
}

// Reg is where an agent registers; the stored message's sequence in WORK is its
// incarnation.
func (n Names) Reg(worker string) string { return n.subject("reg." + worker) }

// Verdict is what the broker decided about a request that no worker finished.
func (n Names) Verdict(id uint64) string { return n.subject("verdict." + strconv.FormatUint(id, 10)) }

// Lead is lease and record of the leader.
func (n Names) Lead() string { return n.subject("lead") }

// Epoch is guard k, 0 ≤ k < Guards.
func (n Names) Epoch(k int) string { return n.subject("epoch." + strconv.Itoa(k)) }

// DRR carries deficits and cursors across a change of leader.
func (n Names) DRR() string { return n.subject("drr") }

// Done is where a worker's agent reports what has finished.
func (n Names) Done(worker string) string { return n.subject("done." + worker) }

// Res is where the result of a request without a reply subject is kept.
func (n Names) Res(id uint64) string { return n.subject("res." + strconv.FormatUint(id, 10)) }

// Dead is where requests of a class are kept that were given up.
func (n Names) Dead(class string) string { return n.subject("dead." + class) }

// Load is where a worker's heartbeats appear (core NATS).
func (n Names) Load(worker string) string { return n.subject("load." + worker) }

// Ev is where a worker's events appear (core NATS).
func (n Names) Ev(worker string) string { return n.subject("ev." + worker) }

// Agent is where the broker's commands to one incarnation go (core NATS).
func (n Names) Agent(worker string, incarnation uint64) string {
	return n.subject("agent." + worker + "." + strconv.FormatUint(incarnation, 10))
}

// Policy is where an operator stores the policy that every broker follows.
func (n Names) Policy() string { return n.subject("policy") }

// CtlCancel is where the leader takes requests to cancel, as [CancelRequest].
func (n Names) CtlCancel() string { return n.subject("ctl.cancel") }

// CtlStatus is where the leader answers a [StatusRequest].
func (n Names) CtlStatus() string { return n.subject("ctl.status") }

// CtlModels is where the leader lists the [Models] that are served.
func (n Names) CtlModels() string { return n.subject("ctl.models") }

// Captured lists the subjects of each stream, as wildcards.
func (n Names) Captured(stream string) []string {
	var subjects []string
	switch stream {
	case n.StreamREQ():
		subjects = []string{"req.*", "req.*.*"}
	case n.StreamWORK():
		subjects = []string{"work.*.*", "reg.*", "verdict.*", "lead", "epoch.*", "drr"}
	case n.StreamDONE():
		subjects = []string{"done.*"}
	case n.StreamRES():
		subjects = []string{"res.*"}
	case n.StreamDEAD():
		subjects = []string{"dead.*"}
	case n.StreamPOLICY():
		subjects = []string{"policy"}
	}
	for i, s := range subjects {
		subjects[i] = n.subject(s)
	}
	return subjects
}

// reserved are the first tokens of every subject of ours.
var reserved = [...]string{
	"req", "work", "reg", "verdict", "lead", "epoch", "drr", "done", "res", "dead", "policy", "load", "ev", "agent", "ctl",
}

// Ours reports whether subject belongs to Fairlead, so that nobody may name it
// as a place for results.
func (n Names) Ours(subject string) bool {
	if n.namespace != "" {
		rest, ok := strings.CutPrefix(subject, n.namespace+".")
		if !ok {
			return subject == n.namespace
		}
		subject = rest
	}
	first, _, _ := strings.Cut(subject, ".")
	for _, r := range reserved {
		if first == r {
			return true
		}
	}
	return false
}

// SplitReq takes the class and, of a pinned request, the worker from a subject
// of REQ.
func (n Names) SplitReq(subject string) (class, worker string, ok bool) {
	rest, ok := strings.CutPrefix(subject, n.subject("req."))
	if !ok {
		return "", "", false
	}
	class, worker, pinned := strings.Cut(rest, ".")
	return class, worker, class != "" && (!pinned || worker != "")
}

// SplitWork takes worker and incarnation from the subject of a claim.
func (n Names) SplitWork(subject string) (worker string, incarnation uint64, ok bool) {
	rest, ok := strings.CutPrefix(subject, n.subject("work."))
	if !ok {
		return "", 0, false
	}
	worker, inc, ok := strings.Cut(rest, ".")
	if !ok {
		return "", 0, false
	}
	incarnation, err := strconv.ParseUint(inc, 10, 64)
	return worker, incarnation, err == nil
}

// SplitID takes the id from the subject of a verdict or of a stored result.
func (n Names) SplitID(subject string) (id uint64, ok bool) {
	i := strings.LastIndexByte(subject, '.')
	id, err := strconv.ParseUint(subject[i+1:], 10, 64)
	return id, err == nil
}
