package trace_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead/trace"
)

// TestRecording: what is written is read again, sorted by arrival, and any reader of
// traces takes it.
func TestRecording(t *testing.T) {
	head := trace.RecordingHead{Version: 1, Started: time.Unix(1_700_000_000, 0).UTC(), ClockNS: 300, Names: "blue"}
	late := trace.Recorded{
		AtNS: 5_000_000, ID: 8, Class: "premium", Input: 512, Cached: 100, Output: 16, Tenant: "a", Priority: 1.5, TTLMS: 2000, Retry: "never",
		Attempts: []trace.Attempt{
			{Number: 1, Order: 2, Worker: "gpu-1", HandedNS: 6_000_000, Cached: -1},
			{Number: 2, Order: 3, Worker: "gpu-2", HandedNS: 7_000_000, FirstNS: 8_000_000, EndNS: 9_000_000, Status: "ok", Cached: 90},
		},
	}
	early := trace.Recorded{AtNS: 1_000_000, ID: 7, Class: "regular", Input: 20, Reason: "queue_full"}
	worker := trace.RecordedWorker{Worker: "gpu-1", Models: []string{"m"}, Ranks: 1, Slots: 8, Speed: 20_000}
	var file bytes.Buffer
	for _, line := range []any{head, late, worker, early, trace.RecordingHead{Version: 1, Missed: 3}} {
		if err := trace.WriteLine(&file, line); err != nil {
			t.Fatal(err)
		}
	}
	whole := file.String()
	got, err := trace.ReadRecording(strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	head.Missed = 3
	want := &trace.Recording{RecordingHead: head, Requests: []trace.Recorded{early, late}, Workers: []trace.RecordedWorker{worker}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	plain, err := trace.Read(strings.NewReader(whole), "file.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]trace.Request{
		{Class: "regular", Input: 20}, {At: 4 * time.Millisecond, Class: "premium", Input: 512, Cached: 100, Output: 16, Session: "a"},
	}, plain); diff != "" {
		t.Error(diff)
	}
	cut, err := trace.ReadRecording(strings.NewReader(whole[:len(whole)-10]))
	if err != nil || len(cut.Requests) != 2 || cut.Missed != 0 {
		t.Errorf("a recording that was cut off: %+v, %v", cut, err)
	}
}

func TestRecordingRefused(t *testing.T) {
	const head = `{"fairlead_recording":1,"started":"2026-01-01T00:00:00Z"}` + "\n"
	for text, want := range map[string]string{
		"":                         "line 1: no recording",
		`{"class":"a"}` + "\n":     "line 1: no recording",
		`{"fairlead_recording":2}`: "line 1: field fairlead_recording: version 2",
		head + "{}\n":              "line 2: field class: missing",
		head + "{\n" + head:        "line 2: ",
		head + `{"class":"a","id":1,"input":1,"cached":2}`: "line 2: field cached: 2 of 1",
		head + `{"class":"a","id":1,"input":3000000000}`:   "line 2: fields input and output: 3000000000",
		head + `{"class":"a","id":-1}`:                     "line 2: json",
	} {
		if _, err := trace.ReadRecording(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
