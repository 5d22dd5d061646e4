package queues

import (
	"cmp"
	"fmt"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// manyPorts is the number of switch ports above which ports are summarised by class.
const manyPorts = 256

// Class is the ports of one tier and direction in one variant. Figures of single
// ports are medians over the seeds.
type Class struct {
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

// Worst is one of the ports with the deepest mean queues of a variant; of equal ones
// the busier comes first.
type Worst struct {
	reading.Place
	reading.Use
	Lost reading.LossIn `json:"lost"`
}

// Many describes the ports of a fabric that has too many to list.
type Many struct {
	Ports   int     `json:"ports"`   // of the first variant, those of hosts too
	Classes []Class `json:"classes"` // by variant, in the experiment's order
	Worst   []Worst `json:"worst"`   // at most reading.MaxWorst of each of reading.MaxWorstVariants variants
}

// manyOf returns nil unless the first variant has many switch ports. all are the ports of the
// experiment.
func manyOf(m *runfolder.Manifest, all []reading.Port) *Many {
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
	of := &Many{Ports: len(first), Classes: []Class{}, Worst: []Worst{}}
	for i := range m.Variants[:min(reading.MaxWorstVariants, len(m.Variants))] {
		of.add(m.Variants[i].Name, all)
	}
	return of
}

// add adds the ports of a variant.
func (of *Many) add(variant string, all []reading.Port) {
	index := map[reading.TierKey]int{}
	var worst []Worst
	for i := range all {
		p := &all[i]
		use, ok := p.In(variant)
		if !ok {
			continue
		}
		lost := reading.LossIn{Variant: variant}
		for _, l := range p.Lost {
			if l.Variant == variant {
				lost = l
			}
		}
		k := reading.TierKey{Tier: p.Tier, Direction: p.Direction}
		at, known := index[k]
		if !known {
			at = len(of.Classes)
			index[k] = at
			of.Classes = append(of.Classes, Class{Variant: variant, Tier: k.Tier, Direction: k.Direction})
		}
		c := &of.Classes[at]
		c.Ports++
		c.MeanUtilisation += use.Utilisation // the sum; divided below
		c.MeanQueueBytes += use.MeanQueueBytes
		c.MaxUtilisation, c.DeepestBytes = max(c.MaxUtilisation, use.Utilisation), max(c.DeepestBytes, use.MeanQueueBytes)
		c.PeakQueueBytes = max(c.PeakQueueBytes, use.PeakQueueBytes)
		c.Dropped, c.Trimmed = c.Dropped+lost.Dropped, c.Trimmed+lost.Trimmed
		worst = append(worst, Worst{p.Place, use, lost})
	}
	for _, at := range index {
		c := &of.Classes[at]
		c.MeanUtilisation /= float64(c.Ports)
		c.MeanQueueBytes /= float64(c.Ports)
	}
	of.Worst = append(of.Worst, reading.First(worst, reading.MaxWorst, func(a, b *Worst) int {
		return cmp.Or(cmp.Compare(b.MeanQueueBytes, a.MeanQueueBytes), cmp.Compare(b.Utilisation, a.Utilisation))
	})...)
}

// queryPorts lists the queues of all ports. Its quotation marks are those of a POSIX shell.
const queryPorts = `duckdb -c "SELECT variant, seed, subject AS port, value AS mean_kb FROM 'metrics.parquet' WHERE metric = 'queue_kb.mean' ORDER BY value DESC"`

// classes sums up the ports by tier and direction.
func (of *Many) classes() *section.Table {
	size := words.Sizes[2]
	for i := range of.Classes {
		if s := words.ScaleFor(of.Classes[i].PeakQueueBytes/1000, words.Sizes); s.Factor < size.Factor {
			size = s
		}
	}
	queue := func(bytes float64) string { return words.Number(bytes / 1000 * size.Factor) }
	t := &section.Table{Label: "Ports", Columns: phrases.Columns("Ports of", "Variant", "#Ports", "#Busy, mean", "#Busy, most",
		"#Queue, mean ("+size.Unit+")", "#Deepest mean ("+size.Unit+")", "#Peak ("+size.Unit+")", "#Dropped", "#Trimmed"),
		Note: "By tier and direction, in the measuring window; drops and trims in the whole run. Medians over the seeds."}
	for _, c := range of.Classes {
		t.Rows = append(t.Rows, section.Row{Variant: c.Variant, Cells: phrases.Cells(phrases.Class(c.Tier, c.Direction), c.Variant, words.Number(float64(c.Ports)),
			words.Percent(c.MeanUtilisation), words.Percent(c.MaxUtilisation), queue(c.MeanQueueBytes), queue(c.DeepestBytes), queue(c.PeakQueueBytes), words.Number(c.Dropped), words.Number(c.Trimmed))})
	}
	return t
}

// worst lists the ports with the deepest queues.
func (of *Many) worst() *section.Table {
	t := &section.Table{Label: "Deepest queues", Columns: phrases.Columns("Port", "Variant", "Tier", "#Busy", "#Mean queue", "#Peak", "#Dropped", "#Trimmed"), Query: queryPorts}
	for i := range of.Worst {
		w := &of.Worst[i]
		t.Rows = append(t.Rows, section.Row{Variant: w.Use.Variant, Cells: phrases.Cells(phrases.Port(&w.Place), w.Use.Variant, phrases.Class(w.Tier, w.Direction), words.Percent(w.Utilisation),
			words.Depth(w.MeanQueueBytes, 0), words.Depth(w.PeakQueueBytes, 0), words.Number(w.Lost.Dropped), words.Number(w.Lost.Trimmed))})
	}
	t.Note = fmt.Sprintf("The %d of %s with the deepest mean queues, in each variant. ports.parquet has the windows of each port, by column port_name; metrics.parquet has its metrics, by column subject.",
		min(reading.MaxWorst, of.Ports), words.Plural(of.Ports, "port"))
	return t
}
