// Package metricsdoc reads docs/metrics.md, so that tests can hold it, and whatever
// else names metrics, together with the code.
package metricsdoc

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// Metric is what the page says of a metric, and what a registry does.
type Metric struct {
	Type   string // counter, gauge or histogram
	Labels string // names, sorted, with blanks between
}

// Of the cells of a row, the labels and the alert may be empty.
const (
	cells      = 6
	labelsCell = 2
	alertCell  = 5
)

var code = regexp.MustCompile("`([^`]+)`")

// Read returns the metrics of the page's tables, by name. An error names the row
// that is not as the others.
func Read(path string) (map[string]Metric, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the metrics' page: %w", err)
	}
	found := map[string]Metric{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| `fairlead_") {
			continue
		}
		name, m, err := row(line)
		if err != nil {
			return nil, err
		}
		if _, twice := found[name]; twice {
			return nil, fmt.Errorf("%s is on the page twice", name)
		}
		found[name] = m
	}
	return found, nil
}

// row reads name, type, labels, unit, meaning and alert.
func row(line string) (string, Metric, error) {
	parts := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	if len(parts) != cells {
		return "", Metric{}, fmt.Errorf("%d cells in %q; want %d", len(parts), line, cells)
	}
	for i, cell := range parts {
		if strings.TrimSpace(cell) == "" && i != labelsCell && i != alertCell {
			return "", Metric{}, fmt.Errorf("cell %d is empty in %q", i+1, line)
		}
	}
	var labels []string
	for _, m := range code.FindAllStringSubmatch(parts[labelsCell], -1) {
		labels = append(labels, m[1])
	}
	slices.Sort(labels)
	return code.FindStringSubmatch(parts[0])[1], Metric{strings.TrimSpace(parts[1]), strings.Join(labels, " ")}, nil
}

// Of keeps the metrics that a program has: those with one of the prefixes, or, with
// none, those that belong to no other program.
func Of(all map[string]Metric, prefixes ...string) map[string]Metric {
	kept := map[string]Metric{}
	for name, m := range all {
		owners := prefixes
		if len(prefixes) == 0 {
			owners = []string{"fairlead_agent_", "fairlead_gateway_"}
		}
		owned := slices.ContainsFunc(owners, func(p string) bool { return strings.HasPrefix(name, p) })
		if owned == (len(prefixes) > 0) {
			kept[name] = m
		}
	}
	return kept
}

// InCode returns what a registry gathered, by name.
func InCode(families []*dto.MetricFamily) map[string]Metric {
	found := map[string]Metric{}
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		found[f.GetName()] = Metric{strings.ToLower(f.GetType().String()), strings.Join(labels, " ")}
	}
	return found
}
