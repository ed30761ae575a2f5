package whatif

import (
	"cmp"
	"math"
	"slices"

	"fairlead/sim"
)

// summary is what is kept of one run.
type summary struct {
	first  *sim.Result // of the first seed alone
	kinds  [3][]figures
	worker []sim.Use
	back   float64
	lost   float64
}

// figures are those of one group in one run.
type figures struct {
	model, class, tenant string
	values               []float64
	reasons              map[string]int
}

func summarise(r *sim.Result, keep bool) *summary {
	s := &summary{worker: r.Workers, back: float64(r.PutBack), lost: float64(r.WorkersLost)}
	if keep {
		s.first = r
	}
	for kind, groups := range [...][]sim.Group{r.Classes, r.Traffic, r.Tenants} {
		for i := range groups {
			g := &groups[i]
			f := figures{model: g.Model, class: g.Class, tenant: g.Tenant, values: make([]float64, len(metrics)), reasons: map[string]int{}}
			for m := range metrics {
				f.values[m] = metrics[m].of(g)
			}
			for reason, n := range g.Reasons {
				f.reasons[string(reason)] = n
			}
			s.kinds[kind] = append(s.kinds[kind], f)
		}
	}
	return s
}

// Value is a figure of the row in one run, by the place of its seed; NaN where there was
// nothing to measure.
func (r *Row) Value(metric, seed int) float64 { return r.values[metric][seed] }

// Find returns the row of a class, else of what is asked for by that name; nil when
// there is neither.
func (o *Outcome) Find(name string) *Row {
	for _, rows := range [][]*Row{o.Classes, o.Traffic} {
		for _, row := range rows {
			if row.Class == name {
				return row
			}
		}
	}
	return nil
}

// gather turns runs into rows.
func gather(p Policy, runs []*summary) *Outcome {
	o := &Outcome{Policy: p, First: runs[0].first}
	o.Classes, o.Traffic, o.Tenants = rows(runs, 0), rows(runs, 1), rows(runs, 2)
	slices.SortStableFunc(o.Tenants, func(a, b *Row) int { return cmp.Compare(b.values[0][0], a.values[0][0]) })
	back, lost := make([]float64, len(runs)), make([]float64, len(runs))
	for i, r := range runs {
		back[i], lost[i] = r.back, r.lost
	}
	o.PutBack, o.WorkersLost = NewStat(back), NewStat(lost)
	for w := range runs[0].worker {
		slots, engine := make([]float64, len(runs)), make([]float64, len(runs))
		for i, r := range runs {
			slots[i], engine[i] = r.worker[w].Slots, r.worker[w].Engine
		}
		o.Workers = append(o.Workers, WorkerRow{Name: runs[0].worker[w].Name, Slots: NewStat(slots), Engine: NewStat(engine)})
	}
	return o
}

// rows collects the groups of a kind over all runs, in the order of their first sight.
func rows(runs []*summary, kind int) []*Row {
	type key struct{ model, class, tenant string }
	index := map[key]*Row{}
	var list []*Row
	for seed, run := range runs {
		for _, f := range run.kinds[kind] {
			k := key{f.model, f.class, f.tenant}
			row := index[k]
			if row == nil {
				row = newRow(f, len(runs))
				index[k] = row
				list = append(list, row)
			}
			row.add(seed, f)
		}
	}
	return list
}

func newRow(f figures, seeds int) *Row {
	row := &Row{Model: f.model, Class: f.class, Tenant: f.tenant, values: make([][]float64, len(metrics)), reasons: map[string][]float64{}}
	for m := range metrics {
		row.values[m] = slices.Repeat([]float64{math.NaN()}, seeds)
	}
	return row
}

func (r *Row) add(seed int, f figures) {
	for m, v := range f.values {
		r.values[m][seed] = v
	}
	for reason, n := range f.reasons {
		if r.reasons[reason] == nil {
			r.reasons[reason] = make([]float64, len(r.values[0]))
		}
		r.reasons[reason][seed] = float64(n)
	}
}
