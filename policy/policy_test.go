package policy

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// files returns the policy files of a pattern by name, at least one.
func files(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	all := map[string][]byte{}
	for _, path := range paths {
		if all[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// golden compares text with the file beside a policy file.
func golden(t *testing.T, policyFile, got string) {
	t.Helper()
	path := strings.TrimSuffix(policyFile, ".yaml") + ".txt"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), rewrite with -update:\n%s", path, diff)
	}
}

func TestGood(t *testing.T) {
	for path, data := range files(t, "testdata/good/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			p, err := Parse(path, data)
			if err != nil {
				t.Fatal(err)
			}
			var table bytes.Buffer
			if err := p.WriteTable(&table); err != nil {
				t.Fatal(err)
			}
			golden(t, path, table.String())
		})
	}
}

// TestBad holds one file for each refusal, and what the user reads.
func TestBad(t *testing.T) {
	for path, data := range files(t, "testdata/bad/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			p, err := Parse(filepath.Base(path), data)
			var all Errors
			if !errors.As(err, &all) || p != nil {
				t.Fatalf("Parse = %v, %v; want no policy and Errors", p, err)
			}
			if !slices.IsSortedFunc(all, func(a, b Error) int { return a.Line - b.Line }) {
				t.Error("the errors are not in line order")
			}
			for _, e := range all {
				if e.Line < 1 || e.Column < 1 || e.Problem == "" || e.Remedy == "" {
					t.Errorf("incomplete: %+v", e)
				}
			}
			golden(t, path, err.Error()+"\n")
		})
	}
}

// withoutWarnings leaves out of a comparison what has positions in a file.
var withoutWarnings = cmpopts.IgnoreUnexported(Policy{})

// TestWarnings holds one file for each kind of warning, and what the user reads.
func TestWarnings(t *testing.T) {
	for path, data := range files(t, "testdata/warn/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			p, err := Parse(filepath.Base(path), data)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, w := range p.Warnings() {
				text += w.String() + "\n"
			}
			if text == "" {
				t.Error("no warning")
			}
			golden(t, path, text)
		})
	}
}

// TestNothingToWarnOf: neither the samples of the reference nor the examples are
// surely wrong, nor is a policy without a file.
func TestNothingToWarnOf(t *testing.T) {
	all := files(t, "../examples/*.yaml")
	for _, name := range []string{"cached-uncached", "first-attempt-retry", "premium-regular", "settings-only"} {
		path := "testdata/good/" + name + ".yaml"
		all[path] = files(t, path)[path]
	}
	for path, data := range all {
		for _, w := range mustParse(t, data).Warnings() {
			t.Errorf("%s: %v", path, w)
		}
	}
	if w := Default().Warnings(); w != nil {
		t.Errorf("the default policy: %v", w)
	}
}

func TestTooLarge(t *testing.T) {
	_, err := Parse("big.yaml", bytes.Repeat([]byte("#"), maxFile+1))
	want := "big.yaml:1:1: the file has 1048577 bytes; give at most 1 MiB"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestEncodings: a byte order mark and CRLF line ends change nothing, nor the lines of errors.
func TestEncodings(t *testing.T) {
	path := "testdata/good/cached-uncached.yaml"
	plain := files(t, path)[path]
	windows := append([]byte("\ufeff"), bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n"))...)
	if diff := cmp.Diff(mustParse(t, plain), mustParse(t, windows), withoutWarnings); diff != "" {
		t.Errorf("(-plain +windows):\n%s", diff)
	}
	_, err := Parse("w.yaml", bytes.Replace(windows, []byte("2048"), []byte("0"), 1))
	var all Errors
	if !errors.As(err, &all) || len(all) != 1 || all[0].Line != 13 || all[0].Column != 14 {
		t.Errorf("got %v, want one error in 13:14", err)
	}
}

func TestExamplesLoad(t *testing.T) {
	for path, data := range files(t, "../examples/*.yaml") {
		if _, err := Parse(path, data); err != nil {
			t.Error(err)
		}
	}
}

// TestExamplesMeanTheSamples keeps the commented examples at the samples' ratios.
func TestExamplesMeanTheSamples(t *testing.T) {
	for _, name := range []string{"premium-regular.yaml", "cached-uncached.yaml"} {
		all := files(t, "testdata/good/"+name)
		sample := mustParse(t, all["testdata/good/"+name])
		example := mustParse(t, files(t, "../examples/"+name)["../examples/"+name])
		if diff := cmp.Diff(sample, example, withoutWarnings); diff != "" {
			t.Errorf("%s (-sample +example):\n%s", name, diff)
		}
	}
}

func TestEveryField(t *testing.T) {
	p := mustParse(t, files(t, "testdata/good/everything.yaml")["testdata/good/everything.yaml"])
	want := Class{
		Name: "cached", Family: "standard", Bucket: "cached", Order: WSPT, Quantum: 2048,
		PrefillBusyThreshold: new(int64(0)), PrefillBusyFrac: new(16.0), BusyWorkerRatio: new(0.95),
		Limits: Limits{
			Requests: new(int64(1024)), RawTokens: new(int64(1048576)),
			CachedTokens: new(int64(2097152)), UncachedTokens: new(int64(524288)),
		},
		Aging: 20, NominalTokensPerSecond: 8000,
		Tenants: true, TenantWeights: map[string]float64{"acme": 4, "7": 0.5, "default": 2},
		OutputWeight: 1.5, EstimateOutput: true, NoWorkerGrace: 0, PinGrace: 90 * time.Second, Displace: true,
	}
	if diff := cmp.Diff(want, p.Root.Classes[0]); diff != "" {
		t.Errorf("full class (-want +got):\n%s", diff)
	}
	want = Class{Name: "urgent", Quantum: 4096, NoWorkerGrace: time.Minute, PinGrace: 30 * time.Second}
	if diff := cmp.Diff(want, p.Root.Classes[2]); diff != "" {
		t.Errorf("bare class (-want +got):\n%s", diff)
	}
	if got := p.Root; got.Placement != P2C || got.UnknownClass != UnknownReject || got.MaxAttempts != 5 {
		t.Errorf("root settings: %+v", got)
	}
	if got := p.Profile("example/large-model"); got.Placement != Random || got.UnknownClass != UnknownDefault || got.MaxAttempts != 3 {
		t.Errorf("a model's profile inherited from the root: %+v", got)
	}
}

func TestTenantWeight(t *testing.T) {
	c := Class{TenantWeights: map[string]float64{"acme": 4}}
	if c.TenantWeight("acme") != 4 || c.TenantWeight("other") != 1 {
		t.Error("without a default weight, an unlisted tenant must weigh 1")
	}
	c.TenantWeights["default"] = 2
	if c.TenantWeight("other") != 2 {
		t.Error("an unlisted tenant must take the default weight")
	}
}

func TestWriteTableReportsWriter(t *testing.T) {
	broken := errors.New("disk full")
	p := mustParse(t, files(t, "testdata/good/everything.yaml")["testdata/good/everything.yaml"])
	for room := range 8 {
		w := &shortWriter{room: room, err: broken}
		if err := p.WriteTable(w); !errors.Is(err, broken) {
			t.Errorf("after %d writes: %v", room, err)
		}
	}
}

// A shortWriter fails after some writes.
type shortWriter struct {
	room int
	err  error
}

func (w *shortWriter) Write(p []byte) (int, error) {
	if w.room--; w.room < 0 {
		return 0, w.err
	}
	return len(p), nil
}

func mustParse(t testing.TB, data []byte) *Policy {
	t.Helper()
	p, err := Parse("test.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
