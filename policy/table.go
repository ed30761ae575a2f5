package policy

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteTable writes the policy as text for people: for the root and for each
// model's own profile, every class with the family and the uncached tokens
// that lead to it, its order, its share of a fully backlogged ring, when it
// holds requests back, and its limits. The error is the writer's.
func (p *Policy) WriteTable(w io.Writer) error {
	title := "all models"
	if len(p.Models) > 0 {
		title = "all other models"
	}
	if err := p.Root.writeTable(w, title); err != nil {
		return err
	}
	for _, model := range slices.Sorted(maps.Keys(p.Models)) {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		if err := p.Models[model].writeTable(w, "model "+model); err != nil {
			return err
		}
	}
	return nil
}

func (p *Profile) writeTable(w io.Writer, title string) error {
	_, err := fmt.Fprintf(w, "%s: default family %s, placement %s, unknown class %s, max attempts %d\n",
		title, p.DefaultFamily, p.Placement, p.UnknownClass, p.MaxAttempts)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  CLASS\tFAMILY\tUNCACHED TOKENS\tORDER\tQUANTUM\tSHARE\tBUSY ABOVE\tLIMITS PER WORKER\tOPTIONS")
	total := 0.0
	for i := range p.Classes {
		total += float64(p.Classes[i].Quantum)
	}
	for i := range p.Classes {
		c := &p.Classes[i]
		family, step := "(by name)", "any"
		if !c.Explicit() {
			family, step = c.Family, p.step(c.Bucket)
		}
		share := strconv.FormatFloat(100*float64(c.Quantum)/total, 'f', 1, 64) + " %"
		fmt.Fprintln(t, strings.Join([]string{"  " + c.Name, family, step, c.Order.String(), strconv.FormatInt(c.Quantum, 10),
			share, c.busyText(), c.Limits.text(), c.optionText()}, "\t"))
	}
	return t.Flush() // an error of the writer stays with the tabwriter until here
}

// step describes a bucket as "name: from–to".
func (p *Profile) step(bucket string) string {
	for i, b := range p.Buckets {
		if b.Name != bucket {
			continue
		}
		if i+1 == len(p.Buckets) {
			return fmt.Sprintf("%s: %d and up", b.Name, b.MinTokens)
		}
		return fmt.Sprintf("%s: %d to %d", b.Name, b.MinTokens, p.Buckets[i+1].MinTokens-1)
	}
	return bucket
}

func (c *Class) busyText() string {
	var parts []string
	if c.PrefillBusyThreshold != nil {
		parts = append(parts, fmt.Sprintf("%d tokens", *c.PrefillBusyThreshold))
	}
	if c.PrefillBusyFrac != nil {
		parts = append(parts, fmt.Sprintf("%g of batch", *c.PrefillBusyFrac))
	}
	text := strings.Join(parts, " or ")
	if c.BusyWorkerRatio != nil {
		text += fmt.Sprintf(" (on %g of workers)", *c.BusyWorkerRatio)
	}
	return orDash(text)
}

func (l Limits) text() string {
	var parts []string
	for _, cap := range []struct {
		limit *int64
		unit  string
	}{{l.Requests, "requests"}, {l.RawTokens, "raw"}, {l.CachedTokens, "cached"}, {l.UncachedTokens, "uncached"}} {
		if cap.limit != nil {
			parts = append(parts, fmt.Sprintf("%d %s", *cap.limit, cap.unit))
		}
	}
	return orDash(strings.Join(parts, ", "))
}

func (c *Class) optionText() string {
	var parts []string
	if c.Aging > 0 {
		parts = append(parts, fmt.Sprintf("aging %g at %g tokens/s", c.Aging, c.NominalTokensPerSecond))
	}
	if c.Tenants {
		parts = append(parts, "tenants"+weightText(c.TenantWeights))
	}
	if c.OutputWeight > 0 {
		parts = append(parts, fmt.Sprintf("output ×%g", c.OutputWeight)+outputText(c.EstimateOutput))
	}
	if c.NoWorkerGrace != DefaultNoWorkerGrace {
		parts = append(parts, fmt.Sprintf("no-worker grace %s", c.NoWorkerGrace))
	}
	if c.PinGrace != DefaultPinGrace {
		parts = append(parts, fmt.Sprintf("pin grace %s", c.PinGrace))
	}
	if c.Shed {
		parts = append(parts, "shed")
	}
	if c.Displace {
		parts = append(parts, "displace")
	}
	return orDash(strings.Join(parts, ", "))
}

func outputText(estimated bool) string {
	if estimated {
		return " (estimated)"
	}
	return ""
}

func weightText(weights map[string]float64) string {
	var parts []string
	for _, tenant := range slices.Sorted(maps.Keys(weights)) {
		parts = append(parts, fmt.Sprintf("%s %g", tenant, weights[tenant]))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
