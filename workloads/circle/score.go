package circle

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/csiglab/csiglab/units"
)

// defaultAngle is the width of a sector of the discretised circle, in degrees
// (docs/reference/references.md#compatible-jobs).
const defaultAngle = 5.0

// Limits of the discretised circle.
const (
	maxSectors = 1 << 20
	// leastSectors is the fewest sectors of the shortest period, unless an angle is given.
	leastSectors = 24
	// wholeSectors is the most sectors that are taken so that bursts have whole ones.
	wholeSectors = 2000
	// proofWork bounds the search through all shifts, localWork the one that goes from better
	// to better. The unit is a sector of a job on a link.
	proofWork = 20_000_000
	localWork = 20_000_000
	// perSector is how many of them are worth one unit of the budget of Solve.
	perSector = 4
	restarts  = 24
)

// sectors returns into how many equal sectors a unified circle is cut: so many that each is
// at most the angle wide, in degrees, and that each period has a whole number of them. With
// angle 0, defaultAngle, and finer if the shortest period would have fewer than
// leastSectors, or if bursts begin and end with sectors then, as far as maxSectors and
// wholeSectors allow.
func sectors(profiles []Profile, perimeter units.Duration, angle float64) (int, error) {
	if !(angle >= 0 && angle <= 360) {
		return 0, fmt.Errorf("circle: angle %v degrees, want more than 0 and at most 360", angle)
	}
	steps, most := units.Duration(1), units.Duration(1)
	for i := range profiles {
		r := perimeter / profiles[i].Period
		steps, most = steps/gcd(steps, r)*r, max(most, r)
		if steps > maxSectors {
			return 0, fmt.Errorf("circle: the unified circle of %v has more than %d sectors; take a coarser grid", perimeter, maxSectors)
		}
	}
	unit := perimeter // the longest sector with which all bursts have whole ones
	for i := range profiles {
		unit = gcd(unit, profiles[i].Period)
		for _, b := range profiles[i].Bursts {
			unit = gcd(gcd(unit, b.At), b.Length)
		}
	}
	least := math.Ceil(360 / defaultAngle * (1 - 1e-12))
	if angle > 0 {
		least = math.Ceil(360 / angle * (1 - 1e-12))
	} else {
		least = max(least, leastSectors*float64(most))
	}
	n := math.Ceil(least/float64(steps)) * float64(steps)
	if fine := float64(perimeter / unit); angle == 0 && fine <= wholeSectors {
		n = math.Ceil(least/fine) * fine
	}
	switch {
	case n > maxSectors && angle > 0:
		return 0, fmt.Errorf("circle: %.0f sectors, want at most %d; take a larger angle or a coarser grid", n, maxSectors)
	case n > maxSectors:
		return int(maxSectors / steps * steps), nil
	}
	return int(n), nil
}

// pattern is what a job sends in each sector of its period, when it starts at 0. A burst
// takes as many sectors as it needs, from the one in which it begins.
type pattern struct {
	demand []int64 // by sector of the period; -1: whatever the link has
	active []int   // the sectors in which it is not 0
}

func newPattern(p *Profile, sectors int) pattern {
	of := pattern{demand: make([]int64, sectors)}
	for _, b := range p.Bursts {
		first, _ := scaled(b.At, sectors, p.Period)
		n, more := scaled(b.Length, sectors, p.Period)
		if more {
			n++
		}
		for a := int(first); a < min(int(first+n), sectors); a++ {
			if rate := int64(b.Rate); rate == 0 || of.demand[a] < 0 {
				of.demand[a] = -1
			} else {
				of.demand[a] = max(of.demand[a], rate)
			}
		}
	}
	for a, d := range of.demand {
		if d != 0 {
			of.active = append(of.active, a)
		}
	}
	return of
}

// scaled returns d*by/of, rounded down, and whether that is less than it. The product has 128 bits.
func scaled(d units.Duration, by int, of units.Duration) (whole units.Duration, less bool) {
	high, low := bits.Mul64(uint64(d), uint64(by))
	q, rest := bits.Div64(high, low, uint64(of))
	return units.Duration(q), rest > 0
}

// ring is a link in sectors.
type ring struct {
	capacity int64
	load     []int64 // by sector of the unified circle
}

