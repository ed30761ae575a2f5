package wire_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"fairlead/wire"
)

// messages are the binary messages, empty.
func messages() map[string]any {
	return map[string]any{
		"claim": &wire.Claim{}, "heartbeat": &wire.Heartbeat{}, "registration": &wire.Registration{}, "done": &wire.Done{},
		"event": &wire.Event{}, "command": &wire.Command{}, "verdict": &wire.Verdict{},
	}
}

// encode and decode reach through the package's unexported constraint.
func encode(m any) []byte {
	switch m := m.(type) {
	case *wire.Claim:
		return wire.Encode(m)
	case *wire.Heartbeat:
		return wire.Encode(m)
	case *wire.Registration:
		return wire.Encode(m)
	case *wire.Done:
		return wire.Encode(m)
	case *wire.Event:
		return wire.Encode(m)
	case *wire.Command:
		return wire.Encode(m)
	case *wire.Verdict:
		return wire.Encode(m)
	}
	panic("not a message")
}

func decode(data []byte, m any) error {
	switch m := m.(type) {
	case *wire.Claim:
		return wire.Decode(data, m)
	case *wire.Heartbeat:
		return wire.Decode(data, m)
	case *wire.Registration:
		return wire.Decode(data, m)
	case *wire.Done:
		return wire.Decode(data, m)
	case *wire.Event:
		return wire.Decode(data, m)
	case *wire.Command:
		return wire.Decode(data, m)
	case *wire.Verdict:
		return wire.Decode(data, m)
	}
	panic("not a message")
}

// fill gives every field, at any depth, a value that is not its zero, so that a
// field left out of the encoding shows.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(strings.Repeat("é", int(*n)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n) + 0.25)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(-*n)
	case reflect.Uint8:
		v.SetUint(uint64(*n))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(1<<31 + uint64(*n))
	default:
		panic("no value for " + v.Type().String())
	}
}

func TestRoundTrip(t *testing.T) {
	for kind, m := range messages() {
		t.Run(kind, func(t *testing.T) {
			fill(reflect.ValueOf(m).Elem(), new(int64))
			data := encode(m)
			got := reflect.New(reflect.TypeOf(m).Elem()).Interface()
			if err := decode(data, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(m, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if v := reflect.ValueOf(got).Elem().FieldByName("V").Uint(); v != wire.Version {
				t.Errorf("version %d", v)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for kind, m := range messages() {
		t.Run(kind, func(t *testing.T) {
			fill(reflect.ValueOf(m).Elem(), new(int64))
			fields := map[string]any{}
			if err := msgpack.Unmarshal(encode(m), &fields); err != nil {
				t.Fatal(err)
			}
			read := func(change func(map[string]any)) error {
				change(fields)
				data, err := msgpack.Marshal(fields)
				if err != nil {
					t.Fatal(err)
				}
				return decode(data, reflect.New(reflect.TypeOf(m).Elem()).Interface())
			}
			if err := read(func(f map[string]any) { f["a field of tomorrow"] = []any{1, "x", nil} }); err != nil {
				t.Errorf("an unknown field: %v", err)
			}
			err := read(func(f map[string]any) { f["v"] = wire.Version + 1 })
			if !errors.Is(err, wire.ErrVersion) || !strings.Contains(err.Error(), kind) {
				t.Errorf("a newer version: %v, want ErrVersion and the kind", err)
			}
			err = read(func(f map[string]any) { delete(f, "v") })
			if err == nil || errors.Is(err, wire.ErrVersion) || !strings.Contains(err.Error(), "field v is missing") {
				t.Errorf("no version: %v", err)
			}
			if err := read(func(f map[string]any) { f["v"] = "one" }); err == nil {
				t.Error("a version that is no number was taken")
			}
		})
	}
}

func TestDecodeGarbage(t *testing.T) {
	for kind, m := range messages() {
		for name, data := range map[string][]byte{
			"nothing": nil, "nil": {0xc0}, "a string": {0xa1, 'x'}, "an empty map": {0x80}, "a cut map": {0x82, 0xa1, 'v', 1},
			"JSON": []byte(`{"v":1}`), "a map of two billion": {0xdf, 0x7f, 0xff, 0xff, 0xff},
		} {
			if err := decode(data, m); err == nil || !strings.Contains(err.Error(), kind) {
				t.Errorf("%s as %s: %v, want an error that names the kind", name, kind, err)
			}
		}
	}
}

func TestDedupIDs(t *testing.T) {
	c := wire.Claim{Epoch: 3, ID: 17, Attempt: 2}
	if got := c.DedupID(); got != "3.17.2" {
		t.Errorf("claim: %s", got)
	}
	v := wire.Verdict{Epoch: 3, ID: 17}
	if got := v.DedupID(); got != "3.v.17" {
		t.Errorf("verdict: %s", got)
	}
}

func FuzzDecode(f *testing.F) {
	for _, m := range messages() {
		f.Add(encode(m))
		fill(reflect.ValueOf(m).Elem(), new(int64))
		f.Add(encode(m))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for kind, m := range messages() {
			if decode(data, m) != nil {
				continue
			}
			again := reflect.New(reflect.TypeOf(m).Elem()).Interface()
			if err := decode(encode(m), again); err != nil {
				t.Errorf("%s: what was read cannot be written and read: %v", kind, err)
			}
		}
	})
}
