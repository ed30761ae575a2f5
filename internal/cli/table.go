package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"fairlead/wire"
)

func newTable(w io.Writer, columns ...string) *tabwriter.Writer {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row(t, toAny(columns)...)
	return t
}

func toAny(columns []string) []any {
	cells := make([]any, len(columns))
	for i, c := range columns {
		cells[i] = c
	}
	return cells
}

// row writes a line of cells; an error stays with the table until it is flushed.
func row(t *tabwriter.Writer, cells ...any) {
	text := make([]string, len(cells))
	for i, c := range cells {
		text[i] = cmp.Or(fmt.Sprint(c), "-")
	}
	fmt.Fprintln(t, strings.Join(text, "\t"))
}

func writeClasses(w io.Writer, classes []wire.ClassStatus) error {
	t := newTable(w, "MODEL", "CLASS", "QUEUED", "TOKENS", "OLDEST", "RUNNING", "COMPLETED", "FAILED", "DISPATCHED TOKENS", "SHARE", "ENTITLED", "DEFICIT")
	for _, c := range classes {
		row(t, c.Model, c.Class, c.Queued, c.QueuedTokens, ago(c.OldestWaitMS), c.Running, c.Completed, c.Failed,
			c.DispatchedTokens, percent(c.Share), percent(c.Entitlement), c.Deficit)
	}
	return t.Flush()
}

func writeWorkers(w io.Writer, workers []wire.WorkerStatus) error {
	t := newTable(w, "WORKER", "STATE", "SLOTS", "PREFILL TOKENS", "RANKS", "SEEN", "MODELS")
	for _, k := range workers {
		row(t, k.Worker, k.State, fmt.Sprintf("%d/%d", k.Used, k.Slots), k.PrefillTokens, k.Ranks, ago(k.LastSeenMS)+" ago", strings.Join(k.Models, " "))
	}
	return t.Flush()
}

func writeRequests(w io.Writer, requests []wire.RequestStatus) error {
	t := newTable(w, "ID", "STATE", "CLASS", "MODEL", "ATTEMPT", "WORKER", "WAIT")
	for _, r := range requests {
		attempt := ""
		if r.Attempt > 0 {
			attempt = strconv.FormatUint(uint64(r.Attempt), 10)
		}
		row(t, r.ID, r.State, r.Class, r.Model, attempt, r.Worker, ago(r.WaitMS))
	}
	return t.Flush()
}

func percent(f float64) string { return fmt.Sprintf("%.1f %%", 100*f) }

// ago is a time in milliseconds for people, to a tenth of a second below a
// minute and to the second above.
func ago(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
