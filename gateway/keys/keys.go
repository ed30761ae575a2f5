// Package keys is the file of API keys: whose they are, which classes they may
// ask for, and how much. Secrets are kept as hashes and never printed.
package keys

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"fairlead/wire"
)

// Key is an entry of the file.
type Key struct {
	Name    string   // in logs and metrics: 1 to 64 of A-Z a-z 0-9 _ -
	Tenant  string   // of its requests; "" lets the client name one
	Class   string   // of a request that names none; "" is the gateway's default
	Classes []string // that it may ask for beside Class; with neither, any
	Trusted bool     // it may set priorities, token counts and workers of its requests

	// Limits of all gateways together; this one enforces its part of them.
	Rate       float64 // requests a second; 0 no limit
	Burst      int     // requests at once above the rate; default one second's worth
	Concurrent int     // requests under way; 0 no limit

	hash [sha256.Size]byte
	set  *Set
}

// Set is a file that has been read.
type Set struct {
	byHash map[[sha256.Size]byte]*Key
	secret []byte // of the gateways with this file
}

type fileKey struct {
	Name       string   `yaml:"name"`
	Key        string   `yaml:"key"`
	SHA256     string   `yaml:"sha256"`
	Tenant     string   `yaml:"tenant"`
	Class      string   `yaml:"class"`
	Classes    []string `yaml:"classes"`
	Trusted    bool     `yaml:"trusted"`
	Rate       float64  `yaml:"requests_per_second"`
	Burst      int      `yaml:"burst"`
	Concurrent int      `yaml:"max_concurrent"`
}

type fileSet struct {
	Secret   string    `yaml:"secret"`
	Gateways int       `yaml:"gateways"`
	Keys     []fileKey `yaml:"keys"`
}

// Parse reads a file of keys. Its error names the key and the field, and shows
// no secret.
func Parse(data []byte) (*Set, error) {
	var f fileSet
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.DisallowUnknownField()); err != nil {
		return nil, fmt.Errorf("keys: %s", bare(err)) // not wrapped: it would show the lines around it, and their secrets
	}
	if f.Gateways < 0 {
		return nil, fmt.Errorf("keys: gateways: %d; want how many share the limits, at least 1", f.Gateways)
	}
	if len(f.Keys) == 0 {
		return nil, errors.New("keys: the list is empty; want at least one key, or no file at all")
	}
	if len(f.Secret) < minSecret {
		return nil, fmt.Errorf("keys: secret: %d characters; want at least %d that no client knows, as of openssl rand -hex 32: ids of requests are signed with it", len(f.Secret), minSecret)
	}
	s := &Set{byHash: make(map[[sha256.Size]byte]*Key, len(f.Keys)), secret: []byte(f.Secret)}
	var names []string
	for i := range f.Keys {
		k, err := f.Keys[i].read(max(f.Gateways, 1))
		switch {
		case err != nil:
			return nil, fmt.Errorf("keys[%d] (%q): %w", i, f.Keys[i].Name, err)
		case slices.Contains(names, k.Name):
			return nil, fmt.Errorf("keys[%d]: name %q is taken; want each once", i, k.Name)
		case s.byHash[k.hash] != nil:
			return nil, fmt.Errorf("keys[%d] (%q): the same key as %q; want each once", i, k.Name, s.byHash[k.hash].Name)
		}
		names = append(names, k.Name)
		k.set, s.byHash[k.hash] = s, k
	}
	return s, nil
}

// bare is what is wrong with a file, without the source around it.
func bare(err error) string {
	var y yaml.Error
	if errors.As(err, &y) {
		if t := y.GetToken(); t != nil && t.Position != nil {
			return fmt.Sprintf("line %d, column %d: %s", t.Position.Line, t.Position.Column, y.GetMessage())
		}
		return y.GetMessage()
	}
	return "not a YAML file of keys"
}

