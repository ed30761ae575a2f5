package policy

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"
)

// FuzzParse: Parse never panics; it returns a policy or errors that are whole;
// and every policy it returns is well formed.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/*.yaml"} {
		for _, data := range files(f, pattern) {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 16<<10 {
			t.Skip("the YAML parser is slow on large nonsense")
		}
		p, err := Parse("fuzz.yaml", data)
		if err != nil {
			checkErrors(t, p, err)
			return
		}
		if err := wellFormed(p); err != nil {
			t.Error(err)
		}
		if err := p.WriteTable(new(bytes.Buffer)); err != nil {
			t.Error(err)
		}
	})
}

func checkErrors(t *testing.T, p *Policy, err error) {
	t.Helper()
	var all Errors
	if p != nil || !errors.As(err, &all) || len(all) == 0 {
		t.Fatalf("Parse = %v, %v", p, err)
	}
	for _, e := range all {
		if e.Line < 1 || e.Column < 1 || e.Problem == "" || e.Remedy == "" {
			t.Errorf("incomplete: %+v", e)
		}
	}
}

// wellFormed states what a caller may rely on, apart from how Parse checks it.
func wellFormed(p *Policy) error {
	if err := wellFormedProfile(p.Root); err != nil {
		return err
	}
	for _, profile := range p.Models {
		if err := wellFormedProfile(profile); err != nil {
			return err
		}
	}
	return nil
}

func wellFormedProfile(p *Profile) error {
	if p.MaxAttempts < 1 || len(p.Classes) == 0 || len(p.Buckets) == 0 || p.Buckets[0].MinTokens != 0 {
		return fmt.Errorf("incomplete profile: %+v", p)
	}
	reached := make([]bool, len(p.Classes))
	names := []string{"", "no such class"}
	seen := map[string]bool{}
	for _, c := range p.Classes {
		if seen[c.Name] || !validName(c.Name) {
			return fmt.Errorf("class name %q", c.Name)
		}
		seen[c.Name] = true
		if err := wellFormedClass(&c); err != nil {
			return err
		}
		names = append(names, c.Name, c.Family)
	}
	for i, b := range p.Buckets {
		if i > 0 && b.MinTokens <= p.Buckets[i-1].MinTokens {
			return fmt.Errorf("floors do not ascend: %+v", p.Buckets)
		}
		for _, name := range names {
			r := p.Resolve(name, b.MinTokens)
			if r.Class < 0 || r.Class >= len(p.Classes) {
				return fmt.Errorf("Resolve(%q, %d) = %+v", name, b.MinTokens, r)
			}
			reached[r.Class] = true
		}
	}
	for i, ok := range reached {
		if !ok {
			return fmt.Errorf("no request reaches class %q", p.Classes[i].Name)
		}
	}
	return nil
}

func wellFormedClass(c *Class) error {
	finite := func(f, lo, hi float64) bool { return f >= lo && f <= hi } // NaN is not
	switch {
	case c.Quantum < 1, (c.Family == "") != (c.Bucket == ""), c.Order > EDF:
	case !finite(c.Aging, 0, maxWeight), c.Aging > 0 && (c.Order != WSPT || !finite(c.NominalTokensPerSecond, 1, maxRate)):
	case !finite(c.OutputWeight, 0, maxWeight):
	case c.PrefillBusyFrac != nil && !finite(*c.PrefillBusyFrac, 0, math.MaxFloat64):
	case c.PrefillBusyThreshold != nil && *c.PrefillBusyThreshold < 0:
	case c.BusyWorkerRatio != nil && (!finite(*c.BusyWorkerRatio, math.SmallestNonzeroFloat64, 1) || c.PrefillBusyThreshold == nil && c.PrefillBusyFrac == nil):
	case min(c.NoWorkerGrace, c.PinGrace) < 0, max(c.NoWorkerGrace, c.PinGrace) > 720*time.Hour:
	default:
		for _, limit := range []*int64{c.Limits.Requests, c.Limits.RawTokens, c.Limits.CachedTokens, c.Limits.UncachedTokens} {
			if limit != nil && *limit < 0 {
				return fmt.Errorf("class %q has a negative limit", c.Name)
			}
		}
		return nil
	}
	return fmt.Errorf("malformed class: %+v", c)
}
