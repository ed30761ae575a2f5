package buildinfo

import (
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestResolvePrefersTheLinker(t *testing.T) {
	stamped := &debug.BuildInfo{
		GoVersion: "go1.26.7",
		Main:      debug.Module{Version: "v0.9.0"},
		Settings:  []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}},
	}
	devel := &debug.BuildInfo{GoVersion: "go1.26.7", Main: debug.Module{Version: "(devel)"}}
	for _, c := range []struct {
		version, commit string
		build           *debug.BuildInfo
		want            string
	}{
		{"v1.2.3", "0123abc", stamped, "v1.2.3 (commit 0123abc, go1.26.7)"},
		{"", "", stamped, "v0.9.0 (commit abc-dirty, go1.26.7)"},
		{"", "", devel, "devel (commit unknown, go1.26.7)"},
		{"", "", &debug.BuildInfo{}, "devel (commit unknown, unknown)"},
	} {
		if got := resolve(c.version, c.commit, c.build).String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// The names in -ldflags are strings: only a real build shows that they still fit.
func TestLinkerSetsVersionAndCommit(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "print")
	const flags = "-X fairlead/internal/buildinfo.version=v9.9.9 -X fairlead/internal/buildinfo.commit=feed"
	if out, err := exec.Command("go", "build", "-ldflags", flags, "-o", binary, "./testdata/print").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	out, err := exec.Command(binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "v9.9.9 (commit feed, "; !strings.HasPrefix(string(out), want) {
		t.Errorf("the binary says %q, want %q…", out, want)
	}
}
