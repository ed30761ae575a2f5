package demo

import (
	"encoding/json"
	"io"
	"math"
	"time"
)

// report is the line of --json.
type report struct {
	Acknowledged int                    `json:"acknowledged"`
	Completed    int                    `json:"completed"`
	Failed       int                    `json:"failed"`
	Lost         int                    `json:"lost"`
	Duplicated   int                    `json:"duplicated"`
	Classes      map[string]classReport `json:"classes"`

	PremiumInFirst *int `json:"premium_in_first_320,omitempty"`
	RegularLeft    *int `json:"regular_left_when_premium_drained,omitempty"`
}

type classReport struct {
	Requests    int             `json:"requests"`
	Tokens      int64           `json:"uncached_tokens"`
	Share       float64         `json:"token_share"`
	Entitlement float64         `json:"entitlement"`
	TTFT        quantilesReport `json:"ttft_ms"`
	Wait        quantilesReport `json:"wait_ms"`
}

type quantilesReport struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// writeJSON writes the figures of a run that is over, as one line.
func writeJSON(w io.Writer, f *Figures) error {
	r := report{
		Acknowledged: f.Acknowledged, Completed: f.Completed, Failed: f.Failed, Lost: f.Open(), Duplicated: f.Duplicated,
		Classes: make(map[string]classReport, len(f.Classes)),
	}
	for i := range f.Classes {
		c := &f.Classes[i]
		r.Classes[c.Name] = classReport{
			Requests: c.Requests, Tokens: c.Tokens, Share: rounded(c.Share, 1e4), Entitlement: rounded(c.Entitlement, 1e4),
			TTFT: milliseconds(c.TTFT), Wait: milliseconds(c.Wait),
		}
	}
	if f.Duel != nil {
		r.PremiumInFirst, r.RegularLeft = &f.Duel.PremiumInFirst, &f.Duel.RegularLeft
	}
	return json.NewEncoder(w).Encode(r)
}

func milliseconds(q Quantiles) quantilesReport {
	ms := func(d time.Duration) float64 { return rounded(float64(d)/float64(time.Millisecond), 10) }
	return quantilesReport{P50: ms(q.P50), P99: ms(q.P99)}
}

func rounded(x, steps float64) float64 { return math.Round(x*steps) / steps }
