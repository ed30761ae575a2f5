package policy

import "testing"

const (
	cached = iota
	uncached
	urgent
)

func TestResolve(t *testing.T) {
	p := mustParse(t, files(t, "testdata/good/everything.yaml")["testdata/good/everything.yaml"])
	tests := []struct {
		why, model, name string
		uncached         int64
		want             Resolution
	}{
		{"missing takes the default family", "", "", 0, Resolution{cached, true}},
		{"missing, by bucket", "", "", 5000, Resolution{uncached, true}},
		{"family", "", "standard", 1, Resolution{cached, true}},
		{"last of the lower bucket", "", "standard", 3071, Resolution{cached, true}},
		{"first of the upper bucket", "", "standard", 3072, Resolution{uncached, true}},
		{"no count is too large", "", "standard", 1 << 62, Resolution{uncached, true}},
		{"a negative count is none", "", "standard", -1, Resolution{cached, true}},
		{"explicit, low", "", "urgent", 0, Resolution{urgent, true}},
		{"explicit, whatever the bucket", "", "urgent", 1 << 40, Resolution{urgent, true}},
		{"unknown takes the default family", "", "premium", 0, Resolution{cached, false}},
		{"unknown, by bucket", "", "premium", 3072, Resolution{uncached, false}},
		{"a matrix class is no family", "", "uncached", 0, Resolution{cached, false}},
		{"case counts", "", "Standard", 0, Resolution{cached, false}},
		{"a model's own profile", "example/large-model", "latency", 4000, Resolution{1, true}},
		{"its families replace the root's", "example/large-model", "standard", 4000, Resolution{1, false}},
		{"its classes too", "example/large-model", "urgent", 0, Resolution{0, false}},
		{"model names are exact", "example/large-model:2", "urgent", 0, Resolution{urgent, true}},
		{"a matrix class may bear its family's name", "tiny", "a", 9, Resolution{0, true}},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			if got := p.Profile(tt.model).Resolve(tt.name, tt.uncached); got != tt.want {
				t.Errorf("Resolve(%q, %d) = %+v, want %+v", tt.name, tt.uncached, got, tt.want)
			}
		})
	}
}

func TestDefault(t *testing.T) {
	p := Default()
	profile := p.Profile("any/model")
	if profile != p.Root || len(profile.Classes) != 1 || profile.Classes[0].Name != "default" || profile.Classes[0].Order != FCFS {
		t.Fatalf("Default() = %+v, want one fcfs class named default", profile)
	}
	for name, known := range map[string]bool{"": true, "default": true, "premium": false} {
		if got, want := profile.Resolve(name, 1<<40), (Resolution{0, known}); got != want {
			t.Errorf("Resolve(%q) = %+v, want %+v", name, got, want)
		}
	}
	if err := wellFormed(p); err != nil {
		t.Error(err)
	}
}

func TestResolveAllocatesNothing(t *testing.T) {
	p := Default().Root
	if n := testing.AllocsPerRun(100, func() { p.Resolve("premium", 4000) }); n != 0 {
		t.Errorf("%v allocations per call, want none", n)
	}
}