// board has the discretised circles of links that share jobs.
type board struct {
	sectors  int
	whole    bool // all bursts begin and end with sectors
	patterns []pattern
	rings    []ring
	on       [][]int // of each job: its rings
	shift    []int   // of each job, in sectors, less than those of its period
	work     int     // what is left of the budget
}

// newBoard returns a board without load. angle is that of a sector; see score.
func newBoard(profiles []Profile, links []Link, angle float64) (*board, error) {
	perimeter, err := circleOf(profiles)
	if err != nil {
		return nil, err
	}
	n, err := sectors(profiles, perimeter, angle)
	if err != nil {
		return nil, err
	}
	b := &board{sectors: n, whole: true, on: make([][]int, len(profiles)), shift: make([]int, len(profiles))}
	for i := range profiles {
		p := &profiles[i]
		own := n / int(perimeter/p.Period)
		b.patterns = append(b.patterns, newPattern(p, own))
		for _, burst := range p.Bursts {
			_, early := scaled(burst.At, own, p.Period)
			_, late := scaled(burst.Length, own, p.Period)
			b.whole = b.whole && !early && !late
		}
	}
	for i, l := range links {
		b.rings = append(b.rings, ring{capacity: int64(l.Capacity), load: make([]int64, n)})
		for _, j := range l.Jobs {
			b.on[j] = append(b.on[j], i)
		}
	}
	return b, nil
}

// put adds the demand of a job to its links, or with sign -1 takes it away.
func (b *board) put(job int, sign int64) {
	p := &b.patterns[job]
	for _, k := range b.on[job] {
		r := &b.rings[k]
		for base := b.shift[job]; base < b.sectors+b.shift[job]; base += len(p.demand) {
			for _, a := range p.active {
				r.load[(base+a)%b.sectors] += sign * r.of(p.demand[a])
			}
		}
	}
}

// of returns a demand in bit/s.
func (r *ring) of(demand int64) int64 {
	if demand < 0 {
		return r.capacity
	}
	return demand
}

// cost returns what the score of the links sinks by, all together, when a job that is not
// there comes with a shift.
func (b *board) cost(job, shift int) (sum float64) {
	p := &b.patterns[job]
	for _, k := range b.on[job] {
		r := &b.rings[k]
		over := 0.0
		for base := shift; base < b.sectors+shift; base += len(p.demand) {
			for _, a := range p.active {
				load := r.load[(base+a)%b.sectors]
				over += float64(max(0, load+r.of(p.demand[a])-r.capacity) - max(0, load-r.capacity))
			}
		}
		sum += over / (float64(b.sectors) * float64(r.capacity))
	}
	b.work -= len(b.on[job]) * len(p.active) * (b.sectors / len(p.demand))
	return sum
}

// score returns the score of a link with the present load.
func (b *board) score(link int) float64 {
	over := 0.0
	r := &b.rings[link]
	for _, load := range r.load {
		over += float64(max(0, load-r.capacity))
	}
	return 1 - over/(float64(b.sectors)*float64(r.capacity))
}

// loss returns how much the scores of the links are below 1, all together.
func (b *board) loss() (sum float64) {
	for k := range b.rings {
		sum += 1 - b.score(k)
	}
	return sum
}

// set puts jobs with shifts onto an empty or a full board.
func (b *board) set(jobs, shift []int) {
	for k := range b.rings {
		clear(b.rings[k].load)
	}
	for i, j := range jobs {
		b.shift[j] = shift[i]
		b.put(j, 1)
	}
}

// optimise looks for the shifts of jobs with the best score, the first job's being 0, since
// turning all alike changes nothing. It puts the jobs onto the board and reports whether no
// better shifts exist. The seed of its random starts is fixed. It takes
// at most what is left of the budget, half of it for the proof.
func (b *board) optimise(jobs []int, left *int) (proven bool) {
	best := make([]int, len(jobs))
	b.set(jobs, best)
	least := b.loss()
	r := rand.New(rand.NewPCG(1, uint64(len(jobs))))
	local := min(localWork, *left/2*perSector)
	b.work = local
	for try := 0; try < restarts && least > 0 && b.work > 0; try++ {
		shift := make([]int, len(jobs))
		for i, j := range jobs {
			if try > 0 && i > 0 {
				shift[i] = r.IntN(len(b.patterns[j].demand))
			}
		}
		b.set(jobs, shift)
		b.improve(jobs)
		if loss := b.loss(); loss < least {
			least = loss
			for i, j := range jobs {
				best[i] = b.shift[j]
			}
		}
	}
	*left -= (local - max(0, b.work)) / perSector
	if least > 0 {
		b.set(jobs[:1], []int{0})
		proof := min(proofWork, *left*perSector)
		b.work = proof
		proven = b.prove(jobs, 1, b.loss(), &least, best)
		*left -= (proof - max(0, b.work)) / perSector
	} else {
		proven = true
	}
	b.set(jobs, best)
	return proven
}

