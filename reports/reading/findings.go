package reading

import (
	"cmp"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Crossings say which flows must cross the full ports: every shortest path of
// the flow does. It is nil when no port is full, when no flow must cross one and
// when there are more flows than are searched.
type Crossings struct {
	All  []string   `json:"all"`  // flows that cross every port, when there are several ports
	Some [][]string `json:"some"` // by port of Findings.Ports, the other flows that cross it
}

// Sharing compares the slowest flow of the first variant with the mean of the
// others. It is nil when the rates do not compare.
type Sharing struct {
	Slowest string `json:"slowest"`
	Flows   int    `json:"flows"` // that are compared, the slowest one included
	// OwnTimes: the flows do not all send through the measuring window. The rates are each over
	// the time of its flow, and do not add up.
	OwnTimes bool           `json:"ownTimes,omitempty"`
	Even     bool           `json:"even"`  // in the first variant the slowest flow gets nearly as much as the fastest
	Rates    []SharingRates `json:"rates"` // by variant, without those that lack the flows
}

// SharingRates are the rates of one variant in Gb/s.
type SharingRates struct {
	Variant     string  `json:"variant"`
	SlowestGbps float64 `json:"slowestGbps"`
	OthersGbps  float64 `json:"othersGbps"` // mean of the other flows
}

// evenShare is the share of the fastest flow's rate from which the slowest one
// counts as equal.
const evenShare = 0.9

func sharing(m *runfolder.Manifest, t *Totals, all []runfolder.Flow, rates map[string]map[string]float64) *Sharing {
	if slices.ContainsFunc(m.Runs, func(r runfolder.Run) bool { return r.Flows != nil }) {
		return nil // flows of other seeds did not share anything
	}
	first := rates[m.Variants[0].Name]
	var flows []string
	for _, f := range all {
		if _, ok := first[f.Name]; ok && !OfPrograms(f) {
			flows = append(flows, f.Name)
		}
	}
	ownTimes := !t.together(m.Variants[0].Name, flows)
	if len(flows) < 2 || (m.Measure.ToUS == 0 || ownTimes) && MixedSizes(all) {
		return nil
	}
	slow := slices.MinFunc(flows, func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	fast := slices.MaxFunc(flows, func(a, b string) int { return cmp.Compare(first[a], first[b]) })
	if first[fast] <= 0 {
		return nil
	}
	s := &Sharing{Slowest: slow, Flows: len(flows), OwnTimes: ownTimes, Even: first[slow] >= evenShare*first[fast]}
	for _, v := range m.Variants {
		rates, ok := rates[v.Name]
		has := map[string]bool{}
		for _, f := range m.FlowsOf(v.Name) {
			has[f.Name] = true
		}
		if !ok || slices.ContainsFunc(flows, func(name string) bool { return !has[name] }) {
			continue
		}
		others, n := 0.0, 0
		for _, name := range flows {
			if rate, ok := rates[name]; ok && name != slow {
				others, n = others+rate, n+1
			}
		}
		if n > 0 {
			s.Rates = append(s.Rates, SharingRates{v.Name, rates[slow], others / float64(n)})
		}
	}
	return s
}

// MixedSizes reports whether the flows' sizes differ so much that rates over
// their own time do not compare: the rate of a short flow is that of its start.
func MixedSizes(flows []runfolder.Flow) bool {
	least, most := int64(math.MaxInt64), int64(0)
	for _, f := range flows {
		if !OfPrograms(f) {
			least, most = min(least, f.Size), max(most, f.Size)
		}
	}
	return most > 2*least
}

// maxCrossing bounds the number of flows whose paths are searched.
const maxCrossing = 64

func crossings(m *runfolder.Manifest, flows []runfolder.Flow, ports []Port) *Crossings {
	if len(ports) == 0 || !ports[0].Full || len(flows) > maxCrossing {
		return nil
	}
	g := NewPaths(m.Ports)
	c := &Crossings{All: []string{}, Some: make([][]string, len(ports))}
	found := false
	for _, f := range flows {
		var at []int
		for i := range ports {
			if g.Must(f.Src, f.Dst, ports[i].Node, ports[i].Peer) {
				at = append(at, i)
			}
		}
		found = found || len(at) > 0
		if len(at) == len(ports) && len(ports) > 1 {
			c.All = append(c.All, f.Name)
			continue
		}
		for _, i := range at {
			c.Some[i] = append(c.Some[i], f.Name)
		}
	}
	if !found {
		return nil
	}
	return c
}
