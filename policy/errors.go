package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one thing wrong with a policy file.
type Error struct {
	// File is the name given to Parse.
	File string
	// Line and Column, both from 1, are where the value (or the place it is
	// missing from) begins.
	Line, Column int
	// Field is the path to the value, such as policy_classes[1].quantum; empty
	// for the file as a whole.
	Field string
	// Problem says what is wrong, Remedy what would be right.
	Problem, Remedy string
}

// Error returns "file:line:column: field: problem; remedy".
func (e Error) Error() string {
	field := e.Field
	if field != "" {
		field += ": "
	}
	return fmt.Sprintf("%s:%d:%d: %s%s; %s", e.File, e.Line, e.Column, field, e.Problem, e.Remedy)
}

// Errors is everything wrong with a policy file, in file order.
type Errors []Error

// Error returns one line for each error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// quote shows a value from the file, short enough for one line.
func quote(s string) string {
	const limit = 64
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
