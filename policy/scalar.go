package policy

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// refuse reports a field's value with the field's own remedy.
func (o object) refuse(name, problem string) {
	o.d.report(o.fields[name], problem, o.schema.remedyFor(name))
}

// text reads a string.
func (o object) text(name string) (string, bool) {
	n, ok := o.fields[name]
	if !ok {
		return "", false
	}
	switch v := n.value.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode, *ast.TagNode:
		o.refuse(name, "is "+kind(v))
	default:
		o.d.report(n, "is "+kind(v)+", not a string", "put it in quotes if you mean it: "+quote(v.GetToken().Value))
	}
	return "", false
}

// name reads a name of ours: a class, family or bucket.
func (o object) name(name string) (string, bool) {
	s, ok := o.text(name)
	if !ok {
		return "", false
	}
	if validName(s) {
		return s, true
	}
	problem := quote(s) + " is not a name"
	if strings.Contains(s, ".") && validName(strings.ReplaceAll(s, ".", "")) {
		problem += ": the reference router allows \".\", but a NATS subject token (req.<class>) cannot hold it"
	}
	o.refuse(name, problem)
	return "", false
}

// validName reports whether s can be one token of a NATS subject and a label.
func validName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

// choice reads one of several words and returns its index, 0 when absent; ok is
// false when the word is wrong.
func (o object) choice(name string, words []string) (index int, ok bool) {
	s, ok := o.text(name)
	if !ok {
		return 0, !o.has(name)
	}
	i := slices.Index(words, s)
	if i < 0 {
		o.refuse(name, "unknown value "+quote(s)+suggest(s, words))
	}
	return max(i, 0), i >= 0
}

// flag reads true or false, false when absent; ok is false when it is neither.
func (o object) flag(name string) (value, ok bool) {
	n, ok := o.fields[name]
	if !ok {
		return false, true
	}
	b, ok := n.value.(*ast.BoolNode)
	if !ok {
		o.refuse(name, "is "+kind(n.value))
		return false, false
	}
	return b.Value, true
}

// whole reads a whole number from lo to hi; nil when absent or wrong.
func (o object) whole(name string, lo, hi int64) *int64 {
	text, ok := o.digits(name)
	if !ok {
		return nil
	}
	unsigned := strings.TrimLeft(text, "+-")
	if len(unsigned) > 1 && unsigned[0] == '0' && strings.Trim(unsigned, "0123456789") == "" {
		o.refuse(name, text+" begins with 0, which may be read as octal")
		return nil
	}
	i, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		o.refuse(name, text+" is not a whole number in plain digits")
	case err != nil || i < lo || i > hi:
		o.refuse(name, shorten(text)+" is out of range")
	default:
		return &i
	}
	return nil
}

// A span is a range of numbers; open leaves out the lower end.
type span struct {
	lo, hi float64
	open   bool
}

func (s span) holds(f float64) bool {
	return f >= s.lo && f <= s.hi && (!s.open || f > s.lo)
}

// number reads a finite number in a span; nil when absent or wrong.
func (o object) number(name string, in span) *float64 {
	text, ok := o.digits(name)
	if !ok {
		return nil
	}
	if strings.Trim(text, "+-.0123456789eE") != "" {
		o.refuse(name, text+" is not a number in plain digits")
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		o.refuse(name, shorten(text)+" is not a number")
	case err != nil || !in.holds(f):
		o.refuse(name, shorten(text)+" is out of range")
	default:
		return &f
	}
	return nil
}

// digits returns the text of an unquoted number. Numbers are read from their
// text because the YAML library makes strings of those it finds too large.
func (o object) digits(name string) (string, bool) {
	n, ok := o.fields[name]
	if !ok {
		return "", false
	}
	text := n.value.GetToken().Value
	switch v := n.value.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return text, true
	case *ast.NanNode, *ast.InfinityNode:
		o.refuse(name, text+" is not a finite number")
		return "", false
	case *ast.StringNode:
		if v.Token.Type == token.StringType && looksNumeric(text) {
			return text, true
		}
		o.refuse(name, quote(text)+" is a string, not a number")
		return "", false
	}
	o.refuse(name, "is "+kind(n.value)+", not a number")
	return "", false
}

// looksNumeric accepts what YAML 1.2 takes for a number, and no word.
func looksNumeric(s string) bool {
	return strings.Trim(s, "+-.0123456789eE") == "" && strings.ContainsAny(s, "0123456789")
}

// shorten keeps a number of a thousand digits out of the message.
func shorten(text string) string {
	if len(text) > 32 {
		return text[:32] + "…"
	}
	return text
}

// maxGrace bounds a grace: longer is a mistake of units.
const maxGrace = 720 * time.Hour

// duration reads a duration with its unit, or a bare 0; otherwise as without the field.
func (o object) duration(name string, absent time.Duration) time.Duration {
	n, ok := o.fields[name]
	if !ok {
		return absent
	}
	text := n.value.GetToken().Value
	switch n.value.(type) {
	case *ast.StringNode:
	case *ast.IntegerNode, *ast.FloatNode:
		if text != "0" {
			o.refuse(name, shorten(text)+" has no unit")
			return absent
		}
	default:
		o.refuse(name, "is "+kind(n.value))
		return absent
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		o.refuse(name, quote(text)+" is not a duration")
		return absent
	}
	if v < 0 || v > maxGrace {
		o.refuse(name, text+" is out of range")
		return absent
	}
	return v
}