// improve moves one job at a time to its best shift until none has a better one.
func (b *board) improve(jobs []int) {
	for moved := true; moved && b.work > 0; {
		moved = false
		for _, j := range jobs[1:] {
			b.put(j, -1)
			now := b.shift[j]
			best, least := now, b.cost(j, now)
			for s := 0; s < len(b.patterns[j].demand) && least > 0 && b.work > 0; s++ {
				if cost := b.cost(j, s); cost < least*(1-1e-9) {
					best, least = s, cost
				}
			}
			b.shift[j] = best
			b.put(j, 1)
			moved = moved || best != now
		}
	}
}

// prove looks at all shifts of the jobs from one on that can be better than least, which
// with best is what it has found. It reports false when it gives up.
func (b *board) prove(jobs []int, from int, loss float64, least *float64, best []int) bool {
	if from == len(jobs) {
		*least = loss
		for i, j := range jobs {
			best[i] = b.shift[j]
		}
		return true
	}
	j := jobs[from]
	for s := range b.patterns[j].demand {
		more := loss + b.cost(j, s)
		if b.work < 0 {
			return false
		}
		if more >= *least-1e-9 {
			continue
		}
		b.shift[j] = s
		b.put(j, 1)
		done := b.prove(jobs, from+1, more, least, best)
		b.put(j, -1)
		if !done {
			return false
		}
		if *least <= 0 {
			return true
		}
	}
	return true
}

// Scored is how far jobs fit on a link at one time, in sectors of the unified circle
// (CASSINI, NSDI 2024). A score is 1 if the link carries all that the jobs send, and less by
// the share of its capacity that they want more; it can be negative:
//
//	score = 1 - sum over sectors of max(0, sum over jobs of rate - C) / (sectors C)
//
// Bursts take whole sectors, so that these scores may differ from the exact ones.
type Scored struct {
	Zero, Best float64          // when all start together; with the best start offsets
	Starts     []units.Duration // the best start offsets, in [0, period) of each job; the first's is 0
	Proven     bool             // no start offsets in whole sectors are better
	Sectors    int              // of the unified circle
	// whole reports whether bursts begin and end with sectors. The score is exact then. It is
	// piecewise linear in the start offsets, with bends where bursts meet, and so the best of
	// whole sectors is the best of all.
	whole bool
}

// score returns the scores of jobs that share a link, whose periods are on a grid (see
// Align). angle is that of a sector, in degrees; 0: defaultAngle, or less for periods that
// are short. The same input gives the same result.
func score(profiles []Profile, capacity units.Rate, angle float64, left *int) (*Scored, error) {
	link := Link{Capacity: capacity, Jobs: make([]int, len(profiles))}
	for i := range profiles {
		link.Jobs[i] = i
	}
	b, err := newBoard(profiles, []Link{link}, angle)
	if err != nil {
		return nil, err
	}
	b.set(link.Jobs, make([]int, len(profiles)))
	s := &Scored{Zero: b.score(0), Sectors: b.sectors, whole: b.whole}
	s.Proven = b.optimise(link.Jobs, left)
	s.Best, s.Starts = b.score(0), b.starts(profiles)
	return s, nil
}

// shifts returns the start offsets of jobs with the best scores of links together, in
// sectors.
func shifts(profiles []Profile, links []Link, angle float64, left *int) ([]units.Duration, error) {
	b, err := newBoard(profiles, links, angle)
	if err != nil {
		return nil, err
	}
	all := make([]int, len(profiles))
	for i := range all {
		all[i] = i
	}
	b.optimise(all, left)
	return b.starts(profiles), nil
}

// starts returns the start offsets of the shifts.
func (b *board) starts(profiles []Profile) []units.Duration {
	all := make([]units.Duration, len(profiles))
	for i := range profiles {
		all[i], _ = scaled(profiles[i].Period, b.shift[i], units.Duration(len(b.patterns[i].demand)))
	}
	return all
}
