// Package deploy_test holds what is deployed together with the code: metrics, settings,
// roles and networks are named in files that no compiler reads.
package deploy_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"fairlead/internal/metricsdoc"
)

var update = flag.Bool("update", false, "rewrite what is generated")

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

var metric = regexp.MustCompile(`\bfairlead_[a-z_]+\b(?:\{[^}]*\})?`)

// known checks that every metric in a text is on the metrics' page, which other tests
// compare with the code, with the labels that it is asked by.
func known(t *testing.T, where, text string, page map[string]metricsdoc.Metric) (found int) {
	t.Helper()
	for _, use := range metric.FindAllString(text, -1) {
		name, selector, _ := strings.Cut(use, "{")
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if m := page[strings.TrimSuffix(name, suffix)]; m.Type == "histogram" {
				base = strings.TrimSuffix(name, suffix)
			}
		}
		m, ok := page[base]
		if !ok || m.Type == "histogram" && base == name {
			t.Errorf("%s: %s is no metric of ours", where, name)
			continue
		}
		for _, l := range regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`).FindAllStringSubmatch(selector, -1) {
			if !slices.Contains(strings.Fields(m.Labels), l[1]) {
				t.Errorf("%s: %s has no label %s, but %q", where, name, l[1], m.Labels)
			}
		}
		found++
	}
	return found
}

// rule is an alert of a Prometheus rule file.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	must(t, yaml.UnmarshalWithOptions([]byte(read(t, "monitoring/alerts.yaml")), &file, yaml.Strict()))
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) < 15 {
		t.Fatalf("groups %+v", file.Groups)
	}
	return file.Groups[0].Rules
}

func TestAlerts(t *testing.T) {
	page, err := metricsdoc.Read("../docs/metrics.md")
	must(t, err)
	operations := read(t, "../docs/operations.md")
	for _, r := range alerts(t) {
		if known(t, r.Alert, r.Expr, page) == 0 {
			t.Errorf("%s asks for no metric", r.Alert)
		}
		if r.Annotations["summary"] == "" || r.Labels["severity"] == "" || strings.Count(r.Expr, "(") != strings.Count(r.Expr, ")") {
			t.Errorf("%s: want a summary, a severity and balanced brackets", r.Alert)
		}
		if !strings.Contains(operations, "| `"+r.Alert+"` |") {
			t.Errorf("docs/operations.md does not say what to do about %s", r.Alert)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(Fairlead[A-Za-z]+)` \\|").FindAllStringSubmatch(operations, -1) {
		if !slices.ContainsFunc(alerts(t), func(r rule) bool { return r.Alert == m[1] }) {
			t.Errorf("docs/operations.md names the alert %s, which is none", m[1])
		}
	}
}

func TestDashboard(t *testing.T) {
	page, err := metricsdoc.Read("../docs/metrics.md")
	must(t, err)
	var board struct {
		Title  string
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text := read(t, "monitoring/grafana.json")
	must(t, json.Unmarshal([]byte(text), &board))
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("two panels are number %d", p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			if known(t, p.Title, target.Expr, page) == 0 {
				t.Errorf("%s asks for no metric", p.Title)
			}
		}
	}
	known(t, "dashboard", text, page)
	if len(board.Panels) < 20 {
		t.Errorf("%d panels", len(board.Panels))
	}
}

