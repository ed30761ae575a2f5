package accounts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nkeys"
)

// Folders of the seeds, one for each role, so that each can be given to its own alone.
const (
	brokersDir   = "brokers"
	operatorsDir = "operators"
	frontendsDir = "frontends"
	agentsDir    = "agents"
	systemDir    = "system"
)

// ConfigFile is the name of the file that [Write] makes.
const ConfigFile = "accounts.conf"

// Names are who there shall be, by role.
type Names struct {
	Namespace string
	Brokers   []string
	Operators []string
	Frontends []string
	Readers   []string // frontends that may read stored results too
	Workers   []string
}

// Write makes the configuration in a folder, and in folders below it a file with the
// seed of each identity, <role>/<name>.nk. Seeds that are there are kept, so that it
// may be run again with more names; those of names left out are removed from the
// configuration, not from the folder.
func Write(dir string, names Names) error {
	d := Deployment{Namespace: names.Namespace}
	var errs []error
	keep := func(to *[]Identity, folder string, reads bool, names ...string) {
		for _, name := range names {
			key, err := seed(filepath.Join(dir, folder), name)
			errs = append(errs, err)
			*to = append(*to, Identity{Name: name, Key: key, Reads: reads})
		}
	}
	keep(&d.Brokers, brokersDir, false, names.Brokers...)
	keep(&d.Operators, operatorsDir, false, names.Operators...)
	keep(&d.Frontends, frontendsDir, false, names.Frontends...)
	keep(&d.Frontends, frontendsDir, true, names.Readers...)
	keep(&d.Workers, agentsDir, false, names.Workers...)
	keep(&d.System, systemDir, false, "system")
	if err := errors.Join(errs...); err != nil {
		return err
	}
	config, err := Config(d)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ConfigFile), config, 0o644); err != nil { //nolint:gosec // public keys alone
		return fmt.Errorf("write the accounts: %w", err)
	}
	return nil
}

// seed reads the seed of an identity, or makes one, and returns its public key.
func seed(dir, name string) (string, error) {
	path := filepath.Join(dir, filepath.Base(name)+".nk")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newSeed(dir, path)
	}
	if err != nil {
		return "", fmt.Errorf("seed of %s: %w", name, err)
	}
	pair, err := nkeys.FromSeed(bytes.TrimSpace(data))
	if err != nil {
		return "", fmt.Errorf("seed of %s: %s: %w", name, path, err)
	}
	return pair.PublicKey()
}

func newSeed(dir, path string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for seeds: %w", err)
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	secret, err := pair.Seed()
	if err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	if err := os.WriteFile(path, append(secret, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("write a seed: %w", err)
	}
	return pair.PublicKey()
}
