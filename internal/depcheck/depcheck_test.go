package depcheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// list returns every package of the module, by its path relative to it.
func list(t *testing.T) map[string]Package {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,Deps", Module+"/...").Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("go list: %v\n%s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	packages := map[string]Package{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[p.Name()] = p
	}
}

// parse reads the files of a package, without its tests.
func parse(t *testing.T, p Package) (*token.FileSet, []*ast.File) {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return set, files
}

// exists reports whether the module has a folder with Go files of that name.
func exists(t *testing.T, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(name), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files) > 0
}

func TestDependenciesPointDown(t *testing.T) {
	packages := list(t)
	for name := range Rules() {
		if _, listed := packages[name]; !listed && exists(t, name) {
			t.Errorf("package %s is ruled, and in the tree, but go list does not know it", name)
		}
	}
	for _, p := range packages {
		for _, complaint := range BadImports(p) {
			t.Error(complaint)
		}
	}
}

func TestPurePackagesStayPure(t *testing.T) {
	packages := list(t)
	for name, rule := range Rules() {
		p, listed := packages[name]
		if !rule.Pure || !listed {
			continue
		}
		set, files := parse(t, p)
		for _, file := range files {
			for _, complaint := range Impure(file, func(n ast.Node) string { return set.Position(n.Pos()).String() }) {
				t.Error(complaint)
			}
		}
	}
}

func TestContractsAreDocumented(t *testing.T) {
	packages := list(t)
	for _, name := range documented() {
		p, listed := packages[name]
		if !listed {
			continue
		}
		_, files := parse(t, p)
		if !slices.ContainsFunc(files, func(f *ast.File) bool { return f.Doc.Text() != "" }) {
			t.Errorf("package %s has no doc comment", name)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, p := range list(t) {
		for _, name := range p.GoFiles {
			content, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if lines := bytes.Count(content, []byte("\n")); lines > MaxLines {
				t.Errorf("%s/%s has %d lines; cut it in two before it passes %d", p.Name(), name, lines, MaxLines)
			}
		}
	}
}

func TestBadImportsSeesEveryKind(t *testing.T) {
	for _, c := range []struct {
		p    Package
		want string // part of the only complaint; "" = none
	}{
		{Package{ImportPath: "fairlead/drr", Imports: []string{"slices", "time"}}, ""},
		{Package{ImportPath: "fairlead/drr", Imports: []string{"sync/atomic"}}, "drr imports sync/atomic: it is pure"},
		{Package{ImportPath: "fairlead/drr", Imports: []string{"fairlead/wire"}}, "of this module it may import []"},
		{Package{ImportPath: "fairlead/drr", Imports: []string{"github.com/a/b"}}, "of other modules it may import []"},
		{Package{ImportPath: "fairlead/policy", Imports: []string{"github.com/goccy/go-yaml/ast"}}, ""},
		{Package{ImportPath: "fairlead/broker/arbiter", Imports: []string{"fairlead/drr", "fairlead/wire"}}, ""},
		{Package{ImportPath: "fairlead/broker/arbiter", Imports: []string{"net/http"}}, "it is pure"},
		{Package{ImportPath: "fairlead/wire", Deps: []string{"github.com/nats-io/nats.go"}}, "must not reach NATS"},
		{Package{ImportPath: "fairlead/agent", Imports: []string{"fairlead/broker/arbiter"}}, "only through wire"},
		{Package{ImportPath: "fairlead/agent", Imports: []string{"github.com/nats-io/nats.go", "fairlead/wire"}}, ""},
		{Package{ImportPath: "fairlead/internal/demo", Imports: []string{"fairlead/cmd/broker"}}, "nothing imports a command"},
	} {
		complaints := BadImports(c.p)
		if c.want == "" && len(complaints) > 0 {
			t.Errorf("%+v: unexpected %q", c.p, complaints)
		}
		if c.want != "" && (len(complaints) != 1 || !strings.Contains(complaints[0], c.want)) {
			t.Errorf("%+v: got %q, want one with %q", c.p, complaints, c.want)
		}
	}
}

func TestImpureSeesEveryKind(t *testing.T) {
	const source = `package p
import (
	"time"
	clock "time"
	. "sort"
	"math/rand/v2"
	"fmt"
)
func f() {
	go f()
	time.Now()
	g := clock.Sleep
	rand.N(3)
	fmt.Println(1)
	println(2)
	_ = time.Duration(1).Seconds()
	_ = rand.New(rand.NewPCG(1, 2)).IntN(3)
	_ = fmt.Sprintf("%v", g)
}
`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := Impure(file, func(n ast.Node) string { return set.Position(n.Pos()).String() })
	want := []string{
		"p.go:5:2: dot import in a pure package",
		"p.go:10:2: go statement in a pure package",
		"p.go:11:2: time.Now in a pure package",
		"p.go:12:7: clock.Sleep in a pure package",
		"p.go:13:2: rand.N in a pure package",
		"p.go:14:2: fmt.Println in a pure package",
		"p.go:15:2: println in a pure package",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
