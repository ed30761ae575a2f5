package arbiter

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"fairlead/policy"
)

// Unsupported says what a policy asks for and this arbiter does not do, every
// class and field by name; nil when there is nothing. A policy that it refuses
// must not be given to an arbiter, which would ignore these fields.
func Unsupported(p *policy.Policy) error {
	problems := unsupported("", p.Root)
	for _, model := range slices.Sorted(maps.Keys(p.Models)) {
		problems = append(problems, unsupported("models."+model+": ", p.Models[model])...)
	}
	return errors.Join(problems...)
}

func unsupported(where string, p *policy.Profile) []error {
	var problems []error
	for i := range p.Classes {
		c := &p.Classes[i]
		for _, f := range []struct {
			field, remedy string
			used          bool
		}{
			{"displace", "remove it, or set it to false", c.Displace},
		} {
			if f.used {
				problems = append(problems, fmt.Errorf("%sclass %s: %s is not supported by this version; %s", where, c.Name, f.field, f.remedy))
			}
		}
	}
	return problems
}
