// Package rig is the machinery of a chaos run: NATS nodes, brokers and agents as
// child processes, with a proxy on every way between them.
package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead/internal/smalldisk"
)

// diskBytes is the size of a node's small file system: JetStream's own files
// and what a run stores at any instant fit many times.
const diskBytes = 256 << 20

// Options say how large a rig is.
type Options struct {
	Dir     string // of stores and logs
	Brokers int
	Agents  int
	Nodes   int
	Seed    uint64
	Race    bool // build the daemons with the race detector
}

// Rig is a running system.
type Rig struct {
	Nodes   []*Process
	Brokers []*Process
	Agents  []*Process
	Twins   []*Process // a second process for each agent, with the same worker id
	DiskErr error      // why no disk can be filled; nil when one can

	dir     string
	bin     string
	addrs   []string   // of the nodes, for clients
	routes  [][]*proxy // by node: from and to each other node
	brokers []*proxy
	agents  []*proxy
	disks   []string
	mounted []string
}

// Policy is what the brokers of a rig run with.
const Policy = `default_policy_family: interactive
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: interactive, policy_family: interactive, cache_bucket: all, quantum: 400, pin_grace: 10s}
  - {name: batch, policy_family: batch, cache_bucket: all, quantum: 100, pin_grace: 10s}
`

// Build compiles the daemons and lays the rig out; nothing runs yet but proxies.
func Build(o Options) (*Rig, error) {
	r := &Rig{dir: o.Dir, bin: filepath.Join(o.Dir, "bin")}
	if err := r.compile(o.Race); err != nil {
		return nil, err
	}
	for _, lay := range []func(Options) error{r.layNodes, r.layBrokers, r.layAgents} {
		if err := lay(o); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

func (r *Rig) compile(race bool) error {
	args := []string{"build", "-o", r.bin + "/"}
	if race {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "fairlead/cmd/broker", "fairlead/cmd/worker-agent")...) //nolint:noctx // bounded by the compiler
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the daemons: %w\n%s", err, out)
	}
	return nil
}

// layNodes makes the nodes with a proxy for each directed pair of them, so that
// a route can break in the middle.
func (r *Rig) layNodes(o Options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	mesh := make([]string, o.Nodes)
	r.addrs, r.routes = make([]string, o.Nodes), make([][]*proxy, o.Nodes)
	for i := range o.Nodes {
		var merr error
		r.addrs[i], err = freeAddr()
		mesh[i], merr = freeAddr()
		if err := errors.Join(err, merr); err != nil {
			return err
		}
	}
	for i := range o.Nodes {
		node := Node{Name: fmt.Sprintf("n%d", i+1), Listen: r.addrs[i], Mesh: mesh[i]}
		for j := range o.Nodes {
			if i == j {
				continue
			}
			p, err := newProxy(mesh[j])
			if err != nil {
				return err
			}
			node.Routes = append(node.Routes, p.addr())
			r.routes[i], r.routes[j] = append(r.routes[i], p), append(r.routes[j], p)
		}
		node.Store = filepath.Join(o.Dir, node.Name)
		r.layDisk(node.Store)
		r.Nodes = append(r.Nodes, newProcess(o.Dir, "node "+node.Name, append([]string{self}, node.Args()...)...))
	}
	return nil
}

func (r *Rig) layDisk(dir string) {
	r.disks = append(r.disks, dir)
	if err := smalldisk.Mount(dir, diskBytes); err != nil {
		r.DiskErr = err
		return
	}
	r.mounted = append(r.mounted, dir)
}

func (r *Rig) layBrokers(o Options) error {
	policy := filepath.Join(o.Dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(Policy), 0o600); err != nil {
		return err
	}
	for i := range o.Brokers {
		name := fmt.Sprintf("b%d", i+1)
		way, p, err := r.daemon("broker "+name, "broker", "--name", name, "--replicas", "3", "--policy", policy)
		if err != nil {
			return err
		}
		r.brokers, r.Brokers = append(r.brokers, way), append(r.Brokers, p)
	}
	return nil
}

