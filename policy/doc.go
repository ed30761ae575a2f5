// Package policy holds the rules a broker queues by, and reads them from YAML.
//
// # From request to class
//
// A request brings at most a name and its exact count of uncached prompt
// tokens. A profile turns these into one physical class:
//
//	name an explicit class        → that class, whatever the tokens
//	name a family                 → the class of (family, bucket)
//	no name                       → the class of (default family, bucket)
//	any other name                → the same, marked unknown
//
// The bucket is the one with the highest floor at or below the count. Classes
// with a family and a bucket form a matrix without holes, so every request has
// exactly one class. The name of a class in the matrix is not a way to reach
// it: a client must not choose its own bucket.
//
// A model may have a profile of its own, which replaces the root wholesale.
// Without a file, or where the root names no classes, there is one synthetic
// class "default", first come first served.
//
// # The file
//
// Files written for the reference router load unchanged; our additions are
// optional fields. Three things differ on purpose. Names may not contain ".",
// because a class is one token of the subject req.<class>. The field
// worker_selection is refused, because placement does that work here. Numbers
// are plain decimal: 0512, 0x200 and "512" are errors rather than guesses.
//
// A field that is null counts as absent. Anchors and aliases work; merge keys,
// tags, duplicate keys and further documents are refused. So is a file that
// says nothing, which is more often a failed template than a wish.
//
// # Promises
//
// Parse returns either a policy or every error at once, each with line, column,
// the path of the field, what is wrong and what would be right. One mistake is
// one error: what cannot be judged because of an earlier error is left out, and
// shows after that is mended.
//
// A policy from Parse or Default resolves every name and count to a class, has
// finite numbers in the documented ranges only, and no class that no request
// can reach. It is not promised that it is wise: a threshold may be too high to
// matter, a quantum larger than any request. What can be told from the file alone
// is in Warnings.
//
// The package is pure: it reads no file and no clock, and Resolve allocates
// nothing. A Policy is not copied on use; nobody may change it once shared.
package policy
