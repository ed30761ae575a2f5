package whatif

import (
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// WriteText writes the report for people. One policy and one seed make tables of
// figures; more make lists of a figure in each line, with intervals and differences.
func (r *Report) WriteText(w io.Writer) error {
	p := &printer{w: w}
	r.head(p)
	if len(r.Outcomes) == 1 && r.Study.Seeds == 1 {
		r.tables(p, r.Outcomes[0])
	} else {
		r.lists(p)
	}
	for _, o := range r.Outcomes {
		r.tail(p, o)
	}
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

// table writes rows of cells; those after the first left ones are flush right.
func (p *printer) table(left int, rows [][]string) {
	if p.err != nil {
		return
	}
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-len([]rune(cell)))
			if i < left {
				b.WriteString(cell + pad + "  ")
			} else {
				b.WriteString(pad + cell + "  ")
			}
		}
		p.linef("%s", strings.TrimRight(b.String(), " "))
	}
}

func (r *Report) head(p *printer) {
	s := r.Study
	var names []string
	for _, o := range r.Outcomes {
		names = append(names, o.Policy.Name)
	}
	p.linef("policy    %s", strings.Join(names, " against "))
	var traces []string
	for _, src := range s.Traffic.Sources {
		traces = append(traces, src.Name)
	}
	p.linef("traffic   %s requests over %s, of %s", thousands(int64(r.Requests)), r.Span.Round(time.Second), strings.Join(traces, ", "))
	p.linef("fleet     %s", describe(r.Workers))
	if s.Seeds > 1 {
		how := "as recorded, with other random choices"
		if s.Traffic.Block > 0 {
			how = fmt.Sprintf("the recording once as it is, then resampled in blocks of %s at most", s.Traffic.Block)
		}
		p.linef("seeds     %d: %s; median (nine tenths of the seeds)", s.Seeds, how)
	}
	p.linef("")
}

// Columns of the tables.
var (
	shareColumns = []string{"asked", "completed", "refused", "late", "tokens", "share", "due"}
	timeColumns  = []string{"wait_p50", "wait_p90", "wait_p99", "wait_max", "ttft_p50", "ttft_p90", "ttft_p99", "ttft_max"}
	listed       = []string{
		"asked", "refused", "late", "share", "due", "wait_p50", "wait_p90", "wait_p99", "wait_max",
		"ttft_p50", "ttft_p90", "ttft_p99", "ttft_max", "total_p99",
	}
)

// maxTenantRows is how many tenants a text shows; JSON has them all.
const maxTenantRows = 20

func (r *Report) tables(p *printer, o *Outcome) {
	r.table(p, "CLASS", shareColumns, o.Classes)
	p.linef("")
	r.table(p, "CLASS", timeColumns, o.Classes)
	if !same(o.Classes, o.Traffic) {
		p.linef("")
		r.table(p, "ASKED FOR", append([]string{"asked", "completed", "refused", "late"}, timeColumns[:3]...), o.Traffic)
		p.linef("")
		r.table(p, "ASKED FOR", timeColumns[4:], o.Traffic)
	}
	if len(o.Tenants) > 0 {
		p.linef("")
		shown := o.Tenants[:min(len(o.Tenants), maxTenantRows)]
		r.table(p, "TENANT", []string{"asked", "refused", "tokens", "share", "due", "wait_p50", "wait_p99", "ttft_p99"}, shown)
		if more := len(o.Tenants) - len(shown); more > 0 {
			p.linef("… and %d more", more)
		}
	}
}

func (r *Report) table(p *printer, title string, columns []string, rows []*Row) {
	head := []string{title}
	for _, c := range columns {
		head = append(head, strings.ToUpper(strings.ReplaceAll(c, "_", " ")))
	}
	cells := [][]string{head}
	for _, row := range rows {
		line := []string{r.name(row)}
		for _, c := range columns {
			m := FindMetric(c)
			line = append(line, Format(metrics[m].Unit, row.Stat(m).Median))
		}
		cells = append(cells, line)
	}
	p.table(1, cells)
}

// name of a row in tables; the model stands there when there are several.
func (r *Report) name(row *Row) string {
	name := row.Class
	if row.Tenant != "" {
		name += "/" + row.Tenant
	}
	for _, o := range r.Outcomes {
		if row.Model != "" && o.Classes[0].Model != o.Classes[len(o.Classes)-1].Model {
			return row.Model + ":" + name
		}
	}
	return name
}

