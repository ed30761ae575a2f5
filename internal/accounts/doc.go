// Package accounts writes the part of a nats-server configuration that keeps the
// roles of a Fairlead apart: who may say what, and to whom.
//
// # Three accounts
//
// Permissions on subjects are not enough, because they do not cover where an answer
// goes: whoever may ask anything at all can name any subject for the answer, and
// the server, or a broker, then speaks there in his place. With one account a
// frontend could so write into the streams themselves. Therefore brokers, frontends
// and agents have an account each. An answer stays within the account of the one
// who asked, and what crosses is listed:
//
//	frontends → brokers   req.*, req.*.*, ctl.*            services
//	agents    → brokers   done.*, reg.*, res.*, their API  services
//	agents    → brokers   load.*, ev.*                     streams
//	brokers   → agents    agent.*.*                        streams
//	agents    → frontends results on inboxes               streams
//	brokers   → frontends results on inboxes, res.*        streams
//
// What agents publish on done.*, reg.* and res.* is imported with wildcards, and so
// is whatever writes into a stream: a server does not follow an answer through such
// an import, so that an agent cannot have an answer delivered as somebody's done.*
// either. The tests hold that, since it is the server's doing. Beside that, claims
// carry the broker's fence and are refused by every stream but WORK.
//
// A server hands on to other accounts no message that came by a service. That is why
// frontends hear res.* from the agents' account as well as from the brokers'.
//
// Within its account every identity has its own inbox prefix, and an agent may speak
// for its own worker alone.
//
// # Keys
//
// Identities prove themselves with nkeys. The configuration holds public keys only;
// each seed is a file of its own, for the one who uses it.
//
// What remains possible stands in docs/security.md; every row there, and every
// attack that is refused, is a test of this package.
package accounts
