package accounts_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nkeys"

	"fairlead/internal/accounts"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestWrite: seeds are made once, kept afterwards, and nobody else can read them.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	names := accounts.Names{Brokers: []string{"b1"}, Operators: []string{"op"}, Readers: []string{"gw"}, Workers: []string{"gpu-1"}}
	must(t, accounts.Write(dir, names))
	first, err := os.ReadFile(filepath.Join(dir, "agents", "gpu-1.nk"))
	must(t, err)
	info, err := os.Stat(filepath.Join(dir, "agents", "gpu-1.nk"))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v of a seed", info.Mode())
	}
	names.Workers = append(names.Workers, "gpu-2")
	must(t, accounts.Write(dir, names))
	again, err := os.ReadFile(filepath.Join(dir, "agents", "gpu-1.nk"))
	must(t, err)
	config, err := os.ReadFile(filepath.Join(dir, accounts.ConfigFile))
	must(t, err)
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(first))))
	must(t, err)
	public, err := pair.PublicKey()
	must(t, err)
	if !bytes.Equal(first, again) || !strings.Contains(string(config), public) || !strings.Contains(string(config), "done.gpu-2") {
		t.Errorf("the second run changed a seed, or left somebody out:\n%s", config)
	}
	must(t, os.WriteFile(filepath.Join(dir, "agents", "gpu-2.nk"), []byte("x"), 0o600))
	if err := accounts.Write(dir, names); err == nil || !strings.Contains(err.Error(), "gpu-2") {
		t.Errorf("got %v; want the seed of gpu-2 named", err)
	}
}

func TestBadNames(t *testing.T) {
	for want, names := range map[string]accounts.Names{
		"brokers: there are none":   {Workers: []string{"w"}},
		`name "a.b"`:                {Brokers: []string{"a.b"}},
		`name "b1": is there twice`: {Brokers: []string{"b1"}, Workers: []string{"b1"}},
		`namespace "x.y"`:           {Brokers: []string{"b"}, Namespace: "x.y"},
	} {
		if err := accounts.Write(t.TempDir(), names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestExample: deploy/nats shows what comes out.
func TestExample(t *testing.T) {
	key := func(seed string) string {
		raw := make([]byte, 32)
		copy(raw, seed)
		pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, raw)
		must(t, err)
		public, err := pair.PublicKey()
		must(t, err)
		return public
	}
	identity := func(name string) accounts.Identity { return accounts.Identity{Name: name, Key: key(name)} }
	reader := identity("gateway-1")
	reader.Reads = true
	got, err := accounts.Config(accounts.Deployment{
		Brokers: []accounts.Identity{identity("broker-1")}, Operators: []accounts.Identity{identity("operator")},
		Frontends: []accounts.Identity{reader, identity("batch-jobs")}, Workers: []accounts.Identity{identity("gpu-1")}, System: []accounts.Identity{identity("system")},
	})
	must(t, err)
	const file = "../../deploy/nats/accounts.example.conf"
	if *update {
		must(t, os.WriteFile(file, got, 0o600))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("-%s +code; make golden rewrites it\n%s", file, diff)
	}
}
