package fluid

import (
	"math"

	"github.com/csiglab/csiglab/units"
)

// part is bursts under way that share links with each other, and with no other burst.
type part interface {
	senders() []*sender
	// rates returns the rates of the senders at this time, in their order. They are valid
	// until the next call of any part.
	rates() []float64
	// horizon returns for how long advance may go on: to the end of the first burst, or to
	// a time at which another part is needed, or to the end of a step.
	horizon() units.Duration
	advance(units.Duration)
}

// newPart returns the part that is exact for the bursts, or else the one that integrates.
func (s *state) newPart(all []*sender) part {
	b := bursts{s, all}
	oneLink, top := true, math.MinInt
	for _, a := range all {
		oneLink = oneLink && len(a.uses) == 1 && a.uses[0].share == 1 && a.limit >= a.capacity
		top = max(top, a.priority)
	}
	var served []*sender
	for _, a := range all {
		if a.priority == top {
			served = append(served, a)
		}
	}
	switch {
	case s.law.Slope == 0 || len(all) == 1 || oneLink && len(served) == 1:
		c := &constant{bursts: b}
		c.fixed = append(c.fixed, s.divider.divide(all, b.weights(nil))...)
		return c
	case oneLink:
		return &closed{bursts: b, served: served}
	}
	return &stepped{bursts: b}
}

// bursts are the senders of a part.
type bursts struct {
	state *state
	all   []*sender
}

func (b *bursts) senders() []*sender { return b.all }

// weights returns the weights of the bursts with so much left; nil: as much as they have.
func (b *bursts) weights(left []float64) (weights []float64) {
	for i, a := range b.all {
		l := a.left
		if left != nil {
			l = left[i]
		}
		weights = append(weights, a.now(&b.state.law, l))
	}
	return weights
}

// whole returns a time in whole picoseconds.
func whole(time float64) units.Duration {
	if time >= 1<<62 {
		return 1 << 62
	}
	return units.Duration(math.Round(time))
}

// constant has rates that do not change.
type constant struct {
	bursts
	fixed []float64
}

func (c *constant) rates() []float64 { return c.fixed }

func (c *constant) horizon() units.Duration {
	least := math.Inf(1)
	for i, a := range c.all {
		least = min(least, a.left/c.fixed[i])
	}
	return whole(least)
}

func (c *constant) advance(dt units.Duration) {
	for i, a := range c.all {
		a.left = max(0, a.left-float64(c.fixed[i]*float64(dt)))
	}
}

// closed has bursts that use one link, which each of them could fill, with weights that
// grow.
//
// The bursts that are served send at rates in proportion to their weights, which sum up to
// the capacity C. With the sum of the weights as the unit of time, u = integral dt / sum,
// the progress of each depends on itself alone: d left/du = -C * weight. The weight is
// linear in what is left, so that this is an exponential in u, or linear before a burst is
// within its reference. The time that has passed is what was sent, divided by C.
type closed struct {
	bursts
	served []*sender // of the highest priority
	shares []float64
}

func (c *closed) rates() []float64 {
	c.shares = c.shares[:0]
	sum := 0.0
	for _, a := range c.served {
		sum += a.now(&c.state.law, a.left)
	}
	for _, a := range c.all {
		rate := 0.0
		if a.priority == c.served[0].priority {
			rate = a.capacity * (a.now(&c.state.law, a.left) / sum)
		}
		c.shares = append(c.shares, rate)
	}
	return c.shares
}

// after returns what a burst has sent when u has passed.
func (c *closed) after(a *sender, u float64) float64 {
	law := &c.state.law
	if !a.growing(law) {
		return float64(a.capacity*a.weight*law.Intercept) * u
	}
	above := float64(a.total*(1+law.Intercept/law.Slope)) - a.left - a.later
	return above * math.Expm1(a.capacity*a.weight*law.Slope/a.total*u)
}

