package wire_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// declarations are the package's own, without its tests.
func declarations(t *testing.T, kind token.Token) []ast.Spec {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var specs []ast.Spec
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == kind {
				specs = append(specs, g.Specs...)
			}
		}
	}
	return specs
}

// constants are the exported string constants whose name has a prefix; those of
// a type of their own are named "type NUL name".
func constants(t *testing.T, prefix string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, s := range declarations(t, token.CONST) {
		v, ok := s.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 || !v.Names[0].IsExported() || !strings.HasPrefix(v.Names[0].Name, prefix) {
			continue
		}
		lit, ok := v.Values[0].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			continue
		}
		value, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		name := v.Names[0].Name
		if typ, ok := v.Type.(*ast.Ident); ok {
			name = typ.Name + "\x00" + name
		}
		found[name] = value
	}
	return found
}

// structs are the messages: types with tagged fields, as key to type.
func structs(t *testing.T) map[string]map[string]string {
	t.Helper()
	found := map[string]map[string]string{}
	for _, s := range declarations(t, token.TYPE) {
		spec, ok := s.(*ast.TypeSpec)
		if !ok {
			continue
		}
		st, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range st.Fields.List {
			if f.Tag == nil {
				continue
			}
			if found[spec.Name.Name] == nil {
				found[spec.Name.Name] = map[string]string{}
			}
			key, optional := tag(f.Tag.Value)
			found[spec.Name.Name][key] = typeName(f.Type) + optional
		}
	}
	return found
}

func tag(literal string) (key, optional string) {
	tags := reflect.StructTag(strings.Trim(literal, "`"))
	value, ok := tags.Lookup("msgpack")
	if !ok {
		value = tags.Get("json")
	}
	key, rest, _ := strings.Cut(value, ",")
	if rest == "omitempty" {
		optional = ", optional"
	}
	return key, optional
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X) + "?"
	case *ast.ArrayType:
		return "[]" + typeName(e.Elt)
	case *ast.MapType:
		return "map[" + typeName(e.Key) + "]" + typeName(e.Value)
	}
	return "?"
}
