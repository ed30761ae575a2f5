package trace_test

import (
	"bytes"
	"testing"

	"fairlead/trace"
)

// Whatever the input, Read ends with an error or with a trace that keeps the
// promises of the package.
func FuzzRead(f *testing.F) {
	f.Add([]byte(azureHeader + "2023-11-16 18:17:04.5000000,7,3\n2023-11-16 18:17:03.25,4808,10"))
	f.Add([]byte("TIMESTAMP,ContextTokens,GeneratedTokens,Class\r\n2024-05-10 02:00:00.009930+02:00,1,1,conv\r\n"))
	f.Add([]byte("TIMESTAMP,ContextTokens,GeneratedTokens\n0001-01-01 00:00:00,1,1\n9999-12-31 23:59:59,1,1\n"))
	f.Add([]byte(`{"timestamp": 3, "input_length": 600, "output_length": 5, "hash_ids": [0, 9]}` + "\n" +
		`{"timestamp": 1, "input_length": 600, "output_length": 5, "hash_ids": [0, 9]}`))
	f.Add([]byte("\ufeff{}"))
	f.Add([]byte(`{"fairlead_recording":1}` + "\n" + `{"at_ns":-3,"class":"a","input":2,"cached":1,"attempts":[{"n":1}]}` + "\n" + `{"worker_name":"w"}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		reqs, err := trace.Read(bytes.NewReader(input), "f.csv")
		if err != nil {
			return
		}
		if len(reqs) == 0 || reqs[0].At != 0 {
			t.Fatalf("a trace of %d requests that does not start at 0", len(reqs))
		}
		for i, r := range reqs {
			if r.Input < 0 || r.Cached < 0 || r.Cached > r.Input || r.Output < 0 || r.Class == "" {
				t.Errorf("request %d out of range: %+v", i, r)
			}
			if i > 0 && r.At < reqs[i-1].At {
				t.Errorf("request %d arrives before its predecessor", i)
			}
		}
	})
}