// TestScrapes: Prometheus is sent to every program of the compose file.
func TestScrapes(t *testing.T) {
	var file struct {
		ScrapeConfigs []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	must(t, yaml.Unmarshal([]byte(read(t, "monitoring/prometheus.yaml")), &file))
	var scraped []string
	for _, job := range file.ScrapeConfigs {
		for _, s := range job.Static {
			for _, target := range s.Targets {
				scraped = append(scraped, strings.TrimSuffix(target, ":8080"))
			}
		}
	}
	var programs []string
	for name, s := range services(t) {
		if len(s.Healthcheck.Test) > 0 && len(s.Profiles) == 0 {
			programs = append(programs, name)
		}
	}
	slices.Sort(scraped)
	slices.Sort(programs)
	if !slices.Equal(scraped, programs) {
		t.Errorf("scraped are %v, programs are %v", scraped, programs)
	}
}

// service is a service of the compose file.
type service struct {
	Image       string
	Command     []string
	Environment map[string]string
	Networks    []string
	Profiles    []string
	Volumes     []string
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	MemLimit    string   `yaml:"mem_limit"`
	Restart     string
	NetworkMode string `yaml:"network_mode"`
	Privileged  bool
	User        string
	Healthcheck struct{ Test []string }
}

func services(t *testing.T) map[string]service {
	t.Helper()
	var file struct{ Services map[string]service }
	// What is merged in may be overridden, which this reader calls a duplicate.
	must(t, yaml.UnmarshalWithOptions([]byte(read(t, "compose.yaml")), &file, yaml.AllowDuplicateMapKey()))
	if len(file.Services) < 10 {
		t.Fatalf("%d services", len(file.Services))
	}
	return file.Services
}

// TestCompose: what an operator relies on, in every service.
func TestCompose(t *testing.T) {
	for name, s := range services(t) {
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.Privileged || s.User != "" {
			t.Errorf("%s: want a read-only root, no capabilities, and the image's own user", name)
		}
		if len(s.Healthcheck.Test) > 0 && (s.MemLimit == "" || s.Restart != "unless-stopped") {
			t.Errorf("%s: want a limit of memory and a restart policy", name)
		}
		if len(s.Healthcheck.Test) == 0 && s.NetworkMode == "" && len(s.Profiles) == 0 {
			t.Errorf("%s has no health check", name)
		}
		gateway, agent := strings.HasPrefix(name, "gateway"), strings.HasPrefix(name, "gpu") || strings.HasPrefix(name, "engine")
		for _, network := range s.Networks {
			if gateway && network != "front" && network != "edge" || agent && network != "work" && network != "engines" {
				t.Errorf("%s stands on the network %s", name, network)
			}
		}
		if key := s.Environment["FAIRLEAD_NATS_NKEY"]; key != "" && !strings.HasSuffix(s.Environment["FAIRLEAD_NATS_INBOX_PREFIX"], "."+strings.TrimSuffix(filepath.Base(key), ".nk")) {
			t.Errorf("%s: the inbox %s is not that of the key %s", name, s.Environment["FAIRLEAD_NATS_INBOX_PREFIX"], key)
		}
		for _, v := range s.Volumes {
			role := map[bool]string{strings.HasPrefix(name, "broker"): "brokers", gateway || name == "steady": "frontends", agent: "agents", name == "cli": "operators"}[true]
			if strings.Contains(v, ":/keys/") && name != "keys" && !strings.Contains(v, ":/keys/"+role+":ro") {
				t.Errorf("%s has the keys %s", name, v)
			}
		}
	}
	for _, word := range []string{"start_interval", "\nname:"} {
		if strings.Contains(read(t, "compose.yaml"), word) {
			t.Errorf("docker-compose 1.29 knows no %q", word)
		}
	}
}

// programs are those with settings.
var programs = []string{"broker", "worker-agent", "gateway"}

// TestSettings: docs/operations.md lists every setting, and the units name no other.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	args := []string{"build", "-o", dir + "/"}
	for _, p := range programs {
		args = append(args, "../cmd/"+p)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const file = "../docs/operations.md"
	page := read(t, file)
	for _, p := range programs {
		table, err := exec.Command(filepath.Join(dir, p), "config", "keys").Output()
		must(t, err)
		begin := "<!-- settings of " + p + " -->\n"
		before, rest, ok := strings.Cut(page, begin)
		old, after, closed := strings.Cut(rest, "<!-- end -->")
		if !ok || !closed {
			t.Fatalf("%s has no place for the settings of %s", file, p)
		}
		if *update {
			page = before + begin + string(table) + "<!-- end -->" + after
		} else if old != string(table) {
			t.Errorf("%s is not what %s says of its settings; make golden rewrites it", file, p)
		}
		units, err := filepath.Glob("systemd/fairlead-" + p + "*.service")
		must(t, err)
		if len(units) != 1 {
			t.Errorf("units of %s: %v", p, units)
			continue
		}
		for _, m := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(read(t, units[0]), ""), -1) {
			if m[1] != "config" && !strings.Contains(string(table), "| `"+m[1]+"` |") {
				t.Errorf("%s: %s has no setting %s", units[0], p, m[1])
			}
		}
	}
	if *update {
		must(t, os.WriteFile(file, []byte(page), 0o644)) //nolint:gosec // a page
	}
}
