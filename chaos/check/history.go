// Package check judges a chaos run: from what was recorded it says whether the
// promises held. It is pure, and knows nothing of how the record came about.
package check

import (
	"slices"
	"time"

	"fairlead/wire"
)

// History is everything that was recorded.
type History struct {
	Receipts []Receipt
	Tape     Tape
	Results  []Message // all of RES, in its order
	Dead     []uint64  // ids in DEAD
	Left     Left
}

// Receipt is a request that the store acknowledged.
type Receipt struct {
	ID        uint64
	Stored    bool // the result lies in RES
	Always    bool // it may be shown more than one attempt
	Poison    bool // it was made to kill its workers
	TTL       bool // it has a deadline
	Cancelled bool // its client may have cancelled it
	Tokens    int64
	// Outcome is nil when the client never learnt one.
	Outcome *Outcome
}

// Outcome is what the client was told in the end.
type Outcome struct {
	At      time.Duration // since the start of the run
	Reason  wire.Reason   // "" is a result
	Detail  string
	Attempt uint32 // 0: the broker or the client itself ended it
	Output  int64  // tokens, as the usage says
	Stream  bool
	Shown   []Piece // of the answer, without what a restart told to forget
}

// Piece is a part of an answer as it was shown: a chunk, or a whole body.
type Piece struct {
	Index   int
	Attempt uint32
	Engine  string // the engine's own name of the answer, which is one per execution
	Token   bool   // it carries a token
}

// Tape is what the streams stored, as their leaders told at the time. Whatever
// nobody heard shows as a gap in the sequences.
type Tape struct {
	Guards   []Guard
	Claims   []Claim
	Verdicts []Verdict
	Dones    []Done
	Work     Seqs // every sequence of WORK that was heard
	Done     Seqs // the same of DONE
}

// Guard is a stored message of epoch.<k>.
type Guard struct{ Seq, Epoch uint64 }

// Times on a tape are when the first listener heard, since the start of the run.

// Claim is a stored claim.
type Claim struct {
	Seq    uint64
	At     time.Duration
	Worker string
	wire.Claim
}

// Verdict is a stored verdict.
type Verdict struct {
	Seq uint64
	At  time.Duration
	wire.Verdict
}

// Done is a stored report.
type Done struct {
	Seq uint64
	At  time.Duration
	wire.Done
}

// Message is a stored message of a result.
type Message struct {
	Seq uint64
	wire.ResultMessage
	Engine string // as in Piece
}

// Left is what the system was like when all was over.
type Left struct {
	Streams  map[string]uint64 // messages left, by what they are: must be 0
	Bookings map[string]int64  // the same of the leader's bookings
	Odd      []string          // children that did not end well, resources that did not come back
}

// Seqs are sequences that were heard.
type Seqs struct {
	list   []uint64
	sorted bool
}

// Add notes a sequence.
func (s *Seqs) Add(seq uint64) { s.list, s.sorted = append(s.list, seq), false }

// Len is how many sequences were heard.
func (s *Seqs) Len() int { return len(s.list) }

// Missed is how many sequences between two that were heard were not.
func (s *Seqs) Missed(after, before uint64) uint64 {
	if before <= after+1 {
		return 0
	}
	s.sort()
	i, _ := slices.BinarySearch(s.list, after+1)
	j, _ := slices.BinarySearch(s.list, before)
	return before - after - 1 - uint64(j-i)
}

// Gaps is how many sequences were not heard between the first and the last.
func (s *Seqs) Gaps() uint64 {
	if len(s.list) == 0 {
		return 0
	}
	s.sort()
	return s.Missed(s.list[0], s.list[len(s.list)-1])
}

func (s *Seqs) sort() {
	if !s.sorted {
		slices.Sort(s.list)
		s.list = slices.Compact(s.list)
		s.sorted = true
	}
}
