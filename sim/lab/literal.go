package lab

import "fairlead/drr"

// Literal divides service between classes by the rules of the reference router's text, word for word, for
// the sake of the difference: an existing deficit that covers the candidate is spent without a
// new quantum, the cursor leaves a class whose next request is not covered, and after a round without a
// dispatch every class is given the same number of rounds at once. Nothing is ever blocked here. Within a class it knows
// FCFS and WSPT.
func Literal(classes []drr.Class) Policy {
	return func(jobs []Job) (Queue, error) {
		if _, err := drr.New(classes); err != nil {
			return nil, err
		}
		q := &literal{jobs: jobs, classes: make([]literalClass, len(classes))}
		for i, c := range classes {
			q.classes[i] = literalClass{quantum: c.Quantum, order: c.Order}
		}
		return q, nil
	}
}

type literal struct {
	jobs    []Job
	classes []literalClass
	cursor  int
}

type literalClass struct {
	waiting          byKey
	quantum, deficit int64
	order            drr.Order
}

func (q *literal) Push(job int) {
	j := &q.jobs[job]
	c := &q.classes[j.Class]
	key := j.At - j.Jump
	if c.order == drr.WSPT {
		key = -(1 + j.Jump) / float64(j.Tokens)
	}
	c.waiting.add(key, job)
}

func (q *literal) Pop() int {
	if class := q.scan(); class >= 0 {
		return q.dispatch(class)
	}
	if !q.credit() {
		return -1
	}
	return q.dispatch(q.scan())
}

// head returns the cost of the candidate of a class that is not empty.
func (q *literal) head(c *literalClass) int64 { return int64(q.jobs[c.waiting[0].job].Tokens) }

// scan goes round the ring once, from the cursor, and returns the first class that can pay, or -1.
func (q *literal) scan() int {
	for k := range q.classes {
		i := (q.cursor + k) % len(q.classes)
		c := &q.classes[i]
		if len(c.waiting) == 0 {
			c.deficit = 0 // rule 1
			continue
		}
		if c.deficit < q.head(c) { // rule 3: else no quantum
			c.deficit += c.quantum // rule 4
		}
		if c.deficit >= q.head(c) {
			return i
		}
	}
	return -1
}

// credit gives every class the rounds after which the first of them can pay, and reports whether any waits.
func (q *literal) credit() bool {
	rounds := int64(-1)
	for i := range q.classes {
		if c := &q.classes[i]; len(c.waiting) > 0 {
			if need := (q.head(c) - c.deficit + c.quantum - 1) / c.quantum; rounds < 0 || need < rounds {
				rounds = need
			}
		}
	}
	for i := range q.classes {
		if c := &q.classes[i]; len(c.waiting) > 0 {
			c.deficit += rounds * c.quantum
		}
	}
	return rounds >= 0
}

func (q *literal) dispatch(class int) int {
	c := &q.classes[class]
	c.deficit -= q.head(c)
	job := c.waiting.take().job
	switch {
	case len(c.waiting) == 0:
		c.deficit = 0
		q.cursor = (class + 1) % len(q.classes)
	case c.deficit >= q.head(c):
		q.cursor = class
	default:
		q.cursor = (class + 1) % len(q.classes)
	}
	return job
}
