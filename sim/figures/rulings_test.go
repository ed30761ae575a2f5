//go:build !race

package figures

import (
	"bytes"
	"encoding/csv"
	"os"
	"testing"
)

// relations are the claims that have held on nearly every seed of hundreds: they must, whatever the page says.
var relations = []string{
	"1.cut", "1.order", "2.price", "2.match", "2.moved", "3.cut", "4.graceful", "5.random", "5.ratio",
	"6.moves", "6.saturates", "6.flat", "7.regular", "8.flat", "8.graded",
	"9.literal", "9.exact", "9.starved", "9.runs", "9.broken", "9.kept", "10.kept", "10.flat", "11.input", "11.true-up",
}

// TestRulings: a reduced size must rule as the page in docs says, claim by claim.
func TestRulings(t *testing.T) {
	checkRulings(t, Options{Seeds: 20, Requests: 40_000, loads: []float64{.5, knee, .95}})
}

func checkRulings(t *testing.T, o Options) {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.verdicts(&b); err != nil {
		t.Fatal(err)
	}
	got := rulings(t, b.Bytes())
	for _, id := range relations {
		if got[id] != string(Holds) {
			t.Errorf("%s: %q, want that it holds", id, got[id])
		}
	}
	page, err := os.ReadFile("../../docs/experiments/" + verdictsName)
	if err != nil {
		t.Fatal(err)
	}
	want := rulings(t, page)
	for id, ruling := range got {
		if want[id] != ruling {
			t.Errorf("%s: %q at this size, %q in docs; run make experiments, and see which of the two is right", id, ruling, want[id])
		}
	}
	for id := range want {
		if _, ok := got[id]; !ok {
			t.Errorf("%s: ruled in docs, and not known any more; run make experiments", id)
		}
	}
}

func rulings(t *testing.T, text []byte) map[string]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string]string, len(rows))
	for _, row := range rows[1:] {
		if _, twice := m[row[0]]; twice {
			t.Errorf("%s is ruled twice", row[0])
		}
		m[row[0]] = row[1]
	}
	return m
}
