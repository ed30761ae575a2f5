package figures

import (
	"fmt"
	"math"
	"strconv"
)

// Ruling is what became of a claim.
type Ruling string

// The rulings.
const (
	Holds       Ruling = "holds"
	Luck        Ruling = "one seed's luck"
	Fails       Ruling = "does not hold"
	Contradicts Ruling = "contradicts itself"
	Unstated    Ruling = "not comparable"
)

// Verdict is the ruling on one claim, and what it rests on.
type Verdict struct {
	ID        string // figure and a word: "1.c-mu"; it stays when the wording changes
	Claim     string
	Published string // the primer's number, "" when it gives none
	Seen      string // over the seeds
	Theory    string // closed form, "" when there is none
	Rule      string // by which it was ruled
	Ruling    Ruling
}

// Limits of the rules.
const (
	near      = .10 // a published value this near to the closed form, or to the median, holds
	mostSeeds = .95 // a relation on this part of the seeds holds, on what is left of it fails
	narrow    = .45 // seeds agree when their middle 90 % span at most this part of the median, in runs of usual length
	possible  = 3.0 // a published value off the median by a greater factor is not even luck
)

// byTheory judges a published number by the closed form alone, since a median has an error of its own; theory says what
// it should be.
func byTheory(id, claim string, published float64, seeds Sample, theory float64) Verdict {
	v := Verdict{
		ID: id, Claim: claim, Published: asPublished(published), Seen: seeds.Spread().String(), Theory: number(theory),
		Rule: fmt.Sprintf("within %.0f %% of the closed form", 100*near), Ruling: Fails,
	}
	if math.Abs(published/theory-1) <= near {
		v.Ruling = Holds
	}
	return v
}

// bySeeds judges a published number for which there is no closed form. When the seeds disagree, one of them says
// nothing. Their spread is taken for runs of the default length: it shrinks with the root of it.
func bySeeds(id, claim string, published float64, seeds Sample, o Options) Verdict {
	s := seeds.Spread()
	v := Verdict{
		ID: id, Claim: claim, Published: asPublished(published), Seen: s.String(),
		Rule:   fmt.Sprintf("within %.0f %% of the median, and the middle 90 %% of the seeds span at most %.0f %% of it", 100*near, 100*narrow),
		Ruling: Fails,
	}
	span := (s.High - s.Low) / s.Median * math.Sqrt(float64(o.Requests)/DefaultRequests)
	off := max(published/s.Median, s.Median/published)
	switch {
	case span > narrow && off <= possible:
		v.Ruling = Luck
	case span <= narrow && off <= 1+near:
		v.Ruling = Holds
	}
	return v
}

// unstated shows a published number beside ours without judging it, because the primer does not say what was run.
func unstated(id, claim string, published float64, seeds Sample) Verdict {
	return Verdict{
		ID: id, Claim: claim, Published: asPublished(published), Seen: seeds.Spread().String(),
		Rule: "load, spread and quanta are not stated", Ruling: Unstated,
	}
}

// relation judges what is said to be so, by the seeds on which it was.
func relation(id, claim, rule string, seeds []bool) Verdict {
	part := fraction(seeds)
	return Verdict{
		ID: id, Claim: claim, Seen: onSeeds(part),
		Rule:   fmt.Sprintf("%s, on at least %.0f %% of the seeds", rule, 100*mostSeeds),
		Ruling: ruling(part),
	}
}

func ruling(part float64) Ruling {
	switch {
	case part >= mostSeeds:
		return Holds
	case part > 1-mostSeeds:
		return Luck
	}
	return Fails
}

// seen puts what the relation is about before the part of the seeds; times scales it to the unit, as 100 does for %.
func (v Verdict) seen(seeds Sample, times float64, unit string) Verdict {
	s := seeds.Spread()
	v.Seen = Spread{s.Median * times, s.Low * times, s.High * times}.String() + unit + ", " + v.Seen
	return v
}

// contradiction judges a sentence by the primer's own numbers. When they deny it, the seeds say which of the two is
// right; when they do not, it is judged like a relation.
func contradiction(denied bool, numbers string, v Verdict) Verdict {
	v.Published = numbers
	if denied {
		v.Ruling = Contradicts
		v.Rule = "the published numbers deny the sentence; seeds: " + v.Rule
	}
	return v
}

func fraction(seeds []bool) float64 {
	n := 0
	for _, holds := range seeds {
		if holds {
			n++
		}
	}
	return float64(n) / float64(len(seeds))
}

func onSeeds(part float64) string { return fmt.Sprintf("on %.0f %% of the seeds", 100*part) }

func (s Spread) String() string {
	if s.Low == s.High {
		return number(s.Median)
	}
	return fmt.Sprintf("%s (%s – %s)", number(s.Median), number(s.Low), number(s.High))
}

// asPublished writes x with the digits that the primer gives.
func asPublished(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// number writes x to three significant digits, and whole above that.
func number(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return ""
	case a >= 100:
		return thousands(strconv.FormatFloat(x, 'f', 0, 64))
	case a >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}
