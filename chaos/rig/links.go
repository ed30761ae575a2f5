package rig

import "fairlead/internal/smalldisk"

// Break is how a way breaks.
type Break bool

// The ways to break.
const (
	Cut  Break = true  // connections end, new ones are refused
	Hole Break = false // nothing passes, and nobody is told
)

func (b Break) state() link {
	if b == Cut {
		return linkCut
	}
	return linkHole
}

// BreakBroker separates a broker from NATS; the function mends it.
func (r *Rig) BreakBroker(i int, b Break) (mend func()) { return sever(b, r.brokers[i]) }

// BreakAgent separates an agent from NATS; the function mends it.
func (r *Rig) BreakAgent(i int, b Break) (mend func()) { return sever(b, r.agents[i]) }

// BreakNode separates a node from all others; the function mends it.
func (r *Rig) BreakNode(i int, b Break) (mend func()) { return sever(b, r.routes[i]...) }

func sever(b Break, list ...*proxy) (mend func()) {
	for _, p := range list {
		p.set(b.state())
	}
	return func() {
		for _, p := range list {
			p.set(linkUp)
		}
	}
}

// FillDisk leaves a node no room for its store; the function frees it.
func (r *Rig) FillDisk(i int) (free func() error, err error) {
	return func() error { return smalldisk.Free(r.disks[i]) }, smalldisk.Fill(r.disks[i])
}
