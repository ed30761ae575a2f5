package wire

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Pin says what becomes of a pinned request whose worker stays away.
type Pin uint8

// The kinds of pin.
const (
	PinHard   Pin = iota // it fails with worker_gone
	PinPrefer            // it moves to the shared lane
)

// Retry says when a request may run again after its worker was lost.
type Retry uint8

// The retry rules.
const (
	RetryAuto   Retry = iota // when its first token had not been sent
	RetryAlways              // also after the first token
	RetryNever               // not at all
)

// AnyRank is the data-parallel rank of a request that names none.
const AnyRank int32 = -1

// MaxTokens is the largest token count that a header may carry.
const MaxTokens = 1 << 31

// MinTTL is the shortest time to live that a request may ask for.
const MinTTL = time.Second

// MaxTTL is the longest, a century: a longer one counts as this long, so that no
// deadline is beyond what an instant can say.
const MaxTTL = 100 * 365 * 24 * time.Hour

// Request is what the headers, subject and size of a message in REQ say.
type Request struct {
	Class       string // as named on the subject: a class, a family, or unknown
	Worker      string // pinned to, "" none
	Model       string // "" the only model served
	Path        string
	ReplyTo     string // "" keeps the result on res.<id>
	Tenant      string
	Traceparent string
	Allow       []string // workers allowed, nil any
	Require     []string // taints that the worker must have
	Prefer      []string // taints that break ties
	Priority    float64  // ≥ 0, finite
	TTL         time.Duration
	Input       uint32 // tokens; ⌈size/4⌉ when not said
	Cached      uint32 // tokens, at most Input
	MaxOutput   uint32 // tokens, 0 unknown
	Strict      uint32
	Rank        int32 // AnyRank or a data-parallel rank
	Pin         Pin
	Retry       Retry
	NoQueue     bool
	Body        string // name in the bucket for bodies that no message can carry, "" the message has it
	BodySize    int    // bytes of that body, 0 unknown
}

// Message is one message of REQ as far as the broker reads it.
type Message struct {
	Subject string
	Header  Header
	Size    int // bytes of the body
}

// Rules are the limits that a deployment sets on requests.
type Rules struct {
	Names         Names
	ReplyPrefixes []string // a reply subject starts with one of them; none allows any
}

// DefaultReplyPrefixes are where clients of NATS take replies unless told
// otherwise; a custom inbox prefix should start with "_INBOX_".
func DefaultReplyPrefixes() []string { return []string{"_INBOX.", "_INBOX_"} }

// ParseRequest reads a request. A refusal names the header that is wrong and
// says what would be right; the request returned beside it holds what could be
// read, ReplyTo included when it is usable, so that the client can be told.
func (r Rules) ParseRequest(m Message) (Request, *Refusal) {
	p := parser{rules: r, req: Request{Path: PathChat, Rank: AnyRank, Input: estimate(m.Size)}}
	p.subject(m.Subject)
	for key, values := range m.Header {
		p.header(key, values)
	}
	p.finish(m.Size)
	return p.req, p.refusal
}

// estimate is the number of tokens of a prompt of so many bytes.
func estimate(size int) uint32 {
	if size >= 4*(MaxTokens-1) {
		return MaxTokens
	}
	return uint32((size + 3) / 4)
}

type parser struct {
	rules   Rules
	req     Request
	refusal *Refusal
	worker  string // by header
	read    []string
}

// refuse keeps the refusal of the alphabetically first header, so that the
// answer does not depend on the order of a map.
func (p *parser) refuse(name, format string, args ...any) {
	detail := name + ": " + fmt.Sprintf(format, args...)
	if p.refusal == nil || detail < p.refusal.Detail {
		p.refusal = &Refusal{Reason: InvalidRequest, Detail: detail}
	}
}

func (p *parser) subject(s string) {
	class, worker, ok := p.rules.Names.SplitReq(s)
	if !ok {
		p.refuse("subject", "%q; want %s or %s", s, p.rules.Names.Req("<class>"), p.rules.Names.ReqPinned("<class>", "<worker>"))
		return
	}
	if worker != "" && !ValidToken(worker) {
		p.refuse("subject", "worker %q; want 1 to 64 characters of A-Z a-z 0-9 _ -", clip(worker))
		return
	}
	p.req.Class, p.req.Worker = class, worker
}

