// Package system holds tests of the whole: the real programs as processes of
// their own, killed and restarted, with real clients, ours and the nats command.
//
// It promises what no package can promise alone: that every acknowledged
// request ends in exactly one outcome, whoever dies; that subjects.md can be
// followed to the letter; that the mistakes of a stranger are answered with a
// sentence that helps. Tests wait for signals (probes, log lines, results), so
// that they are as fast as the machine, and fail with the programs' own logs.
//
// Tests that take long have the build tag slow.
package system
