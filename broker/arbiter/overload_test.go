package arbiter

import (
	"math"
	"strings"
	"testing"
)

func TestOverloadValidate(t *testing.T) {
	for _, good := range []Overload{{}, {KV: 1, Waiting: 5, PrefillTokens: 1 << 40}} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, c := range []struct {
		field string
		bad   Overload
	}{{"KV", Overload{KV: -0.1}}, {"KV", Overload{KV: 90}}, {"KV", Overload{KV: math.NaN()}}, {"Waiting", Overload{Waiting: -1}}, {"PrefillTokens", Overload{PrefillTokens: -1}}} {
		if err := c.bad.Validate(); err == nil || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%+v: %v; want an error that names %s", c.bad, err, c.field)
		}
	}
}
