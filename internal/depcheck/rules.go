package depcheck

// Module is the path that every package of the product starts with.
const Module = "fairlead"

// MaxLines is the length from which a file without tests should be two files.
const MaxLines = 400

// Rule says what one package may be built from.
type Rule struct {
	Own   []string // packages of this module it may import, relative to the module
	Libs  []string // other modules it may import, by path prefix; the standard library is free
	Pure  bool     // no I/O, no clock, no goroutine, no lock, no log, no hidden randomness
	NoNet bool     // nothing below it may reach NATS, however indirectly
}

// Rules are by package. A package that is not named may import everything but
// commands; the ones named are those that others stand on, and stay low.
func Rules() map[string]Rule {
	return map[string]Rule{
		"drr":            {Pure: true, NoNet: true},
		"policy":         {Pure: true, NoNet: true, Own: []string{"drr"}, Libs: []string{"github.com/goccy/go-yaml"}},
		"broker/arbiter": {Pure: true, NoNet: true, Own: []string{"drr", "policy", "wire"}},
		"wire":           {NoNet: true, Libs: []string{"github.com/vmihailenco/msgpack/v5"}},
		"trace":          {NoNet: true},
		"sim/lab":        {Pure: true, NoNet: true, Own: []string{"drr"}},
		"sim": {Pure: true, NoNet: true, Own: []string{"agent/engine/mock", "broker/arbiter", "policy", "wire"},
			Libs: []string{"github.com/HdrHistogram/hdrhistogram-go"}},
		"sim/tune": {NoNet: true, Own: []string{"policy", "sim/whatif"}, Libs: []string{"github.com/goccy/go-yaml"}},
		"sim/whatif": {NoNet: true, Own: []string{"agent/engine/mock", "broker/arbiter", "policy", "sim", "trace", "wire"}, Libs: []string{
			"github.com/HdrHistogram/hdrhistogram-go", "github.com/goccy/go-yaml", "golang.org/x/sync"}},
		"sim/figures": {NoNet: true, Own: []string{"drr", "sim/lab", "trace"},
			Libs: []string{"gonum.org/v1/plot", "golang.org/x/image", "golang.org/x/sync"}},

		"internal/buildinfo": {NoNet: true},
		"internal/depcheck":  {NoNet: true},
		"internal/store": {Own: []string{"wire"}, Libs: []string{
			"github.com/nats-io/nats.go", "github.com/synadia-io/orbit.go", "github.com/cenkalti/backoff/v5"}},

		// What a gateway reads of a body or a file of keys needs no NATS.
		"gateway/prompt": {NoNet: true, Libs: []string{"github.com/tiktoken-go/tokenizer"}},
		"gateway/keys":   {NoNet: true, Own: []string{"wire"}, Libs: []string{"github.com/goccy/go-yaml", "golang.org/x/time"}},

		// An engine adapter knows HTTP and its engine, not how requests reach it.
		"agent/engine":            {NoNet: true},
		"agent/engine/mock":       {NoNet: true, Own: []string{"agent/engine"}},
		"agent/engine/openai":     {NoNet: true, Own: []string{"agent/engine"}, Libs: []string{"github.com/tmaxmax/go-sse"}},
		"agent/engine/enginetest": {NoNet: true},
		"agent/engine/kinds": {NoNet: true, Own: []string{"agent/engine", "agent/engine/openai"}, Libs: []string{
			"github.com/prometheus/common", "github.com/prometheus/client_model"}},
	}
}

// Layers lists what may not be imported by whom: the sides of the wire know each
// other only through it. The keys and values are packages with all below them.
func Layers() map[string][]string {
	return map[string][]string{
		"agent":           {"broker", "client", "drr", "policy"},
		"broker":          {"agent", "client"},
		"client":          {"agent", "broker", "drr", "policy", "gateway"},
		"gateway":         {"agent", "broker", "drr", "policy"},
		"internal/store":  {"agent", "broker", "client", "drr", "policy"},
		"internal/daemon": {"agent", "broker", "client", "drr", "policy"},
	}
}

// impureImports are the standard packages with I/O, locks or logs, with all below.
var impureImports = []string{"net", "os", "sync", "log", "syscall", "context", "io/ioutil", "crypto/rand"}

// netLibs are the modules that reach the network or write logs.
var netLibs = []string{"github.com/nats-io", "github.com/synadia-io", "github.com/rs/zerolog"}

// impureNames are functions that read a clock, arm a timer, or draw from the
// process-wide random source, by import path.
var impureNames = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	"math/rand/v2": {"Int", "IntN", "Int32", "Int32N", "Int64", "Int64N", "Uint32", "Uint32N", "Uint64", "Uint64N",
		"UintN", "Float32", "Float64", "NormFloat64", "ExpFloat64", "Perm", "Shuffle", "N"},
	"fmt": {"Print", "Printf", "Println"},
}

// documented are the packages whose doc comment is their contract.
func documented() []string {
	return []string{"drr", "policy", "broker/arbiter", "sim", "sim/lab", "wire", "trace"}
}
