package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/wire"
)

// Scripts of the assembly: what is received, and what the reader is then shown.
//
//	c <attempt> <index> <data>   a chunk            s …  the same, read from the store
//	f <attempt> <index> <body>   a final message
//	e <attempt> <index> <reason> a final error; attempt 0 is the broker's own
//	read                         begin to read the store
//	caught [last]                the store was read to its end
//	whole                        from now on show only what belongs to the outcome
//	next                         show every step until there is nothing to do
var assemblyScripts = []struct {
	name           string
	always, stored bool
	script, want   string
}{
	{"stream", false, false, "c 1 0 a; next; c 1 1 b; f 1 2 -; next", "1/0 a, wait, 1/1 b, ok 1 -"},
	{"whole", false, false, "f 1 0 body; next", "ok 1 body"},
	{"a second final is dropped", false, false, "f 1 0 one; f 2 0 two; e 0 0 cancelled; next", "ok 1 one"},
	{"a failure after chunks", false, false, "c 1 0 a; e 1 1 engine_error; next", "1/0 a, engine_error attempt 1"},
	{"a failure with the index of a chunk that was not known to arrive", false, false, "c 1 0 a; c 1 1 b; e 1 1 deadline_exceeded; next",
		"1/0 a, 1/1 b, deadline_exceeded attempt 1"},
	{"the broker's own end", false, false, "e 0 0 queue_full; next", "queue_full attempt 0"},
	{"the broker ends a stream", false, false, "c 1 0 a; next; e 0 0 cancelled; next", "1/0 a, wait, cancelled attempt 0"},
	{"repeated chunks are dropped", false, false, "c 1 0 a; c 1 0 a; c 1 1 b; c 1 0 a; f 1 2 -; next", "1/0 a, 1/1 b, ok 1 -"},
	{"a missing chunk", false, false, "c 1 0 a; c 1 2 c; c 1 1 b; f 1 3 -; next", "1/0 a, result_lost attempt 1: chunk 1 of attempt 1 is missing: 2 came after 1 chunks"},
	{"a missing first chunk", false, false, "c 1 1 b; next", "result_lost attempt 1: chunk 0 of attempt 1 is missing: 1 came after 0 chunks"},
	{"a final after a gap", false, false, "c 1 0 a; f 1 5 -; next", "1/0 a, result_lost attempt 1: chunk 1 of attempt 1 is missing: 5 came after 1 chunks"},
	{"an error after a gap is still the error", false, false, "c 1 0 a; c 1 2 c; e 1 3 engine_error; next", "1/0 a, engine_error attempt 1"},
	{"another attempt before anything was shown", false, false, "c 1 0 a; c 2 0 x; next; f 2 1 -; next", "2/0 x, wait, ok 2 -"},
	{"an older attempt finishes first, unseen", false, false, "c 1 0 a; c 2 0 x; f 1 1 -; c 2 1 y; next", "1/0 a, ok 1 -"},
	{"another attempt after something was shown", false, false, "c 1 0 a; next; c 2 0 x; next", "1/0 a, wait, worker_lost attempt 1"},
	{"the shown attempt finishes before the other begins", false, false, "c 1 0 a; next; f 1 1 -; c 2 0 x; next", "1/0 a, wait, ok 1 -"},
	{"late chunks of an older attempt", false, false, "c 2 0 x; next; c 1 0 a; c 1 1 b; f 2 1 -; next", "2/0 x, wait, ok 2 -"},
	{"restart", true, false, "c 1 0 a; c 1 1 b; next; c 2 0 x; next; f 2 1 -; next", "1/0 a, 1/1 b, wait, restart 2, 2/0 x, wait, ok 2 -"},
	{"restart back to the attempt that finished", true, false, "c 1 0 a; next; c 2 0 x; next; c 1 1 b; f 1 2 -; next",
		"1/0 a, wait, restart 2, 2/0 x, wait, restart 1, 1/0 a, 1/1 b, ok 1 -"},
	{"no restart for another attempt's failure", true, false, "c 1 0 a; next; e 2 0 engine_error; next", "1/0 a, wait, engine_error attempt 2"},
	{"a reader that is too slow", false, false, "c 1 0 0123456789; c 1 1 0123456789; next", "result_lost attempt 0: 20 bytes wait for their reader; want at most 16: read faster or raise MaxBuffered"},
	{"what was shown is not counted", false, false, "c 1 0 0123456789; next; c 1 1 0123456789; next", "1/0 0123456789, wait, 1/1 0123456789, wait"},

	{"the outcome alone", false, false, "whole; c 1 0 a; c 1 1 b; next; f 1 2 -; next", "wait, 1/0 a, 1/1 b, ok 1 -"},
	{"the outcome alone, of another attempt", false, false, "whole; c 1 0 a; next; c 2 0 x; next; f 2 1 -; next", "wait, wait, 2/0 x, ok 2 -"},
	{"the outcome alone, but something was shown", false, false, "c 1 0 a; next; whole; c 2 0 x; next", "1/0 a, wait, worker_lost attempt 1"},
	{"the outcome alone, a missing chunk", false, false, "whole; c 1 0 a; c 1 2 c; next", "1/0 a, result_lost attempt 1: chunk 1 of attempt 1 is missing: 2 came after 1 chunks"},
	{"the outcome alone may be long", false, false, "whole; c 1 0 0123456789; c 1 1 0123456789; next; f 1 2 -; next", "wait, 1/0 0123456789, 1/1 0123456789, ok 1 -"},

	{"live is held back while reading", false, true, "read; f 2 0 two; s f 1 0 one; caught; next", "ok 1 one"},
	{"live follows what was read", false, true, "read; c 1 2 c; s c 1 0 a; s c 1 1 b; next; caught; next; f 1 3 -; next; read; s f 1 3 -; caught; next", "1/0 a, 1/1 b, wait, 1/2 c, wait, wait, ok 1 -"},
	{"what was read and heard", false, true, "read; c 1 1 b; s c 1 0 a; s c 1 1 b; caught; f 1 2 -; read; s f 1 2 -; caught; next", "1/0 a, 1/1 b, ok 1 -"},
	{"a gap waits for the store", false, true, "c 1 0 a; c 1 2 c; f 1 3 -; next; read; s c 1 1 b; s c 1 2 c; s f 1 3 -; caught; next", "1/0 a, wait, 1/1 b, 1/2 c, ok 1 -"},
	{"a gap that the store cannot fill yet", false, true, "c 1 0 a; f 1 2 -; next; read; caught; next; read; s c 1 1 b; s f 1 2 -; caught; next", "1/0 a, wait, wait, 1/1 b, ok 1 -"},
	{"a gap that the store cannot fill", false, true, "c 1 0 a; f 1 2 -; next; read; caught last; next", "1/0 a, wait, result_lost attempt 1: chunk 1 of attempt 1 is missing: 2 came after 1 chunks"},
	{"the store knows of an end that was not heard", false, true, "c 1 0 a; f 1 1 -; next; read; s c 1 0 a; s e 0 0 worker_lost; s f 1 1 -; caught; next", "1/0 a, wait, worker_lost attempt 0"},
	{"a final message is not stored yet", false, true, "f 1 0 one; next; read; caught; next; read; s f 1 0 one; caught; next", "wait, wait, ok 1 one"},
	{"a final message that is never stored", false, true, "f 1 0 one; read; caught last; next", "ok 1 one"},
	{"the broker's end is held back too", false, true, "read; e 0 0 worker_lost; s f 1 0 one; caught; next", "ok 1 one"},
}

