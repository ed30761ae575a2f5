package whatif

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"fairlead/wire"
)

// Classes says which class the rows of a trace ask for. The zero value keeps what
// the trace says.
type Classes struct {
	all    string            // "" for none
	rename map[string]string // by the class in the trace
	shares []classShare      // drawn at random
}

type classShare struct {
	class string
	upTo  float64 // cumulative, 0 to 1
}

// ParseClasses reads "premium" (all rows), "code=premium,conv=regular" (by the class
// in the trace) or "premium:20%,regular:80%" (drawn at random by share).
func ParseClasses(text string) (Classes, error) {
	var c Classes
	if text == "" {
		return c, nil
	}
	items := strings.Split(text, ",")
	var total float64
	for _, item := range items {
		item = strings.TrimSpace(item)
		if old, name, ok := strings.Cut(item, "="); ok && len(c.shares) == 0 && c.all == "" {
			if c.rename == nil {
				c.rename = map[string]string{}
			}
			c.rename[old] = name
			item = name
		} else if name, share, ok := strings.Cut(item, ":"); ok && c.rename == nil && c.all == "" {
			f, err := parseShare(share)
			if err != nil {
				return c, fmt.Errorf("class %q: %w", item, err)
			}
			total += f
			c.shares = append(c.shares, classShare{name, total})
			item = name
		} else if len(items) == 1 {
			c.all = item
		} else {
			return c, fmt.Errorf("class %q: want one name, or OLD=NEW,… or NAME:SHARE,… throughout", text)
		}
		if !wire.ValidToken(item) {
			return c, fmt.Errorf("class %q: %q is no name; want A-Z a-z 0-9 _ -", text, item)
		}
	}
	return c, c.normalise(total)
}

func (c *Classes) normalise(total float64) error {
	if len(c.shares) > 0 && (total < .999 || total > 1.001) {
		return fmt.Errorf("class: the shares sum to %.3g; want 1 (or 100%%)", total)
	}
	for i := range c.shares {
		c.shares[i].upTo /= total
	}
	return nil
}

func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	f, err := strconv.ParseFloat(number, 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f > 0 && f <= 1) {
		return 0, fmt.Errorf("%q is no share; want a fraction such as 0.2, or 20%%", text)
	}
	return f, nil
}

// of is the class of a row.
func (c *Classes) of(recorded string, rng *rand.Rand) string {
	switch {
	case c.all != "":
		return c.all
	case c.rename != nil:
		if name, ok := c.rename[recorded]; ok {
			return name
		}
	case len(c.shares) > 0:
		x := rng.Float64()
		i := slices.IndexFunc(c.shares, func(s classShare) bool { return x < s.upTo })
		return c.shares[max(i, 0)].class
	}
	return recorded
}
