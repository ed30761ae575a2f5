package arbiter

// tenants numbers the tenants that requests in the system name, densely, as the
// scheduler wants it. Number 0 is the tenant of requests that name none.
type tenants struct {
	numbers map[string]uint32
	known   []tenant // by number
	free    []uint32 // numbers that nobody has
}

type tenant struct {
	name string
	refs int // requests in the system
}

func newTenants() *tenants {
	return &tenants{numbers: map[string]uint32{"": 0}, known: make([]tenant, 1)}
}

// hold returns the number of a name for one more request.
func (t *tenants) hold(name string) uint32 {
	n, ok := t.numbers[name]
	if !ok {
		n = t.number()
		t.numbers[name], t.known[n].name = n, name
	}
	t.known[n].refs++
	return n
}

func (t *tenants) number() uint32 {
	if last := len(t.free) - 1; last >= 0 {
		n := t.free[last]
		t.free = t.free[:last]
		return n
	}
	t.known = append(t.known, tenant{})
	return uint32(len(t.known) - 1)
}

// manyTenants is how many numbers are not worth giving back.
const manyTenants = 1024

// release ends one request's use of a number. The last one of a tenant frees the
// number, the last one of all that had a name the memory of many.
func (t *tenants) release(n uint32) {
	t.known[n].refs--
	if n == 0 || t.known[n].refs > 0 {
		return
	}
	delete(t.numbers, t.known[n].name)
	t.known[n].name = ""
	t.free = append(t.free, n)
	if len(t.numbers) == 1 && len(t.known) > manyTenants {
		unnamed := t.known[0]
		*t = *newTenants()
		t.known[0] = unnamed
	}
}

func (t *tenants) name(n uint32) string { return t.known[n].name }

// appetite is what a tenant of a class has waiting, and how fast it is served
// while it has.
type appetite struct {
	waiting int
	served  drain
}

// tenantWindow is the time constant over which the service of tenants is
// compared, seconds.
const tenantWindow = 60.0

// hunger counts a request of a class with tenants that begins to wait, or with
// -1 ends it. Who has nothing waiting is forgotten.
func (a *Arbiter) hunger(r *request, by int) {
	c := r.cls
	if !c.Tenants {
		return
	}
	t := c.tenants[r.Tenant]
	if t == nil {
		t = &appetite{served: drain{window: tenantWindow, first: a.now, last: a.now}}
		c.tenants[r.Tenant] = t
	}
	if t.waiting += by; t.waiting == 0 {
		delete(c.tenants, r.Tenant)
	}
}

// feed counts what a tenant is charged, with either sign, if it has something
// waiting.
func (a *Arbiter) feed(r *request, tokens int64) {
	if t := r.cls.tenants[r.Tenant]; t != nil {
		t.served.add(tokens, a.now)
	}
}

// jain is Jain's index of the tenants that have something waiting: of the tokens
// a second that each was charged lately while it waited, over its weight. 1 is
// equal service, 1/n is one of n served alone; 0 is no service at all.
func (c *class) jain(names *tenants, now int64) float64 {
	sum, squares := 0.0, 0.0
	for n, t := range c.tenants {
		x := max(0, t.served.perSecond(now)) / c.TenantWeight(names.name(n))
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(c.tenants)) * squares)
}
