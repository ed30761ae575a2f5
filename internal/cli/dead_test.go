package cli_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"fairlead/wire"
)

// bury puts a dead letter into DEAD, as a broker does.
func (r *rig) bury(class, id, tenant string) {
	r.t.Helper()
	m := nats.NewMsg(r.store.Names.Dead(class))
	m.Data = []byte(`{"prompt":"` + id + `"}`)
	for key, value := range map[string]string{
		wire.HeaderDeadID: id, wire.HeaderDeadReason: string(wire.AttemptsExhausted), wire.HeaderDeadDetail: "its worker was lost",
		wire.HeaderDeadAttempts: "3", wire.HeaderDeadWorker: "gpu-7", wire.HeaderDeadSubject: r.store.Names.Req(class),
		wire.HeaderTenant: tenant, wire.HeaderReplyTo: "_INBOX.gone", wire.HeaderInputTokens: "12",
	} {
		m.Header.Set(key, value)
	}
	_, err := r.store.JS.PublishMsg(r.ctx, m)
	must(r.t, err)
}

func TestDead(t *testing.T) {
	r := newRig(t)
	for id, class := range map[string]string{"101": "batch", "102": "batch", "103": "premium"} {
		r.bury(class, id, "acme")
	}
	for name, c := range map[string]struct {
		args      []string
		code      int
		out, err  []string
		absent    string
		errAbsent string
	}{
		"list":               {args: []string{"dead", "list"}, out: []string{"101", "102", "103", "gpu-7", "attempts_exhausted"}},
		"list a class":       {args: []string{"dead", "list", "-c", "premium"}, out: []string{"103"}, absent: "101"},
		"list old ones":      {args: []string{"dead", "list", "--older-than", "1h"}, err: []string{"none\n"}, absent: "ID"},
		"list as JSON none":  {args: []string{"dead", "list", "--json", "--tenant", "x"}, err: []string{"none\n"}, absent: "x"},
		"redrive none":       {args: []string{"dead", "redrive", "--all", "--tenant", "x"}, err: []string{"none\n"}, absent: "1"},
		"purge none":         {args: []string{"dead", "purge", "--all", "--tenant", "x"}, err: []string{"none\n"}, absent: "1"},
		"list as JSON":       {args: []string{"dead", "list", "--json", "--tenant", "acme"}, out: []string{`"id":101`, `"subject":"blue.req.batch"`}},
		"unknown reason":     {args: []string{"dead", "list", "--reason", "bored"}, code: 2, err: []string{"--reason", "attempts_exhausted"}},
		"show":               {args: []string{"dead", "show", "102"}, out: []string{`{"prompt":"102"}`}, err: []string{"blue.req.batch", "Fairlead-Input-Tokens: 12", "3 attempts", "gpu-7"}, errAbsent: "Fairlead-Dead"},
		"show none":          {args: []string{"dead", "show", "999"}, code: 3, err: []string{"999"}},
		"redrive what":       {args: []string{"dead", "redrive"}, code: 2, err: []string{"--all"}},
		"purge not a number": {args: []string{"dead", "purge", "x"}, code: 2, err: []string{"x"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.run("", c.args...)
			if got.code != c.code {
				t.Errorf("exit code %d, want %d", got.code, c.code)
			}
			for _, s := range c.out {
				if !strings.Contains(got.out, s) {
					t.Errorf("stdout lacks %q:\n%s", s, got.out)
				}
			}
			for _, s := range c.err {
				if !strings.Contains(got.err, s) {
					t.Errorf("stderr lacks %q:\n%s", s, got.err)
				}
			}
			if c.absent != "" && strings.Contains(got.out, c.absent) || c.errAbsent != "" && strings.Contains(got.err, c.errAbsent) {
				t.Errorf("says too much:\n%s\n%s", got.out, got.err)
			}
		})
	}
}

// TestDeadRedrive: the request is asked again as it was, but for the inbox.
func TestDeadRedrive(t *testing.T) {
	r := newRig(t)
	r.bury("batch", "101", "acme")
	r.bury("batch", "102", "acme")
	got := r.run("", "dead", "redrive", "101")
	last, err := r.store.LeaderLast(r.ctx, r.store.Names.StreamREQ(), r.store.Names.Req("batch"))
	must(t, err)
	if got.code != 0 || !strings.HasPrefix(got.out, "101 ") || !strings.Contains(got.out, " "+itoa(last.Seq)) {
		t.Fatalf("code %d, stdout %q, stderr %q", got.code, got.out, got.err)
	}
	if string(last.Data) != `{"prompt":"101"}` || last.Header.Get(wire.HeaderRedriveOf) != "101" || last.Header.Get(wire.HeaderTenant) != "acme" ||
		last.Header.Get(wire.HeaderReplyTo) != "" || last.Header.Get(wire.HeaderDeadID) != "" {
		t.Fatalf("asked again: %q %v", last.Data, last.Header)
	}
	if got := r.run("", "dead", "purge", "--all"); got.code != 0 || got.out != "102\n" {
		t.Fatalf("purge: code %d, stdout %q, stderr %q", got.code, got.out, got.err)
	}
	left, err := r.store.Range(r.ctx, r.store.Names.StreamDEAD())
	must(t, err)
	if left.Messages != 0 {
		t.Fatalf("%d dead letters left", left.Messages)
	}
}

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
