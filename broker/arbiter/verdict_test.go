package arbiter

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fairlead/wire"
)

// TestDetailFitsAMessage: whatever workers and clients call things, a verdict can be
// stored, and told in a header.
func TestDetailFitsAMessage(t *testing.T) {
	a := New(Config{})
	now := time.Unix(1_700_000_000, 0)
	a.Step(now, Recovered{})
	models := make([]string, 1024)
	for i := range models {
		models[i] = fmt.Sprintf("%04d%s", i, strings.Repeat("ü", 126))
	}
	a.Step(now, Beat{wire.Heartbeat{Worker: "w", Incarnation: 1, Seq: 1, IntervalMS: 1000, Healthy: true, Models: models, Slots: 1}})
	for id, ev := range []Arrived{
		{Request: wire.Request{Rank: wire.AnyRank}},
		{Refusal: &wire.Refusal{Reason: wire.InvalidRequest, Detail: "a" + strings.Repeat("ü", 10_000)}},
	} {
		ev.ID, ev.At = uint64(id)+1, now
		var detail string
		for _, act := range a.Step(now, ev) {
			if v, ok := act.(StoreVerdict); ok {
				detail = v.Verdict.Detail
			}
		}
		if len(detail) < 100 || len(detail) > maxDetail+len("…") || !utf8.ValidString(detail) || !strings.Contains(detail, "…") {
			t.Errorf("%d bytes: %q", len(detail), detail)
		}
		if id == 0 && (!strings.Contains(detail, "0007") || !strings.Contains(detail, "1016 more")) {
			t.Errorf("it does not name the first ones: %q", detail)
		}
	}
}
