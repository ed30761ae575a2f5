package policy

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxFile    = 1 << 20 // bytes
	maxNesting = 32      // a policy needs 7 levels; the parser's time grows with the square
)

// document parses the file into its one YAML document.
func (d *decoder) document(data []byte) (ast.Node, bool) {
	if len(data) > maxFile {
		d.reportAt(1, 1, fmt.Sprintf("has %d bytes", len(data)), "give at most 1 MiB")
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors mark UTF-8 so; YAML allows it
	if !utf8.Valid(data) {
		d.badUTF8(data)
		return nil, false
	}
	tokens := lexer.Tokenize(string(data))
	if deep := tooDeep(tokens); deep != nil {
		d.reportAt(deep.Line, deep.Column, "nests too deeply", "give at most 32 levels of lists and mappings")
		return nil, false
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return nil, false
	}
	return d.onlyBody(file)
}

func (d *decoder) onlyBody(file *ast.File) (ast.Node, bool) {
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); doc.Body != nil && !directive {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 || bodies[0].Type() == ast.NullType {
		d.empty(1, 1)
		return nil, false
	}
	if len(bodies) > 1 {
		at := position(bodies[1])
		d.reportAt(at.Line, at.Column, "starts a second YAML document", "give one document; profiles for models go under models")
	}
	return bodies[0], true
}

// empty reports a file that says nothing. It is refused because it is more
// often an accident, such as a failed template, than a wish.
func (d *decoder) empty(line, column int) {
	d.reportAt(line, column, "defines no policy",
		"give "+profileNames+", or models; "+
			"without a policy file there is one class \"default\"")
}

func (d *decoder) badUTF8(data []byte) {
	end := 0
	for end < len(data) {
		r, size := utf8.DecodeRune(data[end:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		end += size
	}
	good := data[:end]
	line := good[bytes.LastIndexByte(good, '\n')+1:]
	d.reportAt(bytes.Count(good, []byte("\n"))+1, utf8.RuneCount(line)+1, "is not UTF-8", "save it as UTF-8 text")
}

func (d *decoder) syntax(err error) {
	line, column, message := 1, 1, err.Error()
	var located yaml.Error
	if errors.As(err, &located) {
		message = located.GetMessage()
		if tk := located.GetToken(); tk != nil && tk.Position != nil {
			line, column = tk.Position.Line, tk.Position.Column
		}
	}
	d.reportAt(line, column, "is not YAML: "+message, "correct the syntax")
}

// tooDeep finds where flow collections, or block lists begun on one line, nest
// too deeply. Deeper block mappings need deeper indents, which maxFile bounds.
func tooDeep(tokens token.Tokens) *token.Position {
	flow, dashes := 0, 0
	for _, tk := range tokens {
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		}
		if dashes++; tk.Type != token.SequenceEntryType {
			dashes = 0
		}
		if max(flow, dashes) > maxNesting {
			return tk.Position
		}
	}
	return nil
}

// position returns where a value begins.
func position(n ast.Node) *token.Position {
	switch v := n.(type) {
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			return position(v.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return position(v.Key)
	}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return tk.Position
	}
	return &token.Position{Line: 1, Column: 1}
}

// kind names what a value is, for messages.
func kind(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a string"
	case *ast.IntegerNode, *ast.FloatNode, *ast.NanNode, *ast.InfinityNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "empty"
	case *ast.TagNode:
		return "a tagged value"
	}
	return "not a plain value"
}
