package lab

import "math"

// ServeSRPT lets one server work on the request with the least work left, and interrupt it for a smaller one.
func ServeSRPT(jobs []Job) *Outcome {
	o, count, now := newOutcome(jobs), census{}, 0.0
	var waiting byKey // by seconds of work left
	begun := make([]bool, len(jobs))
	for next := 0; next < len(jobs) || len(waiting) > 0; {
		if len(waiting) == 0 {
			now = max(now, jobs[next].At)
		}
		for ; next < len(jobs) && jobs[next].At <= now; next++ {
			count.change(jobs[next].At, 1)
			waiting.add(jobs[next].Size, next)
		}
		until := math.Inf(1) // the next arrival
		if next < len(jobs) {
			until = jobs[next].At
		}
		least := waiting[0]
		if !begun[least.job] {
			begun[least.job], o.Start[least.job] = true, now
		}
		if now+least.key > until {
			waiting[0].key -= until - now // it stays the least
			now = until
			continue
		}
		now += waiting.take().key
		o.End[least.job] = now
		count.change(now, -1)
	}
	o.Area = count.area
	return o
}

// ServeShared lets one server work on all requests at once, each at an equal part of its speed: processor
// sharing, which an engine with continuous batching resembles.
func ServeShared(jobs []Job) *Outcome {
	o, count, now := newOutcome(jobs), census{}, 0.0
	// Every request present has had the same service since it came. So each ends when the service that a request
	// present from the start would have had reaches a mark that is known on its arrival.
	service := 0.0
	var marks byKey
	for next := 0; next < len(jobs) || len(marks) > 0; {
		end := math.Inf(1)
		if n := len(marks); n > 0 {
			end = now + (marks[0].key-service)*float64(n)
		}
		if next < len(jobs) && jobs[next].At <= end {
			if n := len(marks); n > 0 {
				service += (jobs[next].At - now) / float64(n)
			}
			now = jobs[next].At
			o.Start[next] = now
			marks.add(service+jobs[next].Size, next)
			count.change(now, 1)
			next++
			continue
		}
		now = max(now, end)
		first := marks.take()
		service = first.key
		o.End[first.job] = now
		count.change(now, -1)
	}
	o.Area = count.area
	return o
}
