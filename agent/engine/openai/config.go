package openai

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Config is an engine at a URL. A zero field takes its default.
type Config struct {
	// URL is the engine's base, such as http://127.0.0.1:8000; a trailing /v1
	// may be there or not. Required.
	URL string
	// APIKey goes out as a bearer token; empty sends none.
	APIKey string
	// Models fixes the names to announce; by default the engine is asked.
	Models []string
	// MaxEvent bounds one SSE event, in bytes. Default 1 MiB.
	MaxEvent int
	// MaxBody bounds a whole answer, in bytes. Default 64 MiB.
	MaxBody int64
	// Stall is how long the engine may send nothing at all. Default 10 min.
	Stall time.Duration
	// Connect bounds the wait for a connection. Default 5 s.
	Connect time.Duration
}

func (c Config) withDefaults() Config {
	if c.MaxEvent == 0 {
		c.MaxEvent = 1 << 20
	}
	if c.MaxBody == 0 {
		c.MaxBody = 64 << 20
	}
	if c.Stall == 0 {
		c.Stall = 10 * time.Minute
	}
	if c.Connect == 0 {
		c.Connect = 5 * time.Second
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.MaxEvent < 0:
		return fmt.Errorf("max event: %d bytes, want a positive number", c.MaxEvent)
	case c.MaxBody < 0:
		return fmt.Errorf("max body: %d bytes, want a positive number", c.MaxBody)
	case c.Stall < 0:
		return fmt.Errorf("stall: %s, want a positive duration", c.Stall)
	case c.Connect < 0:
		return fmt.Errorf("connect: %s, want a positive duration", c.Connect)
	}
	return nil
}

// base reads the URL, without a trailing /v1.
func (c Config) base() (*url.URL, error) {
	if c.URL == "" {
		return nil, errors.New("url: is empty, want one such as http://127.0.0.1:8000")
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("url: %q, want http://host:port or https://host", c.URL)
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	return u, nil
}
