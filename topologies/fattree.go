package topologies

import (
	"cmp"
	"fmt"
	"math/bits"

	"github.com/csiglab/csiglab/units"
)

// FatTree describes a fat tree of three tiers (ToR, Agg, Core) or a leaf-spine
// fabric of two (ToR, Agg). Its parameters are those of htsim's topology files
// (fat_tree_topology.cpp), so that a file maps onto it field by field.
type FatTree struct {
	Name    string
	Hosts   int           // in all
	PodSize int           // hosts per pod; with two tiers there is one pod
	Tiers   []FatTreeTier // from the hosts up: two or three
}

// FatTreeTier is one level of switches. Its "down" links lead towards the
// hosts; its "up" links are the down links of the tier above.
type FatTreeTier struct {
	Rate               units.Rate     // of a down link
	Delay              units.Duration // of a down link, one way
	SwitchDelay        units.Duration // of a switch of this tier; 0 is legal
	RadixDown, RadixUp int            // ports per switch; RadixUp is 0 at the top
	Oversubscribed     int            // rate down over rate up; 0: whatever the radices and rates give
	Bundle             int            // parallel down links per pair of switches; 0 means 1
	QueueUp, QueueDown units.Size     // per port; 0: not given. Build does not use them
}

// Limits of a FatTree; a value past them is a mistake rather than a fabric.
const (
	MaxHosts       = 1 << 20
	MaxRadix       = 1 << 12
	MaxRate        = 100 * units.Tbps
	MaxDelay       = units.Second
	MaxQueue       = units.TB
	maxFabricLinks = 1 << 23
)

// Field names a parameter of a FatTree in a ShapeError.
type Field string

// Fields of FatTree and FatTreeTier.
const (
	FieldHosts          Field = "hosts"
	FieldPodSize        Field = "podsize"
	FieldTiers          Field = "tiers"
	FieldRate           Field = "rate"
	FieldDelay          Field = "delay"
	FieldSwitchDelay    Field = "switch_delay"
	FieldRadixDown      Field = "radix_down"
	FieldRadixUp        Field = "radix_up"
	FieldOversubscribed Field = "oversubscribed"
	FieldBundle         Field = "bundle"
	FieldQueueUp        Field = "queue_up"
	FieldQueueDown      Field = "queue_down"
)

// NoTier is the tier of a ShapeError about the whole fabric.
const NoTier = -1

// ShapeError says which parameter of a FatTree does not fit the others. It
// wraps ErrInvalid.
type ShapeError struct {
	Tier   int // 0 is the ToRs', or NoTier
	Field  Field
	Found  string
	Want   string
	Reason string // why Want; may be empty
}

// Error names the parameter, the value found, the value expected and why.
func (e *ShapeError) Error() string {
	where := ""
	if e.Tier != NoTier {
		where = fmt.Sprintf("tier %d: ", e.Tier)
	}
	return "fat tree: " + where + e.Describe(string(e.Field))
}

