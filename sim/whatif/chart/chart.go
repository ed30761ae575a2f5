// Package chart draws what a study found: for each policy the distribution of times
// to the first token, what waited when, and shares beside entitlements, as SVG and PNG.
package chart

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"fairlead/sim"
	"fairlead/sim/whatif"
)

// Backlog counts what waits by class over time. See [Watch].
type Backlog struct {
	runs []*backlog
}

type backlog struct {
	class   []string // by request
	waiting map[string]int
	points  map[string]plotter.XYs
	next    time.Duration // of the next point
	step    time.Duration
}

// Watch has a study report to a new Backlog.
func Watch(s *whatif.Study) *Backlog {
	b := &Backlog{}
	for range s.Policies {
		b.runs = append(b.runs, &backlog{waiting: map[string]int{}, points: map[string]plotter.XYs{}, step: time.Second})
	}
	classes := s.FirstClasses()
	for _, r := range b.runs {
		r.class = classes
	}
	s.Observe = func(policy int, h sim.Happening) { b.runs[policy].observe(h) }
	return b
}

// mostPoints of a line; with more the steps between them double.
const mostPoints = 2000

func (b *backlog) observe(h sim.Happening) {
	for h.At >= b.next {
		b.sample()
		b.next += b.step
	}
	class := b.class[h.Request]
	switch h.Kind {
	case sim.Asked, sim.Returned:
		b.waiting[class]++
	case sim.HandedOut, sim.Refused:
		b.waiting[class]--
	case sim.FirstToken, sim.Completed, sim.Failed:
	}
}

func (b *backlog) sample() {
	longest := 0
	for class, n := range b.waiting {
		b.points[class] = append(b.points[class], plotter.XY{X: b.next.Seconds(), Y: float64(max(n, 0))})
		longest = max(longest, len(b.points[class]))
	}
	if longest > mostPoints {
		b.thin()
	}
}

// thin keeps every other point.
func (b *backlog) thin() {
	b.step *= 2
	for class, points := range b.points {
		kept := points[:0]
		for i := 0; i < len(points); i += 2 {
			kept = append(kept, points[i])
		}
		b.points[class] = kept
	}
}

// Write draws the charts of a report into a folder, which it makes.
func Write(dir string, r *whatif.Report, b *Backlog) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("charts: %w", err)
	}
	ttft, err := distribution(r)
	if err == nil {
		err = save(ttft, filepath.Join(dir, "ttft"))
	}
	if err != nil {
		return fmt.Errorf("chart of times to the first token: %w", err)
	}
	for i, o := range r.Outcomes {
		waiting, err := waits(o, b.runs[i])
		if err == nil {
			err = save(waiting, filepath.Join(dir, "waiting"+suffix(r, i)))
		}
		if err != nil {
			return fmt.Errorf("chart of what waits: %w", err)
		}
		shares, err := shares(o)
		if err == nil {
			err = save(shares, filepath.Join(dir, "share"+suffix(r, i)))
		}
		if err != nil {
			return fmt.Errorf("chart of shares: %w", err)
		}
	}
	return nil
}

// suffix tells the files of policies apart when there are several.
func suffix(r *whatif.Report, i int) string {
	if len(r.Outcomes) == 1 {
		return ""
	}
	return fmt.Sprintf("-%d", i+1)
}

const width, height = 8 * vg.Inch, 4.5 * vg.Inch

func save(p *plot.Plot, file string) error {
	for _, ext := range []string{".svg", ".png"} {
		if err := p.Save(width, height, file+ext); err != nil {
			return err
		}
	}
	return nil
}

func short(p whatif.Policy) string { return strings.TrimSuffix(path.Base(p.Name), path.Ext(p.Name)) }

// blank is a chart with a title and room around it.
func blank(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Title.Padding = title, vg.Points(8)
	p.Legend.XOffs, p.Legend.Padding = -vg.Points(10), vg.Points(3)
	return p
}

// distribution is the part of the requests that had their first token by a time.
func distribution(r *whatif.Report) (*plot.Plot, error) {
	p := blank("Time to the first token")
	p.X.Label.Text, p.Y.Label.Text = "seconds since asked (log)", "part of the requests"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Min, p.Y.Max = 0, 1
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, vg.Points(10)
	p.Add(plotter.NewGrid())
	for i, o := range r.Outcomes {
		for k := range o.First.Traffic {
			g := &o.First.Traffic[k]
			var points plotter.XYs
			for percent := 0.0; percent <= 100; percent += .25 {
				x := float64(g.TTFT.ValueAtPercentile(percent)) / 1e6
				points = append(points, plotter.XY{X: math.Max(x, 1e-6), Y: percent / 100})
			}
			if g.TTFT.TotalCount() == 0 {
				continue
			}
			name := g.Class
			if len(r.Outcomes) > 1 {
				name += ", " + short(o.Policy)
			}
			if err := line(p, points, name, k, i); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func line(p *plot.Plot, points plotter.XYs, name string, colour, dashes int) error {
	l, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	l.Color, l.Dashes, l.Width = plotutil.Color(colour), plotutil.Dashes(dashes), vg.Points(1.5)
	p.Add(l)
	p.Legend.Add(name, l)
	return nil
}

// waits is how many requests of each class waited at a time.
func waits(o *whatif.Outcome, b *backlog) (*plot.Plot, error) {
	p := blank("Waiting requests, " + short(o.Policy))
	p.X.Label.Text, p.Y.Label.Text = "seconds since the start", "requests"
	p.Y.Min = 0
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	for k := range o.First.Traffic {
		name := o.First.Traffic[k].Class
		if len(b.points[name]) == 0 {
			continue
		}
		if err := line(p, b.points[name], name, k, 0); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// shares are bars: what each class had, beside what it was due.
func shares(o *whatif.Outcome) (*plot.Plot, error) {
	p := blank("Share of the tokens while others waited too, " + short(o.Policy))
	p.Y.Label.Text = "part"
	p.Y.Min, p.Y.Max = 0, 1
	p.Legend.Top = true
	var had, due plotter.Values
	var names []string
	for i := range o.First.Classes {
		c := &o.First.Classes[i]
		had, due, names = append(had, c.Share), append(due, c.Due), append(names, c.Class)
	}
	const wide = 20
	for i, bars := range []struct {
		name   string
		values plotter.Values
	}{{"had", had}, {"due", due}} {
		b, err := plotter.NewBarChart(bars.values, vg.Points(wide))
		if err != nil {
			return nil, err
		}
		b.Color, b.Offset, b.LineStyle.Width = plotutil.Color(i), vg.Points(wide*(float64(i)-.5)), 0
		p.Add(b)
		p.Legend.Add(bars.name, b)
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -.5, float64(len(names))-.5
	return p, nil
}
