package figures

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fairlead/trace"
)

// Traces is recorded traffic.
type Traces struct {
	Azure    []trace.Request // classes "code" and "conv"
	Mooncake []trace.Request
	Source   string // how much of them it is, in words
}

// Shipped returns the slices that are part of the program.
func Shipped() Traces {
	return Traces{
		Azure: trace.Sample(), Mooncake: trace.SampleMooncake(),
		Source: "the slice that is shipped in `trace/sample`",
	}
}

// Files of a folder with whole traces.
const (
	fileCode     = "azure_code.csv"
	fileConv     = "azure_conv.csv"
	fileMooncake = "mooncake_conversation.jsonl"
)

// ReadTraces reads the whole traces in a folder. When one is not there the error is fs.ErrNotExist.
func ReadTraces(dir string) (Traces, error) {
	t := Traces{Source: "the whole trace"}
	err := errors.Join(
		withFile(dir, fileMooncake, func(r io.Reader) (err error) {
			t.Mooncake, err = trace.ReadMooncake(r, "mooncake", 0)
			return naming(fileMooncake, err)
		}),
		withFile(dir, fileCode, func(code io.Reader) error {
			return withFile(dir, fileConv, func(conv io.Reader) (err error) {
				t.Azure, err = trace.ReadAzureFiles(map[string]io.Reader{"code": code, "conv": conv})
				return naming("Azure files", err)
			})
		}))
	return t, err
}

func naming(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func withFile(dir, name string, read func(io.Reader) error) error {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	return read(f)
}