func TestAssembly(t *testing.T) {
	for _, tc := range assemblyScripts {
		t.Run(tc.name, func(t *testing.T) {
			a := assembly{id: 7, always: tc.always, stored: tc.stored, maxBuffered: 16}
			var got []string
			for _, line := range strings.Split(tc.script, ";") {
				got = append(got, play(t, &a, strings.Fields(line))...)
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func play(t *testing.T, a *assembly, f []string) []string {
	t.Helper()
	add := a.add
	if f[0] == "s" {
		add, f = a.addStored, f[1:]
	}
	switch f[0] {
	case "read":
		a.reading = true
	case "caught":
		a.catchUp(len(f) > 1)
	case "whole":
		a.read(true)
	case "next":
		return drain(a)
	default:
		m, data := message(t, f)
		add(m, payload{data: data})
	}
	return nil
}

func message(t *testing.T, f []string) (wire.ResultMessage, []byte) {
	t.Helper()
	o := wire.Origin{ID: 7, Worker: "w"}
	var index int
	if _, err := fmt.Sscan(f[1]+" "+f[2], &o.Attempt, &index); err != nil {
		t.Fatal(err)
	}
	if o.Attempt > 0 {
		o.Claim = 100 + uint64(o.Attempt)
	}
	headers := map[string]wire.Header{
		"c": o.Chunk(index), "f": o.FinalOK(index, wire.Usage{}), "e": o.FinalError(index, wire.Failure{Reason: wire.Reason(f[3])}),
	}[f[0]]
	m, err := wire.ParseResult(headers)
	if err != nil {
		t.Fatal(err)
	}
	return m, []byte(f[3])
}

func drain(a *assembly) (out []string) {
	for {
		s := a.next()
		switch {
		case s.kind == stepWait:
			return append(out, "wait")
		case s.err != nil:
			var e *Error
			if !errors.As(s.err, &e) {
				return append(out, s.err.Error())
			}
			text := fmt.Sprintf("%s attempt %d", e.Reason, e.Attempt)
			if e.Reason == wire.ResultLost {
				text += ": " + e.Detail
			}
			return append(out, text)
		case s.kind == stepEnd:
			return append(out, fmt.Sprintf("ok %d %s", a.outcome.origin.Attempt, a.outcome.data))
		case s.chunk.Restart:
			out = append(out, fmt.Sprintf("restart %d", s.chunk.Attempt))
		default:
			out = append(out, fmt.Sprintf("%d/%d %s", s.chunk.Attempt, s.chunk.Index, s.chunk.Data))
		}
	}
}
