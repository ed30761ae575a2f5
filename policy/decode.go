package policy

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// A decoder turns one file into a Policy and gathers every error on the way: a
// bad value is reported and stands as its zero until the end.
type decoder struct {
	file    string
	anchors map[string]ast.Node
	errs    Errors
	// What is legal and surely not meant; of no meaning when there are errors.
	warnings []Warning
}

// A node is a value with the path of fields that leads to it. Its value is nil
// when the field is absent.
type node struct {
	value ast.Node
	path  string
	at    *token.Position
}

// An entry is one key of a mapping with its value.
type entry struct {
	key   string
	keyAt *token.Position
	node
}

// An object is a mapping with a schema. Fields that are null count as absent.
type object struct {
	d        *decoder
	self     node
	schema   *schema
	fields   map[string]node
	misspelt []string // fields that an unknown one probably means
}

// reportAt reports what is wrong with the file as a whole.
func (d *decoder) reportAt(line, column int, problem, remedy string) {
	d.report(node{at: &token.Position{Line: line, Column: column}}, problem, remedy)
}

func (d *decoder) report(n node, problem, remedy string) {
	if n.path == "" {
		problem = "the file " + problem
	}
	d.errs = append(d.errs, Error{File: d.file, Line: n.at.Line, Column: n.at.Column, Field: n.path, Problem: problem, Remedy: remedy})
}

// gatherAnchors records every anchor, so that an alias works wherever its
// field is read.
func (d *decoder) gatherAnchors(body ast.Node) {
	d.anchors = map[string]ast.Node{}
	ast.Walk(anchorVisitor(func(a *ast.AnchorNode) {
		name := a.Name.GetToken().Value
		if _, twice := d.anchors[name]; twice {
			at := position(a)
			d.reportAt(at.Line, at.Column, "defines the anchor "+quote(name)+" again", "give each anchor a name of its own")
		}
		d.anchors[name] = a.Value
	}), body)
}

type anchorVisitor func(*ast.AnchorNode)

func (v anchorVisitor) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		v(a)
	}
	return v
}

// node wraps a value, seeing through anchors and aliases.
func (d *decoder) node(value ast.Node, path string) node {
	n := node{path: path, at: position(value)}
	for range maxNesting {
		switch v := value.(type) {
		case *ast.AnchorNode:
			value = v.Value
		case *ast.AliasNode:
			target, ok := d.anchors[v.Value.GetToken().Value]
			if !ok {
				d.report(n, "is an alias of nothing", "define the anchor &"+v.Value.GetToken().Value+" first")
				return n
			}
			value = target
		default:
			n.value = value
			return n
		}
	}
	d.report(n, "is an alias of itself", "give a value")
	return n
}

// entries reads a mapping of any keys, in file order.
func (d *decoder) entries(n node, want string) ([]entry, bool) {
	if n.value == nil {
		return nil, false
	}
	m, ok := n.value.(ast.MapNode)
	if !ok {
		d.report(n, "is "+kind(n.value), want)
		return nil, false
	}
	var all []entry
	first := map[string]*token.Position{}
	for it := m.MapRange(); it.Next(); {
		e, ok := d.entry(n, it)
		if !ok {
			continue
		}
		if at, twice := first[e.key]; twice {
			d.report(node{path: e.path, at: e.keyAt}, fmt.Sprintf("appears twice (first in line %d)", at.Line), "keep one")
			continue
		}
		first[e.key] = e.keyAt
		all = append(all, e)
	}
	return all, true
}

func (d *decoder) entry(parent node, it *ast.MapNodeIter) (entry, bool) {
	key := ast.Node(it.Key())
	if explicit, ok := key.(*ast.MappingKeyNode); ok {
		key = explicit.Value
	}
	e := entry{keyAt: position(key)}
	switch k := key.(type) {
	case *ast.StringNode:
		e.key = k.Value
	case *ast.MergeKeyNode:
		e.key = "<<"
	default:
		text := key.GetToken().Value
		d.report(node{path: parent.path, at: e.keyAt}, "has the key "+quote(text)+", which is not a string", "put the key in quotes")
		return e, false
	}
	e.node = d.node(it.Value(), join(parent.path, e.key))
	return e, true
}

// join extends a path: plain names with a dot, others in brackets.
func join(path, key string) string {
	if !validName(key) {
		return path + "[" + quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// object reads a mapping whose fields are known.
func (d *decoder) object(n node, s *schema) (object, bool) {
	o := object{d: d, self: n, schema: s, fields: map[string]node{}}
	all, ok := d.entries(n, s.want)
	for _, e := range all {
		if s.remedyFor(e.key) == "" {
			d.report(node{path: e.path, at: e.keyAt}, "unknown field", s.replace(e.key))
			o.misspelt = append(o.misspelt, nearest(e.key, s.names()))
			continue
		}
		if e.value != nil && e.value.Type() != ast.NullType {
			o.fields[e.key] = e.node
		}
	}
	return o, ok
}

// list reads a list of at least one value; ok is false when there is none.
func (o object) list(name string) ([]node, bool) {
	n, ok := o.fields[name]
	if !ok {
		return nil, false
	}
	seq, ok := n.value.(*ast.SequenceNode)
	if !ok {
		o.d.report(n, "is "+kind(n.value), o.schema.remedyFor(name))
		return nil, false
	}
	if len(seq.Values) == 0 {
		o.d.report(n, "is empty", o.schema.remedyFor(name))
		return nil, false
	}
	items := make([]node, len(seq.Values))
	for i, v := range seq.Values {
		items[i] = o.d.node(v, fmt.Sprintf("%s[%d]", n.path, i))
	}
	return items, true
}

// require reports each of the fields that is absent, with a reason if not plain.
// A misspelt one is reported already.
func (o object) require(reason string, names ...string) {
	for _, name := range names {
		if !o.has(name) && !slices.Contains(o.misspelt, name) {
			o.d.report(node{path: join(o.self.path, name), at: o.self.at}, "is missing"+reason, o.schema.remedyFor(name))
		}
	}
}

func (o object) has(name string) bool {
	_, ok := o.fields[name]
	return ok
}
