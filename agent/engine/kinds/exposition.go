package kinds

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// exposition is a scrape, by the exact names of its metrics.
type exposition map[string]*dto.MetricFamily

// parse reads Prometheus' text format.
func parse(text []byte) (exposition, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the engine's metrics: %w", err)
	}
	return families, nil
}

// has reports whether any name starts with a prefix.
func (x exposition) has(prefix string) bool {
	for name := range x {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// series names metrics to read: all of a name, or those with a label's value. With
// value "" and a label, the number is in the label itself, as info metrics have it.
type series struct{ name, label, value string }

// named are series of whole metrics.
func named(names ...string) []series {
	out := make([]series, len(names))
	for i, n := range names {
		out[i].name = n
	}
	return out
}

// innerRanks are the labels of ranks that serve the same requests together.
var innerRanks = []string{"tp_rank", "pp_rank", "moe_ep_rank"}

// values are what the first of the candidates that is there says, one value for
// each series that counts. Nil is unknown: none is there, or one makes no sense.
func (x exposition) values(candidates []series) []float64 {
	for _, s := range candidates {
		if f := x[s.name]; f != nil {
			if found := s.read(f); found != nil {
				return found
			}
		}
	}
	return nil
}

func (s series) read(f *dto.MetricFamily) []float64 {
	byRank, order := map[string]float64{}, []string{}
	for i, m := range f.GetMetric() {
		v, ok := s.value1(m)
		if !ok {
			continue
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return nil
		}
		id := identity(m, i)
		if _, seen := byRank[id]; !seen {
			order = append(order, id)
		}
		byRank[id] = max(byRank[id], v)
	}
	var out []float64
	for _, id := range order {
		out = append(out, byRank[id])
	}
	return out
}

// value1 is the value of one series, false when it is not one of these.
func (s series) value1(m *dto.Metric) (float64, bool) {
	if s.label != "" {
		i := slices.IndexFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == s.label })
		if i < 0 {
			return 0, false
		}
		text := m.GetLabel()[i].GetValue()
		if s.value == "" {
			v, err := strconv.ParseFloat(text, 64)
			return v, err == nil
		}
		if text != s.value {
			return 0, false
		}
	}
	switch {
	case m.Gauge != nil:
		return m.GetGauge().GetValue(), true
	case m.Untyped != nil:
		return m.GetUntyped().GetValue(), true
	case m.Counter != nil:
		return m.GetCounter().GetValue(), true
	}
	return 0, false
}

// identity tells apart the series that count on their own: all, but for those of
// ranks inside one data-parallel rank.
func identity(m *dto.Metric, index int) string {
	var id strings.Builder
	known := false
	for _, l := range m.GetLabel() {
		if slices.Contains(innerRanks, l.GetName()) {
			continue
		}
		known = known || l.GetName() == "dp_rank"
		fmt.Fprintf(&id, "%s=%q,", l.GetName(), l.GetValue())
	}
	if !known {
		return strconv.Itoa(index)
	}
	return id.String()
}

// count sums requests.
func (x exposition) count(candidates []series) *uint32 {
	total, ok := x.sum(candidates)
	if !ok || total > math.MaxUint32 {
		return nil
	}
	return new(uint32(total))
}

func (x exposition) sum(candidates []series) (total float64, ok bool) {
	found := x.values(candidates)
	for _, v := range found {
		total += v
	}
	return total, len(found) > 0
}

// whole is a sum as an integer, 0 unknown.
func (x exposition) whole(candidates []series) int64 {
	if total, ok := x.sum(candidates); ok && total < math.MaxInt64 {
		return int64(total)
	}
	return 0
}

// largest is the greatest value as an integer, 0 unknown.
func (x exposition) largest(candidates []series) int64 {
	if found := x.values(candidates); len(found) > 0 && slices.Max(found) < math.MaxInt64 {
		return int64(slices.Max(found))
	}
	return 0
}

// fraction is the mean of fractions.
func (x exposition) fraction(candidates []series) *float64 {
	total, ok := x.sum(candidates)
	if !ok {
		return nil
	}
	found := x.values(candidates)
	if slices.Max(found) > 1 {
		return nil
	}
	return new(total / float64(len(found)))
}
