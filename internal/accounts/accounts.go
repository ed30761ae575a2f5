package accounts

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"text/template"

	"github.com/nats-io/nkeys"

	"fairlead/wire"
)

// APIPrefix is the name that JetStream's API has in the accounts of agents and
// frontends, where $JS.API is unknown.
const APIPrefix = "fairlead.api"

// Identity is somebody who connects: a name, unique in the deployment, and the public
// key that proves it.
type Identity struct {
	Name string // 1 to 64 of A-Z a-z 0-9 _ -
	Key  string // a public nkey of a user, U…
	// Reads lets a frontend read stored results: anybody's, since ids can be guessed.
	Reads bool
}

// InboxPrefix is where a broker, an operator or a frontend listens for answers.
func (i Identity) InboxPrefix() string { return "_INBOX." + i.Name }

// Deployment is everybody who connects to one Fairlead.
type Deployment struct {
	Namespace string // as the brokers have it
	Brokers   []Identity
	Operators []Identity // may do everything that brokers may
	Frontends []Identity
	Workers   []Identity // named as their agents' --worker
	System    []Identity // look after the NATS servers themselves; optional
}

//go:embed accounts.conf.tmpl
var source string

var configuration = template.Must(template.New("accounts").Parse(source))

// Config writes the accounts as a nats-server configuration, to be included by one
// that says where to listen. The error names the identity at fault.
func Config(d Deployment) ([]byte, error) {
	names, err := wire.NewNames(d.Namespace)
	if err != nil {
		return nil, err
	}
	if err := d.validate(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := configuration.Execute(&out, view{Deployment: d, names: names}); err != nil {
		return nil, fmt.Errorf("write the accounts: %w", err)
	}
	return out.Bytes(), nil
}

func (d Deployment) validate() error {
	if len(d.Brokers) == 0 {
		return errors.New("brokers: there are none; want at least one name")
	}
	seen := map[string]bool{}
	for _, group := range [][]Identity{d.Brokers, d.Operators, d.Frontends, d.Workers, d.System} {
		for _, i := range group {
			switch {
			case !wire.ValidToken(i.Name):
				return fmt.Errorf("name %q: want 1 to 64 characters of A-Z a-z 0-9 _ -", i.Name)
			case seen[i.Name]:
				return fmt.Errorf("name %q: is there twice; want a name for each", i.Name)
			case !nkeys.IsValidPublicUserKey(i.Key):
				return fmt.Errorf("key of %s: %q is no public key of a user; want U…", i.Name, i.Key)
			}
			seen[i.Name] = true
		}
	}
	return nil
}

// view is a deployment as the template sees it.
type view struct {
	Deployment
	names wire.Names
}

// N is a subject in the namespace.
func (v view) N(subject string) string {
	if n := v.names.Namespace(); n != "" {
		return n + "." + subject
	}
	return subject
}

// S is a stream in the namespace.
func (v view) S(stream string) string {
	if n := v.names.Namespace(); n != "" {
		return n + "_" + stream
	}
	return stream
}

// Account is an account of this Fairlead: several may share a server.
func (v view) Account(role string) string {
	if n := v.names.Namespace(); n != "" {
		return n + "_" + role
	}
	return role
}

// API is the local name of JetStream's API.
func (v view) API() string { return APIPrefix }

// Readers reports whether some frontend may read stored results.
func (v view) Readers() bool {
	for _, f := range v.Frontends {
		if f.Reads {
			return true
		}
	}
	return false
}

// Asked are the subjects that frontends ask on.
func (v view) Asked() []string {
	bodies := "$O." + v.names.BucketBodies()
	return []string{
		v.N("req.*"), v.N("req.*.*"), v.names.CtlCancel(), v.names.CtlStatus(), v.names.CtlModels(), bodies + ".C.*", bodies + ".M.*",
	}
}

// Put are what frontends ask of JetStream to put a body into the bucket for those that
// no message can carry. What is known of one can be read by its name, which cannot be
// guessed, and its content not at all.
func (v view) Put() []string {
	bucket := v.names.BucketBodies()
	return []string{"STREAM.INFO.OBJ_" + bucket, "DIRECT.GET.OBJ_" + bucket + ".$O." + bucket + ".M.*"}
}

// Plain are what agents ask of JetStream, besides making a consumer. The name of a
// consumer holds a part that nobody can guess, so that only its owner can use it.
func (v view) Plain() []string {
	work, bodies := v.S("WORK"), "OBJ_"+v.names.BucketBodies()
	return []string{
		"STREAM.MSG.GET." + bodies, "DIRECT.GET." + bodies, "STREAM.PURGE." + bodies, // to read what is large, and remove it
		"STREAM.INFO." + v.S("REQ"), "STREAM.INFO." + work, "STREAM.INFO." + v.S("DONE"), "STREAM.INFO." + v.S("RES"),
		"STREAM.MSG.GET." + v.S("REQ"), "STREAM.MSG.GET." + work, "DIRECT.GET." + v.S("REQ"),
		"CONSUMER.INFO." + work + ".*", "CONSUMER.DELETE." + work + ".*",
	}
}

// Pull is how claims are taken.
func (v view) Pull() string { return "CONSUMER.MSG.NEXT." + v.S("WORK") + ".*" }
