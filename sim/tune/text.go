package tune

import (
	"fmt"
	"io"
	"strings"

	"fairlead/sim/whatif"
)

// WriteText says for people what was found, what binds, and how sure it is.
func (r *Result) WriteText(w io.Writer) error {
	p := &printer{w: w}
	seeds := r.Config.Study.Seeds
	verdict := "every goal is met"
	if !r.Met {
		verdict = "not every goal can be met; this is the nearest that was found"
	}
	p.linef("%s: %s, after %d plays of %d seeds", verdict, plural(r.Workers, "worker"), r.Plays, seeds)
	if r.Limited {
		p.linef("the search ended early, at its limit of plays: a better policy may exist")
	}
	for i, x := range r.Goals {
		word := "met   "
		if !x.Met {
			word = "MISSED"
		}
		p.linef("  %s %s  is %s; holds on %d of %d fresh seeds", word, x.Goal, x.figure(), r.Held[i], r.Checked)
	}
	p.linef("all goals together hold on %d of %d fresh seeds, which the search has not seen", r.Together, r.Checked)
	if r.Met && 10*r.Together < 9*r.Checked {
		p.linef("that is not sure: search with more --seeds, or ask for a little more than is needed")
	}
	r.binding(p)
	for _, c := range r.Missed {
		p.linef("%s", c.text())
	}
	return p.err
}

// figure is the value that a goal is judged by, beside the median.
func (x *Standing) figure() string {
	return whatif.FormatStat(whatif.Metrics()[x.Goal.Metric].Unit, x.Stat)
}

// binding says which goal has the least room, and what fails with fewer workers.
func (r *Result) binding(p *printer) {
	if r.Met {
		least := 0
		for i, x := range r.Goals {
			if x.Goal.room(x.Goal.value(x.Stat)) < r.Goals[least].Goal.room(r.Goals[least].Goal.value(r.Goals[least].Stat)) {
				least = i
			}
		}
		x := r.Goals[least]
		p.linef("binds: %s has the least room, %.0f %% of its bound", x.Goal, 100*x.Goal.room(x.Goal.value(x.Stat)))
	}
	for _, x := range r.Fewer {
		p.linef("with %s: %s is %s", plural(r.Workers-1, "worker"), x.Goal, x.figure())
	}
}

func (c *Conflict) text() string {
	if !c.Alone {
		return fmt.Sprintf("%s cannot be met, not even when nothing else is asked: it needs more workers, or less traffic", c.Goal)
	}
	if len(c.Against) == 0 {
		return fmt.Sprintf("%s could be met alone, but not with the others, whichever one is left out", c.Goal)
	}
	names := make([]string, len(c.Against))
	for i, g := range c.Against {
		names[i] = g.String()
	}
	return fmt.Sprintf("%s is in conflict with %s: without %s, all the others can be met", c.Goal, strings.Join(names, " and with "), oneOf(len(names)))
}

func oneOf(n int) string {
	if n == 1 {
		return "it"
	}
	return "any one of them"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// WritePolicy writes the policy file, with what it is for on top.
func (r *Result) WritePolicy(w io.Writer) error {
	p := &printer{w: w}
	goals := make([]string, len(r.Goals))
	for i, x := range r.Goals {
		goals[i] = x.Goal.String()
	}
	p.linef("# Tuned by simulation for %s, with %s.", strings.Join(goals, ", "), plural(r.Workers, "worker"))
	if !r.Met {
		var missed []string
		for _, x := range r.Goals {
			if !x.Met {
				missed = append(missed, x.Goal.String())
			}
		}
		p.linef("# It does NOT meet %s.", strings.Join(missed, ", "))
	}
	p.linef("# All goals together held on %d of %d fresh seeds.", r.Together, r.Checked)
	p.linef("%s", strings.TrimRight(string(r.Policy), "\n"))
	return p.err
}

// printer writes until something fails.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) linef(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
