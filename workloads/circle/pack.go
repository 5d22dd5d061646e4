package circle

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/csiglab/csiglab/units"
)

// mayMeet reports whether a link carries bursts of two of its jobs at one time.
func mayMeet(profiles []Profile, l *Link) bool {
	first, second := l.Capacity+1, l.Capacity+1 // the least rates of two jobs
	for _, j := range l.Jobs {
		least := l.Capacity
		for _, b := range profiles[j].Bursts {
			least = min(least, cmp.Or(b.Rate, l.Capacity))
		}
		if least < first {
			first, second = least, first
		} else {
			second = min(second, least)
		}
	}
	return first+second <= l.Capacity
}

// level is what placed jobs send on a link from a time on.
type level struct {
	at   units.Duration
	load units.Rate
}

// packing is the state of a search for start offsets with which links carry all that their
// jobs send, at one time or not. It places one job after the other, as search does.
type packing struct {
	*field
	twins             // domain and barred are of the first twin
	links     []Link  // which hang together by jobs
	on        [][]int // of each job: its links
	perimeter []units.Duration
	levels    [][]level // of each link, the first at 0
	starts    []units.Duration
	domain    []ranges                      // of the jobs that are not placed: where they may start
	barred    []map[units.Duration]struct{} // starts that have been looked into
	work      int                           // what is left of the budget
}

// pack looks for start offsets with which links that hang together carry all that their jobs
// send. It answers NotKnown only when it has used up its budget. The links have two jobs or
// more; each job is on one of them. The offset of the first job is 0.
func pack(f *field, links []Link, left *int) (answer Answer, starts []units.Duration, err error) {
	spend(left, *left, func(work *int) {
		var p *packing
		if p, err = newPacking(f, links, *work); err == nil {
			answer, starts = p.run()
			*work = p.work
		}
	})
	return answer, starts, err
}

func newPacking(f *field, links []Link, work int) (*packing, error) {
	n := len(f.profiles)
	p := &packing{
		field: f, twins: newTwins(f), links: links, on: make([][]int, n), starts: make([]units.Duration, n),
		domain: make([]ranges, n), barred: make([]map[units.Duration]struct{}, n), work: work,
	}
	for j := range n {
		p.barred[j] = map[units.Duration]struct{}{}
	}
	for k := range links {
		perimeter, err := circleOf(some(f.profiles, links[k].Jobs))
		if err != nil {
			return nil, err
		}
		p.perimeter, p.levels = append(p.perimeter, perimeter), append(p.levels, []level{{}})
		for _, j := range links[k].Jobs {
			p.on[j] = append(p.on[j], k)
		}
	}
	return p, nil
}

// sent returns the mean rate of a job on a link.
func (p *packing) sent(j, k int) (sum float64) {
	for _, b := range p.profiles[j].Bursts {
		sum += float64(cmp.Or(b.Rate, p.links[k].Capacity)) * float64(b.Length) / float64(p.profiles[j].Period)
	}
	return sum
}

// run returns the answer, and with Yes the start offsets.
func (p *packing) run() (Answer, []units.Duration) {
	most := make([]float64, len(p.profiles)) // of each job, the greatest part of a link that it takes
	for k := range p.links {
		sum := 0.0
		for _, j := range p.links[k].Jobs {
			part := p.sent(j, k) / float64(p.links[k].Capacity)
			sum += part
			most[j] = max(most[j], part)
		}
		if sum > 1+1e-9 {
			return No, nil
		}
	}
	first := 0
	var rest []int
	for j := range p.profiles {
		if most[j] > most[first] {
			first = j
		}
	}
	for j := range p.profiles {
		p.domain[p.twin[j]] = ranges{{0, p.profiles[j].Period - 1}}
		if j != first {
			rest = append(rest, j)
		}
	}
	p.put(first, 0, rest)
	answer := p.extend(rest)
	if answer != Yes {
		return answer, nil
	}
	for j := range slices.Backward(p.starts) {
		p.starts[j] = modulo(p.starts[j]-p.starts[0], p.profiles[j].Period)
	}
	return Yes, p.starts
}

// put places a job, and takes from the domains of the rest what it forbids them. When the
// budget is used up it may leave something out.
func (p *packing) put(job int, start units.Duration, rest []int) {
	p.starts[job] = start
	others := p.distinct(rest)
	for _, k := range p.on[job] {
		n := int(p.perimeter[k]/p.profiles[job].Period)*len(p.profiles[job].Bursts) + len(p.levels[k])
		if p.work -= n * bits.Len(uint(n)); p.work < 0 {
			return
		}
		p.levels[k] = p.with(k, job, start)
		for _, j := range others {
			if slices.Contains(p.on[j], k) {
				p.narrow(j, k)
			}
		}
	}
}

