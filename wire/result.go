package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Origin says which execution a message of a result comes from.
type Origin struct {
	ID      uint64
	Attempt uint32 // 0: the broker itself
	Claim   uint64 // sequence of the claim in WORK; 0: the broker itself
	Worker  string
}

// Chunk makes the headers of message index of a result.
func (o Origin) Chunk(index int) Header {
	h := Header{
		HeaderID:      {strconv.FormatUint(o.ID, 10)},
		HeaderAttempt: {strconv.FormatUint(uint64(o.Attempt), 10)},
		HeaderClaim:   {strconv.FormatUint(o.Claim, 10)},
		HeaderIndex:   {strconv.Itoa(index)},
	}
	if o.Worker != "" {
		h[HeaderResultWorker] = []string{o.Worker}
	}
	return h
}

// FinalOK makes the headers of the last message of a result that succeeded.
func (o Origin) FinalOK(index int, u Usage) Header {
	h := o.Chunk(index)
	usage, err := json.Marshal(u)
	if err != nil {
		panic(fmt.Sprintf("wire: encoding usage: %v", err)) // three integers: cannot fail
	}
	h[HeaderFinal], h[HeaderStatus], h[HeaderUsage] = []string{"true"}, []string{string(StatusOK)}, []string{string(usage)}
	return h
}

// Failure is how a request ended that has no result.
type Failure struct {
	Reason     Reason
	Code       int    // 0 is the reason's own; an engine's 4xx keeps its status
	Detail     string // a sentence for people
	RetryAfter time.Duration
}

// FinalError makes the headers of the last message of a request that failed.
func (o Origin) FinalError(index int, f Failure) Header {
	if f.Code == 0 {
		f.Code = f.Reason.Code()
	}
	h := o.Chunk(index)
	h[HeaderFinal], h[HeaderStatus] = []string{"true"}, []string{string(StatusError)}
	h[HeaderReason] = []string{string(f.Reason)}
	h[HeaderErrorCode] = []string{strconv.Itoa(f.Code)}
	h[HeaderError] = []string{oneLine(f.Detail)}
	if f.RetryAfter > 0 {
		h[HeaderRetryAfter] = []string{strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds())))}
	}
	return h
}

// oneLine makes s fit for a header: control characters would end it.
func oneLine(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c < ' ' || c == 0x7f {
			b[i] = ' '
		}
	}
	if len(b) > 1024 {
		b = b[:1024]
	}
	return string(b)
}

// ResultMessage is one message of a result as a client reads it.
type ResultMessage struct {
	Origin
	Index   int
	Final   bool
	Usage   *Usage   // of a final message that succeeded
	Failure *Failure // of a final message that did not
}

// ParseResult reads the headers of a result message. Its error names the header.
func ParseResult(h Header) (ResultMessage, error) {
	var m ResultMessage
	var err error
	number := func(key string, bits int) uint64 {
		n, perr := strconv.ParseUint(First(h, key), 10, bits)
		if perr != nil && err == nil {
			err = fmt.Errorf("result: header %s is %q; want a number", key, First(h, key))
		}
		return n
	}
	m.ID = number(HeaderID, 64)
	m.Attempt = uint32(number(HeaderAttempt, 32))
	m.Claim = number(HeaderClaim, 64)
	m.Index = int(number(HeaderIndex, 31))
	m.Worker = First(h, HeaderResultWorker)
	m.Final = First(h, HeaderFinal) == "true"
	if err != nil || !m.Final {
		return m, err
	}
	if First(h, HeaderStatus) == string(StatusOK) {
		m.Usage = new(Usage)
		if uerr := json.Unmarshal([]byte(First(h, HeaderUsage)), m.Usage); uerr != nil {
			return m, fmt.Errorf("result: header %s: %w", HeaderUsage, uerr)
		}
		return m, nil
	}
	m.Failure = &Failure{
		Reason: Reason(First(h, HeaderReason)),
		Code:   int(number(HeaderErrorCode, 31)),
		Detail: First(h, HeaderError),
	}
	if First(h, HeaderRetryAfter) != "" {
		m.Failure.RetryAfter = time.Duration(number(HeaderRetryAfter, 31)) * time.Second
	}
	return m, err
}
