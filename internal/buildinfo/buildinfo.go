// Package buildinfo says which build of the product is running.
package buildinfo

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Set by the linker, and by nothing else:
//
//	go build -ldflags "-X fairlead/internal/buildinfo.version=v1.2.3 -X fairlead/internal/buildinfo.commit=0123abc"
var version, commit string

// unknown stands for what neither the linker nor the toolchain recorded.
const unknown = "unknown"

// Info names a build.
type Info struct {
	Version string `json:"version"` // a tag, or "devel"
	Commit  string `json:"commit"`  // git hash, "-dirty" appended when the tree was changed
	Go      string `json:"go"`      // toolchain, such as "go1.26.7"
}

// Get returns what the linker was told, filled up from what the toolchain recorded;
// what nobody knows is "unknown".
func Get() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return resolve(version, commit, build)
}

// String is one line for people: "v1.2.3 (commit 0123abc, go1.26.7)".
func (i Info) String() string {
	return fmt.Sprintf("%s (commit %s, %s)", i.Version, i.Commit, i.Go)
}

func resolve(version, commit string, build *debug.BuildInfo) Info {
	module := build.Main.Version
	if module == "(devel)" {
		module = ""
	}
	return Info{
		Version: cmp.Or(version, module, "devel"),
		Commit:  cmp.Or(commit, recordedCommit(build), unknown),
		Go:      cmp.Or(build.GoVersion, unknown),
	}
}

// recordedCommit is the revision that go build stamped, "" when it did not.
func recordedCommit(build *debug.BuildInfo) string {
	var revision, suffix string
	for _, setting := range build.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			suffix = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + suffix
}
