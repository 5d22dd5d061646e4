package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Shift says where the bottleneck was on two sides: in the first variant and in another
// one, or before and after the first fault of a variant's runs.
type Shift struct {
	Fault  string       `json:"fault,omitempty"` // in words; "": the sides are variants
	Before ShiftSide    `json:"before"`
	After  ShiftSide    `json:"after"`
	Basis  ShiftBasis   `json:"basis"`
	Signal string       `json:"signal,omitempty"` // of BasisSamples
	Places []ShiftPlace `json:"places"`           // those with the greatest share on either side first; at most maxShiftPlaces
	Tiers  []ShiftTier  `json:"tiers"`            // the same by tier and direction; the greatest share on either side first
	// From and To are the indexes in Places of the most prevalent place of each side, FromTier
	// and ToTier those in Tiers; -1 where a side has none. Moved says that the tiers differ, or
	// that the places do, in one tier, and that each has MovedShare of its side: where many
	// ports share what is heavily loaded, it means nothing which of them is first.
	From     int  `json:"from"`
	To       int  `json:"to"`
	FromTier int  `json:"fromTier"`
	ToTier   int  `json:"toTier"`
	Moved    bool `json:"moved"`
	// Agree is how many of Seeds pairs of runs with the same seed say the same: whether it has
	// moved, and from which tier to which, or within a tier, from which place to which. Pairs
	// in which nothing was heavily loaded do not count.
	Agree int `json:"agree"`
	Seeds int `json:"seeds"`
}

// ShiftSide is one side of a shift.
type ShiftSide struct {
	Variant string  `json:"variant"`
	FromUS  float64 `json:"fromUs"`
	ToUS    float64 `json:"toUs"` // 0: the end of the run
	// Heavy is how many samples, or windows of ports, of all seeds were heavily loaded, of All.
	Heavy int64 `json:"heavy"`
	All   int64 `json:"all"`
}

// ShiftBasis is what shares of a shift are shares of.
type ShiftBasis string

// Bases.
const (
	// BasisSamples: of the CSIG samples of heavily loaded ports, as Heatmap.Heavy counts
	// them, by the port that they name.
	BasisSamples ShiftBasis = "samples"
	// BasisWindows: of the telemetry windows in which a switch port had at most a quarter of
	// its line left and at least a full packet waited on average, by port. Runs without CSIG
	// have it too.
	BasisWindows ShiftBasis = "windows"
)

// maxShiftPlaces bounds Shift.Places. MovedShare is the share of a side from which a port is
// the place of a bottleneck.
const (
	maxShiftPlaces = 8
	MovedShare     = 0.25
)

// ShiftPlace is a place that was a bottleneck.
type ShiftPlace struct {
	Ports     []string   `json:"ports"` // one, or several that share a locator
	Tier      string     `json:"tier"`
	Direction string     `json:"direction"`
	Before    ShiftShare `json:"before"`
	After     ShiftShare `json:"after"`
}

// ShiftTier is the ports of a tier and direction.
type ShiftTier struct {
	Tier      string     `json:"tier"`
	Direction string     `json:"direction"`
	Before    ShiftShare `json:"before"`
	After     ShiftShare `json:"after"`
}

// ShiftShare is a share of all that was heavily loaded on one side: over all seeds, and the
// range of the seeds.
type ShiftShare struct {
	Share float64 `json:"share"`
	Seeds Spread  `json:"seeds"`
}

// shiftCounts are, by place, what was heavily loaded on one side in one run, and how much
// there was in all.
type shiftCounts struct {
	heavy map[string]int64
	all   int64
}

// shiftPlaces says what the places of shiftCounts are.
type shiftPlaces map[string]*ShiftPlace

func (p shiftPlaces) add(ports []string, tier, direction string) string {
	place := &ShiftPlace{Ports: ports, Tier: tier, Direction: direction}
	key := place.key()
	if p[key] == nil {
		p[key] = place
	}
	return key
}

