package system_test

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead/client"
	"fairlead/internal/smalldisk"
)

// TestDiskFull: when the disk is full, publishers get no receipt, /readyz says
// why, the log says it once, and all goes on by itself when there is room again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	disk := filepath.Join(w.dir, "store")
	if err := smalldisk.Mount(disk, 64<<20); err != nil {
		t.Skipf("SKIPPED: no disk can be filled here: %v", err)
	}
	t.Cleanup(func() { must(t, smalldisk.Unmount(disk)) })
	b := w.broker("--result-max-bytes", "1048576", "--dead-max-bytes", "1048576", "--body-max-bytes", "1048576")
	b.ready()
	kept := w.ask(w.client(), client.Request{Body: []byte(`{"messages":[]}`)})

	must(t, smalldisk.Fill(disk))
	w.publishUntilRefused()
	eventually(t, "the broker says that it cannot write", func() bool {
		code, text := b.probe("/readyz")
		return code == http.StatusServiceUnavailable && (strings.Contains(text, "takes no more writes") || strings.Contains(text, "publish lead"))
	})
	must(t, smalldisk.Free(disk))
	b.ready()
	b.says("it restarts when there is room")
	if n := strings.Count(b.log.String(), "embedded NATS stopped writing"); n != 1 {
		t.Errorf("the log says it %d times, want once", n)
	}

	w.agent("gpu-1").ready()
	w.result(kept)
	w.result(w.ask(w.client(), client.Request{Body: []byte(`{"messages":[]}`)}))
	w.awaitEmpty(w.store())
}

// publishUntilRefused asks until a request is not acknowledged.
func (w *world) publishUntilRefused() {
	w.t.Helper()
	js, body := w.store().JS, []byte(strings.Repeat(" ", 64<<10))
	for range 1000 {
		ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Second)
		_, err := js.Publish(ctx, "req.interactive", body)
		cancel()
		if err != nil {
			return
		}
	}
	w.t.Fatal("a full disk took a thousand requests")
}
