package lab

// Queue holds requests that wait, by their place in the list of a run.
type Queue interface {
	Push(job int)
	Pop() int // takes out the one to serve next; -1 when none waits
}

// Finisher is a Queue that wants to know when a request has ended.
type Finisher interface{ Finish(job int) }

// Policy makes an empty queue for a run over jobs.
type Policy func(jobs []Job) (Queue, error)

// Outcome tells when each job was served, in seconds.
type Outcome struct {
	Jobs  []Job
	Start []float64 // when it was first served
	End   []float64
	Area  float64 // ∫ N dt, N being the requests in the system
}

func newOutcome(jobs []Job) *Outcome {
	return &Outcome{Jobs: jobs, Start: make([]float64, len(jobs)), End: make([]float64, len(jobs))}
}

// census integrates the number of requests in the system.
type census struct {
	area, last float64
	present    int
}

func (c *census) change(now float64, by int) {
	c.area += float64(c.present) * (now - c.last)
	c.last, c.present = now, c.present+by
}

// line is the state of one server that serves each request to its end.
type line struct {
	jobs  []Job
	queue Queue
	next  int // the first job that has not arrived
	count census
}

// arrive lets in what arrives until now.
func (l *line) arrive(now float64) {
	for ; l.next < len(l.jobs) && l.jobs[l.next].At <= now; l.next++ {
		l.count.change(l.jobs[l.next].At, 1)
		l.queue.Push(l.next)
	}
}

// Serve lets one server of speed 1 serve jobs to the end, one after the other, in the order of the policy. It is
// never idle while somebody waits.
func Serve(jobs []Job, policy Policy) (*Outcome, error) {
	queue, err := policy(jobs)
	if err != nil {
		return nil, err
	}
	o, l, now := newOutcome(jobs), line{jobs: jobs, queue: queue}, 0.0
	finisher, _ := queue.(Finisher)
	for done := 0; done < len(jobs); {
		i := queue.Pop()
		if i < 0 {
			now = jobs[l.next].At
			l.arrive(now)
			continue
		}
		o.Start[i], o.End[i] = now, now+jobs[i].Size
		now = o.End[i]
		l.arrive(now)
		l.count.change(now, -1)
		if finisher != nil {
			finisher.Finish(i)
		}
		done++
	}
	o.Area = l.count.area
	return o, nil
}

// Saturated keeps each class of jobs at depth requests that wait, whatever their arrival times, and tells served of
// every dispatch in order, until a class has no more or served returns false. A request ends when it is dispatched.
func Saturated(jobs []Job, policy Policy, depth int, served func(job int) bool) error {
	queue, err := policy(jobs)
	if err != nil {
		return err
	}
	finisher, _ := queue.(Finisher)
	lists := byClass(jobs)
	for range depth {
		for class := range lists {
			refill(queue, lists, class)
		}
	}
	for i := queue.Pop(); i >= 0 && served(i); i = queue.Pop() {
		if !refill(queue, lists, int(jobs[i].Class)) {
			return nil
		}
		if finisher != nil {
			finisher.Finish(i)
		}
	}
	return nil
}

func byClass(jobs []Job) [][]int {
	var lists [][]int
	for i := range jobs {
		for int(jobs[i].Class) >= len(lists) {
			lists = append(lists, nil)
		}
		lists[jobs[i].Class] = append(lists[jobs[i].Class], i)
	}
	return lists
}

// refill queues the next request of a class, and reports whether there was one.
func refill(queue Queue, lists [][]int, class int) bool {
	if len(lists[class]) == 0 {
		return false
	}
	queue.Push(lists[class][0])
	lists[class] = lists[class][1:]
	return true
}
