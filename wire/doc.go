// Package wire is the contract between frontends, brokers and agents: every
// subject, stream name, header and message, one file per kind. subjects.md at
// the top of the module is the same contract for people who write clients in
// other languages; a test holds the two together.
//
// # Versions
//
// Binary messages (claim, heartbeat, event, done, verdict, registration,
// command) are msgpack maps with short string keys. Each carries "v", the
// [Version] of its writer. A reader ignores fields that it does not know, so
// fields may be added freely; a change that an old reader would misread raises
// Version, and a reader refuses what is newer than itself ([ErrVersion]).
// Messages on ctl.* are JSON, so that a person can send them.
//
// The package does no I/O and knows nothing of NATS beyond the shape of a
// subject and of a header.
package wire
