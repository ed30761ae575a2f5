package tune

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"fairlead/policy"
)

// setting is what the search may change, as numbers. 0 of a threshold is none.
type setting struct {
	workers    int
	quanta     []int64 // by class of the root profile, in file order
	thresholds []int64
}

func (s setting) clone() setting {
	s.quanta, s.thresholds = slices.Clone(s.quanta), slices.Clone(s.thresholds)
	return s
}

func (s setting) key() string { return fmt.Sprint(s.workers, s.quanta, s.thresholds) }

// settingOf reads the numbers of a profile.
func settingOf(p *policy.Profile, workers int) setting {
	s := setting{workers: workers}
	for i := range p.Classes {
		c := &p.Classes[i]
		s.quanta = append(s.quanta, c.Quantum)
		threshold := int64(0)
		if c.PrefillBusyThreshold != nil {
			threshold = *c.PrefillBusyThreshold
		}
		s.thresholds = append(s.thresholds, threshold)
	}
	return s
}

// write puts the numbers into a policy file, whose comments and order stay. A
// threshold that the file has is never taken away.
func (s setting) write(file string, text []byte) ([]byte, error) {
	old, err := policy.Parse(file, text)
	if err != nil {
		return nil, err
	}
	doc, err := parser.ParseBytes(text, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	before := settingOf(old.Root, s.workers)
	for i := range s.quanta {
		class := fmt.Sprintf("$.policy_classes[%d]", i)
		if s.quanta[i] != before.quanta[i] {
			err = replace(doc, class+".quantum", s.quanta[i])
		}
		switch threshold := s.thresholds[i]; {
		case err != nil || threshold == before.thresholds[i]:
		case before.thresholds[i] > 0:
			err = replace(doc, class+".prefill_busy_threshold", threshold)
		default:
			err = merge(doc, class, fmt.Sprintf("prefill_busy_threshold: %d\n", threshold))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, class, err)
		}
	}
	return []byte(strings.TrimRight(doc.String(), "\n") + "\n"), nil
}

func replace(doc *ast.File, path string, value int64) error {
	p, err := yaml.PathString(path)
	if err != nil {
		return err
	}
	return p.ReplaceWithReader(doc, strings.NewReader(strconv.FormatInt(value, 10)))
}

func merge(doc *ast.File, path, fields string) error {
	p, err := yaml.PathString(path)
	if err != nil {
		return err
	}
	return p.MergeFromReader(doc, strings.NewReader(fields))
}
