//go:build !race

package lab_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"fairlead/drr"
	"fairlead/sim/lab"
)

const exact = 1e-9

// ring is a policy of three classes.
func ring(order drr.Order, change func(*drr.Class)) []drr.Class {
	var classes []drr.Class
	for i, name := range []string{"interactive", "standard", "batch"} {
		c := drr.Class{Name: name, Quantum: 4_000_000 >> i, Order: order}
		if change != nil {
			change(&c)
		}
		classes = append(classes, c)
	}
	return classes
}

// orders are all those that serve one request at a time and never rest.
func orders(w lab.Workload) map[string]lab.Policy {
	aged := func(c *drr.Class) { c.Aging, c.Rate = 20, w.Rate }
	tenants := func(c *drr.Class) { c.Tenants = true }
	return map[string]lab.Policy{
		"fcfs":     lab.FCFS,
		"wspt":     lab.Smith(w.Classes),
		"edf":      lab.OneLane(drr.Class{Order: drr.EDF}),
		"aged":     lab.OneLane(drr.Class{Order: drr.WSPT, Aging: 20, Rate: w.Rate}),
		"c-mu":     lab.CMu(w.Classes),
		"drr":      lab.Production{Classes: ring(drr.FCFS, nil)}.Queue,
		"drr wspt": lab.Production{Classes: ring(drr.WSPT, nil)}.Queue,
		"drr aged": lab.Production{Classes: ring(drr.WSPT, aged)}.Queue,
		"tenants":  lab.Production{Classes: ring(drr.FCFS, tenants)}.Queue,
		"literal":  lab.Literal(ring(drr.FCFS, nil)),
	}
}

// furnish gives jobs tenants and deadlines.
func furnish(jobs []lab.Job, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 99))
	for i := range jobs {
		jobs[i].Tenant = uint32(rng.IntN(7))
		jobs[i].Deadline = jobs[i].At + 20*rng.Float64()
	}
}

// TestConservation: Σ sᵢWᵢ over a run that empties is the same whoever waits, and ∫ N dt is the sum of the sojourns.
func TestConservation(t *testing.T) {
	for seed := range uint64(5) {
		w := threeClasses(heavy, .9)
		jobs := draw(t, w, seed, 20_000)
		furnish(jobs, seed)
		want := 0.0
		for i, wait := range serve(t, jobs, lab.FCFS).Waits(lab.All, 0) {
			want += jobs[i].Size * wait
		}
		for name, policy := range orders(w) {
			o, got := serve(t, jobs, policy), 0.0
			for i, wait := range o.Waits(lab.All, 0) {
				got += jobs[i].Size * wait
			}
			within(t, name+": Σ sW", got, want, exact)
			checkArea(t, name, o)
		}
		checkArea(t, "srpt", lab.ServeSRPT(jobs))
		checkArea(t, "shared", lab.ServeShared(jobs))
	}
}

func checkArea(t *testing.T, name string, o *lab.Outcome) {
	t.Helper()
	sum := lab.Mean(o.Sojourns(lab.All, 0)) * float64(len(o.Jobs))
	within(t, name+": ∫ N dt", o.Area, sum, exact)
}

// TestLindley: the recursion Wₙ₊₁ = max(0, Wₙ + Sₙ − Aₙ) and the event loop agree for every request.
func TestLindley(t *testing.T) {
	jobs := draw(t, threeClasses(heavy, .85), 1, 50_000)
	o, wait := serve(t, jobs, lab.FCFS), 0.0
	routed, err := lab.Route(jobs, []float64{1}, lab.LeastWork, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range jobs {
		if i > 0 {
			wait = max(0, wait+jobs[i-1].Size-(j.At-jobs[i-1].At))
		}
		for _, got := range []float64{o.Start[i] - j.At, routed.Start[i] - j.At} {
			if d := got - wait; d > 1e-6 || d < -1e-6 {
				t.Fatalf("request %d waited %v, by Lindley %v", i, got, wait)
			}
		}
	}
	within(t, "Σ W", lab.Mean(o.Waits(lab.All, 0)), lab.Mean(routed.Waits(lab.All, 0)), exact)
}

// TestSRPTIsLeast: no order has a smaller mean sojourn time, on any sample path.
func TestSRPTIsLeast(t *testing.T) {
	for seed := range uint64(5) {
		w := threeClasses(heavy, .9)
		jobs := draw(t, w, seed, 20_000)
		furnish(jobs, seed)
		least := lab.Mean(lab.ServeSRPT(jobs).Sojourns(lab.All, 0))
		for name, policy := range orders(w) {
			if got := lab.Mean(serve(t, jobs, policy).Sojourns(lab.All, 0)); got < least {
				t.Errorf("seed %d: %s has a mean sojourn of %v, SRPT of %v", seed, name, got, least)
			}
		}
		if got := lab.Mean(lab.ServeShared(jobs).Sojourns(lab.All, 0)); got < least {
			t.Errorf("seed %d: processor sharing has a mean sojourn of %v, SRPT of %v", seed, got, least)
		}
	}
}

// TestSameSeed: a seed names one run, and another seed another.
func TestSameSeed(t *testing.T) {
	w := threeClasses(heavy, .85)
	w.Noise = 1
	run := func(seed uint64) *lab.Outcome { return serve(t, draw(t, w, seed, 5000), lab.Smith(w.Classes)) }
	if !reflect.DeepEqual(run(1), run(1)) {
		t.Error("one seed gave two outcomes")
	}
	if reflect.DeepEqual(run(1).End, run(2).End) {
		t.Error("two seeds gave one outcome")
	}
}

// TestCommonNumbers: a change of load or noise leaves the sizes of the stream as they were.
func TestCommonNumbers(t *testing.T) {
	w := threeClasses(heavy, .85)
	v := threeClasses(heavy, .5)
	v.Noise = 2
	a, b := draw(t, w, 4, 1000), draw(t, v, 4, 1000)
	for i := range a {
		if a[i].Size != b[i].Size || a[i].Class != b[i].Class {
			t.Fatalf("request %d: %+v and %+v", i, a[i], b[i])
		}
	}
	within(t, "span", b[999].At*.5, a[999].At*.85, exact)
}