// with returns the levels of a link when a job comes.
func (p *packing) with(k, job int, start units.Duration) []level {
	edges := edgesOf(&p.profiles[job], start, p.perimeter[k], p.links[k].Capacity)
	load := units.Rate(0)
	for _, l := range p.levels[k] {
		edges = append(edges, edge{l.at, l.load - load})
		load = l.load
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	all := make([]level, 0, len(edges))
	load = 0
	for _, e := range edges {
		load += e.rate
		if n := len(all); n > 0 && all[n-1].at == e.at {
			all[n-1].load = load
		} else if e.at < p.perimeter[k] {
			all = append(all, level{e.at, load})
		}
	}
	return slices.CompactFunc(all, func(a, b level) bool { return a.load == b.load })
}

// narrow takes from the domain of a job the starts with which a link does not carry it.
func (p *packing) narrow(j, k int) {
	domain := &p.domain[p.twin[j]]
	levels, capacity := p.levels[k], p.links[k].Capacity
	var busy ranges
	for _, b := range p.profiles[j].Bursts {
		most := capacity - cmp.Or(b.Rate, capacity)
		p.work -= len(levels)
		for i := 0; i < len(levels); i++ {
			if levels[i].load <= most {
				continue
			}
			from := levels[i].at
			for i+1 < len(levels) && levels[i+1].load > most {
				i++
			}
			to := p.perimeter[k]
			if i+1 < len(levels) {
				to = levels[i+1].at
			}
			busy = append(busy, Range{from - b.End() + 1, to - b.At - 1})
		}
		if p.work -= len(busy) * 4; p.work < 0 {
			return
		}
	}
	period := p.profiles[j].Period
	*domain = intersect(*domain, turned(busy, period).rest(period))
}

// extend places the rest of the jobs, of which one is placed at least. If there is a
// solution, all jobs of the rest can be moved to earlier starts together until they can go
// no further because of the placed ones. Then a burst of one begins where the placed ones
// come to send less. So it suffices to try these starts; and any one if the placed ones
// always send as much.
func (p *packing) extend(rest []int) Answer {
	if p.work < 0 {
		return NotKnown
	}
	if len(rest) == 0 {
		return Yes
	}
	different := p.distinct(rest)
	var all []candidate
	for _, j := range different {
		domain := p.domain[p.twin[j]]
		room := domain.count()
		if room == 0 {
			return No
		}
		for _, s := range p.begins(j) {
			if domain.holds(s) {
				all = append(all, candidate{j, s, room})
			}
		}
	}
	if p.work < 0 {
		return NotKnown
	}
	if !slices.ContainsFunc(different, p.drops) {
		all = append(all, candidate{job: rest[0], start: p.domain[p.twin[rest[0]]][0].From})
	}
	slices.SortFunc(all, compareCandidates)
	all = slices.DeleteFunc(slices.Compact(all), func(c candidate) bool {
		_, tried := p.barred[p.twin[c.job]][c.start]
		return tried
	})
	domains, levels := slices.Clone(p.domain), slices.Clone(p.levels)
	for _, c := range all {
		if p.work -= len(rest); p.work < 0 {
			return NotKnown
		}
		next := slices.DeleteFunc(slices.Clone(rest), func(j int) bool { return j == c.job })
		p.put(c.job, c.start, next)
		if answer := p.extend(next); answer != No {
			return answer
		}
		copy(p.domain, domains)
		copy(p.levels, levels)
		p.barred[p.twin[c.job]][c.start] = struct{}{}
	}
	for _, c := range all {
		delete(p.barred[p.twin[c.job]], c.start)
	}
	return No
}

// drops reports whether the placed jobs come to send less on a link of a job.
func (p *packing) drops(j int) bool {
	return slices.ContainsFunc(p.on[j], func(k int) bool { return len(p.levels[k]) > 1 })
}

// begins returns the starts of a job with which one of its bursts begins where the placed
// jobs come to send less. When the budget is used up it returns none.
func (p *packing) begins(j int) (all []units.Duration) {
	for _, k := range p.on[j] {
		levels := p.levels[k]
		if p.work -= 8 * len(levels) * len(p.profiles[j].Bursts); p.work < 0 {
			return nil
		}
		before := levels[len(levels)-1].load
		for _, l := range levels {
			if l.load < before {
				for _, b := range p.profiles[j].Bursts {
					all = append(all, modulo(l.at-b.At, p.profiles[j].Period))
				}
			}
			before = l.load
		}
	}
	return all
}
