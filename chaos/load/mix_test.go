package load

import (
	"reflect"
	"testing"

	"fairlead/wire"
)

func TestMixIsDrawnBySeed(t *testing.T) {
	for n := range 100 {
		if !reflect.DeepEqual(mix(3, n, 4), mix(3, n, 4)) {
			t.Fatalf("request %d is not the same twice", n)
		}
	}
	if reflect.DeepEqual(mix(3, 1, 4), mix(4, 1, 4)) {
		t.Error("two seeds ask the same")
	}
}

// The mix holds every kind of request that the promises speak of.
func TestMixHasAllKinds(t *testing.T) {
	kinds := map[string]func(ask) bool{
		"inbox":         func(a ask) bool { return !a.Stored },
		"stored":        func(a ask) bool { return a.Stored },
		"streamed":      func(a ask) bool { return a.stream },
		"whole":         func(a ask) bool { return !a.stream },
		"deadline":      func(a ask) bool { return a.TTL > 0 },
		"pinned":        func(a ask) bool { return a.Worker != "" && a.Pin == wire.PinHard },
		"preferred":     func(a ask) bool { return a.Worker != "" && a.Pin == wire.PinPrefer },
		"retry auto":    func(a ask) bool { return a.Retry == wire.RetryAuto },
		"retry always":  func(a ask) bool { return a.Retry == wire.RetryAlways },
		"retry never":   func(a ask) bool { return a.Retry == wire.RetryNever },
		"cancelled":     func(a ask) bool { return a.cancel > 0 },
		"asked twice":   func(a ask) bool { return a.twice && a.IdempotencyKey != "" },
		"read by id":    func(a ask) bool { return a.byID && a.Stored },
		"another class": func(a ask) bool { return a.Class == "batch" },
	}
	count := map[string]int{}
	for n := range 1000 {
		for name, is := range kinds {
			if is(mix(1, n, 4)) {
				count[name]++
			}
		}
	}
	for name := range kinds {
		if count[name] < 20 {
			t.Errorf("%d of 1000 requests are %s", count[name], name)
		}
	}
}

func TestEngineNamesItsAnswer(t *testing.T) {
	for _, test := range []struct {
		body, name string
		token      bool
	}{
		{`{"id":"mock-1-2","choices":[{"delta":{"content":"the"}}]}`, "mock-1-2", true},
		{`{"id":"mock-1-2","choices":[{"text":"the"}]}`, "mock-1-2", true},
		{`{"id":"mock-1-2","choices":[{"delta":{}}]}`, "mock-1-2", false},
		{``, "", false},
	} {
		if name, token := Engine([]byte(test.body)); name != test.name || token != test.token {
			t.Errorf("%s: read %q, %t", test.body, name, token)
		}
	}
}
