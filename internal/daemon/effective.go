package daemon

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// Annotations of a flag: that its value is secret, and who set it.
const (
	secretKey = "fairlead_secret"
	originKey = "fairlead_origin"
)

// Hidden stands for a secret in what is printed.
const Hidden = "<hidden>"

func note(f *pflag.Flag, key, value string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = []string{value}
}

// MarkSecret hides the values of flags in [WriteEffective]. Naming a flag that
// does not exist is a mistake of the program, so it panics.
func MarkSecret(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		note(flags.Lookup(name), secretKey, "true")
	}
}

// WriteEffective writes the settings in force as a file that --config reads,
// each with where it comes from. Secrets, also passwords within URLs, are hidden.
func WriteEffective(w io.Writer, flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		if failed != nil || f.Name == configFlag || f.Name == "help" {
			return
		}
		value, err := yaml.MarshalWithOptions(printable(f), yaml.Flow(true))
		if err != nil {
			failed = fmt.Errorf("write --%s: %w", f.Name, err)
			return
		}
		_, failed = fmt.Fprintf(w, "%s: %s # %s\n", f.Name, trimNewline(value), Origin(f))
	})
	return failed
}

// WriteKeys writes a table of Markdown with every setting: its key (the flag without its
// dashes), its default and what it means.
func WriteKeys(w io.Writer, flags *pflag.FlagSet) error {
	_, failed := fmt.Fprint(w, "| key | default | meaning |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if failed != nil || f.Name == configFlag || f.Name == "help" || f.Hidden {
			return
		}
		value := ""
		if def := strings.Trim(f.DefValue, "[]"); def != "" {
			value = "`" + def + "`"
		}
		_, failed = fmt.Fprintf(w, "| `%s` | %s | %s |\n", f.Name, value, strings.ReplaceAll(f.Usage, "|", "\\|"))
	})
	return failed
}

func trimNewline(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == '\n' {
		b = b[:len(b)-1]
	}
	return b
}

func printable(f *pflag.Flag) any {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	value := f.Value.String()
	if len(f.Annotations[secretKey]) > 0 && value != "" {
		return Hidden
	}
	switch f.Value.Type() {
	case "bool", "int", "uint", "float64":
		var plain any
		if err := yaml.Unmarshal([]byte(value), &plain); err == nil {
			return plain
		}
	}
	return Redact(value)
}

// Redact hides the password of a URL, or of each in a list with commas; anything
// else stays as it is.
func Redact(value string) string {
	parts := strings.Split(value, ",")
	for i, part := range parts {
		if u, err := url.Parse(part); err == nil && u.User != nil {
			parts[i] = u.Redacted()
		}
	}
	return strings.Join(parts, ",")
}

// Origin says who set a flag: itself, an environment variable, a key of the file,
// or the default.
func Origin(f *pflag.Flag) string {
	switch from := f.Annotations[originKey]; {
	case len(from) > 0:
		return from[0]
	case f.Changed:
		return "--" + f.Name
	default:
		return "default"
	}
}
