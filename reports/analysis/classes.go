package analysis

import (
	"cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// manyPorts is the number of switch ports above which ports are summarised by class.
const manyPorts = 256

// PortClass is the ports of one tier and direction in one variant. Figures of single
// ports are medians over the seeds.
type PortClass struct {
	Variant         string  `json:"variant"`
	Tier            string  `json:"tier"`      // as runfolder.Port.Tier
	Direction       string  `json:"direction"` // as runfolder.Port.Direction
	Ports           int     `json:"ports"`
	MeanUtilisation float64 `json:"meanUtilisation"` // of the ports
	MaxUtilisation  float64 `json:"maxUtilisation"`  // of the busiest
	MeanQueueBytes  float64 `json:"meanQueueBytes"`  // mean of the ports
	DeepestBytes    float64 `json:"deepestBytes"`    // greatest mean queue
	PeakQueueBytes  float64 `json:"peakQueueBytes"`  // of all ports
	Dropped         float64 `json:"dropped"`         // packets, of all ports
	Trimmed         float64 `json:"trimmed"`         // packets, of all ports
}

// WorstPort is one of the ports with the deepest mean queues of a variant; of equal ones
// the busier comes first.
type WorstPort struct {
	Place
	Use
	Lost LossIn `json:"lost"`
}

// ManyPorts describes the ports of a fabric that has too many to list.
type ManyPorts struct {
	Ports   int         `json:"ports"`   // of the first variant, those of hosts too
	Classes []PortClass `json:"classes"` // by variant, in the experiment's order
	Worst   []WorstPort `json:"worst"`   // at most MaxWorst of each of MaxWorstVariants variants
}

// manyPortsOf returns nil unless the first variant has many switch ports.
func manyPortsOf(m *runfolder.Manifest, all []Port) *ManyPorts {
	first := m.PortsOf(m.Variants[0].Name)
	hosts := map[int32]bool{}
	for _, n := range m.NodesOf(m.Variants[0].Name) {
		hosts[n.Node] = n.Kind == runfolder.KindHost
	}
	switches := 0
	for _, p := range first {
		if !hosts[p.Node] {
			switches++
		}
	}
	if switches <= manyPorts {
		return nil
	}
	of := &ManyPorts{Ports: len(first), Classes: []PortClass{}, Worst: []WorstPort{}}
	for i := range m.Variants[:min(MaxWorstVariants, len(m.Variants))] {
		of.add(m.Variants[i].Name, all)
	}
	return of
}

// add adds the ports of a variant.
func (of *ManyPorts) add(variant string, all []Port) {
	type key struct{ tier, direction string }
	index := map[key]int{}
	var worst []WorstPort
	for i := range all {
		p := &all[i]
		use, ok := p.In(variant)
		if !ok {
			continue
		}
		lost := LossIn{Variant: variant}
		for _, l := range p.Lost {
			if l.Variant == variant {
				lost = l
			}
		}
		k := key{p.Tier, p.Direction}
		at, known := index[k]
		if !known {
			at = len(of.Classes)
			index[k] = at
			of.Classes = append(of.Classes, PortClass{Variant: variant, Tier: k.tier, Direction: k.direction})
		}
		c := &of.Classes[at]
		c.Ports++
		c.MeanUtilisation += use.Utilisation // the sum; divided below
		c.MeanQueueBytes += use.MeanQueueBytes
		c.MaxUtilisation, c.DeepestBytes = max(c.MaxUtilisation, use.Utilisation), max(c.DeepestBytes, use.MeanQueueBytes)
		c.PeakQueueBytes = max(c.PeakQueueBytes, use.PeakQueueBytes)
		c.Dropped, c.Trimmed = c.Dropped+lost.Dropped, c.Trimmed+lost.Trimmed
		worst = append(worst, WorstPort{p.Place, use, lost})
	}
	for _, at := range index {
		c := &of.Classes[at]
		c.MeanUtilisation /= float64(c.Ports)
		c.MeanQueueBytes /= float64(c.Ports)
	}
	of.Worst = append(of.Worst, first(worst, MaxWorst, func(a, b *WorstPort) int {
		return cmp.Or(cmp.Compare(b.MeanQueueBytes, a.MeanQueueBytes), cmp.Compare(b.Utilisation, a.Utilisation))
	})...)
}