// same reports whether the names that were asked for are the classes.
func same(classes, traffic []*Row) bool {
	for _, t := range traffic {
		found := false
		for _, c := range classes {
			found = found || c.Class == t.Class && c.values[0][0] == t.values[0][0]
		}
		if !found {
			return false
		}
	}
	return true
}

// lists writes a figure a line. Policies are compared by what was asked for, which
// is the same under each.
func (r *Report) lists(p *printer) {
	head := []string{"CLASS", "FIGURE"}
	for _, o := range r.Outcomes {
		head = append(head, strings.TrimSuffix(path.Base(o.Policy.Name), path.Ext(o.Policy.Name)))
	}
	if len(r.Outcomes) > 1 {
		head = append(head, "DIFFERENCE")
	}
	cells := [][]string{head}
	for _, row := range r.Outcomes[0].compared(r.Outcomes) {
		rows := []*Row{row}
		for _, o := range r.Outcomes[1:] {
			rows = append(rows, find(o.compared(r.Outcomes), row))
		}
		cells = append(cells, r.list(rows)...)
	}
	p.table(2, cells)
}

// compared are the rows that a list shows of an outcome.
func (o *Outcome) compared(all []*Outcome) []*Row {
	for _, x := range all {
		if !same(x.Classes, x.Traffic) {
			return o.Traffic
		}
	}
	return o.Classes
}

func find(rows []*Row, like *Row) *Row {
	for _, row := range rows {
		if row.Model == like.Model && row.Class == like.Class && row.Tenant == like.Tenant {
			return row
		}
	}
	return nil
}

func (r *Report) list(rows []*Row) [][]string {
	var lines [][]string
	for _, name := range listed {
		m := FindMetric(name)
		line := []string{r.name(rows[0]), strings.ReplaceAll(name, "_", " ")}
		some := false
		for _, row := range rows {
			if row == nil {
				line = append(line, "-")
				continue
			}
			s := row.Stat(m)
			some = some || s.N > 0 && (s.High != 0 || metrics[m].Unit == Seconds || name == "share")
			line = append(line, FormatStat(metrics[m].Unit, s))
		}
		for _, row := range rows[1:] {
			text := "-"
			if row != nil {
				text = difference(metrics[m].Unit, rows[0].values[m], row.values[m])
			}
			line = append(line, text)
		}
		if some {
			lines = append(lines, line)
		}
	}
	return lines
}

// tail says why requests failed, and what the workers did.
func (r *Report) tail(p *printer, o *Outcome) {
	p.linef("")
	if len(r.Outcomes) > 1 {
		p.linef("%s", o.Policy.Name)
	}
	for _, row := range o.Classes {
		names, stats := row.Reasons()
		for i, name := range names {
			p.linef("%s: %s requests ended with %s", r.name(row), FormatStat(Count, stats[i]), name)
		}
	}
	if n := o.First.Unknown; n > 0 {
		p.linef("%s requests named a class that the policy does not know", thousands(int64(n)))
	}
	if o.PutBack.High > 0 {
		p.linef("%s attempts came to nothing and their requests ran again; %s workers were lost", FormatStat(Count, o.PutBack), FormatStat(Count, o.WorkersLost))
	}
	r.use(p, o)
}

// maxWorkerRows is how many workers a text shows one by one.
const maxWorkerRows = 8

func (r *Report) use(p *printer, o *Outcome) {
	if len(o.Workers) > maxWorkerRows {
		var slots, engine []float64
		for _, w := range o.Workers {
			slots, engine = append(slots, w.Slots.Median), append(engine, w.Engine.Median)
		}
		s, e := NewStat(slots), NewStat(engine)
		p.linef("%d workers: slots in use %s, engine at work %s, by worker", len(slots), FormatStat(Fraction, s), FormatStat(Fraction, e))
		return
	}
	cells := [][]string{{"WORKER", "SLOTS IN USE", "ENGINE AT WORK"}}
	for _, w := range o.Workers {
		cells = append(cells, []string{w.Name, FormatStat(Fraction, w.Slots), FormatStat(Fraction, w.Engine)})
	}
	p.table(1, cells)
}
