package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"fairlead/internal/daemon"
	"fairlead/wire"
)

// check refuses settings that contradict each other or are out of range.
func (s *settings) check() error {
	var errs []error
	if s.replicas != 1 && s.replicas != 3 && s.replicas != 5 {
		errs = append(errs, fmt.Errorf("--replicas is %d: want 1, 3 or 5", s.replicas))
	}
	if s.natsURL == "" && s.cluster == "" && s.natsConfig == "" && s.replicas != 1 {
		errs = append(errs, errors.New("--replicas needs a NATS cluster: name one with --nats-url, or make one with --cluster-name"))
	}
	errs = append(errs, s.checkCluster()...)
	errs = append(errs, s.checkExternal()...)
	for _, b := range []struct {
		flag string
		n    int64
	}{{"result-max-bytes", s.resBytes}, {"dead-max-bytes", s.deadBytes}, {"body-max-bytes", s.bodyBytes}} {
		if b.n < 1<<20 {
			errs = append(errs, fmt.Errorf("--%s is %d: want at least 1048576 (1 MiB)", b.flag, b.n))
		}
	}
	if s.natsPort < 0 || s.natsPort > 65535 {
		errs = append(errs, fmt.Errorf("--nats-port is %d: want 0 (any free port) to 65535", s.natsPort))
	}
	if s.Identified() && s.natsURL == "" && s.natsConfig == "" {
		errs = append(errs, errors.New("--nats-creds, --nats-nkey and --nats-token are for --nats-url or --nats-config, which are missing"))
	}
	errs = append(errs, s.Check())
	if s.APIPrefix != "" {
		errs = append(errs, errors.New("--nats-api-prefix is for agents and frontends: a broker needs JetStream's own API"))
	}
	errs = append(errs, s.checkOverload()...)
	if s.maxBytes < 0 {
		errs = append(errs, fmt.Errorf("--max-bytes is %d: want 0 (no limit) or more", s.maxBytes))
	}
	if s.maxAsked < 0 {
		errs = append(errs, fmt.Errorf("--max-requests-per-class is %d: want 0 (no limit) or more", s.maxAsked))
	}
	if s.resMaxAge < time.Second {
		errs = append(errs, fmt.Errorf("--result-max-age is %v: want at least 1s", s.resMaxAge))
	}
	if s.bodyMaxAge < time.Minute {
		errs = append(errs, fmt.Errorf("--body-max-age is %v: want at least 1m", s.bodyMaxAge))
	}
	if _, err := wire.NewNames(s.namespace); err != nil {
		errs = append(errs, fmt.Errorf("--namespace: %w", err))
	}
	if _, err := s.loadPolicy(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkOverload names the flags, which the broker does not know.
func (s *settings) checkOverload() (errs []error) {
	if kv := s.overload.KV; !(kv >= 0 && kv <= 1) { // so written because NaN is not
		errs = append(errs, fmt.Errorf("--overload-kv is %v: want a fraction from 0 (off) to 1", kv))
	}
	if n := s.overload.Waiting; n < 0 {
		errs = append(errs, fmt.Errorf("--overload-waiting is %d: want a number of requests, or 0 for off", n))
	}
	if n := s.overload.PrefillTokens; n < 0 {
		errs = append(errs, fmt.Errorf("--overload-prefill is %d: want a number of tokens, or 0 for off", n))
	}
	return errs
}

// checkCluster refuses half a cluster.
func (s *settings) checkCluster() (errs []error) {
	if s.cluster == "" {
		if len(s.routes) > 0 {
			errs = append(errs, errors.New("--routes is for --cluster-name, which is missing"))
		}
		return errs
	}
	if s.natsConfig != "" {
		errs = append(errs, errors.New("--nats-config says what the cluster is: leave out --cluster-name"))
	}
	if s.name == "" || len(s.routes) == 0 {
		errs = append(errs, errors.New("--cluster-name needs --name, unique and the same at every start, and --routes"))
	}
	if _, _, err := s.clusterAddr(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

func (s *settings) clusterAddr() (host string, port int, err error) {
	host, p, err := net.SplitHostPort(s.clusterAt)
	if err == nil {
		port, err = strconv.Atoi(p)
	}
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("--cluster-listen is %q: want host:port", s.clusterAt)
	}
	return host, port, nil
}

// checkExternal refuses settings of the embedded server beside an external one:
// the address of that may come from an environment that was meant for something
// else.
func (s *settings) checkExternal() (errs []error) {
	if s.natsURL == "" || s.flags == nil {
		return nil
	}
	for _, name := range []string{"nats-host", "nats-port", "store-dir", "sync-always", "nats-config", "cluster-name", "cluster-listen", "routes"} {
		if f := s.flags.Lookup(name); f.Changed {
			errs = append(errs, fmt.Errorf("%s is for the embedded server, which %s turns off: leave out one of them",
				daemon.Origin(f), daemon.Origin(s.flags.Lookup("nats-url"))))
		}
	}
	return errs
}