// until returns the u after which a burst has sent everything, or has come within its
// reference.
func (c *closed) until(a *sender) (u float64, ends bool) {
	law := &c.state.law
	if !a.growing(law) {
		speed := a.capacity * a.weight * law.Intercept
		if to := a.left + a.later - a.total; to < a.left {
			return to / speed, false
		}
		return a.left / speed, true
	}
	above := float64(a.total*(1+law.Intercept/law.Slope)) - a.left - a.later
	return math.Log1p(a.left/above) / (a.capacity * a.weight * law.Slope / a.total), true
}

// first returns the u of the first event, and whether it ends a burst.
func (c *closed) first() (u float64, ends bool) {
	u = math.Inf(1)
	for _, a := range c.served {
		if own, end := c.until(a); own < u {
			u, ends = own, end
		}
	}
	return u, ends
}

// passed returns the time in which u passes.
func (c *closed) passed(u float64) (sum float64) {
	for _, a := range c.served {
		sum += c.after(a, u)
	}
	return sum / c.served[0].capacity
}

func (c *closed) horizon() units.Duration {
	u, ends := c.first()
	if ends {
		return whole(c.passed(u))
	}
	return max(1, whole(math.Ceil(c.passed(u)))) // beyond it
}

func (c *closed) advance(dt units.Duration) {
	law := &c.state.law
	u, _ := c.first()
	// Newton's method. The time is convex in u, so that it comes from above, from the
	// second round on.
	for range 50 {
		slope := 0.0
		for _, a := range c.served {
			slope += a.now(law, max(0, a.left-c.after(a, u)))
		}
		next := max(0, u-(c.passed(u)-float64(dt))/slope)
		if math.Abs(next-u) <= 1e-15*u {
			break
		}
		u = next
	}
	for _, a := range c.served {
		a.left = max(0, a.left-c.after(a, u))
	}
}

// stepped integrates by the classical Runge-Kutta method of fourth order.
type stepped struct {
	bursts
	left, to []float64 // of integrate
}

// change is the most by which a weight changes in a step, as a share of it.
const change = 0.02

func (s *stepped) rates() []float64 {
	return s.state.divider.divide(s.all, s.weights(nil))
}

func (s *stepped) horizon() units.Duration {
	law := &s.state.law
	step, end := math.Inf(1), math.Inf(1)
	weights := s.weights(nil)
	for i, rate := range s.rates() {
		a := s.all[i]
		end = min(end, a.left/rate)
		if a.growing(law) {
			step = min(step, change*weights[i]/(a.weight*law.Slope*rate/a.total))
		} else if to := a.left + a.later - a.total; law.Slope > 0 && to > 0 && to < a.left {
			step = min(step, math.Ceil(to/rate)) // within the reference
		}
	}
	step = max(1, min(step, end))
	if end > 2*step {
		return whole(step)
	}
	// The end of a burst, at the most: Newton's method.
	for range 20 {
		over := 0.0
		left := s.integrate(step)
		for i, rate := range s.state.divider.divide(s.all, s.weights(left)) {
			over = min(over, left[i]/rate)
		}
		if over > -rounding/2 {
			break
		}
		step = max(0, step+over)
	}
	return whole(step)
}

func (s *stepped) advance(dt units.Duration) {
	for i, left := range s.integrate(float64(dt)) {
		s.all[i].left = max(0, left)
	}
}

// integrate returns what the bursts have left after a time. It may be less than nothing.
func (s *stepped) integrate(dt float64) []float64 {
	n := len(s.all)
	at, sum := make([]float64, n), make([]float64, n)
	s.left, s.to = s.left[:0], s.to[:0]
	for _, a := range s.all {
		s.left = append(s.left, a.left)
	}
	copy(at, s.left)
	for stage, weight := range []float64{1, 2, 2, 1} {
		rates := s.state.divider.divide(s.all, s.weights(at))
		for i, rate := range rates {
			sum[i] += float64(weight * rate)
			switch stage {
			case 0, 1:
				at[i] = s.left[i] - float64(dt/2*rate)
			case 2:
				at[i] = s.left[i] - float64(dt*rate)
			}
		}
	}
	for i := range at {
		at[i] = s.left[i] - float64(dt/6*sum[i])
	}
	return at
}
