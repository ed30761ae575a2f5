package lab

// Drift watches the service of two backlogged classes, each in rounds: tokens over its quantum.
type Drift struct {
	quanta    [2]float64
	served    [2]float64 // rounds
	largest   [2]float64 // cost seen, tokens
	low, high float64    // of the difference of served, over all times until now
}

// NewDrift returns one for two classes of these quanta, in tokens, > 0.
func NewDrift(a, b int64) *Drift { return &Drift{quanta: [2]float64{float64(a), float64(b)}} }

// Serve says that class 0 or 1 was served so many tokens.
func (d *Drift) Serve(class int, tokens uint32) {
	d.served[class] += float64(tokens) / d.quanta[class]
	d.largest[class] = max(d.largest[class], float64(tokens))
	gap := d.served[0] - d.served[1]
	d.low, d.high = min(d.low, gap), max(d.high, gap)
}

// Widest returns by how many rounds the two came apart on the worst interval until now.
func (d *Drift) Widest() float64 { return d.high - d.low }

// Bound returns what Widest may not exceed under DRR: 1 + M₀/Q₀ + M₁/Q₁, M being the largest cost. See package drr.
func (d *Drift) Bound() float64 { return 1 + d.largest[0]/d.quanta[0] + d.largest[1]/d.quanta[1] }

// Share returns the part of the tokens that class 0 has had, 0 to 1.
func (d *Drift) Share() float64 {
	a, b := d.served[0]*d.quanta[0], d.served[1]*d.quanta[1]
	return a / (a + b)
}
