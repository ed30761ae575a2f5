package whatif

import (
	"fmt"
	"strings"
)

// PerClass is a setting of every class, with exceptions by name.
type PerClass[T any] struct {
	All    T
	Except map[string]T
}

// Of is the setting of a class.
func (p PerClass[T]) Of(class string) T {
	if v, ok := p.Except[class]; ok {
		return v
	}
	return p.All
}

// ParsePerClass reads "VALUE", "CLASS=VALUE,…" or both: "2,batch=10". What is not said
// stays as in the setting that it is read into.
func ParsePerClass[T any](p *PerClass[T], text string, parse func(string) (T, error)) error {
	for _, item := range strings.Split(text, ",") {
		class, value, named := strings.Cut(strings.TrimSpace(item), "=")
		if !named {
			class, value = "", class
		}
		v, err := parse(strings.TrimSpace(value))
		switch {
		case err != nil:
			return fmt.Errorf("%q: %w", item, err)
		case !named:
			p.All = v
		default:
			if p.Except == nil {
				p.Except = map[string]T{}
			}
			p.Except[strings.TrimSpace(class)] = v
		}
	}
	return nil
}