func (f *fileKey) read(gateways int) (*Key, error) {
	k := &Key{Name: f.Name, Tenant: f.Tenant, Class: f.Class, Classes: f.Classes, Trusted: f.Trusted}
	if err := f.check(); err != nil {
		return nil, err
	}
	k.Rate = f.Rate / float64(gateways)
	if f.Rate > 0 {
		burst := f.Burst
		if burst == 0 {
			burst = int(math.Ceil(f.Rate))
		}
		k.Burst = max(burst/gateways, 1)
	}
	if f.Concurrent > 0 {
		k.Concurrent = max(f.Concurrent/gateways, 1)
	}
	var err error
	k.hash, err = f.hash()
	return k, err
}

func (f *fileKey) check() error {
	const want = "want 1 to 64 characters of A-Z a-z 0-9 _ -"
	switch {
	case !wire.ValidToken(f.Name):
		return errors.New("name: " + want)
	case f.Tenant != "" && !wire.ValidToken(f.Tenant):
		return fmt.Errorf("tenant: %q; %s", f.Tenant, want)
	case f.Class != "" && !wire.ValidToken(f.Class):
		return fmt.Errorf("class: %q; %s", f.Class, want)
	case slices.ContainsFunc(f.Classes, func(c string) bool { return !wire.ValidToken(c) }):
		return fmt.Errorf("classes: %q; each: %s", f.Classes, want)
	case !(f.Rate >= 0) || math.IsInf(f.Rate, 0): // so written because NaN is not
		return fmt.Errorf("requests_per_second: %v; want a positive number, or 0 for no limit", f.Rate)
	case f.Burst < 0:
		return fmt.Errorf("burst: %d; want at least 1, or 0 for a second's worth", f.Burst)
	case f.Burst > 0 && f.Rate == 0:
		return errors.New("burst: without requests_per_second; want both")
	case f.Concurrent < 0:
		return fmt.Errorf("max_concurrent: %d; want at least 1, or 0 for no limit", f.Concurrent)
	}
	return nil
}

// Least lengths of the file's secret, and of a key in the clear: shorter ones are
// guessed.
const (
	minSecret = 32
	minKey    = 8
)

func (f *fileKey) hash() (h [sha256.Size]byte, err error) {
	switch {
	case (f.Key == "") == (f.SHA256 == ""):
		return h, errors.New("want either key or sha256")
	case f.Key != "" && len(f.Key) < minKey:
		return h, fmt.Errorf("key: %d characters; want at least %d", len(f.Key), minKey)
	case f.Key != "":
		return sha256.Sum256([]byte(f.Key)), nil
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(f.SHA256, "sha256:"))
	if err != nil || len(raw) != sha256.Size {
		return h, errors.New("sha256: want 64 hexadecimal digits, as of printf %s \"$KEY\" | sha256sum")
	}
	if h = [sha256.Size]byte(raw); h == sha256.Sum256(nil) {
		return h, errors.New("sha256: is that of an empty key; was $KEY set when it was made?")
	}
	return h, nil
}

// Find is the entry of a key that a client presents; nil when there is none.
// Only hashes are compared, so that the time it takes tells nothing.
func (s *Set) Find(secret string) *Key { return s.byHash[sha256.Sum256([]byte(secret))] }

// Len is the number of keys.
func (s *Set) Len() int { return len(s.byHash) }

// Sign makes of a text what only gateways with the file's secret can make of it,
// for the key of this name alone. It outlives the key itself, which may be
// replaced.
func (k *Key) Sign(text string) []byte {
	mac := hmac.New(sha256.New, k.set.secret)
	mac.Write([]byte(k.Name + " " + text))
	return mac.Sum(nil)
}

// May reports whether the key may ask for a class.
func (k *Key) May(class string) bool {
	if k.Class == "" && len(k.Classes) == 0 {
		return true
	}
	return class == k.Class || slices.Contains(k.Classes, class)
}

// Default is the class of a request that names none; "" is the gateway's.
func (k *Key) Default() string {
	if k.Class == "" && len(k.Classes) > 0 {
		return k.Classes[0]
	}
	return k.Class
}
