package figures

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// thousands puts commas into a decimal number.
func thousands(s string) string {
	whole, _, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// steps puts ticks at multiples of 1, 2 or 5 times a power of ten, some five of them.
type steps struct{}

// Ticks implements plot.Ticker.
func (steps) Ticks(low, high float64) []plot.Tick {
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, factor := range []float64{5, 2} {
		if (high-low)/(factor*unit) >= 4 {
			unit *= factor
			break
		}
	}
	decimals := max(0, int(math.Ceil(-math.Log10(unit)-1e-9)))
	var ticks []plot.Tick
	for k := math.Ceil(low/unit-1e-9) + 0; k*unit <= high+1e-9*unit; k++ {
		ticks = append(ticks, plot.Tick{Value: k * unit, Label: thousands(strconv.FormatFloat(k*unit, 'f', decimals, 64))})
	}
	return ticks
}

// decades puts ticks at 1, 2 and 5 times the powers of ten, where there is room; numbers are written out.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) []plot.Tick {
	wide := math.Log10(high/low) > 3
	var ticks []plot.Tick
	for power := math.Floor(math.Log10(low)); power <= math.Log10(high); power++ {
		for digit := 1.0; digit < 10; digit++ {
			t := plot.Tick{Value: digit * math.Pow(10, power)}
			if digit == 1 || !wide && (digit == 2 || digit == 5) {
				t.Label = thousands(strconv.FormatFloat(t.Value, 'f', -1, 64))
			}
			if t.Value >= low && t.Value <= high {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}
