//go:build !race

package sim

import (
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkMillion plays a million requests of two classes through eight workers at
// nine tenths of what they can do.
func BenchmarkMillion(b *testing.B) {
	requests := poisson(rand.New(rand.NewPCG(1, 1)), 1_000_000, 35)
	for b.Loop() {
		_, err := Run(Config{Policy: parse(b, premiumRegular), Workers: fleet(8), Requests: requests, Hop: 500 * time.Microsecond})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(requests))*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