// Describe returns the complaint with the parameter called key, for readers
// whose files have another name for it.
func (e *ShapeError) Describe(key string) string {
	text := fmt.Sprintf("%s is %s, want %s", key, e.Found, e.Want)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Unwrap makes a ShapeError an ErrInvalid.
func (e *ShapeError) Unwrap() error { return ErrInvalid }

// shape is what follows from a valid FatTree.
type shape struct {
	pods, torsPerPod, aggsPerPod int
	coresPerAgg                  int // cores that one Agg reaches; 0 with two tiers
	size                         Size
}

// Check returns the first *ShapeError, or nil if Build will succeed.
func (f FatTree) Check() error {
	_, err := f.derive()
	return err
}

// Size returns the size of the fabric that Build will make, without building it. The
// error is that of Check.
func (f FatTree) Size() (Size, error) {
	s, err := f.derive()
	return s.size, err
}

// bundle returns the parallel links below tier t.
func (f FatTree) bundle(t int) int { return max(1, f.Tiers[t].Bundle) }

// derive computes the numbers of switches. It is htsim's derivation in exact
// integers. Departs from htsim where that accepts what cannot be wired: htsim
// compares radix_down/radix_up with oversubscribed rounded down and without the
// rates, and leaves ports of upper switches unconnected.
func (f FatTree) derive() (shape, error) {
	if err := f.checkRanges(); err != nil {
		return shape{}, err
	}
	var s shape
	tor, agg := f.Tiers[0], f.Tiers[1]
	if f.Hosts%f.PodSize != 0 {
		return s, &ShapeError{NoTier, FieldPodSize, fmt.Sprint(f.PodSize), fmt.Sprintf("a divisor of %d", f.Hosts), fmt.Sprintf("the fabric has %d hosts", f.Hosts)}
	}
	s.pods = f.Hosts / f.PodSize
	if len(f.Tiers) == 2 && s.pods != 1 {
		return s, &ShapeError{NoTier, FieldPodSize, fmt.Sprint(f.PodSize), fmt.Sprint(f.Hosts), "a fabric of two tiers is one pod"}
	}
	if f.PodSize%tor.RadixDown != 0 {
		return s, &ShapeError{0, FieldRadixDown, fmt.Sprint(tor.RadixDown), fmt.Sprintf("a divisor of %d", f.PodSize), fmt.Sprintf("a pod has %d hosts", f.PodSize)}
	}
	s.torsPerPod = f.PodSize / tor.RadixDown
	if err := f.checkOversubscription(0); err != nil {
		return s, err
	}
	b1 := f.bundle(1)
	if tor.RadixUp%b1 != 0 {
		return s, &ShapeError{0, FieldRadixUp, fmt.Sprint(tor.RadixUp), fmt.Sprintf("a multiple of %d", b1), "up links come in bundles of tier 1"}
	}
	s.aggsPerPod = tor.RadixUp / b1
	if want := s.torsPerPod * b1; agg.RadixDown != want {
		reason := fmt.Sprintf("a pod has %d tors, bundle %d", s.torsPerPod, b1)
		if per := agg.RadixDown / s.torsPerPod; per > 0 && agg.RadixDown%s.torsPerPod == 0 && tor.RadixUp%per == 0 {
			reason += fmt.Sprintf(" (a bundle of %d would fit)", per)
		}
		return s, &ShapeError{1, FieldRadixDown, fmt.Sprint(agg.RadixDown), fmt.Sprint(want), reason}
	}
	links := int64(s.pods*s.torsPerPod) * int64(tor.RadixUp) // between switches
	if len(f.Tiers) == 3 {
		if err := f.checkOversubscription(1); err != nil {
			return s, err
		}
		core, b2 := f.Tiers[2], f.bundle(2)
		if agg.RadixUp%b2 != 0 {
			return s, &ShapeError{1, FieldRadixUp, fmt.Sprint(agg.RadixUp), fmt.Sprintf("a multiple of %d", b2), "up links come in bundles of tier 2"}
		}
		s.coresPerAgg = agg.RadixUp / b2
		if want := s.pods * b2; core.RadixDown != want {
			reason := fmt.Sprintf("a core reaches one agg in each of %d pods, bundle %d", s.pods, b2)
			if per := core.RadixDown / s.pods; per > 0 && core.RadixDown%s.pods == 0 && agg.RadixUp%per == 0 {
				reason += fmt.Sprintf(" (a bundle of %d would fit)", per)
			}
			return s, &ShapeError{2, FieldRadixDown, fmt.Sprint(core.RadixDown), fmt.Sprint(want), reason}
		}
		links += int64(s.pods*s.aggsPerPod) * int64(agg.RadixUp)
	}
	s.size = Size{
		Hosts: f.Hosts, Switches: s.pods*(s.torsPerPod+s.aggsPerPod) + s.aggsPerPod*s.coresPerAgg, Racks: s.pods * s.torsPerPod,
		HostLinks: f.Hosts, SwitchLinks: links,
	}
	if links := int64(f.Hosts) + links; links > maxFabricLinks {
		return s, &ShapeError{NoTier, FieldHosts, fmt.Sprint(f.Hosts), "fewer", fmt.Sprintf("the fabric would have %d links, the limit is %d", links, maxFabricLinks)}
	}
	return s, nil
}

// checkOversubscription compares the rate below a switch of tier t with the
// rate above it.
func (f FatTree) checkOversubscription(t int) error {
	low, high := f.Tiers[t], f.Tiers[t+1]
	if low.Oversubscribed == 0 {
		return nil
	}
	// MaxRadix * MaxRate is 4.1e17, so the products stay below 63 bits.
	down := int64(low.RadixDown) * int64(low.Rate)
	up := int64(low.RadixUp) * int64(high.Rate)
	if down%up == 0 && down/up == int64(low.Oversubscribed) {
		return nil
	}
	reason := fmt.Sprintf("%d down links at %v, up links at %v, oversubscribed %d", low.RadixDown, low.Rate, high.Rate, low.Oversubscribed)
	carry, per := bits.Mul64(uint64(low.Oversubscribed), uint64(high.Rate))
	if carry == 0 && per <= uint64(down) && uint64(down)%per == 0 {
		return &ShapeError{t, FieldRadixUp, fmt.Sprint(low.RadixUp), fmt.Sprint(uint64(down) / per), reason}
	}
	want := fmt.Sprint(down / up)
	if down%up != 0 {
		want = fmt.Sprintf("the rate below over the rate above, which is %v over %v", units.Rate(down), units.Rate(up))
	}
	return &ShapeError{t, FieldOversubscribed, fmt.Sprint(low.Oversubscribed), want, reason}
}

// checkRanges refuses values that are missing or absurd on their own.
func (f FatTree) checkRanges() error {
	if len(f.Tiers) != 2 && len(f.Tiers) != 3 {
		return &ShapeError{NoTier, FieldTiers, fmt.Sprint(len(f.Tiers)), "2 or 3", ""}
	}
	if f.Hosts < 2 || f.Hosts > MaxHosts {
		return &ShapeError{NoTier, FieldHosts, fmt.Sprint(f.Hosts), fmt.Sprintf("2 to %d", MaxHosts), ""}
	}
	if f.PodSize < 1 || f.PodSize > f.Hosts {
		return &ShapeError{NoTier, FieldPodSize, fmt.Sprint(f.PodSize), fmt.Sprintf("1 to %d", f.Hosts), ""}
	}
	top := len(f.Tiers) - 1
	for i, t := range f.Tiers {
		switch {
		case t.Rate <= 0 || t.Rate > MaxRate:
			return &ShapeError{i, FieldRate, t.Rate.String(), fmt.Sprintf("more than 0 and at most %v", MaxRate), ""}
		case t.Delay <= 0 || t.Delay > MaxDelay:
			return &ShapeError{i, FieldDelay, t.Delay.String(), fmt.Sprintf("more than 0 and at most %v", MaxDelay), "a link without delay has no lookahead"}
		case t.SwitchDelay < 0 || t.SwitchDelay > MaxDelay:
			return &ShapeError{i, FieldSwitchDelay, t.SwitchDelay.String(), fmt.Sprintf("0 to %v", MaxDelay), ""}
		case t.RadixDown < 1 || t.RadixDown > MaxRadix:
			return &ShapeError{i, FieldRadixDown, fmt.Sprint(t.RadixDown), fmt.Sprintf("1 to %d", MaxRadix), ""}
		case i < top && (t.RadixUp < 1 || t.RadixUp > MaxRadix):
			return &ShapeError{i, FieldRadixUp, fmt.Sprint(t.RadixUp), fmt.Sprintf("1 to %d", MaxRadix), ""}
		case i == top && t.RadixUp != 0:
			return &ShapeError{i, FieldRadixUp, fmt.Sprint(t.RadixUp), "0", "the top tier has no up links"}
		case t.Oversubscribed < 0 || t.Oversubscribed > MaxRadix || i == top && t.Oversubscribed > 1:
			return &ShapeError{i, FieldOversubscribed, fmt.Sprint(t.Oversubscribed), fmt.Sprintf("1 to %d, and 1 at the top", MaxRadix), ""}
		case t.Bundle < 0 || t.Bundle > MaxRadix:
			return &ShapeError{i, FieldBundle, fmt.Sprint(t.Bundle), fmt.Sprintf("1 to %d", MaxRadix), ""}
		case i == 0 && t.Bundle > 1:
			return &ShapeError{i, FieldBundle, fmt.Sprint(t.Bundle), "1", "a host has one link"}
		case i == top && t.QueueUp != 0:
			return &ShapeError{i, FieldQueueUp, t.QueueUp.String(), "absent", "the top tier has no up links"}
		case t.QueueUp < 0 || t.QueueUp > MaxQueue:
			return &ShapeError{i, FieldQueueUp, t.QueueUp.String(), fmt.Sprintf("0 to %v", MaxQueue), ""}
		case t.QueueDown < 0 || t.QueueDown > MaxQueue:
			return &ShapeError{i, FieldQueueDown, t.QueueDown.String(), fmt.Sprintf("0 to %v", MaxQueue), ""}
		}
	}
	return nil
}

// Build returns the graph. Nodes are the hosts h0…, then tor0…, agg0… and
// core0…. Host i is on ToR i/RadixDown; a ToR reaches every Agg of its pod; the
// Agg at position p of its pod reaches the cores p, p+A, p+2A, … where A is the
// number of Aggs per pod. A switch's down ports come first, in the order of the
// nodes below, then its up ports in the order of the nodes above; the links of a
// bundle are neighbours. Links are in the order host, ToR-Agg, Agg-Core. The
// error is a *ShapeError.
func (f FatTree) Build() (*Graph, error) {
	s, err := f.derive()
	if err != nil {
		return nil, err
	}
	tors, aggs := s.pods*s.torsPerPod, s.pods*s.aggsPerPod
	cores := s.aggsPerPod * s.coresPerAgg
	g := &Graph{Name: f.Name, Nodes: make([]Node, 0, f.Hosts+tors+aggs+cores)}
	g.addTier(Host, TierHost, f.Hosts, f.PodSize, 0)
	firstTor := g.addTier(Switch, TierToR, tors, s.torsPerPod, f.Tiers[0].SwitchDelay)
	firstAgg := g.addTier(Switch, TierAgg, aggs, s.aggsPerPod, f.Tiers[1].SwitchDelay)

	tor, agg := f.Tiers[0], f.Tiers[1]
	g.Links = make([]Link, 0, f.Hosts+tors*tor.RadixUp+aggs*agg.RadixUp)
	for h := range f.Hosts {
		g.Links = append(g.Links, Link{
			A: End{h, 0}, B: End{firstTor + h/tor.RadixDown, h % tor.RadixDown},
			Rate: tor.Rate, Delay: tor.Delay,
		})
	}
	b1 := f.bundle(1)
	for t := range tors {
		pod, position := t/s.torsPerPod, t%s.torsPerPod
		for up := range tor.RadixUp {
			g.Links = append(g.Links, Link{
				A:    End{firstTor + t, tor.RadixDown + up},
				B:    End{firstAgg + pod*s.aggsPerPod + up/b1, position*b1 + up%b1},
				Rate: agg.Rate, Delay: agg.Delay,
			})
		}
	}
	if len(f.Tiers) == 2 {
		return g, nil
	}
	core, b2 := f.Tiers[2], f.bundle(2)
	firstCore := g.addTier(Switch, TierCore, cores, 0, core.SwitchDelay)
	for a := range aggs {
		pod, position := a/s.aggsPerPod, a%s.aggsPerPod
		for up := range agg.RadixUp {
			g.Links = append(g.Links, Link{
				A:    End{firstAgg + a, agg.RadixDown + up},
				B:    End{firstCore + position + s.aggsPerPod*(up/b2), pod*b2 + up%b2},
				Rate: core.Rate, Delay: core.Delay,
			})
		}
	}
	return g, nil
}

// addTier appends count nodes, perPod of them to a pod (0: outside pods), and
// returns the id of the first.
func (g *Graph) addTier(kind Kind, tier Tier, count, perPod int, delay units.Duration) int {
	first := len(g.Nodes)
	prefix := tier.String()
	if kind == Host {
		prefix = "h"
	}
	for i := range count {
		pod := -1
		if perPod > 0 {
			pod = i / perPod
		}
		g.Nodes = append(g.Nodes, Node{
			Name: fmt.Sprintf("%s%d", prefix, i), Kind: kind, Tier: tier, Pod: pod, Index: i, Delay: delay,
		})
	}
	return first
}

// KAryFatTree returns the fat tree of k-port switches with full bisection (k
// even): k pods, k/2 ToRs and k/2 Aggs per pod, (k/2)^2 cores and k^3/4 hosts
// (Al-Fares et al., SIGCOMM 2008). Core numbering is htsim's, not the paper's:
// see Build.
func KAryFatTree(k int, rate units.Rate, delay units.Duration) (FatTree, error) {
	if k < 2 || k%2 != 0 || k > 160 {
		return FatTree{}, fmt.Errorf("%w: fat tree of %d-port switches: the number of ports must be even, 2 to 160", ErrInvalid, k)
	}
	half := k / 2
	tier := func(down, up int) FatTreeTier {
		return FatTreeTier{Rate: rate, Delay: delay, RadixDown: down, RadixUp: up, Oversubscribed: 1, Bundle: 1}
	}
	f := FatTree{
		Name: fmt.Sprintf("fat-tree-k%d", k), Hosts: k * half * half, PodSize: half * half,
		Tiers: []FatTreeTier{tier(half, half), tier(half, half), tier(k, 0)},
	}
	return f, f.Check()
}

// LeafSpineSpec are the parameters of LeafSpine.
type LeafSpineSpec struct {
	Leaves       int            `yaml:"leaves,required" is:"ports" doc:"leaf switches"`
	Spines       int            `yaml:"spines,required" is:"ports" doc:"spine switches, each joined to every leaf"`
	HostsPerLeaf int            `yaml:"hosts_per_leaf,required" is:"ports" doc:"hosts of each leaf"`
	Bundle       int            `yaml:"bundle" is:"ports" default:"1" doc:"links between a leaf and a spine"`
	Rate         units.Rate     `yaml:"rate,required" is:"rate" doc:"of the hosts' links"`
	SpineRate    units.Rate     `yaml:"spine_rate" is:"rate or auto" default:"auto" doc:"of the links between leaf and spine; auto: that of the hosts"`
	Delay        units.Duration `yaml:"delay,required" is:"link delay" doc:"of every link"`
	SwitchDelay  units.Duration `yaml:"switch_delay" is:"delay" default:"0s" doc:"of every switch"`
	Ports        int            `yaml:"ports" is:"ports or any" default:"any" doc:"ports that each switch has: a fabric that needs more is refused; any: as many as needed"`
}

// LeafSpine returns the fabric in which every leaf reaches every spine. The
// oversubscription is whatever the numbers give.
func LeafSpine(s LeafSpineSpec) (FatTree, error) {
	bundle := max(1, s.Bundle)
	if err := counts("leaf-spine", count{"leaves", s.Leaves}, count{"spines", s.Spines}, count{"hosts per leaf", s.HostsPerLeaf}, count{"bundle", bundle}); err != nil {
		return FatTree{}, err
	}
	hosts := s.Leaves * s.HostsPerLeaf
	f := FatTree{
		Name: fmt.Sprintf("leaf-spine-%d", hosts), Hosts: hosts, PodSize: hosts,
		Tiers: []FatTreeTier{
			{Rate: s.Rate, Delay: s.Delay, SwitchDelay: s.SwitchDelay, RadixDown: s.HostsPerLeaf, RadixUp: s.Spines * bundle},
			{Rate: cmp.Or(s.SpineRate, s.Rate), Delay: s.Delay, SwitchDelay: s.SwitchDelay, RadixDown: s.Leaves * bundle, Bundle: bundle},
		},
	}
	return f, f.Check()
}
