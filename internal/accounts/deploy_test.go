package accounts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"fairlead/broker/embedded"
	"fairlead/internal/access"
	"fairlead/internal/accounts"
)

// shipped copies deploy/nats beside a folder of keys, as it is deployed.
func shipped(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.CopyFS(filepath.Join(dir, "nats"), os.DirFS("../../deploy/nats")))
	must(t, accounts.Write(filepath.Join(dir, "keys"), accounts.Names{
		Brokers: []string{"broker-1", "broker-2", "broker-3"}, Operators: []string{"operator"}, Readers: []string{"gateway-1"}, Workers: []string{"gpu-1"},
	}))
	return dir
}

// TestConfigurations: what lies in deploy/nats is understood as it is meant.
func TestConfigurations(t *testing.T) {
	dir := shipped(t)
	t.Setenv("FAIRLEAD_NAME", "broker-2")
	for _, file := range []string{"broker.conf", "server.conf"} {
		o, err := server.ProcessConfigFile(filepath.Join(dir, "nats", file))
		must(t, err)
		if o.ServerName != "broker-2" || len(o.Routes) != 3 || len(o.Accounts) != 4 || o.SystemAccount != "SYS" || o.MaxPayload != 8<<20 || len(o.Nkeys) != 7 {
			t.Errorf("%s: name %q, %d routes, %d accounts, system %q, payload %d, %d keys", file, o.ServerName, len(o.Routes), len(o.Accounts), o.SystemAccount, o.MaxPayload, len(o.Nkeys))
		}
	}
}

// TestTLS: with the certificates of the test authority, and the keys, a program gets
// in; without the authority it does not.
func TestTLS(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("*** SKIPPED: there is no openssl; deploy/nats/test-ca and TLS are untested ***")
	}
	dir := shipped(t)
	certs := filepath.Join(dir, "tls")
	if out, err := exec.Command("../../deploy/nats/test-ca", certs, "broker-1", "gpu-1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("FAIRLEAD_TLS_CERT", filepath.Join(certs, "broker-1.pem"))
	t.Setenv("FAIRLEAD_TLS_KEY", filepath.Join(certs, "broker-1-key.pem"))
	t.Setenv("FAIRLEAD_TLS_CA", filepath.Join(certs, "ca.pem"))
	conf := filepath.Join(dir, "nats", "one.conf")
	must(t, os.WriteFile(conf, []byte("host: 127.0.0.1\nport: -1\ninclude \"../keys/accounts.conf\"\ninclude \"tls.conf\"\n"), 0o600))
	srv, err := embedded.Start(embedded.Options{ConfigFile: conf, StoreDir: t.TempDir(), Log: zerolog.Nop()})
	must(t, err)
	defer func() { must(t, srv.Stop()) }()

	a := access.Access{NKey: filepath.Join(dir, "keys", "agents", "gpu-1.nk"), InboxPrefix: "_AGENT.gpu-1"}
	opts, err := a.Options()
	must(t, err)
	if nc, err := nats.Connect(srv.URL(), opts...); err == nil {
		nc.Close()
		t.Error("a certificate of nobody known was taken")
	}
	a.CA, a.Cert, a.Key = filepath.Join(certs, "ca.pem"), filepath.Join(certs, "gpu-1.pem"), filepath.Join(certs, "gpu-1-key.pem")
	opts, err = a.Options()
	must(t, err)
	nc, err := nats.Connect(srv.URL(), opts...)
	must(t, err)
	defer nc.Close()
	if _, err := nc.TLSConnectionState(); err != nil {
		t.Error(err)
	}
}

func TestAccessErrors(t *testing.T) {
	for want, a := range map[string]access.Access{
		"--nats-creds, --nats-nkey and --nats-token": {Creds: "a", NKey: "b"},
		"--nats-cert and --nats-key":                 {Cert: "a"},
		`--nats-inbox-prefix "a.*"`:                  {InboxPrefix: "a.*"},
		`--nats-api-prefix "a..b"`:                   {APIPrefix: "a..b"},
		"--nats-nkey":                                {NKey: "/no/such/file"},
	} {
		if _, err := a.Options(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
