package trace

import (
	"bytes"
	_ "embed"
	"fmt"
)

//go:embed sample/azure_code_conv.csv
var sampleCSV []byte

//go:embed sample/mooncake_conversation.jsonl
var sampleJSON []byte

// SampleMooncake is the first 300 requests of the Mooncake conversation trace, read with a prefix cache that never
// evicts; the class is "mooncake".
func SampleMooncake() []Request {
	reqs, err := ReadMooncake(bytes.NewReader(sampleJSON), "mooncake", 0)
	if err != nil {
		panic(fmt.Sprintf("trace: the embedded sample: %v", err)) // a test reads it
	}
	return reqs
}

// Sample is two minutes of the Azure code and conversation traces, merged on their
// common clock; the classes are "code" (long prompts in bursts, short answers) and
// "conv" (steady chat). sample/README.md says where it comes from.
func Sample() []Request {
	reqs, err := ReadAzure(bytes.NewReader(sampleCSV), "default")
	if err != nil {
		panic(fmt.Sprintf("trace: the embedded sample: %v", err)) // a test reads it
	}
	return reqs
}
