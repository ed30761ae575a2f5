// Package access is how a program of ours gets at NATS: the flags that say who it is,
// what it trusts and what its names are there.
package access

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"fairlead/internal/daemon"
)

// Access is what the flags say. The zero value is nobody in particular.
type Access struct {
	Creds       string // file of credentials (JWT and seed)
	NKey        string // file of an nkey's seed
	Token       string
	InboxPrefix string // where answers to this program go; "" is NATS's own
	APIPrefix   string // what JetStream's API is called in the account; "" is $JS.API
	CA          string // file of certificates to trust instead of the system's
	Cert, Key   string // files of the certificate to show
}

// AddFlags adds the flags.
func (a *Access) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&a.Creds, "nats-creds", "", "credentials file for NATS")
	f.StringVar(&a.NKey, "nats-nkey", "", "file of the nkey's seed that proves to NATS who this is")
	f.StringVar(&a.Token, "nats-token", "", "token for NATS")
	f.StringVar(&a.InboxPrefix, "nats-inbox-prefix", "", "subject under which answers are heard; what the account allows this identity (default _INBOX)")
	f.StringVar(&a.APIPrefix, "nats-api-prefix", "", "name of JetStream's API, where the account imports it under another than $JS.API")
	f.StringVar(&a.CA, "nats-ca", "", "file of the certificates to trust for NATS by TLS, instead of the system's")
	f.StringVar(&a.Cert, "nats-cert", "", "file of the certificate to show NATS")
	f.StringVar(&a.Key, "nats-key", "", "file of the certificate's key")
	daemon.MarkSecret(f, "nats-token")
}

// Identified reports whether anything proves who this is.
func (a *Access) Identified() bool { return a.Creds != "" || a.NKey != "" || a.Token != "" }

// Check refuses what contradicts itself. It reads no file.
func (a *Access) Check() error {
	var errs []error
	proofs := 0
	for _, p := range []string{a.Creds, a.NKey, a.Token} {
		if p != "" {
			proofs++
		}
	}
	if proofs > 1 {
		errs = append(errs, errors.New("--nats-creds, --nats-nkey and --nats-token: want one of them"))
	}
	if (a.Cert == "") != (a.Key == "") {
		errs = append(errs, errors.New("--nats-cert and --nats-key: want both or none"))
	}
	for flag, prefix := range map[string]string{"nats-inbox-prefix": a.InboxPrefix, "nats-api-prefix": a.APIPrefix} {
		if prefix != "" && !literal(prefix) {
			errs = append(errs, fmt.Errorf("--%s %q: want a subject without wildcards, such as _INBOX.name", flag, prefix))
		}
	}
	return errors.Join(errs...)
}

func literal(subject string) bool {
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" || strings.ContainsAny(token, "*> \t\r\n") {
			return false
		}
	}
	return true
}

// Options are those of a connection. The error is that of a file which cannot be read.
func (a *Access) Options() ([]nats.Option, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	var opts []nats.Option
	if a.Creds != "" {
		opts = append(opts, nats.UserCredentials(a.Creds))
	}
	if a.NKey != "" {
		proof, err := nats.NkeyOptionFromSeed(a.NKey)
		if err != nil {
			return nil, fmt.Errorf("--nats-nkey: %w", err)
		}
		opts = append(opts, proof)
	}
	if a.Token != "" {
		opts = append(opts, nats.Token(a.Token))
	}
	if a.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(a.InboxPrefix))
	}
	if a.CA != "" {
		opts = append(opts, nats.RootCAs(a.CA))
	}
	if a.Cert != "" {
		opts = append(opts, nats.ClientCert(a.Cert, a.Key))
	}
	return opts, nil
}
