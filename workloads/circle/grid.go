package circle

import (
	"errors"
	"fmt"
	"math"

	"github.com/csiglab/csiglab/units"
)

// ErrNoGrid reports periods without a common grid.
var ErrNoGrid = errors.New("no common grid")

// Defaults and limits of Align.
const (
	DefaultTolerance = 0.01
	MaxTolerance     = 1
	// MaxSteps bounds the steps of a grid, which are the parts of the unified circle that
	// all periods are multiples of.
	MaxSteps = 100_000
	// maxPerimeter bounds the unified circle, so that sums of its times fit 64 bits.
	maxPerimeter = math.MaxInt64 / 8
	// maxLaps bounds how often the longest period goes into the unified circle.
	maxLaps = 10_000
	// maxTries bounds the perimeters that are looked at.
	maxTries = 100_000
)

// GridOptions say how Align rounds.
type GridOptions struct {
	// Tolerance bounds the relative growth of each period; 0: DefaultTolerance. At most
	// MaxTolerance.
	Tolerance float64
	// Step is the step of the grid. The periods become multiples of it, and the bursts too:
	// they begin no later and end no sooner. 0: the step that gives the smallest unified
	// circle, for the periods alone.
	Step units.Duration
}

// Grid is a common grid of several profiles.
type Grid struct {
	Step      units.Duration // every period is a multiple of it
	Perimeter units.Duration // the least common multiple of the periods
	Changes   []Change       // of each profile, in their order
}

// Change says what rounding has done to a profile.
type Change struct {
	Before, After units.Duration // the period; After is at least Before
	Communicate   units.Duration // what the bursts grew by, all together
}

// Share returns the growth of the period as a share of it.
func (c Change) Share() float64 { return float64(c.After-c.Before) / float64(c.Before) }

// Align rounds profiles to a common grid, so that the least common multiple of their
// periods is small. It rounds up alone: a job can wait for the next place on the grid, but
// it cannot be faster than it is with the network for itself; and bursts that fit when they
// are longer fit as they are. The time that a period gains is computing, or waiting.
//
// The error is that of Profile.Validate for a wrong profile. It wraps ErrNoGrid if the periods
// have no common grid within the tolerance, and says what would do.
func Align(profiles []Profile, o GridOptions) ([]Profile, *Grid, error) {
	if o.Tolerance == 0 {
		o.Tolerance = DefaultTolerance
	}
	switch {
	case !(o.Tolerance > 0 && o.Tolerance <= MaxTolerance):
		return nil, nil, fmt.Errorf("circle: tolerance %v, want more than 0 and at most %d", o.Tolerance, MaxTolerance)
	case o.Step < 0 || o.Step > MaxPeriod:
		return nil, nil, fmt.Errorf("circle: step %v, want more than 0 and at most %v", o.Step, MaxPeriod)
	case len(profiles) == 0:
		return nil, nil, errors.New("circle: no profiles")
	}
	periods := make([]units.Duration, len(profiles))
	for i := range profiles {
		if err := profiles[i].Validate(); err != nil {
			return nil, nil, fmt.Errorf("circle: job %q: %w", profiles[i].Name, err)
		}
		periods[i] = profiles[i].Period
	}
	g := &Grid{}
	if o.Step > 0 {
		if err := g.onto(profiles, o); err != nil {
			return nil, nil, err
		}
	} else if !g.find(periods, o.Tolerance) {
		return nil, nil, fmt.Errorf("%w: %s", ErrNoGrid, advice(periods, o.Tolerance))
	}
	rounded := make([]Profile, len(profiles))
	for i := range profiles {
		rounded[i] = widen(profiles[i], g.Changes[i].After, o.Step)
		g.Changes[i].Communicate = rounded[i].Communicate() - profiles[i].Communicate()
	}
	return rounded, g, nil
}

// find looks for the smallest perimeter L into which every period, when it grows by at most
// the tolerance, goes a whole number of times r: L is between r*T and r*T*(1+tolerance). The
// smallest L is such a lower end.
func (g *Grid) find(periods []units.Duration, tolerance float64) bool {
	longest := 0.0
	for _, t := range periods {
		longest = max(longest, float64(t))
	}
	limit := min(longest*maxLaps, maxPerimeter)
	for l, tries := longest, 0; l <= limit && tries < maxTries; tries++ {
		if next := raise(l, periods, tolerance); next > l {
			l = next
			continue
		}
		if g.divide(l, periods, tolerance) {
			return true
		}
		next := math.Inf(1)
		for _, t := range periods {
			next = min(next, (laps(l, t)+1)*float64(t))
		}
		l = next
	}
	return false
}

// laps returns how often a period goes into a perimeter, to rounding.
func laps(perimeter float64, period units.Duration) float64 {
	return math.Floor(perimeter / float64(period) * (1 + 1e-13))
}

// raise returns a perimeter, at least l, below which a period does not fit.
func raise(l float64, periods []units.Duration, tolerance float64) float64 {
	for _, t := range periods {
		if r := laps(l, t); l > r*float64(t)*(1+tolerance) {
			l = max(l, (r+1)*float64(t))
		}
	}
	return l
}

