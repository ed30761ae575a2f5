package recorder

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/trace"
	"fairlead/wire"
)

// TestBook: messages may come in any order and more than once; a line is written
// when arrival and end are known.
func TestBook(t *testing.T) {
	var lines []any
	b := newBook(func(line any) { lines = append(lines, line) })
	b.before = 9
	request := wire.Request{Class: "premium", Input: 512, Cached: 12, MaxOutput: 16, Tenant: "t", Worker: "gpu-1", Pin: wire.PinPrefer, Rank: 2, Require: []string{"big"}, Retry: wire.RetryNever}
	first := wire.Claim{ID: 10, Attempt: 1, Epoch: 4}
	second := wire.Claim{ID: 10, Attempt: 2, Epoch: 4}
	ok := wire.Done{ID: 10, Attempt: 2, Worker: "gpu-2", Status: wire.StatusOK, FirstMS: 1, TotalMS: 2, Usage: wire.Usage{Prompt: 512, Cached: 8, Output: 16}}
	beat := wire.Heartbeat{Worker: "gpu-1", Slots: 4, Ranks: 1, Speed: 100}

	b.beat(&beat, 5)
	b.beat(&beat, 9) // nothing new
	b.claimed(&first, "gpu-1", 100)
	b.claimed(&wire.Claim{ID: 10, Attempt: 9, Epoch: 3}, "gpu-1", 101) // a leader that was replaced
	b.arrived(10, 90, &request)
	b.arrived(10, 90, &request)
	b.claimed(&first, "gpu-1", 102) // published again
	b.progressed(&wire.Event{Kind: wire.EventFirstToken, ID: 10, Attempt: 1}, 110)
	b.done(&wire.Done{ID: 10, Attempt: 1, Worker: "gpu-1", Status: wire.StatusReturned, Usage: wire.Usage{Cached: -1}}, 120)
	b.arrived(11, 125, &wire.Request{Class: "regular", Input: 3})
	b.claimed(&second, "gpu-2", 130)
	b.judged(&wire.Verdict{ID: 11, Epoch: 4, Reason: wire.QueueFull})
	b.done(&ok, 10_000_000)
	b.done(&ok, 10_000_001) // published again, after it was written
	b.claimed(&second, "gpu-2", 10_000_002)
	b.arrived(12, 140, &wire.Request{Class: "regular", Input: 4})
	b.claimed(&wire.Claim{ID: 13, Attempt: 1, Epoch: 4}, "gpu-1", 141) // its headers were never seen
	b.done(&wire.Done{ID: 9, Attempt: 1, Status: wire.StatusOK}, 142)  // from before the recording
	b.claimed(&wire.Claim{ID: 14, Attempt: 1, Epoch: 4}, "gpu-1", 143)
	b.unreadable(14)
	b.unreadable(14)
	b.judged(&wire.Verdict{ID: 14, Epoch: 4, Reason: wire.InvalidRequest})
	b.close()

	want := []any{
		trace.RecordedWorker{Worker: "gpu-1", Ranks: 1, Slots: 4, Speed: 100, JoinedNS: 5},
		trace.Recorded{AtNS: 125, ID: 11, Class: "regular", Input: 3, Reason: "queue_full"},
		trace.Recorded{
			AtNS: 90, ID: 10, Class: "premium", Input: 512, Cached: 12, MaxOutput: 16, Output: 16, Tenant: "t", Worker: "gpu-1", Soft: true, Rank: new(int32(2)), Require: []string{"big"}, Retry: "never",
			Attempts: []trace.Attempt{
				{Number: 1, Order: 1, Worker: "gpu-1", HandedNS: 100, FirstNS: 110, EndNS: 120, Status: "returned", Cached: -1},
				{Number: 2, Order: 2, Worker: "gpu-2", HandedNS: 130, FirstNS: 9_000_000, EndNS: 10_000_000, Status: "ok", Cached: 8},
			},
		},
		trace.Recorded{AtNS: 140, ID: 12, Class: "regular", Input: 4},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if n := b.count; n != (Count{Written: 3, Open: 1, Missed: 1, Unreadable: 1}) {
		t.Errorf("%+v", n)
	}
}
