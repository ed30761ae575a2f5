package store_test

import (
	"testing"
	"time"

	"fairlead/internal/store"
)

// TestCommittedRange: the end of a stream is believed of a leader that has shown, within
// one lead, that it has taken in all that was acknowledged.
func TestCommittedRange(t *testing.T) {
	nc := connected(t)
	since := time.Unix(1, 0).UTC()
	refused := fresh{Code: int(store.CodeSequenceNotFound)}
	for name, tc := range map[string]struct {
		answers []fresh
		last    uint64 // 0: not believed
	}{
		"taken in meanwhile": {[]fresh{{Last: 6, Leader: "a", Since: since}, refused, {Last: 9, Leader: "a", Since: since}}, 9},
		"in other words":     {[]fresh{{Last: 9, Leader: "a"}, {Code: int(store.CodeMsgDeleteFailed)}, {Last: 9, Leader: "a"}}, 9},
		"another leads":      {[]fresh{{Last: 6, Leader: "a", Since: since}, refused, {Last: 9, Leader: "b", Since: since}}, 0},
		"the same anew":      {[]fresh{{Last: 6, Leader: "a", Since: since}, refused, {Last: 9, Leader: "a", Since: since.Add(time.Second)}}, 0},
		"nobody leads":       {[]fresh{{Last: 6}}, 0},
		"not available":      {[]fresh{{Last: 6, Leader: "a"}, {Code: 10008}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			st, asked := elected(t, nc, tc.answers)
			r, err := st.CommittedRange(t.Context(), "REQ")
			if r.Last != tc.last && err == nil || (err != nil) != (tc.last == 0) || asked() != len(tc.answers) {
				t.Errorf("last %d, %v after %d questions; want %d after %d", r.Last, err, asked(), tc.last, len(tc.answers))
			}
		})
	}
}
