package whatif

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Format writes a figure for people; "-" where there is none.
func Format(u Unit, x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case u == Fraction:
		return fmt.Sprintf("%.1f %%", 100*x)
	case u == Seconds:
		return seconds(x)
	}
	return thousands(int64(math.Round(x)))
}

// seconds writes a time with three digits that count, or to the second.
func seconds(x float64) string {
	switch {
	case x == 0:
		return "0 s"
	case x < 1:
		return strconv.FormatFloat(1000*x, 'f', decimals(1000*x), 64) + " ms"
	case x < 100:
		return strconv.FormatFloat(x, 'f', decimals(x), 64) + " s"
	}
	return time.Duration(x * float64(time.Second)).Round(time.Second).String()
}

func decimals(x float64) int {
	switch {
	case x < 10:
		return 2
	case x < 100:
		return 1
	}
	return 0
}

// thousands writes a count with commas.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// FormatStat writes a figure with its interval when there were several seeds.
func FormatStat(u Unit, s Stat) string {
	if s.N < 2 || s.Low == s.High {
		return Format(u, s.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", Format(u, s.Median), Format(u, s.Low), Format(u, s.High))
}

// difference is how a figure changes from one policy to the other, seed by seed: in
// per cent of the first, or in points of a fraction.
func difference(u Unit, from, to []float64) string {
	change := make([]float64, len(from))
	for i := range change {
		change[i] = math.NaN()
		if i >= len(to) {
			continue
		}
		switch change[i] = to[i] - from[i]; {
		case u == Fraction:
			change[i] *= 100
		case from[i] != 0:
			change[i] *= 100 / from[i]
		case change[i] != 0:
			change[i] = math.NaN()
		}
	}
	unit := " %"
	if u == Fraction {
		unit = " pt"
	}
	s := NewStat(change)
	switch {
	case s.N == 0:
		return "-"
	case s.N < 2 || s.Low == s.High:
		return signed(s.Median) + unit
	}
	return fmt.Sprintf("%s%s (%s to %s)", signed(s.Median), unit, signed(s.Low), signed(s.High))
}

// signed writes a change; tenths of a large one say nothing.
func signed(x float64) string {
	if math.Abs(x) < 100 {
		return fmt.Sprintf("%+.1f", x)
	}
	return fmt.Sprintf("%+.0f", x)
}
