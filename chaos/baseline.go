package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead/chaos/rig"
)

// baseline is what each kind of daemon held when it was idle and young.
type baseline map[string]rig.Figures

// What a daemon may hold beyond the baseline in the end: connections that are
// still being closed, the runtime's own.
const (
	moreGoroutines = 20
	moreFiles      = 15
)

func daemons(r *rig.Rig) []*rig.Process {
	return append(append([]*rig.Process{}, r.Brokers...), r.Agents...)
}

// kind is the daemon's part in the system.
func kind(p *rig.Process, f rig.Figures) string {
	name, _, _ := strings.Cut(p.Name, " ")
	if f.Leader {
		return "leading " + name
	}
	return name
}

// measure takes the largest figures of each kind, once somebody leads.
func measure(ctx context.Context, r *rig.Rig) (b baseline, err error) {
	uerr := rig.Until(ctx, 100*time.Millisecond, func() bool {
		b, err = measureOnce(ctx, r)
		_, led := b["leading broker"]
		return err == nil && led
	})
	return b, errors.Join(err, uerr)
}

func measureOnce(ctx context.Context, r *rig.Rig) (baseline, error) {
	b := baseline{}
	for _, p := range daemons(r) {
		f, err := p.Figures(ctx)
		if err != nil {
			return nil, err
		}
		k := kind(p, f)
		f.Goroutines, f.Files = max(f.Goroutines, b[k].Goroutines), max(f.Files, b[k].Files)
		b[k] = f
	}
	return b, nil
}

// compare says which daemons hold more than they did when they were young, and
// keep it: what is merely late to go is waited for.
func (b baseline) compare(ctx context.Context, r *rig.Rig) (odd []string) {
	patience, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_ = rig.Until(patience, 500*time.Millisecond, func() bool { // what it ends with is in odd
		odd = nil
		for _, p := range daemons(r) {
			if what := b.more(ctx, p); what != "" {
				odd = append(odd, what)
			}
		}
		return len(odd) == 0
	})
	return odd
}

func (b baseline) more(ctx context.Context, p *rig.Process) string {
	f, err := p.Figures(ctx)
	if err != nil {
		return err.Error()
	}
	was := b[kind(p, f)]
	if f.Goroutines > was.Goroutines+moreGoroutines || f.Files > was.Files+moreFiles {
		return fmt.Sprintf("%s (%s) holds %d goroutines and %d files, %d and %d before", p.Name, kind(p, f), f.Goroutines, f.Files, was.Goroutines, was.Files)
	}
	return ""
}
