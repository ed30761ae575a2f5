package keys_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fairlead/gateway/keys"
)

const (
	secret = "secret: 0123456789abcdef0123456789abcdef\n"
	sample = secret + `
keys:
  - {name: acme, key: sk-acme-secret, tenant: acme, class: premium, classes: [regular], requests_per_second: 2, burst: 3, max_concurrent: 4}
  - {name: anyone, sha256: %x}
`
)

func parse(t *testing.T, text string) *keys.Set {
	t.Helper()
	s, err := keys.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFind(t *testing.T) {
	s := parse(t, fmt.Sprintf(sample, sha256.Sum256([]byte("sk-hashed"))))
	acme, anyone := s.Find("sk-acme-secret"), s.Find("sk-hashed")
	if acme == nil || acme.Name != "acme" || anyone == nil || anyone.Name != "anyone" || s.Find("sk-other") != nil || s.Find("") != nil {
		t.Fatalf("found %+v and %+v", acme, anyone)
	}
	if !acme.May("premium") || !acme.May("regular") || acme.May("batch") || !anyone.May("batch") {
		t.Error("wrong classes may be asked for")
	}
	if acme.Default() != "premium" || anyone.Default() != "" {
		t.Errorf("default classes %q and %q", acme.Default(), anyone.Default())
	}
}

func TestGatewaysShare(t *testing.T) {
	k := parse(t, secret+"gateways: 2\nkeys: [{name: a, key: 12345678, requests_per_second: 10, max_concurrent: 1}]").Find("12345678")
	if k.Rate != 5 || k.Burst != 5 || k.Concurrent != 1 {
		t.Errorf("a part of two: %+v", k)
	}
}

// What is wrong is named, and no secret is shown.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "list is empty",
		"keys: []":                             "list is empty",
		"keys: 7":                              "line 2",
		"keys:\n  - {name: a, kee: TOPSECRET}": "line 3",
		"keys:\n  - {name: a, key: TOPSECRET":  "line",
		"gateways: -1":                         "gateways",
		"keys: [{name: a b, key: TOPSECRET}]":  "name",
		"keys: [{name: a}]":                    "either key or sha256",
		"keys: [{name: a, key: TOPSECRET, sha256: 00}]":                                               "either key or sha256",
		"keys: [{name: a, sha256: TOPSECRET}]":                                                        "64 hexadecimal",
		"keys: [{name: a, sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}]": "an empty key",
		"keys: [{name: a, key: short}]":                                                               "at least 8",
		"keys: [{name: a, key: TOPSECRET, class: a.b}]":                                               "class",
		"keys: [{name: a, key: TOPSECRET, classes: [a.b]}]":                                           "classes",
		"keys: [{name: a, key: TOPSECRET, tenant: a.b}]":                                              "tenant",
		"keys: [{name: a, key: TOPSECRET, requests_per_second: -1}]":                                  "requests_per_second",
		"keys: [{name: a, key: TOPSECRET, requests_per_second: .nan}]":                                "requests_per_second",
		"keys: [{name: a, key: TOPSECRET, burst: 3}]":                                                 "burst",
		"keys: [{name: a, key: TOPSECRET, max_concurrent: -3}]":                                       "max_concurrent",
		"keys: [{name: a, key: TOPSECRET}, {name: b, key: TOPSECRET}]":                                "the same key",
		"keys: [{name: a, key: TOPSECRET}, {name: a, key: TOPSECRET-2}]":                              "is taken",
	} {
		_, err := keys.Parse([]byte(secret + text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "TOPSECRET") {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// The secret is wanted, and not shown.
func TestSecret(t *testing.T) {
	for _, text := range []string{"", "secret: TOPSECRET\n", "secret: [TOPSECRET]\n"} {
		_, err := keys.Parse([]byte(text + "keys: [{name: a, key: 12345678}]"))
		if err == nil || !strings.Contains(err.Error(), "secret: ") && !strings.Contains(err.Error(), "line 1") || strings.Contains(err.Error(), "TOPSECRET") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A signature is that of a secret and a name: another key of that name makes the
// same, and nobody else does.
func TestSign(t *testing.T) {
	sign := func(secret, name, key string) string {
		return string(parse(t, secret+"keys: [{name: "+name+", key: "+key+"}]").Find(key).Sign("request 7"))
	}
	want := sign(secret, "a", "12345678")
	if sign(secret, "a", "87654321") != want {
		t.Error("a new key changed the signature")
	}
	if sign(secret, "b", "12345678") == want || sign(strings.Replace(secret, "0", "9", 1), "a", "12345678") == want {
		t.Error("another name, or another secret, has the same signature")
	}
}

func TestLimits(t *testing.T) {
	k := parse(t, fmt.Sprintf(sample, sha256.Sum256([]byte("sk-hashed")))).Find("sk-acme-secret")
	l, now := keys.NewLimits(), time.Unix(1000, 0)
	var leaves []func()
	enter := func() error {
		leave, err := l.Enter(k, now)
		if err == nil {
			leaves = append(leaves, leave)
		}
		return err
	}
	refused := func(limit string, retry time.Duration) {
		t.Helper()
		var e *keys.LimitError
		if err := enter(); !errors.As(err, &e) || e.Limit != limit || e.Retry != retry {
			t.Errorf("%+v; want %s, in %v", err, limit, retry)
		}
	}
	for range 3 {
		if err := enter(); err != nil {
			t.Fatal(err)
		}
	}
	refused(keys.LimitRate, time.Second/2)
	now = now.Add(time.Second / 2)
	if err := enter(); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	refused(keys.LimitConcurrent, time.Second)
	leaves[0]()
	if err := enter(); err != nil {
		t.Errorf("after one has left: %v", err)
	}
	k.Concurrent, k.Burst = 0, 1 // as a new file may say
	now = now.Add(time.Hour)
	if err := enter(); err != nil {
		t.Fatal(err)
	}
	refused(keys.LimitRate, time.Second/2)
}
