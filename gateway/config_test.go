package gateway_test

import (
	"strings"
	"testing"
	"time"

	"fairlead/gateway"
)

func TestConfig(t *testing.T) {
	if err := (gateway.Config{}).Check(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for want, c := range map[string]gateway.Config{
		"class: ":         {Class: "a.b"},
		"ttl: ":           {TTL: time.Nanosecond},
		"max in flight: ": {MaxInFlight: -1},
		"body memory: ":   {BodyMemory: 1},
		"body timeout: ":  {BodyTimeout: -1},
		"write timeout: ": {WriteTimeout: 29 * time.Second}, // less than two comments apart
	} {
		if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v; want %s", c, err, want)
		}
	}
}
