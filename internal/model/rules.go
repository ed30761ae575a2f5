package model

// Rules are those of the protocol, one switch each; [All] turns all of them on.
// The number in front is the rule's in the protocol.
type Rules struct {
	Order            string // 1: in which WORK, DONE and REQ are read: "WDR"
	GuardsFirst      bool   // 1: the guards are written before anything is read
	DeleteOrphans    bool   // 1: a claim whose request is not in REQ is deleted
	CompleteReads    bool   // 2: recovery believes nothing that a lagging replica says
	ReadToLast       bool   // 2: REQ counts as read up to the last sequence that its leader reports, deleted or not
	Barrier          bool   // 3: DONE is read to its end before a lost incarnation's claims are touched
	RecoveryBarrier  bool   // 3: also of incarnations that were lost while the leader recovered
	PurgeAfterReq    bool   // 4: a DONE goes only after its request is gone from REQ
	PurgePrefix      bool   // 4: and only when all before it may go
	AskUnknown       bool   // 4: of requests never seen, too, REQ's leader is asked
	HoleRecovers     bool   // 5: a hole in DONE that this leader did not make: recover anew
	HoleAtBarrier    bool   // 5: also when the barrier, and not the next message, comes upon it
	CheckClaim       bool   // 5: a claim neither in WORK nor run by its live worker: recover anew
	DropLeftovers    bool   // 6: a finished request's other claims are deleted
	LostIsDropped    bool   // 6: a claim is left to its agent unless that was lost before the request was judged
	ClaimsBeforeReq  bool   // 6: and before the request is
	NewClaimFirst    bool   // 7: an old claim goes only after the new one is stored
	AttemptsRise     bool   // 7: every hand-out has a new attempt number
	HighestClaim     bool   // 7: recovery takes the highest attempt
	CountStarted     bool   // 7: only attempts that started count towards the limit
	StoreVerdict     bool   // 8: what a broker decides itself is first a verdict in WORK
	FenceVerdict     bool   // 8: and accepted from the leader only
	VerdictLast      bool   // 8: it goes last
	TellBeforeDelete bool   // 8: the client is told, and DEAD written, before the request goes
	FenceClaims      bool   // claims are accepted from the leader only
	EpochInDedupID   bool   // 9: another leader's claim is never a duplicate
	OwnEpochOnly     bool   // 9: an agent obeys no broker that is older than its claim
	KeepReturned     bool   // 10: a DONE that gave back goes only after the next claim is stored
	KeepUnknown      bool   // 10: also one of a request, or an attempt, that this broker knows nothing of
	FinalBeforeDone  bool   // 11: an agent sends the final message before DONE
	DoneBeforeAck    bool   // 11: and DONE before it acknowledges
	LateFails        bool   // 11: the failure of a superseded attempt is no outcome
	FreshSequences   bool   // 12: a recreated stream repeats no sequence
	OneAttemptShown  bool   // 13: a client that has shown one attempt takes no other's result
	NoRerunAfterHear bool   // 13: no attempt follows one whose first token the broker heard of
	NoRerunReturned  bool   // 13: nor when that one was stopped and given back
	GoneIsSilent     bool   // 14: an agent whose request is gone tells nobody
	LateIsTold       bool   // 14: a request that waits past its deadline is told so
}

// All are the rules as the protocol has them.
func All() Rules {
	return Rules{
		Order: "WDR", GuardsFirst: true, DeleteOrphans: true, CompleteReads: true, ReadToLast: true, Barrier: true, RecoveryBarrier: true,
		PurgeAfterReq: true, PurgePrefix: true, AskUnknown: true, HoleRecovers: true, HoleAtBarrier: true, CheckClaim: true,
		DropLeftovers: true, LostIsDropped: true, ClaimsBeforeReq: true, NewClaimFirst: true, AttemptsRise: true, HighestClaim: true, CountStarted: true,
		StoreVerdict: true, FenceVerdict: true, VerdictLast: true, TellBeforeDelete: true, FenceClaims: true, EpochInDedupID: true,
		OwnEpochOnly: true, KeepReturned: true, KeepUnknown: true, FinalBeforeDone: true, DoneBeforeAck: true, LateFails: true, FreshSequences: true,
		OneAttemptShown: true, NoRerunAfterHear: true, NoRerunReturned: true, GoneIsSilent: true, LateIsTold: true,
	}
}

// Fault is something that goes wrong, or that somebody does at a bad moment.
type Fault uint8

// The faults.
const (
	BrokerCrash  Fault = iota
	TakeOver           // although a leader lives: it was silent for as long as its lease
	AgentCrash         // its next incarnation starts at once
	Suspicion          // a live worker counts as lost
	LostAnswer         // of a store that has done what it was asked
	Cancel             // by the client
	Deadline           // of the request comes
	StoreTTL           // removes a request that is past its deadline
	ForgetIDs          // the dedup window forgets what is no longer stored
	GiveBack           // the engine is busy
	EngineFails        // the attempt ends with an error
	StalePayload       // an agent is given a request that has been deleted
	LaggingRead        // recovery misses what was stored last; only without CompleteReads
	Recreate           // somebody deletes WORK, and it is made anew
	faultKinds
)

var faultNames = [faultKinds]string{
	"broker crash", "take-over", "agent crash", "suspicion", "lost answer", "cancel", "deadline", "store TTL", "forgotten ids",
	"give-back", "engine failure", "stale payload", "lagging read", "recreation",
}

func (f Fault) String() string { return faultNames[f] }

// Budget says how often each fault may happen.
type Budget [faultKinds]uint8

// Scenario bounds a world to explore.
type Scenario struct {
	Name     string
	Requests int    // 1 or 2
	Agents   int    // 1 or 2; default 2
	Faults   Budget // at most so many of each kind
	Total    uint8  // and so many in all; 0 means all of them
	Attempts uint8  // started attempts that a request may lose; default 2
	Tokens   bool   // whether first tokens are told apart
	Retry    bool   // the client asks for retries after its first token
	Coarse   bool   // an agent pulls and reads the payload in one step
	Prompt   bool   // the store's answer to a claim comes with its being stored
	Rules    Rules
	Limit    int // states; default 40 million
}

func (sc Scenario) withDefaults() Scenario {
	if sc.Total == 0 {
		for _, n := range sc.Faults {
			sc.Total += n
		}
	}
	if sc.Requests == 0 {
		sc.Requests = 1
	}
	if sc.Agents == 0 {
		sc.Agents = maxAgents
	}
	if sc.Attempts == 0 {
		sc.Attempts = 2
	}
	if sc.Limit == 0 {
		sc.Limit = 40_000_000
	}
	return sc
}
