package whatif

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"fairlead/agent/engine/mock"
	"fairlead/sim"
	"fairlead/trace"
)

// Group is a number of equal workers, as a fleet file describes it. Zero fields take
// the defaults of the mock engine, which doc.go of [sim] models.
type Group struct {
	Count         int           `yaml:"count"`              // default 1
	Name          string        `yaml:"name"`               // of the first, or the stem of all; default gpu
	Models        []string      `yaml:"models"`             // default: what requests name, else "model"
	Slots         int           `yaml:"slots"`              // requests at once, of each rank; default 8
	Ranks         int           `yaml:"ranks"`              // data-parallel ranks; default 1
	PrefillRate   float64       `yaml:"prefill_rate"`       // uncached prompt tokens a second, of a rank; default 20,000
	TokenTime     time.Duration `yaml:"token_time"`         // of a decode step of one sequence; default 20 ms
	BatchSlowdown *float64      `yaml:"batch_slowdown"`     // of a step, for each further sequence; default 0.02
	MaxBatched    int64         `yaml:"max_batched_tokens"` // of one step; default 2,048
	Stride        int64         `yaml:"stride"`             // tokens decoded in a step; default 1
	Jitter        float64       `yaml:"jitter"`             // largest deviation of a step, 0 to 1; default 0
	Speed         float64       `yaml:"speed"`              // multiplies both rates; default 1
	Learned       bool          `yaml:"speed_learned"`      // its agent declares no speed
	CacheTokens   int64         `yaml:"cache_tokens"`       // of its prefix cache; 0 believes what requests say
	Taints        []string      `yaml:"taints"`
	Join          time.Duration `yaml:"join"` // when it starts
	MTBF          time.Duration `yaml:"mtbf"` // mean time between deaths; 0 never
	MTTR          time.Duration `yaml:"mttr"` // mean time until it is back
	Deaths        []Death       `yaml:"deaths"`
	Failures      []string      `yaml:"failures"` // of its engine: refuse=0.01, hang@1000, die=0.001, slow=0.02
}

// Death is when a worker dies, and for how long.
type Death struct {
	At  time.Duration `yaml:"at"`
	For time.Duration `yaml:"for"`
}

// ParseFleet reads a fleet file: a list of groups under the key workers.
func ParseFleet(file string, data []byte) ([]Group, error) {
	var f struct {
		Workers []Group `yaml:"workers"`
	}
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(f.Workers) == 0 {
		return nil, fmt.Errorf("%s: workers: missing or empty; want a list of groups, such as - {count: 4, slots: 16}", file)
	}
	return f.Workers, nil
}

// FleetOf turns workers that a recording heard of into groups. Rates that heartbeats
// do not tell are those of the group given.
func FleetOf(recorded []trace.RecordedWorker, like Group) []Group {
	groups := make([]Group, len(recorded))
	for i, w := range recorded {
		g := like
		g.Count, g.Name, g.Models, g.Taints = 1, w.Worker, w.Models, w.Taints
		g.Slots, g.Ranks, g.MaxBatched, g.Join = int(w.Slots), int(w.Ranks), int64(w.MaxBatched), time.Duration(max(w.JoinedNS, 0))
		if w.Speed > 0 {
			g.PrefillRate = w.Speed
		}
		groups[i] = g
	}
	return groups
}

// maxWorkers bounds a fleet.
const maxWorkers = 10_000

// workers makes the fleet; models serves groups that name none.
func workers(groups []Group, models []string) ([]sim.Worker, error) {
	var list []sim.Worker
	for i := range groups {
		g := groups[i]
		if g.Count == 0 {
			g.Count = 1
		}
		if g.Count < 0 || len(list)+g.Count > maxWorkers {
			return nil, fmt.Errorf("workers %d: count %d; want 1 to %d workers in all", i+1, g.Count, maxWorkers)
		}
		if len(g.Models) == 0 {
			g.Models = models
		}
		w, err := g.worker()
		if err != nil {
			return nil, fmt.Errorf("workers %d: %w", i+1, err)
		}
		for range g.Count {
			w.Name = g.name(len(list))
			list = append(list, w)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("workers: none; want at least one")
	}
	return list, nil
}

// name is that of the nth worker of the fleet.
func (g *Group) name(n int) string {
	switch {
	case g.Name == "":
		return fmt.Sprintf("gpu-%d", n+1)
	case g.Count == 1:
		return g.Name
	}
	return fmt.Sprintf("%s-%d", g.Name, n+1)
}

func (g *Group) worker() (sim.Worker, error) {
	w := sim.Worker{
		Slots: g.Slots, Ranks: g.Ranks, Speed: g.Speed, Undeclared: g.Learned, Taints: g.Taints, CacheTokens: g.CacheTokens,
		Join: g.Join, MTBF: g.MTBF, MTTR: g.MTTR,
		Engine: mock.Config{
			Models: g.Models, Slots: g.Slots, PrefillRate: g.PrefillRate, TokenTime: g.TokenTime, MaxBatched: g.MaxBatched,
			Stride: g.Stride, Jitter: g.Jitter,
		},
	}
	if g.BatchSlowdown != nil {
		if w.Engine.BatchSlowdown = *g.BatchSlowdown; *g.BatchSlowdown == 0 {
			w.Engine.BatchSlowdown = -1 // the engine's word for none
		}
	}
	for _, d := range g.Deaths {
		w.Deaths = append(w.Deaths, sim.Death(d))
	}
	for _, text := range g.Failures {
		f, err := mock.ParseFailure(text)
		if err != nil {
			return w, err
		}
		w.Engine.Failures = append(w.Engine.Failures, f)
	}
	return w, nil
}

// describe is a fleet in few words.
func describe(list []sim.Worker) string {
	counts := map[string]int{}
	var order []string
	for i := range list {
		w := &list[i]
		e := w.Engine.WithDefaults()
		slots := w.Slots
		if slots == 0 {
			slots = e.Slots
		}
		speed := w.Speed
		if speed == 0 {
			speed = 1
		}
		text := fmt.Sprintf("%d slots, %.6g tokens/s prefill, %s a token", slots*max(w.Ranks, 1), e.PrefillRate*speed,
			time.Duration(float64(e.TokenTime)/speed).Round(time.Microsecond))
		if counts[text]++; counts[text] == 1 {
			order = append(order, text)
		}
	}
	parts := make([]string, len(order))
	for i, text := range order {
		parts[i] = fmt.Sprintf("%d × %s", counts[text], text)
	}
	return strings.Join(parts, "; ")
}
