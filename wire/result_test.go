package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/wire"
)

func TestResultRoundTrip(t *testing.T) {
	o := wire.Origin{ID: 1795977623809904, Attempt: 2, Claim: 1795977623815434, Worker: "gpu-1"}
	usage := wire.Usage{Prompt: 100, Cached: -1, Output: 7}
	for name, tc := range map[string]struct {
		h    wire.Header
		want wire.ResultMessage
	}{
		"chunk":        {o.Chunk(0), wire.ResultMessage{Origin: o}},
		"later chunk":  {o.Chunk(41), wire.ResultMessage{Origin: o, Index: 41}},
		"final":        {o.FinalOK(42, usage), wire.ResultMessage{Origin: o, Index: 42, Final: true, Usage: &usage}},
		"the broker's": {wire.Origin{ID: 5}.FinalError(0, wire.Failure{Reason: wire.Shed}), failed(wire.Origin{ID: 5}, 0, wire.Failure{Reason: wire.Shed, Code: 504})},
		"an engine's own code": {o.FinalError(1, wire.Failure{Reason: wire.InvalidRequest, Code: 422, Detail: "no"}),
			failed(o, 1, wire.Failure{Reason: wire.InvalidRequest, Code: 422, Detail: "no"})},
		"a wait is rounded up": {o.FinalError(1, wire.Failure{Reason: wire.QueueFull, RetryAfter: 1500 * time.Millisecond}),
			failed(o, 1, wire.Failure{Reason: wire.QueueFull, Code: 429, RetryAfter: 2 * time.Second})},
		"control characters": {o.FinalError(1, wire.Failure{Reason: wire.EngineError, Detail: "a\r\nFairlead-Final: no\x00"}),
			failed(o, 1, wire.Failure{Reason: wire.EngineError, Code: 502, Detail: "a  Fairlead-Final: no "})},
		"a long detail": {o.FinalError(1, wire.Failure{Reason: wire.EngineError, Detail: strings.Repeat("x", 5000)}),
			failed(o, 1, wire.Failure{Reason: wire.EngineError, Code: 502, Detail: strings.Repeat("x", 1024)})},
		"a reason of tomorrow": {o.FinalError(1, wire.Failure{Reason: "moon_phase"}), failed(o, 1, wire.Failure{Reason: "moon_phase", Code: 500})},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := wire.ParseResult(tc.h)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func failed(o wire.Origin, index int, f wire.Failure) wire.ResultMessage {
	return wire.ResultMessage{Origin: o, Index: index, Final: true, Failure: &f}
}

func TestResultIsRefused(t *testing.T) {
	o := wire.Origin{ID: 1, Attempt: 1, Claim: 1}
	for _, tc := range []struct{ key, value string }{
		{wire.HeaderID, ""}, {wire.HeaderID, "x"}, {wire.HeaderID, "-1"}, {wire.HeaderAttempt, "4294967296"},
		{wire.HeaderClaim, ""}, {wire.HeaderIndex, "-1"}, {wire.HeaderIndex, "2147483648"}, {wire.HeaderUsage, "{"},
	} {
		h := o.FinalOK(0, wire.Usage{})
		h[tc.key] = []string{tc.value}
		if _, err := wire.ParseResult(h); err == nil || !strings.Contains(err.Error(), tc.key) {
			t.Errorf("%s %q: %v, want an error that names the header", tc.key, tc.value, err)
		}
	}
	for _, key := range []string{wire.HeaderErrorCode, wire.HeaderRetryAfter} {
		h := o.FinalError(0, wire.Failure{Reason: wire.QueueFull, RetryAfter: time.Second})
		h[key] = []string{"soon"}
		if _, err := wire.ParseResult(h); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v, want an error that names the header", key, err)
		}
	}
	if _, err := wire.ParseResult(nil); err == nil {
		t.Error("no headers were taken")
	}
}

func TestReasonCodes(t *testing.T) {
	for r, code := range wire.Reasons() {
		if r.Code() != code || code < 400 || code > 599 {
			t.Errorf("%s: code %d, listed as %d", r, r.Code(), code)
		}
	}
	if got := wire.Reason("x").Code(); got != 500 {
		t.Errorf("an unknown reason has code %d", got)
	}
	if !wire.StatusError.Final() || wire.StatusReturned.Final() {
		t.Error("given back must be the only end of an attempt that is none of its request")
	}
}
