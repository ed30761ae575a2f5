package client

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"fairlead/wire"
)

// Request is what to ask. Class and Body are required; a zero field is not sent
// and has the default that subjects.md gives.
type Request struct {
	Class string // a class or family of the policy: 1 to 64 of A-Z a-z 0-9 _ -
	Body  []byte // the engine's JSON, never read by a broker

	Model  string // may be left out while only one model is served
	Path   string // one of [wire.Paths]; default /v1/chat/completions
	Tenant string

	InputTokens     uint32  // of the prompt; the broker estimates a quarter of the body's bytes
	CachedTokens    uint32  // of them expected in the engine's prefix cache
	MaxOutputTokens uint32  // most tokens that the engine may generate
	Priority        float64 // finite, negatives count as 0
	StrictPriority  uint32  // a higher tier always goes first

	Worker        string   // pins to one worker
	Pin           wire.Pin // what becomes of a pinned request whose worker stays away
	Rank          *uint16  // data-parallel rank of the pinned worker; nil any
	AllowWorkers  []string
	RequireTaints []string
	PreferTaints  []string

	TTL     time.Duration // the deadline is arrival + TTL; 0 none, else at least 1 s
	Retry   wire.Retry
	NoQueue bool // refuse rather than queue

	// Stored keeps the result on res.<id> instead of sending it to an inbox:
	// it survives this client, and [Client.Await] reads it from anywhere.
	Stored bool
	// IdempotencyKey makes asking again with the same key and tenant, within
	// the store's window of 30 s, give the first receipt. It implies Stored: the
	// second caller could not hear an inbox of the first.
	IdempotencyKey string

	Traceparent string // W3C trace context
}

// storeMargin is how much longer than its TTL the store keeps a request, so
// that it never ends silently what the broker would end with a word.
const storeMargin = 10 * time.Minute

// maxHeaders is what the server allows for all headers of a message, bytes,
// with room for those that it adds.
const maxHeaders = 64<<10 - 1024

func (r *Request) stored() bool { return r.Stored || r.IdempotencyKey != "" }

// message makes the message to publish. Its error is an *Error that names what
// is wrong, in the broker's own words.
func (r *Request) message(names wire.Names, inbox, msgID string) (*nats.Msg, error) {
	if !wire.ValidToken(r.Class) {
		return nil, newError(wire.InvalidRequest, "class %q; want 1 to 64 characters of A-Z a-z 0-9 _ -", r.Class)
	}
	m := nats.NewMsg(names.Req(r.Class))
	if wire.ValidToken(r.Worker) {
		m.Subject = names.ReqPinned(r.Class, r.Worker)
	} else {
		set(m, wire.HeaderPinWorker, r.Worker) // refused below, with the right words
	}
	m.Data = r.Body
	r.setHeaders(m)
	if !r.stored() {
		m.Header[wire.HeaderReplyTo] = []string{inbox}
	}
	m.Header[wire.HeaderMsgID] = []string{msgID}
	return m, check(names, m)
}

// check refuses at once what the broker would refuse later.
func check(names wire.Names, m *nats.Msg) error {
	size := 0
	for key, values := range m.Header {
		for _, v := range values {
			size += len(key) + len(v) + 4
		}
	}
	if size > maxHeaders {
		return newError(wire.InvalidRequest, "headers of %d bytes; want at most %d", size, maxHeaders)
	}
	rules := wire.Rules{Names: names}
	if _, refusal := rules.ParseRequest(wire.Message{Subject: m.Subject, Header: m.Header, Size: len(m.Data)}); refusal != nil {
		return newError(refusal.Reason, "%s", refusal.Detail)
	}
	return nil
}

func (r *Request) setHeaders(m *nats.Msg) {
	set(m, wire.HeaderPath, r.Path)
	set(m, wire.HeaderModel, r.Model)
	set(m, wire.HeaderTenant, r.Tenant)
	set(m, wire.HeaderTraceparent, r.Traceparent)
	setUint(m, wire.HeaderInputTokens, r.InputTokens)
	setUint(m, wire.HeaderCachedTokens, r.CachedTokens)
	setUint(m, wire.HeaderMaxOutput, r.MaxOutputTokens)
	setUint(m, wire.HeaderStrictPriority, r.StrictPriority)
	if r.Priority != 0 {
		set(m, wire.HeaderPriority, strconv.FormatFloat(r.Priority, 'g', -1, 64))
	}
	if r.Rank != nil {
		set(m, wire.HeaderDPRank, strconv.FormatUint(uint64(*r.Rank), 10))
	}
	set(m, wire.HeaderAllowWorkers, strings.Join(r.AllowWorkers, ","))
	set(m, wire.HeaderRequireTaints, strings.Join(r.RequireTaints, ","))
	set(m, wire.HeaderPreferTaints, strings.Join(r.PreferTaints, ","))
	if r.Pin == wire.PinPrefer {
		set(m, wire.HeaderPin, "prefer")
	}
	switch r.Retry {
	case wire.RetryAlways:
		set(m, wire.HeaderRetry, "always")
	case wire.RetryNever:
		set(m, wire.HeaderRetry, "never")
	case wire.RetryAuto:
	}
	if r.NoQueue {
		set(m, wire.HeaderNoQueue, "true")
	}
	if r.TTL != 0 {
		set(m, wire.HeaderTTL, r.TTL.String())
		set(m, wire.HeaderNatsTTL, strconv.FormatFloat(math.Ceil(r.TTL.Seconds()+storeMargin.Seconds()), 'f', 0, 64))
	}
}

// msgID is the deduplication id: the caller's key under its tenant, which holds
// no dot, or else one of our own, which makes a repeated publish harmless.
func (r *Request) msgID(fresh string) string {
	if r.IdempotencyKey != "" {
		return r.Tenant + "." + r.IdempotencyKey
	}
	return fresh
}

func set(m *nats.Msg, key, value string) {
	if value != "" {
		m.Header[key] = []string{value}
	}
}

func setUint(m *nats.Msg, key string, value uint32) {
	if value != 0 {
		m.Header[key] = []string{strconv.FormatUint(uint64(value), 10)}
	}
}
