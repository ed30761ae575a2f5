// Package depcheck holds the module's architecture: which package may import which,
// which packages are pure, and how long a file may be. Its test fails when the tree
// disagrees with the rules in rules.go, which are meant to be read and, with a
// reason, changed.
package depcheck
