package tune

import (
	"encoding/json"
	"io"
	"math"
)

type jsonResult struct {
	Met      bool           `json:"met"`
	Workers  int            `json:"workers"`
	Plays    int            `json:"plays"`
	Seeds    int            `json:"seeds"`
	Limited  bool           `json:"limited"`
	Checked  int            `json:"fresh_seeds"`
	Together int            `json:"fresh_seeds_held"`
	Goals    []jsonGoal     `json:"goals"`
	Fewer    []string       `json:"fails_with_one_worker_less,omitempty"`
	Missed   []jsonConflict `json:"missed,omitempty"`
	Policy   string         `json:"policy"`
}

type jsonGoal struct {
	Goal   string   `json:"goal"`
	Met    bool     `json:"met"`
	Median *float64 `json:"median,omitempty"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Held   int      `json:"fresh_seeds_held"`
}

type jsonConflict struct {
	Goal    string   `json:"goal"`
	Alone   bool     `json:"met_alone"`
	Against []string `json:"in_conflict_with,omitempty"`
}

// WriteJSON writes everything as one line of JSON, the policy file as a string.
func (r *Result) WriteJSON(w io.Writer) error {
	out := jsonResult{
		Met: r.Met, Workers: r.Workers, Plays: r.Plays, Seeds: r.Config.Study.Seeds, Limited: r.Limited,
		Checked: r.Checked, Together: r.Together, Policy: string(r.Policy),
	}
	for i, x := range r.Goals {
		out.Goals = append(out.Goals, jsonGoal{x.Goal.String(), x.Met, number(x.Stat.Median), number(x.Stat.Low), number(x.Stat.High), r.Held[i]})
	}
	for _, x := range r.Fewer {
		out.Fewer = append(out.Fewer, x.Goal.String())
	}
	for _, c := range r.Missed {
		j := jsonConflict{Goal: c.Goal.String(), Alone: c.Alone}
		for _, g := range c.Against {
			j.Against = append(j.Against, g.String())
		}
		out.Missed = append(out.Missed, j)
	}
	return json.NewEncoder(w).Encode(out)
}

func number(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}
