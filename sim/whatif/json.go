package whatif

import (
	"encoding/json"
	"io"
	"math"
)

// WriteJSON writes the whole report as one line of JSON. Times are in seconds, parts from
// 0 to 1; a figure that there is none of is left out.
func (r *Report) WriteJSON(w io.Writer) error {
	out := jsonReport{Requests: r.Requests, Span: r.Span.Seconds(), Seeds: r.Study.Seeds, Fleet: describe(r.Workers)}
	for _, s := range r.Study.Traffic.Sources {
		out.Traces = append(out.Traces, s.Name)
	}
	for _, o := range r.Outcomes {
		j := jsonOutcome{
			Policy: o.Policy.Name, Classes: jsonRows(o.Classes), AskedFor: jsonRows(o.Traffic), Tenants: jsonRows(o.Tenants),
			Unknown: o.First.Unknown, PutBack: newJSONStat(o.PutBack), WorkersLost: newJSONStat(o.WorkersLost),
		}
		for _, k := range o.Workers {
			j.Workers = append(j.Workers, jsonWorker{k.Name, newJSONStat(k.Slots), newJSONStat(k.Engine)})
		}
		out.Policies = append(out.Policies, j)
	}
	return json.NewEncoder(w).Encode(out)
}

type jsonReport struct {
	Traces   []string      `json:"traces"`
	Requests int           `json:"requests"`
	Span     float64       `json:"span_seconds"`
	Fleet    string        `json:"fleet"`
	Seeds    int           `json:"seeds"`
	Policies []jsonOutcome `json:"policies"`
}

type jsonOutcome struct {
	Policy      string       `json:"policy"`
	Classes     []jsonRow    `json:"classes"`
	AskedFor    []jsonRow    `json:"asked_for"`
	Tenants     []jsonRow    `json:"tenants,omitempty"`
	Workers     []jsonWorker `json:"workers"`
	Unknown     int          `json:"unknown_class,omitempty"` // requests of the first seed
	PutBack     *jsonStat    `json:"put_back"`
	WorkersLost *jsonStat    `json:"workers_lost"`
}

type jsonRow struct {
	Model   string               `json:"model,omitempty"`
	Class   string               `json:"class"`
	Tenant  string               `json:"tenant,omitempty"`
	Figures map[string]*jsonStat `json:"figures"`
	Reasons map[string]*jsonStat `json:"reasons,omitempty"`
}

type jsonWorker struct {
	Worker string    `json:"worker"`
	Slots  *jsonStat `json:"slots_in_use"`
	Engine *jsonStat `json:"engine_at_work"`
}

type jsonStat struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"`
}

func newJSONStat(s Stat) *jsonStat {
	if s.N == 0 || math.IsNaN(s.Median) {
		return nil
	}
	return &jsonStat{s.Median, s.Low, s.High, s.N}
}

func jsonRows(rows []*Row) []jsonRow {
	list := make([]jsonRow, len(rows))
	for i, row := range rows {
		j := jsonRow{Model: row.Model, Class: row.Class, Tenant: row.Tenant, Figures: map[string]*jsonStat{}}
		for m := range metrics {
			if s := newJSONStat(row.Stat(m)); s != nil {
				j.Figures[metrics[m].Name] = s
			}
		}
		names, stats := row.Reasons()
		for k, name := range names {
			if j.Reasons == nil {
				j.Reasons = map[string]*jsonStat{}
			}
			j.Reasons[name] = newJSONStat(stats[k])
		}
		list[i] = j
	}
	return list
}
