//go:build slow && !race

package figures

import "testing"

// TestWholeSize rules as docs do with runs of the primer's length.
func TestWholeSize(t *testing.T) { checkRulings(t, Options{Seeds: 30}) }
