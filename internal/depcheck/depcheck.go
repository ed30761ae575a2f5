package depcheck

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// Package is what a check needs to know of one package; the names are go list's.
type Package struct {
	ImportPath string
	Dir        string
	GoFiles    []string // without tests
	Imports    []string // direct, without those of tests
	Deps       []string // all, direct and not
}

// Name is the path relative to the module.
func (p Package) Name() string { return strings.TrimPrefix(p.ImportPath, Module+"/") }

// BadImports lists the imports of p that the rules forbid, with the reason.
func BadImports(p Package) []string {
	rule, ruled := Rules()[p.Name()]
	var bad []string
	complain := func(path, why string) {
		bad = append(bad, fmt.Sprintf("%s imports %s: %s", p.Name(), path, why))
	}
	for _, path := range p.Imports {
		switch own, isOwn := strings.CutPrefix(path, Module+"/"); {
		case isOwn && under(own, "cmd"):
			complain(path, "nothing imports a command")
		case isOwn && layered(p.Name(), own):
			complain(path, "the layers know each other only through wire")
		case ruled && isOwn && !slices.Contains(rule.Own, own):
			complain(path, fmt.Sprintf("of this module it may import %q", rule.Own))
		case ruled && !isOwn && !standard(path) && !underAny(path, rule.Libs):
			complain(path, fmt.Sprintf("of other modules it may import %q", rule.Libs))
		case rule.Pure && underAny(path, impureImports):
			complain(path, "it is pure: no I/O, no locks, no logs")
		}
	}
	for _, path := range p.Deps {
		if rule.NoNet && underAny(path, netLibs) {
			complain(path, "directly or not, it must not reach NATS or a logger")
		}
	}
	return bad
}

// layered reports whether a package is kept from importing another of the module.
func layered(from, to string) bool {
	for layer, apart := range Layers() {
		if under(from, layer) && underAny(to, apart) {
			return true
		}
	}
	return false
}

// Impure lists the statements of a file that a pure package may not hold; where
// turns a node into a position to print.
func Impure(file *ast.File, where func(ast.Node) string) []string {
	banned := bannedNames(file)
	var bad []string
	complain := func(n ast.Node, what string) { bad = append(bad, where(n)+": "+what+" in a pure package") }
	for _, spec := range file.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			complain(spec, "dot import")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			complain(n, "go statement")
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && slices.Contains(banned[pkg.Name], n.Sel.Name) {
				complain(n, pkg.Name+"."+n.Sel.Name)
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "print" || fn.Name == "println") {
				complain(n, fn.Name)
			}
		}
		return true
	})
	return bad
}

// bannedNames are the impure functions by the name under which a file knows their
// package.
func bannedNames(file *ast.File) map[string][]string {
	names := map[string][]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		local := strings.TrimSuffix(path, "/v2")
		local = local[strings.LastIndex(local, "/")+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if banned := impureNames[path]; banned != nil {
			names[local] = banned
		}
	}
	return names
}

// standard reports whether a path is of the standard library: its first element
// holds no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// under reports whether path is root or lies below it.
func under(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

func underAny(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return under(path, root) })
}