// divide sets the grid with a perimeter near l, whose step is whole, and reports whether
// there is one with few enough steps and within the tolerance.
func (g *Grid) divide(l float64, periods []units.Duration, tolerance float64) bool {
	steps := int64(1)
	for _, t := range periods {
		if laps(l, t) > MaxSteps {
			return false
		}
		r := int64(laps(l, t))
		if steps = steps / gcd(steps, r) * r; steps > MaxSteps {
			return false
		}
	}
	least := int64(0) // the step, so that no period shrinks
	for _, t := range periods {
		in := steps / int64(laps(l, t)) // steps of the period
		least = max(least, (int64(t)+in-1)/in)
	}
	if float64(least)*float64(steps) > maxPerimeter {
		return false
	}
	changes := make([]Change, len(periods))
	for i, t := range periods {
		changes[i] = Change{Before: t, After: units.Duration(least * (steps / int64(laps(l, t))))}
		if changes[i].Share() > tolerance {
			return false
		}
	}
	*g = Grid{Step: units.Duration(least), Perimeter: units.Duration(least * steps), Changes: changes}
	return true
}

// onto sets the grid with the step of the options.
func (g *Grid) onto(profiles []Profile, o GridOptions) error {
	*g = Grid{Step: o.Step, Changes: make([]Change, len(profiles))}
	counts, common := make([]int64, len(profiles)), int64(0) // steps of the periods
	for i := range profiles {
		p := &profiles[i]
		counts[i] = (int64(p.Period) + int64(o.Step) - 1) / int64(o.Step)
		common = gcd(counts[i], common)
		c := Change{Before: p.Period, After: units.Duration(counts[i]) * o.Step}
		if c.Share() > o.Tolerance {
			advice := fmt.Sprintf("take a step of at most %v", rounded(units.Duration(float64(p.Period)*o.Tolerance), 3))
			if enough := ceil(c.Share()); enough <= MaxTolerance {
				advice += fmt.Sprintf(", or a tolerance of %.3g", enough)
			}
			return fmt.Errorf("%w: the step %v makes a period of %v %.3g %% longer, more than %.3g %%; %s",
				ErrNoGrid, o.Step, p.Period, 100*c.Share(), 100*o.Tolerance, advice)
		}
		g.Changes[i] = c
	}
	// The unified circle has few parts if the periods have a longer step in common.
	longer, parts := o.Step*units.Duration(common), int64(1)
	for _, n := range counts {
		if n /= common; n <= MaxSteps {
			parts = parts / gcd(parts, n) * n
		}
		if n > MaxSteps || parts > MaxSteps || float64(parts)*float64(longer) > maxPerimeter {
			return fmt.Errorf("%w: on steps of %v the unified circle has more than %d steps; take a longer step, or none, so that one is chosen", ErrNoGrid, o.Step, MaxSteps)
		}
	}
	g.Perimeter = units.Duration(parts) * longer
	return nil
}

// advice says which tolerance would give periods a common grid.
func advice(periods []units.Duration, tolerance float64) string {
	bound := fmt.Sprintf("no periods within %.3g %% of these go into a unified circle of at most %d steps", 100*tolerance, MaxSteps)
	for _, more := range []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1} {
		if more > tolerance && new(Grid).find(periods, more) {
			return fmt.Sprintf("%s; a tolerance of %g would do", bound, more)
		}
	}
	return bound + "; no tolerance up to 1 would do"
}

// ceil rounds a share up to two digits.
func ceil(share float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(share))-1)
	return math.Ceil(share/unit*(1-1e-12)) * unit
}

// rounded returns a time with so many digits, rounded down.
func rounded(d units.Duration, digits int) units.Duration {
	unit := units.Duration(1)
	for float64(d/unit) >= math.Pow10(digits) {
		unit *= 10
	}
	return max(1, d/unit*unit)
}

// widen returns a profile with a longer period and, if step is more than 0, with bursts on
// its multiples that hold the old ones. The time that the period gains comes before the
// first burst if the period began with computing, as the job computes or waits then.
func widen(p Profile, period, step units.Duration) Profile {
	gained := period - p.Period
	bursts := make([]Burst, 0, len(p.Bursts))
	for _, b := range p.Bursts {
		if p.Bursts[0].At > 0 {
			b.At += gained
		}
		if step > 0 {
			end := (b.End() + step - 1) / step * step
			b.At = b.At / step * step
			b.Length = end - b.At
		}
		// Bursts that meet on the grid become one, with the greater rate.
		if n := len(bursts); n > 0 && b.At < bursts[n-1].End() {
			last := &bursts[n-1]
			last.Length = max(last.End(), b.End()) - last.At
			if whole := last.Rate == 0 || b.Rate == 0; whole {
				last.Rate = 0
			} else {
				last.Rate = max(last.Rate, b.Rate)
			}
			continue
		}
		bursts = append(bursts, b)
	}
	return Profile{Name: p.Name, Period: period, Bursts: bursts}
}

// gcd returns the greatest common divisor of two numbers, of which one is not 0.
func gcd[T ~int64](a, b T) T {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// lcm returns the least common multiple of periods. It reports false if it is longer than
// maxPerimeter.
func lcm(profiles []Profile) (units.Duration, bool) {
	l := units.Duration(1)
	for i := range profiles {
		t := profiles[i].Period
		k := t / gcd(l, t)
		if float64(l)*float64(k) > maxPerimeter {
			return 0, false
		}
		l *= k
	}
	return l, true
}
