package wire_test

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
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

// liars are messages of a few bytes that announce gigabytes, or nest without end.
func liars() map[string][]byte {
	return map[string][]byte{
		"string":             []byte("\x81\xa1w\xdb\xff\xff\xff\xff"),
		"binary":             []byte("\x81\xa1w\xc6\xff\xff\xff\xff"),
		"binary name":        []byte("\x81\xc6\xff\xff\xff\xff"),
		"binary of nothing":  []byte("\x81\xa1x\xc6\xff\xff\xff\xff"),
		"requests in flight": []byte("\x81\xa6flight\xdd\xff\xff\xff\xff"),
		"names":              []byte("\x81\xa6models\xdd\xff\xff\xff\xff"),
		"map":                []byte("\xdf\xff\xff\xff\xff"),
		"map in a map":       []byte("\x81\xa1x\xdf\xff\xff\xff\xff"),
		"extension":          []byte("\x81\xa1x\xc9\xff\xff\xff\xff\x01"),
		"half a length":      []byte("\x81\xa1x\xdd\xff"),
		"nothing":            {},
		"depth":              append([]byte("\x81\xa1x"), bytes.Repeat([]byte{0x91}, 1<<20)...),
	}
}

func TestDecodeTakesNoRoomForLiars(t *testing.T) {
	for name, data := range liars() {
		for kind, m := range messages() {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := decode(data, m); err == nil {
				t.Errorf("%s, as %s: was read", name, kind)
			}
			runtime.ReadMemStats(&after)
			if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<16 {
				t.Errorf("%s, as %s: took %d bytes", name, kind, taken)
			}
		}
	}
}

// TestDecodeEveryForm reads past unknown fields of every form that msgpack has.
func TestDecodeEveryForm(t *testing.T) {
	forms := []string{
		"\x00", "\xff", "\xc0", "\xc2", "\xc3", "\xa2ab", "\xd9\x01a", "\xda\x00\x01a", "\xdb\x00\x00\x00\x01a",
		"\xc4\x01a", "\xc5\x00\x01a", "\xc6\x00\x00\x00\x01a", "\xca1234", "\xcb12345678",
		"\xcc1", "\xcd12", "\xce1234", "\xcf12345678", "\xd01", "\xd112", "\xd21234", "\xd312345678",
		"\xd4t1", "\xd5t12", "\xd6t1234", "\xd7t12345678", "\xd8t1234567812345678",
		"\xc7\x01ta", "\xc8\x00\x01ta", "\xc9\x00\x00\x00\x01ta",
		"\x92\x01\x91\x02", "\xdc\x00\x01\x01", "\xdd\x00\x00\x00\x01\x01",
		"\x81\x01\x02", "\xde\x00\x01\x01\x02", "\xdf\x00\x00\x00\x01\x01\x02", "\x90", "\x80", "\xa0",
	}
	for _, form := range forms {
		var m wire.Verdict
		if err := wire.Decode([]byte("\x83\xa1x"+form+"\xa1v\x01\xa2id\x07"), &m); err != nil || m.ID != 7 {
			t.Errorf("%q: id %d, %v", form, m.ID, err)
		}
		if err := wire.Decode([]byte("\x83\xa1v\x01\xa2id\x07\xa1x"+form[:len(form)-1]), &m); err == nil {
			t.Errorf("%q without its last byte: was read", form)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, data := range liars() {
		f.Add(data)
	}
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
