package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
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

// empty reports a class of the ring of requests whose model is not known, while
// it has none.
func empty(c wire.ClassStatus) bool {
	return c.Model == "" && c.Queued == 0 && c.Running == 0 && c.Completed == 0 && c.Failed == 0
}

// writeClasses writes a table for each model, which fits 80 columns.
func writeClasses(w io.Writer, classes []wire.ClassStatus) error {
	if len(classes) == 0 {
		return noClasses(w)
	}
	for len(classes) > 0 {
		model := classes[0].Model
		n := slices.IndexFunc(classes, func(c wire.ClassStatus) bool { return c.Model != model })
		if n < 0 {
			n = len(classes)
		}
		ring := classes[:n]
		classes = classes[n:]
		fmt.Fprintf(w, "model %s\n", cmp.Or(model, "not known yet"))
		t := newTable(w, "CLASS", "QUEUED", "TOKENS", "OLDEST", "RUNNING", "DONE", "FAILED", "SHARE", "DUE")
		for _, c := range ring {
			row(t, c.Class, c.Queued, c.QueuedTokens, ago(c.OldestWaitMS), c.Running, c.Completed, c.Failed, share(c, ring), percent(c.Entitlement))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if len(classes) > 0 {
			fmt.Fprintln(w)
		}
	}
	return nil
}

// writeWideClasses writes one table with everything.
func writeWideClasses(w io.Writer, classes []wire.ClassStatus) error {
	if len(classes) == 0 {
		return noClasses(w)
	}
	t := newTable(w, "MODEL", "CLASS", "QUEUED", "TOKENS", "OLDEST", "RUNNING", "DONE", "FAILED", "SHARE", "DUE", "EXACT LANES", "QUANTUM", "DEFICIT", "DISPATCHED TOKENS", "TENANTS", "JAIN")
	for _, c := range classes {
		ring := slices.DeleteFunc(slices.Clone(classes), func(o wire.ClassStatus) bool { return o.Model != c.Model })
		row(t, c.Model, c.Class, c.Queued, c.QueuedTokens, ago(c.OldestWaitMS), c.Running, c.Completed, c.Failed,
			share(c, ring), percent(c.Entitlement), c.Lanes, c.Quantum, c.Deficit, c.DispatchedTokens, tenants(c), jain(c))
	}
	return t.Flush()
}

// tenants is how many of a class have something queued; jain says how evenly these
// were served of late. Both say nothing of a class without tenants.
func tenants(c wire.ClassStatus) string {
	if c.Tenants == 0 {
		return ""
	}
	return strconv.Itoa(c.Tenants)
}

func jain(c wire.ClassStatus) string {
	if c.Tenants == 0 {
		return ""
	}
	return strconv.FormatFloat(c.Jain, 'f', 3, 64)
}

func noClasses(w io.Writer) error {
	_, err := fmt.Fprintln(w, "no requests yet")
	return err
}

// minShared is how many dispatches must have been shared before a share says
// anything.
const minShared = 20

// share is what a class got of its ring while every class was backlogged; nothing
// until that was the work of minShared requests of the usual size.
func share(c wire.ClassStatus, ring []wire.ClassStatus) string {
	var shared, tokens, requests float64
	for _, o := range ring {
		shared += float64(o.SharedTokens)
		tokens += float64(o.DispatchedTokens)
		requests += float64(o.Dispatched)
	}
	if shared <= 0 || shared*requests < minShared*tokens {
		return ""
	}
	return percent(c.Share)
}

func writeWorkers(w io.Writer, workers []wire.WorkerStatus) error {
	if len(workers) == 0 {
		_, err := fmt.Fprintln(w, "no workers")
		return err
	}
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
		wait := ""
		if r.State != wire.StateEnded {
			wait = ago(r.WaitMS)
		}
		row(t, r.ID, r.State, r.Class, r.Model, attempt, r.Worker, wait)
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
