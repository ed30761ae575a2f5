package daemon

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// EnvPrefix starts the name of every environment variable of ours.
const EnvPrefix = "FAIRLEAD_"

// configFlag names the flag that names the file.
const configFlag = "config"

// EnvName is the environment variable behind a flag: --nats-url reads
// FAIRLEAD_NATS_URL.
func EnvName(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Load sets every flag that the command line left open: from the environment
// variable [EnvName], or the file that the variable with _FILE behind it names
// (for secrets), or the YAML file that --config names, whose keys are the
// flags' names. What nobody sets keeps its default.
//
// A key of the file that is no flag is an error. An unknown environment variable
// is not: orchestrators set some of their own.
func Load(flags *pflag.FlagSet) error {
	if err := eachOpen(flags, fromEnv); err != nil {
		return err
	}
	file, err := readFile(flags)
	if err != nil {
		return err
	}
	return eachOpen(flags, file.apply)
}

// eachOpen visits the flags that are not set yet. set reports where a value
// came from, or "" when it has none.
func eachOpen(flags *pflag.FlagSet, set func(*pflag.Flag) (from string, err error)) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			return
		}
		from, err := set(f)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w, want %s", from, err, article(f)))
		}
		if from != "" {
			f.Changed = true
			note(f, originKey, from)
		}
	})
	return errors.Join(errs...)
}

func article(f *pflag.Flag) string {
	return fmt.Sprintf("a value for --%s (%s): %s", f.Name, f.Value.Type(), f.Usage)
}

func fromEnv(f *pflag.Flag) (string, error) {
	name := EnvName(f.Name)
	if value, ok := os.LookupEnv(name); ok {
		return name, f.Value.Set(value)
	}
	path, ok := os.LookupEnv(name + "_FILE")
	if !ok {
		return "", nil
	}
	value, err := os.ReadFile(path)
	if err != nil {
		return name + "_FILE", err
	}
	return name + "_FILE", f.Value.Set(strings.TrimRight(string(value), "\r\n"))
}

// file is a configuration file that has been read; the zero value is none.
type file struct {
	path   string
	values map[string]any
}

func readFile(flags *pflag.FlagSet) (file, error) {
	flag := flags.Lookup(configFlag)
	if flag == nil || flag.Value.String() == "" {
		return file{}, nil
	}
	f := file{path: flag.Value.String()}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return f, fmt.Errorf("read --%s: %w", configFlag, err)
	}
	if err := yaml.Unmarshal(data, &f.values); err != nil {
		return f, fmt.Errorf("%s: %w", f.path, err)
	}
	return f, f.check(flags)
}

// check finds keys that are not flags.
func (f file) check(flags *pflag.FlagSet) error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(f.values)) {
		if key == configFlag || flags.Lookup(key) == nil {
			errs = append(errs, fmt.Errorf("%s: unknown key %q, want the name of a flag without its dashes", f.path, key))
		}
	}
	return errors.Join(errs...)
}

func (f file) apply(flag *pflag.Flag) (string, error) {
	value, ok := f.values[flag.Name]
	if !ok {
		return "", nil
	}
	from := f.path + ": " + flag.Name
	switch v := value.(type) {
	case []any:
		return from, setList(flag, v)
	case map[string]any, nil:
		return from, fmt.Errorf("is %T", v)
	default:
		return from, flag.Value.Set(fmt.Sprint(v))
	}
}

func setList(flag *pflag.Flag, items []any) error {
	list, ok := flag.Value.(pflag.SliceValue)
	if !ok {
		return errors.New("is a list")
	}
	values := make([]string, 0, len(items))
	for _, v := range items {
		values = append(values, fmt.Sprint(v))
	}
	return list.Replace(values)
}
