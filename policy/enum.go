package policy

// Order ranks requests inside a lane, below their strict priority.
type Order uint8

// The orders; the zero value is FCFS.
const (
	FCFS Order = iota // earliest arrival first, moved forward by priority
	WSPT              // highest (1 + priority) per uncached token first
	EDF               // earliest deadline first
)

// Placement picks a worker among those that can take a request.
type Placement uint8

// The placements; the zero value is LeastWork.
const (
	LeastWork  Placement = iota // fewest unfinished tokens for the worker's speed
	P2C                         // the better of two picked at random
	RoundRobin                  // each in turn
	Random                      // any
)

// UnknownClass says what becomes of a request whose class name is unknown.
type UnknownClass uint8

// The rules; the zero value is UnknownDefault.
const (
	UnknownDefault UnknownClass = iota // the default family takes it
	UnknownReject                      // it is refused
)

// Spellings in the file, by value.
var (
	orderNames        = [...]string{"fcfs", "wspt", "edf"}
	placementNames    = [...]string{"least_work", "p2c", "round_robin", "random"}
	unknownClassNames = [...]string{"default", "reject"}
)

// String returns the order as the policy file spells it.
func (o Order) String() string { return spelling(orderNames[:], int(o)) }

// String returns the placement as the policy file spells it.
func (p Placement) String() string { return spelling(placementNames[:], int(p)) }

// String returns the rule as the policy file spells it.
func (u UnknownClass) String() string { return spelling(unknownClassNames[:], int(u)) }

func spelling(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "invalid"
}
