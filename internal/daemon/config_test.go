package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

type settings struct {
	Common
	Name   string
	Slots  int
	Token  string
	URL    string
	Models []string
}

func newFlags() (*pflag.FlagSet, *settings) {
	s := &settings{}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s.AddFlags(flags)
	flags.StringVar(&s.Name, "name", "none", "a name")
	flags.IntVar(&s.Slots, "slots", 8, "how many at once")
	flags.StringVar(&s.Token, "api-token", "", "a secret")
	flags.StringVar(&s.URL, "nats-url", "", "a server")
	flags.StringSliceVar(&s.Models, "model", nil, "models")
	MarkSecret(flags, "api-token")
	return flags, s
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrecedence(t *testing.T) {
	path := write(t, "name: file\nslots: 3\nlog-level: debug\ngrace: 7s\nmodel: [a, b]\npprof: true\n")
	t.Setenv("FAIRLEAD_CONFIG", path)
	t.Setenv("FAIRLEAD_NAME", "env")
	t.Setenv("FAIRLEAD_SLOTS", "4")
	t.Setenv("FAIRLEAD_API_TOKEN_FILE", write(t, "s3cret\n"))
	t.Setenv("FAIRLEAD_BROKER_SERVICE_HOST", "set by an orchestrator")
	flags, s := newFlags()
	if err := flags.Parse([]string{"--slots=5"}); err != nil {
		t.Fatal(err)
	}
	if err := Load(flags); err != nil {
		t.Fatal(err)
	}
	want := settings{
		Common: Common{LogLevel: "debug", LogFormat: "auto", HTTP: ":8080", PProf: true, Grace: 7 * time.Second},
		Name:   "env", Slots: 5, Token: "s3cret", Models: []string{"a", "b"},
	}
	if diff := cmp.Diff(want, *s); diff != "" {
		t.Error(diff)
	}
}

func TestEffective(t *testing.T) {
	path := write(t, "name: x\n")
	t.Setenv("FAIRLEAD_API_TOKEN", "s3cret")
	flags, _ := newFlags()
	if err := flags.Parse([]string{"--config", path, "--nats-url=nats://u:s3cret@h:1,nats://u:s3cret@h:2", "--model=a,b"}); err != nil {
		t.Fatal(err)
	}
	if err := Load(flags); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteEffective(&out, flags); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`api-token: <hidden> # FAIRLEAD_API_TOKEN`,
		`grace: 5m0s # default`,
		`http: ":8080" # default`,
		`log-format: auto # default`,
		`log-level: info # default`,
		`model: [a, b] # --model`,
		`name: x # ` + path + `: name`,
		`nats-url: "nats://u:xxxxx@h:1,nats://u:xxxxx@h:2" # --nats-url`,
		`pprof: false # default`,
		`slots: 8 # default`,
	}, "\n") + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	again, _ := newFlags()
	if err := again.Parse([]string{"--config", write(t, out.String())}); err != nil {
		t.Fatal(err)
	}
	if err := Load(again); err != nil {
		t.Errorf("what is printed cannot be read: %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	for name, tc := range map[string]struct{ file, env, value, want string }{
		"bad env":       {"", "FAIRLEAD_SLOTS", "many", "FAIRLEAD_SLOTS: strconv"},
		"bad value":     {"slots: many", "", "", "slots: strconv"},
		"unknown key":   {"slot: 4", "", "", `unknown key "slot"`},
		"no mapping":    {"- a", "", "", "sequence"},
		"nested":        {"slots: {a: 1}", "", "", "slots: is map[string]interface {}, want a value for --slots (int): how many at once"},
		"list":          {"slots: [1]", "", "", "slots: is a list"},
		"null":          {"name:", "", "", "name: is <nil>"},
		"config inside": {"config: x", "", "", `unknown key "config"`},
		"no secret":     {"", "FAIRLEAD_NAME_FILE", "/does/not/exist", "FAIRLEAD_NAME_FILE: open"},
		"no file":       {"", "FAIRLEAD_CONFIG", "/does/not/exist", "read --config"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.env != "" {
				t.Setenv(tc.env, tc.value)
			}
			flags, _ := newFlags()
			var args []string
			if tc.file != "" {
				args = []string{"--config", write(t, tc.file)}
			}
			if err := flags.Parse(args); err != nil {
				t.Fatal(err)
			}
			if err := Load(flags); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log, err := Logger(&out, "warn", "auto")
	if err != nil {
		t.Fatal(err)
	}
	log.Info().Msg("quiet")
	log.Warn().Msg("loud")
	if got := out.String(); !strings.HasPrefix(got, `{"level":"warn"`) || strings.Contains(got, "quiet") {
		t.Errorf("got %s", got)
	}
	out.Reset()
	log, err = Logger(&out, "info", "console")
	if err != nil {
		t.Fatal(err)
	}
	log.Info().Msg("for people")
	if got := out.String(); !strings.Contains(got, "INF for people") {
		t.Errorf("got %s", got)
	}
	for _, bad := range [][2]string{{"loud", "json"}, {"", "json"}, {"disabled", "json"}, {"7", "json"}, {"info", "xml"}} {
		if _, err := Logger(&out, bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%v: got %v", bad, err)
		}
	}
}