// header reads one header. Names are compared without case: a client whose
// library changes case must not be ignored in silence.
func (p *parser) header(key string, values []string) {
	field, known := lookup(key)
	switch {
	case !known && hasPrefixFold(key, "Fairlead-"):
		p.refuse(clip(key), "unknown header; see subjects.md for the list")
	case !known || len(values) == 0:
	case len(values) > 1 || slices.Contains(p.read, field.name):
		p.refuse(field.name, "given more than once; want one value")
	case len(values[0]) > maxHeader:
		p.refuse(field.name, "%d bytes; want at most %d", len(values[0]), maxHeader)
	default:
		p.read = append(p.read, field.name)
		if want := field.read(p, strings.TrimSpace(values[0])); want != "" {
			p.refuse(field.name, "%q; want %s", clip(values[0]), want)
		}
	}
}

// maxHeader is the most bytes of one header value: lists of workers fit, novels
// do not.
const maxHeader = 8 << 10

func (p *parser) finish(size int) {
	q := &p.req
	if q.Body != "" && !slices.Contains(p.read, HeaderInputTokens) {
		q.Input = estimate(q.BodySize)
	}
	q.Cached = min(q.Cached, q.Input)
	p.finishBody(size)
	switch {
	case p.worker != "" && q.Worker != "" && p.worker != q.Worker:
		p.refuse(HeaderPinWorker, "%q, but the subject pins to %q; want the same or only one of them", p.worker, q.Worker)
	case p.worker != "":
		q.Worker = p.worker
	}
	if q.Rank != AnyRank && q.Worker == "" {
		p.refuse(HeaderDPRank, "%d without a worker; want %s or a pinned subject beside it", q.Rank, HeaderPinWorker)
	}
	if q.Worker != "" && q.Allow != nil && !slices.Contains(q.Allow, q.Worker) {
		p.refuse(HeaderAllowWorkers, "does not hold %q, which the request is pinned to; want it in the list", q.Worker)
	}
}

// finishBody checks that there is one body, here or in the bucket.
func (p *parser) finishBody(size int) {
	q := &p.req
	switch {
	case q.Body != "" && size != 0:
		p.refuse(HeaderBody, "%q beside a payload of %d bytes; want one of them", q.Body, size)
	case q.Body == "" && q.BodySize != 0:
		p.refuse(HeaderBodySize, "%d without %s; want both", q.BodySize, HeaderBody)
	case q.Body == "" && size == 0:
		p.refuse("payload", "empty; want the JSON body of %s", q.Path)
	}
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func readTokens(s string, to *uint32) string {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > MaxTokens {
		return "a decimal number of tokens, 0 to 2147483648"
	}
	*to = uint32(n)
	return ""
}

func readPriority(s string, to *float64) string {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return "a finite decimal number (negatives count as 0)"
	}
	*to = max(0, v)
	return ""
}

func readToken(s string, to *string) string {
	if !ValidToken(s) {
		return "1 to 64 characters of A-Z a-z 0-9 _ -"
	}
	*to = s
	return ""
}

func readList(s string, to *[]string) string {
	for _, item := range strings.Split(s, ",") {
		item = strings.TrimSpace(item)
		if !ValidToken(item) {
			return "a comma list of names, each 1 to 64 characters of A-Z a-z 0-9 _ -"
		}
		*to = append(*to, item)
	}
	return ""
}

// readTTL takes a Go duration or whole seconds.
func readTTL(s string, to *time.Duration) string {
	const want = "a duration such as 90s or 2m, or whole seconds, at least 1s"
	d, err := time.ParseDuration(s)
	if err != nil {
		n, nerr := strconv.ParseUint(s, 10, 32)
		if nerr != nil {
			return want
		}
		d = time.Duration(n) * time.Second
	}
	if d < MinTTL {
		return want
	}
	*to = min(d, MaxTTL)
	return ""
}

func readChoice[T any](s string, to *T, choices map[string]T, want string) string {
	v, ok := choices[s]
	if !ok {
		return want
	}
	*to = v
	return ""
}
