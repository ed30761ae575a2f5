package gateway_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/openai/openai-go/v3"

	"fairlead/gateway"
	"fairlead/gateway/batch"
)

// A batch outlasts the absence of its workers, also in a gateway that has never seen
// them.
func TestBatchOutage(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.ReplaceAll(twoClasses, "quantum:", "no_worker_grace: 1s, quantum:"))
	away := r.agent("w1", hanging())
	limits := batch.Limits{Window: 2}
	one := r.gateway(gateway.Config{Class: "regular", Batches: limits})
	c := one.sdk()
	b := createBatch(t, r, c, upload(t, r, c, input(6)).ID)
	r.until("a line runs and one waits", func() bool {
		running, queued := r.load()
		return running == 1 && queued == 1
	})
	one.abort()
	<-one.ended
	away()
	other := quick()
	other.Models = []string{"other"}
	r.agent("w2", other)
	r.until("the model is not served", func() bool {
		list, err := r.ask.Models(r.ctx)
		return err == nil && len(list) == 1 && list[0].Name == "other"
	})
	two := r.gateway(gateway.Config{Class: "regular", Batches: limits})
	c = two.sdk()
	js, err := jetstream.New(r.connect())
	must(t, err)
	lines, err := js.KeyValue(r.ctx, "BATCH_LINES")
	must(t, err)
	r.until("a line is asked again, or given up", func() bool {
		for _, key := range []string{".1", ".2"} {
			e, err := lines.Get(r.ctx, b.ID+key)
			if err != nil || strings.Contains(string(e.Value()), `"try":1`) {
				return err == nil
			}
		}
		now, err := c.Batches.Get(r.ctx, b.ID)
		must(t, err)
		return now.RequestCounts.Failed > 0
	})
	r.agent("w3", quick())
	b = ends(t, r, c, b.ID)
	if b.Status != openai.BatchStatusCompleted || b.RequestCounts.Completed != 4 || b.RequestCounts.Failed != 2 {
		t.Errorf("batch: %s", b.RawJSON())
	}
	if bad := results(t, r, c, b.ErrorFileID); len(bad) != 2 || bad["c3"].Error == nil || bad["c6"].Error.Code != "model_not_found" {
		t.Errorf("the lines that nobody could ever serve: %+v", bad)
	}
}
