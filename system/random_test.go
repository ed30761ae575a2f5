//go:build slow

package system_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

const crashes = 20

// Crashes of one process after another, in an order that FAIRLEAD_TEST_SEED
// repeats, each after some more requests have ended.
func TestCrashAtRandom(t *testing.T) {
	w := newWorld(t)
	w.file("policy.yaml", "max_attempts: 20\n"+strings.TrimSpace(twoClasses)+"\n")
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("FAIRLEAD_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("FAIRLEAD_TEST_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	b, agents := w.running("gpu-1", "gpu-2")
	names := []string{"gpu-1", "gpu-2"}
	l := w.startLoad()
	killed := 0
	for range crashes {
		have, _ := l.count()
		l.after(have + r.IntN(burst*frontends/2))
		victim := r.IntN(4)
		if victim >= 2 {
			b.kill()
			b = w.broker()
			continue
		}
		killed++
		agents[victim].kill()
		agents[victim] = w.agent(names[victim])
	}
	w.finish(l, allowed{lost: killed * slots})
}
