package figures

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gonum.org/v1/plot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// around is a sample whose middle 90 % lie so far from the median.
func around(median, below, above float64) Sample {
	var s Sample
	for range 20 {
		s = append(s, median-below, median, median+above)
	}
	return s
}

func TestRules(t *testing.T) {
	usual := Options{Requests: DefaultRequests}
	part := func(n int) []bool {
		seeds := make([]bool, 100)
		for i := range n {
			seeds[i] = true
		}
		return seeds
	}
	for _, row := range []struct {
		name string
		got  Verdict
		want Ruling
	}{
		{"near the closed form", byTheory("", "", 105.2, around(70, 1, 1), 113.9), Holds},
		{"off the closed form", byTheory("", "", 100, around(100, 1, 1), 113.9), Fails},
		{"seeds agree", bySeeds("", "", 105, around(100, 10, 10), usual), Holds},
		{"seeds agree, on something else", bySeeds("", "", 120, around(100, 10, 10), usual), Fails},
		{"seeds disagree", bySeeds("", "", 100, around(100, 20, 40), usual), Luck},
		{"short runs spread more", bySeeds("", "", 100, around(100, 20, 40), Options{Requests: 30_000}), Holds},
		{"off whatever the seeds", bySeeds("", "", 400, around(100, 20, 40), usual), Fails},
		{"nearly all", relation("", "", "", part(95)), Holds},
		{"most", relation("", "", "", part(94)), Luck},
		{"few", relation("", "", "", part(6)), Luck},
		{"hardly any", relation("", "", "", part(5)), Fails},
		{"denied", contradiction(true, "", relation("", "", "", part(100))), Contradicts},
		{"not denied", contradiction(false, "", relation("", "", "", part(100))), Holds},
		{"not stated", unstated("", "", 1, around(1, 0, 0)), Unstated},
	} {
		if row.got.Ruling != row.want {
			t.Errorf("%s: %s, want %s", row.name, row.got.Ruling, row.want)
		}
	}
}

func TestSpread(t *testing.T) {
	s := make(Sample, 101)
	for i := range s {
		s[i] = float64(100 - i)
	}
	if got := s.Spread(); got != (Spread{50, 5, 95}) {
		t.Errorf("%+v", got)
	}
	if s[0] != 100 {
		t.Error("the order of the seeds was lost")
	}
	for want, spread := range map[string]Spread{"50.0 (5.00 – 0.950)": {50, 5, .95}, "12,345": {12345, 12345, 12345}} {
		if got := spread.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(ticker plot.Ticker, low, high float64) string {
		var all []string
		for _, tick := range ticker.Ticks(low, high) {
			if tick.Label != "" {
				all = append(all, tick.Label)
			}
		}
		return strings.Join(all, " ")
	}
	for _, row := range []struct{ got, want string }{
		{labels(steps{}, 0, 1), "0.0 0.2 0.4 0.6 0.8 1.0"},
		{labels(steps{}, 1.21, 1.68), "1.3 1.4 1.5 1.6"},
		{labels(steps{}, -.1, 2300), "0 500 1,000 1,500 2,000"},
		{labels(decades{}, 4, 300), "5 10 20 50 100 200"},
		{labels(decades{}, .5, 20_000), "1 10 100 1,000 10,000"},
	} {
		if row.got != row.want {
			t.Errorf("%q, want %q", row.got, row.want)
		}
	}
}

func TestCSV(t *testing.T) {
	nan := math.NaN()
	f := Figure{Panels: []Panel{
		{Title: "left", Series: []Series{{Name: "a", Points: []Point{{.5, Spread{2, 1, 3}, 2.5, nan}}}}},
		{Categories: []string{"x", "y"}, Series: []Series{{Name: "b", Points: []Point{{1, Spread{1e7, 0, 1e-7}, nan, 4}}}}},
	}}
	var b bytes.Buffer
	if err := f.CSV(&b); err != nil {
		t.Fatal(err)
	}
	want := `panel,series,x,median,low,high,closed_form,published
left,a,0.5,2,1,3,2.5,
2,b,y,1e+07,0,1e-07,,4
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

// TestSameBytes: how many goroutines share the seeds shows in no file.
func TestSameBytes(t *testing.T) {
	files := func(procs int) map[string]string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		dir := t.TempDir()
		r, err := Run(t.Context(), Options{Seeds: 20, Requests: 6000, Only: []string{"4", "11"}})
		if err == nil {
			err = r.WriteFiles(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		names, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.Base(name)] = string(text)
		}
		return found
	}
	one, two := files(1), files(2)
	if len(one) != 6 {
		t.Errorf("%d files, want an SVG, a PNG and a CSV of each figure", len(one))
	}
	if !reflect.DeepEqual(one, two) {
		t.Error("the files depend on the number of processors")
	}
}

func TestStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Options{Seeds: 20, Requests: 6000}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

func TestReadTraces(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadTraces(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want that the files are not there", err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
	write(fileCode, azure)
	write(fileConv, azure)
	write(fileMooncake, "nonsense\n")
	if _, err := ReadTraces(dir); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), fileMooncake) {
		t.Errorf("%v, want one that names the file", err)
	}
	write(fileMooncake, `{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]}`+"\n")
	traces, err := ReadTraces(dir)
	if err != nil || len(traces.Azure) != 2 || len(traces.Mooncake) != 1 {
		t.Errorf("%+v, %v", traces, err)
	}
}

// TestPage: the committed page shows figures that are there and not too large, and links to headings that it has.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/" + pageName)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	images := 0
	for rest := text; ; images++ {
		var ok bool
		if _, rest, ok = strings.Cut(rest, "]("+pageFolder+"/"); !ok {
			break
		}
		name, _, _ := strings.Cut(rest, ")")
		info, err := os.Stat("../../docs/experiments/" + name)
		if err != nil {
			t.Error(err)
		} else if info.Size() > 150_000 {
			t.Errorf("%s has %d bytes, want at most 150,000", name, info.Size())
		}
	}
	if images != 11 {
		t.Errorf("%d figures, want 11", images)
	}
	anchors := map[string]bool{}
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			anchors[anchor(strings.TrimSpace(title))] = true
		}
	}
	for rest := text; ; {
		var ok bool
		if _, rest, ok = strings.Cut(rest, "](#"); !ok {
			break
		}
		if name, _, _ := strings.Cut(rest, ")"); !anchors[name] {
			t.Errorf("the page links to #%s, which is no heading", name)
		}
	}
}
