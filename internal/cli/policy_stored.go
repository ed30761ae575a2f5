package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fairlead/internal/storedpolicy"
	"fairlead/policy"
	"fairlead/wire"
)

// stored is what the commands about the stored policy share: where it is.
type stored struct {
	connection
	json bool
}

// with runs a command on the shelf of stored policies.
func (p *stored) with(cmd *cobra.Command, do func(storedpolicy.Shelf) error) error {
	st, err := p.store(cmd, wire.Names.StreamPOLICY)
	if err != nil {
		return err
	}
	defer st.NC.Close()
	return do(storedpolicy.Shelf{Store: st})
}

func policyApplyCommand() *cobra.Command {
	var p stored
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Check a policy file and put it into force in every broker",
		Long: `Check a policy file and put it into force in every broker.

The file is stored as a new version, which is printed. From then on it is in force
in every broker, those that start later too, instead of the file that a broker was
started with, until another version is applied or "fairlead policy drop". Classes
of the same name keep their queues and deficits. FILE may be - for stdin.`,
		Args: want(1, 1, "one policy file, or - for stdin", "policy.yaml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := readPolicy(cmd, args[0])
			if err != nil {
				return err
			}
			return p.with(cmd, func(shelf storedpolicy.Shelf) error { return put(cmd, shelf, v) })
		},
	}
	p.addFlags(cmd)
	return cmd
}

// readPolicy reads and checks a policy file; - is stdin.
func readPolicy(cmd *cobra.Command, file string) (storedpolicy.Version, error) {
	v := storedpolicy.Version{File: filepath.Base(file)}
	var err error
	if file == "-" {
		v.File = "stdin"
		v.Body, err = io.ReadAll(cmd.InOrStdin())
	} else {
		v.Body, err = os.ReadFile(file)
	}
	if err != nil {
		return v, err
	}
	p, err := policy.Parse(file, v.Body)
	if err != nil {
		return v, err
	}
	warn(cmd, p)
	return v, nil
}

// put stores a version, prints its number, and says whether the leader took it.
func put(cmd *cobra.Command, shelf storedpolicy.Shelf, v storedpolicy.Version) error {
	v.Author = author()
	number, err := shelf.Put(cmd.Context(), v)
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout(), number)
	return confirm(cmd, shelf, number)
}

// author is who runs the command, as user@host.
func author() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

func policyDropCommand() *cobra.Command {
	var p stored
	cmd := &cobra.Command{
		Use:   "drop",
		Short: "End the stored policy: every broker goes back to the file that it was started with",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.with(cmd, func(shelf storedpolicy.Shelf) error { return put(cmd, shelf, storedpolicy.Version{}) })
		},
	}
	p.addFlags(cmd)
	return cmd
}

func policyRestoreCommand() *cobra.Command {
	var p stored
	cmd := &cobra.Command{
		Use:   "restore VERSION",
		Short: "Put an earlier version into force again, as a new one",
		Args:  want(1, 1, "the number of one version, as \"fairlead policy history\" shows it", exampleID),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.with(cmd, func(shelf storedpolicy.Shelf) error {
				v, err := find(cmd.Context(), shelf, args[0])
				if err != nil {
					return err
				}
				if v.Drop() {
					return &exitError{codeRefused, fmt.Errorf("version %d drops the stored policy and holds none; say so with \"fairlead policy drop\"", v.Seq)}
				}
				if _, err := policy.Parse(v.File, v.Body); err != nil {
					return err
				}
				return put(cmd, shelf, storedpolicy.Version{File: v.File, Restores: v.Seq, Body: v.Body})
			})
		},
	}
	p.addFlags(cmd)
	return cmd
}

// find reads the version of a number; "" is the newest.
func find(ctx context.Context, shelf storedpolicy.Shelf, number string) (storedpolicy.Version, error) {
	versions, err := shelf.All(ctx)
	if err != nil {
		return storedpolicy.Version{}, err
	}
	if number == "" && len(versions) > 0 {
		return versions[len(versions)-1], nil
	}
	if number == "" {
		return storedpolicy.Version{}, &exitError{codeRefused, errors.New("no policy is stored; brokers use the files that they were started with")}
	}
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil || seq == 0 {
		return storedpolicy.Version{}, usage(fmt.Errorf("version %q; want a number, as \"fairlead policy history\" shows it", number))
	}
	i := slices.IndexFunc(versions, func(v storedpolicy.Version) bool { return v.Seq == seq })
	if i < 0 {
		return storedpolicy.Version{}, &exitError{codeRefused, fmt.Errorf("version %d is not kept; \"fairlead policy history\" lists those that are", seq)}
	}
	return versions[i], nil
}

func policyShowCommand() *cobra.Command {
	var p stored
	cmd := &cobra.Command{
		Use:   "show [VERSION]",
		Short: "Print a stored policy as it was written: the newest, or the one named",
		Args:  want(0, 1, "at most the number of one version", exampleID),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.with(cmd, func(shelf storedpolicy.Shelf) error {
				v, err := find(cmd.Context(), shelf, append(args, "")[0])
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "version %d, %s by %s%s\n", v.Seq, v.At.Format(time.RFC3339), cmp.Or(v.Author, "somebody"), note(v, ", "))
				_, err = cmd.OutOrStdout().Write(v.Body)
				return err
			})
		},
	}
	p.addFlags(cmd)
	return cmd
}

func policyHistoryCommand() *cobra.Command {
	var p stored
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List the stored policies that are kept, the newest last: that one counts",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.with(cmd, func(shelf storedpolicy.Shelf) error {
				versions, err := shelf.All(cmd.Context())
				if err != nil {
					return err
				}
				return p.list(cmd.OutOrStdout(), versions)
			})
		},
	}
	p.addFlags(cmd)
	cmd.Flags().BoolVar(&p.json, "json", false, "print a line of JSON for each")
	return cmd
}

func (p *stored) list(w io.Writer, versions []storedpolicy.Version) error {
	if p.json {
		for _, v := range versions {
			if err := json.NewEncoder(w).Encode(v); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(w, "VERSION", "STORED", "BY", "FILE", "BYTES", "NOTE")
	for _, v := range versions {
		row(t, v.Seq, v.At.Format(time.RFC3339), v.Author, v.File, len(v.Body), note(v, ""))
	}
	return t.Flush()
}

// note says what is particular about a version, after a prefix.
func note(v storedpolicy.Version, prefix string) string {
	switch {
	case v.Drop():
		return prefix + "dropped"
	case v.Restores != 0:
		return prefix + "restores " + strconv.FormatUint(v.Restores, 10)
	}
	return ""
}
