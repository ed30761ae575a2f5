package arbiter

import (
	"time"

	"fairlead/policy"
	"fairlead/wire"
)

// pick draws one of a list.
func pick[T any](w *world, list ...T) T { return list[w.rng.IntN(len(list))] }

// The largest quantum of a class, prompt, output and weight of output; what can be
// charged for a request, and how many may finish in a row.
const (
	mostQuantum, mostTokens, mostOutput, mostWeight = 2000, 2000, 400, 2

	mostCharge = mostTokens + mostOutput*mostWeight
	mostJobs   = 64
)

func (w *world) randomPolicy() *policy.Policy {
	p := policy.Default()
	root := p.Root
	root.Classes = nil
	root.MaxAttempts = 1 + w.rng.IntN(3)
	root.Placement = pick(w, policy.LeastWork, policy.P2C, policy.RoundRobin, policy.Random)
	root.UnknownClass = pick(w, policy.UnknownDefault, policy.UnknownReject)
	root.DefaultFamily = "a"
	names := []string{"a", "b", "c", "d"}
	for _, name := range names[:1+w.rng.IntN(len(names))] {
		root.Classes = append(root.Classes, w.randomClass(name))
	}
	w.rng.Shuffle(len(root.Classes), func(i, j int) { root.Classes[i], root.Classes[j] = root.Classes[j], root.Classes[i] })
	return p
}

func (w *world) randomClass(name string) policy.Class {
	c := policy.Class{
		Name: name, Family: name, Bucket: "all", Quantum: 1 + w.rng.Int64N(mostQuantum), Order: pick(w, policy.FCFS, policy.WSPT, policy.EDF),
		NoWorkerGrace: w.upTo(20 * time.Second), PinGrace: w.upTo(10 * time.Second),
	}
	if w.chance(6) {
		c.NoWorkerGrace, c.PinGrace = 0, 0
	}
	if w.chance(3) {
		c.PrefillBusyThreshold = new(w.rng.Int64N(3000))
	}
	if w.chance(4) {
		c.PrefillBusyFrac = new(w.rng.Float64())
	}
	if w.chance(4) {
		c.BusyWorkerRatio = new(0.1 + 0.9*w.rng.Float64())
	}
	if w.chance(2) {
		c.OutputWeight = mostWeight * w.rng.Float64()
		c.EstimateOutput = w.chance(2)
		w.corrected = true
	}
	c.Shed = c.Order == policy.EDF && w.chance(2)
	c.Displace = w.chance(2)
	if w.chance(3) {
		c.Tenants = true
		c.TenantWeights = pick(w, nil, map[string]float64{"t1": 3, "default": 0.5})
	}
	for _, l := range []**int64{&c.Limits.Requests, &c.Limits.RawTokens, &c.Limits.CachedTokens, &c.Limits.UncachedTokens} {
		if w.chance(12) {
			*l = new(w.rng.Int64N(10) * w.rng.Int64N(400))
		}
	}
	return c
}

func (w *world) randomRequest() wire.Request {
	q := wire.Request{
		Class: pick(w, "a", "a", "a", "b", "b", "c", "d", ""), Model: "m", Rank: wire.AnyRank,
		Input: uint32(w.rng.IntN(mostTokens)), Retry: pick(w, wire.RetryAuto, wire.RetryAuto, wire.RetryAlways, wire.RetryNever),
		Priority: pick(w, 0, 0, 2.5), Strict: pick[uint32](w, 0, 0, 0, 1), NoQueue: w.chance(15),
	}
	if w.chance(6) {
		q.Model = pick(w, "n", "", "x")
	}
	if w.chance(20) {
		q.Class = "zebra"
	}
	q.Cached = uint32(w.rng.IntN(int(q.Input) + 1))
	if w.chance(8) {
		q.TTL = time.Second + w.upTo(10*time.Second)
	}
	if w.chance(4) {
		q.Worker, q.Pin = pick(w, "w0", "w0", "w1", "w2", "w9"), pick(w, wire.PinHard, wire.PinPrefer)
		q.Rank = pick[int32](w, wire.AnyRank, wire.AnyRank, 0, 0, 1)
	} else if w.chance(6) {
		q.Allow = pick(w, []string{"w1"}, []string{"w0", "w2"}, []string{"w8"})
	}
	if w.chance(10) {
		q.Require = pick(w, []string{"big"}, []string{"none"})
	}
	q.Tenant = pick(w, "", "t1", "t1", "t2", "t3")
	if w.chance(10) {
		q.Prefer = []string{"big"}
	}
	return q
}
