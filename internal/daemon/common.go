package daemon

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
	"github.com/spf13/pflag"
)

// Common are the settings that every daemon has.
type Common struct {
	LogLevel  string
	LogFormat string
	HTTP      string        // address of probes and metrics; "" serves none
	PProf     bool          // profiles on the HTTP address
	Grace     time.Duration // how long a drain may take before it becomes an abort; 0 is for ever
}

// Defaults of Common.
const (
	DefaultHTTP  = ":8080"
	DefaultGrace = 5 * time.Minute
)

// AddFlags adds --config and the flags of Common, with their defaults.
func (c *Common) AddFlags(flags *pflag.FlagSet) {
	flags.String(configFlag, "", "YAML file of settings; its keys are the names of these flags")
	flags.StringVar(&c.LogLevel, "log-level", "info", "least level to log: trace, debug, info, warn or error")
	flags.StringVar(&c.LogFormat, "log-format", "auto", "auto (console on a terminal, else json), console or json")
	flags.StringVar(&c.HTTP, "http", DefaultHTTP, "address of /healthz, /readyz and /metrics; empty serves none")
	flags.BoolVar(&c.PProf, "pprof", false, "serve profiles under /debug/pprof/ on the HTTP address")
	flags.DurationVar(&c.Grace, "grace", DefaultGrace, "how long a drain may take before work is given back; 0 is for ever")
}

// Logger makes the logger that the settings ask for.
func (c *Common) Logger(w io.Writer) (zerolog.Logger, error) {
	return Logger(w, c.LogLevel, c.LogFormat)
}

// Logger writes events of at least a level to w: as JSON lines, or for people.
// The format "auto" is for people when w is a terminal.
func Logger(w io.Writer, level, format string) (zerolog.Logger, error) {
	l, err := zerolog.ParseLevel(level)
	if err != nil || level == "" || l > zerolog.ErrorLevel || l < zerolog.TraceLevel {
		return zerolog.Nop(), fmt.Errorf("log level %q: want trace, debug, info, warn or error", level)
	}
	switch format {
	case "json":
	case "console":
		w = console(w)
	case "auto":
		if terminal(w) {
			w = console(w)
		}
	default:
		return zerolog.Nop(), fmt.Errorf("log format %q: want auto, console or json", format)
	}
	return zerolog.New(w).Level(l).With().Timestamp().Logger(), nil
}

func console(w io.Writer) io.Writer {
	_, plain := os.LookupEnv("NO_COLOR")
	return zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: plain || !terminal(w)}
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
