package rig

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Figures are what a daemon says of its own resources.
type Figures struct {
	Goroutines int
	Files      int // open file descriptors
	Leader     bool
}

// Get asks a daemon for one of its pages.
func (p *Process) Get(ctx context.Context, path string) (code int, text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.HTTP+path, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// Figures reads a daemon's metrics.
func (p *Process) Figures(ctx context.Context) (f Figures, err error) {
	_, text, err := p.Get(ctx, "/metrics")
	if err != nil {
		return f, fmt.Errorf("metrics of %s: %w", p.Name, err)
	}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		switch name {
		case "go_goroutines":
			f.Goroutines = int(n)
		case "process_open_fds":
			f.Files = int(n)
		case "fairlead_leader":
			f.Leader = n == 1
		}
	}
	return f, nil
}

// Ready waits until a daemon says that it is.
func (p *Process) Ready(ctx context.Context) error {
	last := "nothing"
	err := Until(ctx, 50*time.Millisecond, func() bool {
		code, text, err := p.Get(ctx, "/readyz")
		if err != nil {
			text = err.Error()
		}
		last = text
		return code == http.StatusOK
	})
	if err != nil {
		return fmt.Errorf("%s is not ready, it says %q: %w", p.Name, strings.TrimSpace(last), err)
	}
	return nil
}

// Until asks again and again for what nobody signals.
func Until(ctx context.Context, every time.Duration, ok func() bool) error {
	look := time.NewTicker(every)
	defer look.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
	return nil
}