// newShifts returns the shifts: of variants, then of faults.
func newShifts(t *totals, heat []*heatReader) []Shift {
	m := t.manifest
	all := []Shift{}
	if len(m.Variants) == 0 {
		return all
	}
	first := m.Variants[0].Name
	for _, v := range m.Variants[1:] {
		for _, basis := range basesOf(m, heat, first, v.Name) {
			places := shiftPlaces{}
			s := Shift{Before: t.side(first), After: t.side(v.Name), Basis: basis.of, Signal: basis.signal}
			all = s.compare(all, places, basis.counts(t, heat, first, bothSides, places), basis.counts(t, heat, v.Name, bothSides, places))
		}
	}
	for _, v := range m.Variants {
		i := slices.IndexFunc(m.Runs, func(r runfolder.Run) bool { return r.Variant == v.Name && t.faulty[run{v.Name, r.Seed}].known })
		if i < 0 {
			continue
		}
		f := t.faulty[run{v.Name, m.Runs[i].Seed}]
		for _, basis := range basesOf(m, heat, v.Name, v.Name) {
			places := shiftPlaces{}
			s := Shift{Fault: f.what, Before: t.side(v.Name), After: t.side(v.Name), Basis: basis.of, Signal: basis.signal}
			s.Before.ToUS, s.After.FromUS = f.atUS, f.atUS
			if !math.IsInf(f.untilUS, 0) {
				s.After.ToUS = f.untilUS
				if m.Measure.ToUS > 0 {
					s.After.ToUS = min(s.After.ToUS, m.Measure.ToUS)
				}
			}
			all = s.compare(all, places, basis.counts(t, heat, v.Name, beforeFault, places), basis.counts(t, heat, v.Name, afterFault, places))
		}
	}
	return all
}

// side returns a side without its counts.
func (t *totals) side(variant string) ShiftSide {
	return ShiftSide{Variant: variant, FromUS: t.manifest.Measure.FromUS, ToUS: t.manifest.Measure.ToUS}
}

// shiftBasis is a basis, and of samples the signal.
type shiftBasis struct {
	of     ShiftBasis
	signal string
}