func (r *Rig) layAgents(o Options) error {
	for i := range o.Agents {
		worker := fmt.Sprintf("w%d", i+1)
		args := []string{"--worker", worker, "--engine", "mock", "--slots", "6", "--model", "mock",
			"--mock-token-time", "15ms", "--mock-jitter", "0.3", "--mock-seed", strconv.FormatUint(o.Seed+uint64(i), 10)}
		way, p, err := r.daemon("agent "+worker, "worker-agent", args...)
		if err != nil {
			return err
		}
		_, twin, err := r.daemonOn(way, "twin "+worker, "worker-agent", args...)
		if err != nil {
			return err
		}
		r.agents, r.Agents, r.Twins = append(r.agents, way), append(r.Agents, p), append(r.Twins, twin)
	}
	return nil
}

// daemon lays out one of our programs, with a way of its own to NATS.
func (r *Rig) daemon(name, bin string, args ...string) (*proxy, *Process, error) {
	way, err := newProxy(r.addrs...)
	if err != nil {
		return nil, nil, err
	}
	return r.daemonOn(way, name, bin, args...)
}

func (r *Rig) daemonOn(way *proxy, name, bin string, args ...string) (*proxy, *Process, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, nil, err
	}
	argv := append([]string{filepath.Join(r.bin, bin), "--nats-url", "nats://" + way.addr(), "--http", addr,
		"--log-format", "json", "--log-level", "debug", "--grace", "5s"}, args...)
	p := newProcess(r.dir, name, argv...)
	p.HTTP = addr
	return way, p, nil
}

// URL of all nodes, for clients that may use any.
func (r *Rig) URL() string { return "nats://" + strings.Join(r.addrs, ",nats://") }

// URLs are the nodes, one by one.
func (r *Rig) URLs() []string {
	urls := make([]string, len(r.addrs))
	for i, a := range r.addrs {
		urls[i] = "nats://" + a
	}
	return urls
}

// StartNodes starts NATS.
func (r *Rig) StartNodes() error { return start(r.Nodes) }

// StartDaemons starts brokers and agents and waits until they are ready.
func (r *Rig) StartDaemons(ctx context.Context) error {
	if err := start(append(append([]*Process{}, r.Brokers...), r.Agents...)); err != nil {
		return err
	}
	for _, p := range append(append([]*Process{}, r.Brokers...), r.Agents...) {
		if err := p.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

func start(list []*Process) error {
	for _, p := range list {
		if err := p.Start(); err != nil {
			return err
		}
	}
	return nil
}

// stopPatience is for a clean end: the grace of a drain, and room.
const stopPatience = 30 * time.Second

// Stop ends every child cleanly, agents first and NATS last. It returns what
// did not end well.
func (r *Rig) Stop() []error {
	var bad []error
	for _, list := range [][]*Process{append(append([]*Process{}, r.Agents...), r.Twins...), r.Brokers, r.Nodes} {
		errs := make([]error, len(list))
		var wg sync.WaitGroup
		for i, p := range list {
			wg.Go(func() {
				if code, err := p.Stop(stopPatience); err != nil || code != 0 && p.everRan() {
					errs[i] = errors.Join(err, fmt.Errorf("%s: exit code %d", p.Name, code))
				}
			})
		}
		wg.Wait()
		bad = append(bad, errs...)
	}
	return bad
}

// Close kills what is left and gives back what the rig holds.
func (r *Rig) Close() error {
	for _, list := range [][]*Process{r.Agents, r.Twins, r.Brokers, r.Nodes} {
		for _, p := range list {
			p.Kill()
		}
	}
	for _, p := range r.proxies() {
		p.close()
	}
	var errs []error
	for _, dir := range r.mounted {
		errs = append(errs, smalldisk.Unmount(dir))
	}
	r.mounted = nil
	return errors.Join(errs...)
}

func (r *Rig) proxies() []*proxy {
	all := append(append([]*proxy{}, r.brokers...), r.agents...)
	seen := map[*proxy]bool{}
	for _, list := range r.routes {
		for _, p := range list {
			if !seen[p] {
				seen[p] = true
				all = append(all, p)
			}
		}
	}
	return all
}
