package drr

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
)

// compare checks all that can be seen of the two.
func (g *rig) compare() {
	total := 0
	for i := range g.classes {
		c := &g.plain.classes[i]
		var want Counters
		for j := range c.queued {
			want.add(&c.queued[j], 1)
		}
		total += len(c.queued)
		g.compareCredit(i)
		if diff := cmp.Diff(want, g.real.Counters(i)); diff != "" {
			g.fail("counters of class %d (-want +got):\n%s", i, diff)
		}
		visited := 0
		g.real.Each(i, func(e *Entry) bool { visited++; return e.Queued() && e.Class() == i })
		if visited != len(c.queued) {
			g.fail("Each visited %d entries of class %d, want %d", visited, i, len(c.queued))
		}
	}
	if g.real.Len() != total {
		g.fail("Len is %d, want %d", g.real.Len(), total)
	}
}

// compareCredit checks the deficits of a class and of its tenants, and their bounds.
func (g *rig) compareCredit(class int) {
	check := func(what string, got int64, want plainMember) {
		if got != want.deficit {
			g.fail("deficit of %s is %d, want %d", what, got, want.deficit)
		}
		if most := want.quantum + g.largest; !g.refunded && got > most {
			g.fail("deficit of %s is %d, bound %d", what, got, most)
		}
	}
	check(fmt.Sprint("class ", class), g.real.Deficit(class), g.plain.ring.members[class])
	c := &g.real.classes[class]
	for tenant, want := range g.plain.classes[class].tenants.members {
		if f := c.flow(uint32(tenant)); c.Tenants && f != nil {
			check(fmt.Sprintf("tenant %d of class %d", tenant, class), c.tenants.credit(&f.turn), want)
		} else if c.Tenants && want.deficit != 0 {
			g.fail("tenant %d of class %d is idle, but the textbook has it", tenant, class)
		}
	}
}
