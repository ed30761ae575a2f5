package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlead/internal/buildinfo"
)

// healthTimeout bounds a self check; container engines wait for seconds only.
const healthTimeout = 2 * time.Second

// VersionCommand prints what build this is.
func VersionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print version, commit and toolchain", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), buildinfo.Get())
			return err
		},
	}
}

// HealthcheckCommand asks a daemon of this kind, running on this machine, how
// it is. Containers without a shell use it.
func HealthcheckCommand() *cobra.Command {
	var addr string
	var ready bool
	cmd := &cobra.Command{
		Use: "healthcheck", Short: "Ask the daemon on this machine whether it is alive", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := Load(cmd.Flags()); err != nil {
				return err
			}
			path := "/healthz"
			if ready {
				path = "/readyz"
			}
			return Healthcheck(cmd.Context(), addr, path)
		},
	}
	cmd.Flags().StringVar(&addr, "http", DefaultHTTP, "the daemon's HTTP address")
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether it is ready for work as well")
	return cmd
}

// Healthcheck gets a path from the daemon at a listen address such as ":8080".
func Healthcheck(ctx context.Context, addr, path string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address %q: want host:port or :port", addr)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("health check: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("health check: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1024)) // the status says enough without it
		return errors.New(strings.TrimSpace(string(text)))
	}
	return nil
}

// ConfigCommand checks the settings of a daemon and prints those in force.
// addFlags adds the daemon's flags, check reports what is wrong with their
// values.
func ConfigCommand(addFlags func(*cobra.Command), check func() error) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Check the settings and print those in force, secrets hidden", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := Load(cmd.Flags()); err != nil {
				return err
			}
			if err := check(); err != nil {
				return err
			}
			return WriteEffective(cmd.OutOrStdout(), cmd.Flags())
		},
	}
	addFlags(cmd)
	cmd.AddCommand(&cobra.Command{
		Use: "keys", Short: "List every setting with its default, as a table of Markdown", Args: cobra.NoArgs,
		RunE: func(child *cobra.Command, _ []string) error { return WriteKeys(child.OutOrStdout(), cmd.LocalFlags()) },
	})
	return cmd
}
