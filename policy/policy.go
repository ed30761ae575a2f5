package policy

import "time"

// Policy is a parsed policy file: the profile every model uses, and those that
// replace it for one model. Treat it as immutable; a reload makes a new one.
type Policy struct {
	// Root serves every model without a profile of its own. Never nil.
	Root *Profile
	// Models maps an exact model name to the profile that replaces Root
	// wholesale: nothing is inherited.
	Models map[string]*Profile

	warnings []Warning // of the file
}

// Profile is everything the arbiter must know to queue one model's requests.
type Profile struct {
	// DefaultFamily takes the requests that name no class, or an unknown one.
	DefaultFamily string
	// Buckets are the steps of uncached tokens, floors strictly ascending from 0.
	Buckets []Bucket
	// Classes are the physical classes in file order, which is also ring order.
	Classes []Class
	// Placement picks one worker among those that can take a request.
	Placement Placement
	// UnknownClass says what becomes of a request that names no known class.
	UnknownClass UnknownClass
	// MaxAttempts is how often a request may be started, lost attempts included,
	// before it goes to the dead letters. At least 1.
	MaxAttempts int
}

// Bucket is one step of uncached prompt tokens.
type Bucket struct {
	Name string
	// MinTokens is the lowest uncached token count that falls in the bucket.
	MinTokens int64
}

// Class is one physical class: a queue with an order, a share and limits.
type Class struct {
	Name string
	// Family and Bucket place the class in the matrix. Both are empty for an
	// explicit class, which requests name directly and buckets do not touch.
	Family, Bucket string
	// Order ranks requests inside a lane.
	Order Order
	// Quantum is the credit of one ring visit, in uncached tokens. At least 1.
	Quantum int64

	// PrefillBusyThreshold makes a rank busy above so many active prefill tokens; nil is off.
	PrefillBusyThreshold *int64
	// PrefillBusyFrac makes a rank busy above this fraction of its max batched tokens; nil is off.
	PrefillBusyFrac *float64
	// BusyWorkerRatio blocks the shared lane when this fraction of the eligible
	// workers, in (0, 1], is busy; nil means when all are.
	BusyWorkerRatio *float64

	// Limits cap the queue. They count per worker of the model.
	Limits Limits

	// Aging is k in the WSPT key arrival + k·cost/((1+jump)·R); 0 is plain WSPT.
	Aging float64
	// NominalTokensPerSecond is R in the same key. Positive when Aging is.
	NominalTokensPerSecond float64

	// Tenants nests the arbiter: class, then tenant.
	Tenants bool
	// TenantWeights are positive shares by tenant name; "default" serves the rest.
	TenantWeights map[string]float64
	// OutputWeight is what one output token costs in uncached tokens; 0 charges input only.
	OutputWeight float64
	// EstimateOutput charges the mean output of the class when a request is handed
	// out, and corrects it at completion; without it all output is charged then.
	EstimateOutput bool

	// NoWorkerGrace is how long a request waits while no worker is eligible; 0 fails it at once.
	NoWorkerGrace time.Duration
	// PinGrace is how long a request waits for a vanished pinned worker; 0 gives up at once.
	PinGrace time.Duration
	// Shed ends a request that could not meet its deadline any more, once it is
	// next, rather than serve it too late. EDF only.
	Shed bool
	// Displace lets a more urgent arrival push out the last request of a full queue.
	Displace bool
}

// Explicit reports whether requests reach the class by its own name rather than
// through a family and a bucket.
func (c *Class) Explicit() bool { return c.Family == "" }

// Limits cap a class's queue, each per worker of the model. nil is no limit;
// 0 queues nothing: only what can be dispatched now is admitted.
type Limits struct {
	Requests       *int64
	RawTokens      *int64
	CachedTokens   *int64
	UncachedTokens *int64
}

// TenantWeight returns the share of a tenant: its own weight, else that of
// "default", else 1.
func (c *Class) TenantWeight(tenant string) float64 {
	if w, ok := c.TenantWeights[tenant]; ok {
		return w
	}
	if w, ok := c.TenantWeights[defaultName]; ok {
		return w
	}
	return 1
}

// What a profile and a class have when the file does not say.
const (
	DefaultMaxAttempts   = 3
	DefaultNoWorkerGrace = 60 * time.Second
	DefaultPinGrace      = 30 * time.Second

	defaultName = "default"
)

// Default is the policy without a file: one synthetic class "default", first
// come first served, without limits.
func Default() *Policy { return &Policy{Root: defaultProfile()} }

func defaultProfile() *Profile {
	p := newProfile()
	c := newClass()
	c.Name, c.Family, c.Bucket = defaultName, defaultName, "all"
	c.Quantum = 1024 // alone in its ring, any quantum gives it everything
	p.DefaultFamily = defaultName
	p.Buckets = []Bucket{{Name: "all"}}
	p.Classes = []Class{c}
	return p
}

func newProfile() *Profile { return &Profile{MaxAttempts: DefaultMaxAttempts} }

func newClass() Class {
	return Class{NoWorkerGrace: DefaultNoWorkerGrace, PinGrace: DefaultPinGrace}
}

// Profile returns the profile for a model: its own, else the root.
func (p *Policy) Profile(model string) *Profile {
	if own, ok := p.Models[model]; ok {
		return own
	}
	return p.Root
}
