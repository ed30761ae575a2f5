package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead/chaos/check"
	"fairlead/chaos/load"
	"fairlead/chaos/plan"
	"fairlead/wire"
)

// printer writes whole lines, whoever calls.
type printer struct {
	mu sync.Mutex
	w  io.Writer
}

func (p *printer) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// result is everything that a run ends with.
type result struct {
	o        options
	schedule []plan.Fault
	spared   int // faults that were not struck
	counts   load.Counts
	report   *check.Report
	took     time.Duration
	dir      string
}

func (p *printer) result(r *result) {
	rep := r.report
	p.line("")
	p.line("seed          %d", r.o.seed)
	p.line("took          %v", r.took.Round(time.Second))
	p.line("faults        %d, %d of them skipped: %s", len(r.schedule), r.spared, tally(plan.Count(r.schedule)))
	p.line("asked         %d, not acknowledged %s", r.counts.Asked, orNone(tally(r.counts.Refused)))
	p.line("asked twice   %d, of them under two ids %d", r.counts.AskedAgain, r.counts.TwoIDs)
	p.line("cancels       %s", orNone(tally(r.counts.Cancels)))
	p.line("reads         %d interrupted by the store, and gone on", r.counts.Interrupted)
	p.line("acknowledged  %d", rep.Acknowledged)
	p.line("completed     %d", rep.Completed)
	p.line("failed        %d: %s", sum(rep.Failed), orNone(tally(rep.Failed)))
	p.line("handed out again %d, run twice %d, answered and dead %d", rep.Again, rep.Twice, rep.Both)
	p.line("longest gap   %.1fs without a completion, from %.1fs on", rep.Gap.Seconds(), rep.GapFrom.Seconds())
	p.line("tape          %d messages of WORK and DONE heard, %d missed", rep.Taped, rep.Missed)
	p.violations(rep)
	p.line("lost %d  mixed %d  stale %d", rep.Count(check.Lost), rep.Count(check.Mixed), rep.Count(check.Stale))
	if len(rep.Violations) > 0 {
		p.line("FAILED: seed %d; logs and history.json are in %s", r.o.seed, r.dir)
	}
}

// violations prints the first ones of each rule.
func (p *printer) violations(rep *check.Report) {
	const most = 12
	shown := map[check.Rule]int{}
	for _, v := range rep.Violations {
		if shown[v.Rule]++; shown[v.Rule] <= most {
			p.line("  %s", v)
		}
	}
	for _, rule := range []check.Rule{check.Attempts, check.Outcomes, check.LeftOver} {
		if n := rep.Count(rule); n > 0 {
			p.line("broken: %s %d", rule, n)
		}
	}
}

// tally lists counts, the largest first.
func tally[K ~string](counts map[K]int) string {
	keys := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(keys, func(a, b K) int { return counts[b] - counts[a] })
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = fmt.Sprintf("%s %d", k, counts[k])
	}
	return strings.Join(parts, ", ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func sum(m map[wire.Reason]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}