// basesOf returns what both variants have: windows, and the samples of signals.
func basesOf(m *runfolder.Manifest, heat []*heatReader, a, b string) []shiftBasis {
	var all []shiftBasis
	for _, name := range m.Signals {
		one := shiftBasis{BasisSamples, name}
		if heatOf(heat, a, name) != nil && heatOf(heat, b, name) != nil && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return append(all, shiftBasis{of: BasisWindows})
}

// heatOf returns the samples of a variant and signal; nil if there are none.
func heatOf(heat []*heatReader, variant, signal string) *heatSignal {
	for _, h := range heat {
		if h.variant.Name == variant {
			return h.signals[signal]
		}
	}
	return nil
}

// counts returns the counts of a side by seed.
func (b shiftBasis) counts(t *totals, heat []*heatReader, variant string, side int, places shiftPlaces) map[uint64]shiftCounts {
	bySeed := map[uint64]shiftCounts{}
	if b.of == BasisSamples {
		at := slices.IndexFunc(heat, func(h *heatReader) bool { return h.variant.Name == variant })
		for seed, placed := range heat[at].signals[b.signal].placed {
			c := shiftCounts{map[string]int64{}, placed.all[side]}
			for locator, n := range placed.heavy[side] {
				l, ok := heat[at].ports[locator]
				if !ok {
					l.Ports = []string{"unknown port"}
				}
				c.heavy[places.add(l.Ports, l.Tier, l.Direction)] += n
			}
			bySeed[seed] = c
		}
		return bySeed
	}
	list := placesOf(t.manifest, variant)
	for _, seed := range t.seeds[variant] {
		c := shiftCounts{heavy: map[string]int64{}}
		ports := t.ports[run{variant, seed}]
		for i := range list {
			s := ports[list[i].PortID]
			if s == nil || list[i].NIC {
				continue
			}
			c.all += s.windows[side]
			if n := s.heavy[side]; n > 0 {
				c.heavy[places.add([]string{portName(&list[i])}, list[i].Tier, list[i].Direction)] += n
			}
		}
		bySeed[seed] = c
	}
	return bySeed
}

// tops are the most prevalent places and tiers of the two sides, "" of a side that has none.
type tops struct {
	places, tiers [2]string
	moved         bool
}

// topsOf returns the tops of counts by place and by tier.
func topsOf(places, tiers [2]shiftCounts) tops {
	var t tops
	share := 1.0
	for k := range t.places {
		t.places[k], t.tiers[k] = places[k].top(), tiers[k].top()
		if t.places[k] == "" {
			return tops{places: [2]string{places[0].top(), places[1].top()}, tiers: [2]string{tiers[0].top(), tiers[1].top()}}
		}
		share = min(share, float64(places[k].heavy[t.places[k]])/float64(places[k].total()))
	}
	t.moved = t.tiers[0] != t.tiers[1] || t.places[0] != t.places[1] && share >= MovedShare
	return t
}

// same reports whether two tops say the same.
func (t *tops) same(o *tops) bool {
	if t.moved != o.moved || t.tiers != o.tiers {
		return false
	}
	return !t.moved || t.tiers[0] != t.tiers[1] || t.places == o.places
}

// compare fills in a shift and appends it to a list, unless nothing was heavily loaded on
// either side.
func (s *Shift) compare(list []Shift, places shiftPlaces, before, after map[uint64]shiftCounts) []Shift {
	tier := map[string]string{} // of a place
	tiers := map[string]*ShiftTier{}
	for key, p := range places {
		name := p.Tier + " " + p.Direction
		tier[key] = name
		tiers[name] = &ShiftTier{Tier: p.Tier, Direction: p.Direction}
	}
	inTiers := func(c shiftCounts) shiftCounts {
		t := shiftCounts{map[string]int64{}, c.all}
		for key, n := range c.heavy {
			t.heavy[tier[key]] += n
		}
		return t
	}
	var all, allTiers [2]shiftCounts
	for k, side := range [2]map[uint64]shiftCounts{before, after} {
		sums := shiftCounts{heavy: map[string]int64{}}
		byPlace, byTier := map[string][]float64{}, map[string][]float64{}
		for _, seed := range slices.Sorted(maps.Keys(side)) {
			c := side[seed]
			sums.all += c.all
			for key, n := range c.heavy {
				sums.heavy[key] += n
			}
			total := float64(c.total())
			if total == 0 {
				continue // a seed in which nothing was heavily loaded has no shares
			}
			t := inTiers(c)
			for key := range places {
				byPlace[key] = append(byPlace[key], float64(c.heavy[key])/total)
			}
			for name := range tiers {
				byTier[name] = append(byTier[name], float64(t.heavy[name])/total)
			}
		}
		all[k], allTiers[k] = sums, inTiers(sums)
		of := sums.total()
		for key, p := range places {
			*[]*ShiftShare{&p.Before, &p.After}[k] = shiftShare(sums.heavy[key], of, byPlace[key])
		}
		for name, t := range tiers {
			*[]*ShiftShare{&t.Before, &t.After}[k] = shiftShare(allTiers[k].heavy[name], of, byTier[name])
		}
		to := []*ShiftSide{&s.Before, &s.After}[k]
		to.Heavy, to.All = of, sums.all
	}
	if s.Before.Heavy+s.After.Heavy == 0 {
		return list
	}
	top := topsOf(all, allTiers)
	s.Moved = top.moved
	for seed, b := range before {
		a, ok := after[seed]
		if !ok || b.total()+a.total() == 0 {
			continue
		}
		s.Seeds++
		if one := topsOf([2]shiftCounts{b, a}, [2]shiftCounts{inTiers(b), inTiers(a)}); one.same(&top) {
			s.Agree++
		}
	}
	s.Places = sortShares(places, func(p *ShiftPlace) (float64, string) {
		return max(p.Before.Share, p.After.Share), p.key()
	})
	s.Tiers = sortShares(tiers, func(t *ShiftTier) (float64, string) {
		return max(t.Before.Share, t.After.Share), t.Tier + " " + t.Direction
	})
	at := func(key string) int {
		return slices.IndexFunc(s.Places, func(p ShiftPlace) bool { return key != "" && p.key() == key })
	}
	for k, key := range top.places {
		if i := at(key); i >= maxShiftPlaces { // many ports share what is heavily loaded on the other side
			s.Places[maxShiftPlaces-1-k] = s.Places[i]
		}
	}
	s.Places = s.Places[:min(maxShiftPlaces, len(s.Places))]
	s.From, s.To = at(top.places[0]), at(top.places[1])
	tierAt := func(name string) int {
		return slices.IndexFunc(s.Tiers, func(t ShiftTier) bool { return name != "" && t.Tier+" "+t.Direction == name })
	}
	s.FromTier, s.ToTier = tierAt(top.tiers[0]), tierAt(top.tiers[1])
	return append(list, *s)
}

// key identifies the place. Names of ports have no blanks.
func (p *ShiftPlace) key() string { return strings.Join(p.Ports, " ") }

func (c *shiftCounts) total() (sum int64) {
	for _, n := range c.heavy {
		sum += n
	}
	return sum
}

// top returns the place with the most, of equals the first by name; "" without any.
func (c *shiftCounts) top() string {
	best := ""
	for key, n := range c.heavy {
		if n > 0 && (best == "" || n > c.heavy[best] || n == c.heavy[best] && key < best) {
			best = key
		}
	}
	return best
}

func shiftShare(n, of int64, seeds []float64) ShiftShare {
	s := ShiftShare{Seeds: spreadOf(seeds)}
	if of > 0 {
		s.Share = float64(n) / float64(of)
	}
	return s
}

// sortShares returns the values of a map, the greatest share first, of equals by name.
func sortShares[T any](all map[string]*T, by func(*T) (share float64, name string)) []T {
	list := make([]T, 0, len(all))
	for _, v := range all {
		list = append(list, *v)
	}
	slices.SortFunc(list, func(a, b T) int {
		as, an := by(&a)
		bs, bn := by(&b)
		return cmp.Or(cmp.Compare(bs, as), cmp.Compare(an, bn))
	})
	return list
}
