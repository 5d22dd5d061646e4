// Package heat counts CSIG samples for sections: from which block of hosts to which they were
// taken, which port they named, and how many are of heavily loaded ports, also before and after
// faults. Sections share its reader.
package heat

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Bounds of a heatmap.
const (
	// MaxBlocks is how many blocks of hosts a heatmap has at most on either axis.
	MaxBlocks = 64
	// LeastSamples is the number of samples below which a cell is empty.
	LeastSamples = 20
)

// Heatmap says what the CSIG samples of the traffic between blocks of hosts were, and
// which port they named. It is of one variant and signal, over all seeds and the measuring
// window. The cell of source block i and destination block k is at [i][k].
type Heatmap struct {
	Variant string `json:"variant"`
	Signal  string `json:"signal"` // such as abw-c
	Seeds   int    `json:"seeds"`
	// Unit is that of Mean and of Threshold: Gb/s of abw, % of abw-c and nqd, µs of delay.
	Unit   string  `json:"unit"`
	Blocks []Block `json:"blocks"`
	// By is what a block is, as of metrics.Racks.
	By string `json:"by"`
	// Samples are counts. Mean is the mean of the samples; null where there are less than
	// LeastSamples.
	Samples [][]int64        `json:"samples"`
	Mean    []reading.Values `json:"mean"`
	// Heavy counts the samples of heavily loaded ports: those of telemetry windows whose mean
	// is on the side of Threshold that Below says. Rule says in words where the threshold
	// comes from: see HeavyRule. Of signal abw Threshold is 0 if the rates of ports differ.
	Heavy     [][]int64 `json:"heavy"`
	Threshold float64   `json:"threshold"`
	Below     bool      `json:"below"`
	Rule      HeavyRule `json:"rule"`
	// Modal has, by cell, the index in Locators of the locator that most samples of Heavy
	// name, of equals the lower locator; -1 where Heavy is less than LeastSamples. Share is
	// the share of Heavy that names it, null there.
	Modal    [][]int          `json:"modal"`
	Share    []reading.Values `json:"share"`
	Locators []Locator        `json:"locators"` // ascending: those of Modal
}

// Block is hosts that follow each other.
type Block = metrics.Rack

// Locator is a locator and the ports it stands for: one, or several that share it. A
// sample does not say which of these wrote it.
type Locator struct {
	Locator   int32    `json:"locator"`
	Ports     []string `json:"ports"`
	Tier      string   `json:"tier"`      // that all of them have; "" if they differ
	Direction string   `json:"direction"` // likewise
	Cells     int      `json:"cells"`     // of which it is the modal one
}

// HeavyRule says when samples count as those of heavily loaded ports.
type HeavyRule string

// Rules.
const (
	// HeavyRatio: at most a quarter of the port's rate is available. Of signal abw the rate
	// is that of the port that the locator names.
	HeavyRatio HeavyRule = "a quarter of the rate"
	// HeavyTarget: the delay is above the queueing delay that the variant's congestion
	// control aims at.
	HeavyTarget HeavyRule = "target"
	// HeavyPackets: the delay is above the time in which the port sends 2.5 full packets,
	// which is the mean time that packets stay in a queue of random arrivals (M/D/1) whose
	// line is used to three quarters.
	HeavyPackets HeavyRule = "two and a half packets"
	// HeavyQueue: the queue is a quarter full, on the scale of the signal.
	HeavyQueue HeavyRule = "a quarter of the queue"
	// HeavyModule: the module that has registered the signal says so.
	HeavyModule HeavyRule = "as its module says"
)

// Reader reads the samples of all variants that have CSIG.
type Reader struct {
	r        *reading.Reading
	variants []*counts
}

// Of returns the reader that all sections of a reading share.
func Of(r *reading.Reading) *Reader {
	return reading.Share(r, func() *Reader { return &Reader{r: r} })
}

// Pass implements reading.Reader.
func (h *Reader) Pass(n int, p *reading.Pass) error {
	if n != 1 {
		return nil
	}
	h.variants = newCounts(h.r)
	for _, c := range h.variants {
		if runs := h.r.RunsOf(c.variant.Name); len(runs) > 0 {
			p.Signals(func(row *runfolder.SignalRow) {
				if h.r.Measured(row.StartUS) {
					c.signal(row)
				}
			}, runs...)
		}
	}
	return nil
}

// Heatmaps returns the heatmaps after the last row, by variant, then signal.
func (h *Reader) Heatmaps() []Heatmap {
	all := []Heatmap{}
	for _, c := range h.variants {
		all = append(all, c.result()...)
	}
	return all
}

// Sides returns the counts of a variant and signal by seed; nil if there are none.
func (h *Reader) Sides(variant, signal string) map[uint64]*Sides {
	if c := h.of(variant); c != nil && c.signals[signal] != nil {
		return c.signals[signal].placed
	}
	return nil
}

// Locator returns what a locator stands for in a variant.
func (h *Reader) Locator(variant string, locator int32) Locator {
	if c := h.of(variant); c != nil {
		return c.locator(locator)
	}
	return unknown(locator)
}

func (h *Reader) of(variant string) *counts {
	for _, c := range h.variants {
		if c.variant.Name == variant {
			return c
		}
	}
	return nil
}

// unknown is a locator that the manifest does not list.
func unknown(locator int32) Locator {
	return Locator{Locator: locator, Ports: []string{"unknown port"}}
}

// Sides are the samples of one seed by side of a fault, as reading.Sides.Of: all, and those of
// heavily loaded ports by locator.
type Sides struct {
	All   [3]int64
	Heavy [3]map[int32]int64
}
