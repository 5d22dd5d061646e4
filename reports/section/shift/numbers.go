package shift

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/heat"
	"github.com/csiglab/csiglab/reports/reading"
)

// Shift says where the bottleneck was on two sides: in the first variant and in another
// one, or before and after the first fault of a variant's runs.
type Shift struct {
	Fault  string  `json:"fault,omitempty"` // in words; "": the sides are variants
	Before Side    `json:"before"`
	After  Side    `json:"after"`
	Basis  Basis   `json:"basis"`
	Signal string  `json:"signal,omitempty"` // of BasisSamples
	Places []Place `json:"places"`           // those with the greatest share on either side first; at most maxPlaces
	Tiers  []Tier  `json:"tiers"`            // the same by tier and direction; the greatest share on either side first
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

// Side is one side of a shift.
type Side struct {
	Variant string  `json:"variant"`
	FromUS  float64 `json:"fromUs"`
	ToUS    float64 `json:"toUs"` // 0: the end of the run
	// Heavy is how many samples, or windows of ports, of all seeds were heavily loaded, of All.
	Heavy int64 `json:"heavy"`
	All   int64 `json:"all"`
}

// Basis is what shares of a shift are shares of.
type Basis string

// Bases.
const (
	// BasisSamples: of the CSIG samples of heavily loaded ports, as heat.Heatmap.Heavy counts
	// them, by the port that they name.
	BasisSamples Basis = "samples"
	// BasisWindows: of the telemetry windows in which a switch port had at most a quarter of
	// its line left and at least a full packet waited on average, by port. Runs without CSIG
	// have it too.
	BasisWindows Basis = "windows"
)

// maxPlaces bounds Shift.Places. MovedShare is the share of a side from which a port is
// the place of a bottleneck.
const (
	maxPlaces  = 8
	MovedShare = 0.25
)

// Place is a place that was a bottleneck.
type Place struct {
	Ports     []string `json:"ports"` // one, or several that share a locator
	Tier      string   `json:"tier"`
	Direction string   `json:"direction"`
	Before    Share    `json:"before"`
	After     Share    `json:"after"`
}

// Tier is the ports of a tier and direction.
type Tier struct {
	Tier      string `json:"tier"`
	Direction string `json:"direction"`
	Before    Share  `json:"before"`
	After     Share  `json:"after"`
}

// Share is a share of all that was heavily loaded on one side: over all seeds, and the
// range of the seeds.
type Share struct {
	Share float64        `json:"share"`
	Seeds reading.Spread `json:"seeds"`
}

// counts are, by place, what was heavily loaded on one side in one run, and how much
// there was in all.
type counts struct {
	heavy map[string]int64
	all   int64
}

// places says what the places of counts are.
type places map[string]*Place

func (p places) add(ports []string, tier, direction string) string {
	place := &Place{Ports: ports, Tier: tier, Direction: direction}
	key := place.key()
	if p[key] == nil {
		p[key] = place
	}
	return key
}

// newShifts returns the shifts: of variants, then of faults.
func newShifts(g *reading.Reading, samples *heat.Reader) []Shift {
	m := g.Manifest
	all := []Shift{}
	side := func(variant string) Side {
		return Side{Variant: variant, FromUS: m.Measure.FromUS, ToUS: m.Measure.ToUS}
	}
	first := m.Variants[0].Name
	for _, v := range m.Variants[1:] {
		for _, b := range basesOf(g, samples, first, v.Name) {
			s := Shift{Before: side(first), After: side(v.Name), Basis: b.of, Signal: b.signal}
			all = s.compare(all, b.places, b.counts(first, reading.BothSides), b.counts(v.Name, reading.BothSides))
		}
	}
	for _, v := range m.Variants {
		i := slices.IndexFunc(m.Runs, func(r runfolder.Run) bool {
			return r.Variant == v.Name && g.Totals.Faulty[reading.RunID{Variant: v.Name, Seed: r.Seed}].Known
		})
		if i < 0 {
			continue
		}
		f := g.Totals.Faulty[reading.RunID{Variant: v.Name, Seed: m.Runs[i].Seed}]
		for _, b := range basesOf(g, samples, v.Name, v.Name) {
			s := Shift{Fault: f.What, Before: side(v.Name), After: side(v.Name), Basis: b.of, Signal: b.signal}
			s.Before.ToUS, s.After.FromUS = f.AtUS, f.AtUS
			if !math.IsInf(f.UntilUS, 0) {
				s.After.ToUS = f.UntilUS
				if m.Measure.ToUS > 0 {
					s.After.ToUS = min(s.After.ToUS, m.Measure.ToUS)
				}
			}
			all = s.compare(all, b.places, b.counts(v.Name, reading.BeforeFault), b.counts(v.Name, reading.AfterFault))
		}
	}
	return all
}

// basis is what one shift counts, and the places that it has found.
type basis struct {
	of      Basis
	signal  string // of samples
	g       *reading.Reading
	samples *heat.Reader
	places  places
}

// basesOf returns what both variants have: windows, and the samples of signals.
func basesOf(g *reading.Reading, samples *heat.Reader, a, b string) []basis {
	var all []basis
	for i, name := range g.Manifest.Signals {
		if samples.Sides(a, name) != nil && samples.Sides(b, name) != nil && !slices.Contains(g.Manifest.Signals[:i], name) {
			all = append(all, basis{BasisSamples, name, g, samples, places{}})
		}
	}
	return append(all, basis{BasisWindows, "", g, samples, places{}})
}

// counts returns the counts of a side by seed.
func (b *basis) counts(variant string, side int) map[uint64]counts {
	bySeed := map[uint64]counts{}
	if b.of == BasisSamples {
		for seed, placed := range b.samples.Sides(variant, b.signal) {
			c := counts{map[string]int64{}, placed.All[side]}
			for locator, n := range placed.Heavy[side] {
				l := b.samples.Locator(variant, locator)
				c.heavy[b.places.add(l.Ports, l.Tier, l.Direction)] += n
			}
			bySeed[seed] = c
		}
		return bySeed
	}
	list := reading.PlacesOf(b.g.Manifest, variant)
	for _, r := range b.g.RunsOf(variant) {
		c := counts{heavy: map[string]int64{}}
		ports := b.g.Totals.Ports[r]
		for i := range list {
			s := ports[list[i].PortID]
			if s == nil || list[i].NIC {
				continue
			}
			c.all += s.Windows[side]
			if n := s.Heavy[side]; n > 0 {
				c.heavy[b.places.add([]string{list[i].Name()}, list[i].Tier, list[i].Direction)] += n
			}
		}
		bySeed[r.Seed] = c
	}
	return bySeed
}

// tops are the most prevalent places and tiers of the two sides, "" of a side that has none.
type tops struct {
	places, tiers [2]string
	moved         bool
}

// topsOf returns the tops of counts by place and by tier.
func topsOf(places, tiers [2]counts) tops {
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
func (s *Shift) compare(list []Shift, places places, before, after map[uint64]counts) []Shift {
	tier := map[string]string{} // of a place
	tiers := map[string]*Tier{}
	for key, p := range places {
		name := p.Tier + " " + p.Direction
		tier[key] = name
		tiers[name] = &Tier{Tier: p.Tier, Direction: p.Direction}
	}
	inTiers := func(c counts) counts {
		t := counts{map[string]int64{}, c.all}
		for key, n := range c.heavy {
			t.heavy[tier[key]] += n
		}
		return t
	}
	var all, allTiers [2]counts
	for k, side := range [2]map[uint64]counts{before, after} {
		sums := counts{heavy: map[string]int64{}}
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
			*[]*Share{&p.Before, &p.After}[k] = shiftShare(sums.heavy[key], of, byPlace[key])
		}
		for name, t := range tiers {
			*[]*Share{&t.Before, &t.After}[k] = shiftShare(allTiers[k].heavy[name], of, byTier[name])
		}
		to := []*Side{&s.Before, &s.After}[k]
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
		if one := topsOf([2]counts{b, a}, [2]counts{inTiers(b), inTiers(a)}); one.same(&top) {
			s.Agree++
		}
	}
	s.Places = sortShares(places, func(p *Place) (float64, string) {
		return max(p.Before.Share, p.After.Share), p.key()
	})
	s.Tiers = sortShares(tiers, func(t *Tier) (float64, string) {
		return max(t.Before.Share, t.After.Share), t.Tier + " " + t.Direction
	})
	at := func(key string) int {
		return slices.IndexFunc(s.Places, func(p Place) bool { return key != "" && p.key() == key })
	}
	for k, key := range top.places {
		if i := at(key); i >= maxPlaces { // many ports share what is heavily loaded on the other side
			s.Places[maxPlaces-1-k] = s.Places[i]
		}
	}
	s.Places = s.Places[:min(maxPlaces, len(s.Places))]
	s.From, s.To = at(top.places[0]), at(top.places[1])
	tierAt := func(name string) int {
		return slices.IndexFunc(s.Tiers, func(t Tier) bool { return name != "" && t.Tier+" "+t.Direction == name })
	}
	s.FromTier, s.ToTier = tierAt(top.tiers[0]), tierAt(top.tiers[1])
	return append(list, *s)
}

// key identifies the place. Names of ports have no blanks.
func (p *Place) key() string { return strings.Join(p.Ports, " ") }

func (c *counts) total() (sum int64) {
	for _, n := range c.heavy {
		sum += n
	}
	return sum
}

// top returns the place with the most, of equals the first by name; "" without any.
func (c *counts) top() string {
	best := ""
	for key, n := range c.heavy {
		if n > 0 && (best == "" || n > c.heavy[best] || n == c.heavy[best] && key < best) {
			best = key
		}
	}
	return best
}

func shiftShare(n, of int64, seeds []float64) Share {
	s := Share{Seeds: reading.SpreadOf(seeds)}
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
