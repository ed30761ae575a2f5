package rig

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// listen takes a free port below those that the kernel gives to clients: one
// that tries for ever to reach a dead server must not connect to itself.
func listen() (net.Listener, error) {
	var last error
	var config net.ListenConfig
	for range 200 {
		l, err := config.Listen(context.Background(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(20_000))))
		if err == nil {
			return l, nil
		}
		last = err
	}
	return nil, errors.Join(errors.New("no free port"), last)
}

// freeAddr finds an address for a process that will listen itself.
func freeAddr() (string, error) {
	l, err := listen()
	if err != nil {
		return "", err
	}
	addr := l.Addr().String()
	return addr, l.Close()
}
