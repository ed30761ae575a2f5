package lab

import (
	"fmt"
	"math"

	"fairlead/drr"
)

// Production is a policy of the broker's own scheduler: package drr without blocking, since a lab has one lane.
type Production struct {
	// Classes of the ring. With a single one it holds the requests of every class.
	Classes []drr.Class
	// Used returns what a request is charged besides its tokens, once it has ended; nil charges nothing.
	Used func(Job) int64
	// Jumps are the priorities of the requests by class; nil leaves each its own.
	Jumps []float64
}

// Queue is its Policy.
func (p Production) Queue(jobs []Job) (Queue, error) {
	s, err := drr.New(p.Classes)
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		class := int(jobs[i].Class)
		if len(p.Classes) > 1 && class >= len(p.Classes) || p.Jumps != nil && class >= len(p.Jumps) {
			return nil, fmt.Errorf("job %d: class %d; want one of the policy's", i, class)
		}
	}
	return &production{Production: p, jobs: jobs, scheduler: s, entries: make([]drr.Entry, len(jobs))}, nil
}

// FCFS serves all classes as one, in the order of their arrival.
func FCFS(jobs []Job) (Queue, error) { return OneLane(drr.Class{Order: drr.FCFS})(jobs) }

// OneLane serves all classes as one, in an order of package drr; name and quantum of the class do not matter.
func OneLane(c drr.Class) Policy {
	c.Name, c.Quantum = "all", 1
	return Production{Classes: []drr.Class{c}}.Queue
}

// Smith serves all classes as one by WSPT over the weight of the class and the tokens of the request. What package
// drr orders by, (1 + jump)/tokens, is that index when one plus the jump is in proportion to the weight.
func Smith(classes []Class) Policy {
	least, jumps := math.Inf(1), make([]float64, len(classes))
	for _, c := range classes {
		least = min(least, c.Weight)
	}
	for i, c := range classes {
		jumps[i] = c.Weight/least - 1
	}
	return Production{Classes: []drr.Class{{Name: "all", Quantum: 1, Order: drr.WSPT}}, Jumps: jumps}.Queue
}

type production struct {
	Production
	jobs      []Job
	scheduler *drr.Scheduler
	entries   []drr.Entry
}

func (p *production) class(job int) int {
	if len(p.Classes) == 1 {
		return 0
	}
	return int(p.jobs[job].Class)
}

func (p *production) Push(job int) {
	j, e := &p.jobs[job], &p.entries[job]
	*e = drr.Entry{
		Seq: uint64(job), Arrival: nanoseconds(j.At), Deadline: nanoseconds(j.Deadline),
		Jump: j.Jump, Raw: j.Tokens, Tenant: j.Tenant,
	}
	if p.Jumps != nil {
		e.Jump = p.Jumps[j.Class]
	}
	p.scheduler.Enqueue(p.class(job), drr.Shared, e)
}

func nanoseconds(seconds float64) int64 { return int64(seconds * 1e9) }

func (p *production) Pop() int {
	e := p.scheduler.Next(always)
	if e == nil {
		return -1
	}
	return int(e.Seq)
}

func always(int, drr.Target, *drr.Entry) drr.Answer { return drr.Open }

// Finish corrects the charge of a request that has ended.
func (p *production) Finish(job int) {
	if p.Used != nil {
		p.scheduler.Charge(p.class(job), p.jobs[job].Tenant, p.Used(p.jobs[job]))
	}
}
