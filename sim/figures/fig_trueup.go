package figures

import (
	"context"
	"fmt"
	"strconv"

	"fairlead/drr"
	"fairlead/sim/lab"
	"fairlead/trace"
)

// outputWeight is what a generated token costs, in tokens of the prompt.
const outputWeight = 4

// Ways of charging, and their colours.
const (
	inputOnly = iota
	corrected
	charges
)

var (
	chargeNames  = [charges]string{"input only", "with true-up"}
	chargeColors = [charges]int{fcfs, wspt}
	azureClasses = [2]string{"code", "conv"}
)

// chargeRun has the share of each class in what was really used, by way of charging.
type chargeRun struct{ share [charges][2]float64 }

// azureBacklog makes requests of both classes in turn from a recorded pair, another start for each seed.
func azureBacklog(requests []trace.Request, seed uint64) []lab.Job {
	var lists [2][]trace.Request
	for _, r := range requests {
		for class, name := range azureClasses {
			if r.Class == name {
				lists[class] = append(lists[class], r)
			}
		}
	}
	jobs := make([]lab.Job, 2*marks[len(marks)-1])
	for i := range jobs {
		list := lists[i%2]
		r := list[(int(seed)*997+i/2)%len(list)]
		jobs[i] = lab.Job{At: float64(i), Size: 1, Tokens: uint32(max(1, r.Input)), Output: uint32(r.Output), Class: int32(i % 2)}
	}
	return jobs
}

func usedBesides(j lab.Job) int64 { return outputWeight * int64(j.Output) }

func runCharge(seed uint64, requests []trace.Request) (chargeRun, error) {
	var r chargeRun
	jobs := azureBacklog(requests, seed)
	for way := range charges {
		p := lab.Production{Classes: []drr.Class{{Name: "code", Quantum: 4096}, {Name: "conv", Quantum: 4096}}}
		if way == corrected {
			p.Used = usedBesides
		}
		used, n := [2]float64{}, 0
		err := lab.Saturated(jobs, p.Queue, 3, func(i int) bool {
			used[jobs[i].Class] += float64(int64(jobs[i].Tokens) + usedBesides(jobs[i]))
			n++
			return n < marks[len(marks)-1]
		})
		if err != nil {
			return r, err
		}
		for class := range used {
			r.share[way][class] = used[class] / (used[0] + used[1])
		}
	}
	return r, nil
}

func trueUp(ctx context.Context, o Options) ([]Figure, error) {
	runs, err := overSeeds(ctx, o, func(seed uint64) (chargeRun, error) { return runCharge(seed, o.Traces.Azure) })
	if err != nil {
		return nil, err
	}
	series := make([]Series, charges)
	for way := range charges {
		series[way] = Series{Name: chargeNames[way], Color: chargeColors[way]}
		for class := range azureClasses {
			series[way].Points = append(series[way].Points,
				point(float64(class), each(runs, func(r *chargeRun) float64 { return 100 * r.share[way][class] })))
		}
	}
	return []Figure{{
		ID: "11-true-up", Title: "Figure 11 (ours): charging what was really used",
		Setup: fmt.Sprintf("Two classes of equal quanta, always backlogged: code (long prompts, short answers) and conv of Azure, %s requests (%s). "+
			"A generated token costs %d of a prompt. Input only: the charge at dispatch stands. With true-up: `output_weight: %d` corrects it "+
			"when the request has ended. 20,000 dispatches, another start for each seed.",
			thousands(strconv.Itoa(len(o.Traces.Azure))), o.Traces.Source, outputWeight, outputWeight),
		Reading: "Charging the prompt alone gives the class of long answers more than its half of the work.",
		Panels: []Panel{{
			Y: "share of what was really used (%)", Categories: azureClasses[:], Series: series,
		}},
		Verdicts: trueUpVerdicts(runs),
	}}, nil
}

func trueUpVerdicts(runs []chargeRun) []Verdict {
	share := func(way int) Sample {
		return each(runs, func(r *chargeRun) float64 { return 100 * r.share[way][0] })
	}
	within := func(way int, low, high float64) []bool {
		return every(runs, func(r *chargeRun) bool { s := r.share[way][0]; return s > low && s < high })
	}
	return []Verdict{
		relation("11.input", "charging input only misses equal shares", "code has 35 to 41 % of the cost",
			within(inputOnly, .35, .41)).seen(share(inputOnly), 1, " %"),
		relation("11.true-up", "true-up restores them", "50 % within half a point",
			within(corrected, .495, .505)).seen(share(corrected), 1, " %"),
	}
}
