package series

import (
	"math"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// bands are the panels of the runs of a chart that compares variants, by variant in
// the experiment's order, and seed.
type bands []runPanels

type runPanels struct {
	variant string
	panels  func() []Panel
}

// panels joins the panels of the same flow and port: the lines of a variant's seeds
// become one line with a band.
func (b bands) panels() []Panel {
	type key struct {
		flow string
		port reading.PortID
	}
	index := map[key]int{}
	var all []Panel
	var seeds [][][]Line // by panel, by line: those of the seeds
	for _, r := range b {
		for _, p := range r.panels() {
			k := key{flow: p.Flow, port: reading.PortID{Node: -1, Port: -1}}
			if p.Port != nil {
				k.port = *p.Port
			}
			i, ok := index[k]
			if !ok {
				i = len(all)
				index[k] = i
				all, seeds = append(all, Panel{Flow: p.Flow, Port: p.Port, Levels: p.Levels}), append(seeds, nil)
			}
			if n := len(all[i].Lines); n == 0 || all[i].Lines[n-1].Variant != r.variant {
				all[i].Lines, seeds[i] = append(all[i].Lines, Line{Variant: r.variant}), append(seeds[i], nil)
			}
			last := len(seeds[i]) - 1
			seeds[i][last] = append(seeds[i][last], p.Lines[0])
		}
	}
	for i := range all {
		for k := range all[i].Lines {
			all[i].Lines[k].join(seeds[i][k])
		}
	}
	return all
}

// join sets the values of a line to the medians of the lines of seeds, and its band
// to their range. Where fewer than half of them have a value there is none.
func (l *Line) join(seeds []Line) {
	end := 0
	l.Group, l.First = seeds[0].Group, seeds[0].First
	for _, s := range seeds {
		l.First, end = min(l.First, s.First), max(end, s.First+len(s.Values))
	}
	l.Values = make(reading.Values, end-l.First)
	if len(seeds) > 1 {
		l.Low, l.High = make(reading.Values, len(l.Values)), make(reading.Values, len(l.Values))
	}
	values := make([]float64, 0, len(seeds))
	for i := range l.Values {
		values = values[:0]
		for _, s := range seeds {
			if at := l.First + i - s.First; at >= 0 && at < len(s.Values) && !math.IsNaN(s.Values[at]) {
				values = append(values, s.Values[at])
			}
		}
		median, low, high := math.NaN(), math.NaN(), math.NaN()
		if 2*len(values) >= len(seeds) {
			spread := reading.SpreadOf(values)
			median, low, high = runfolder.Median(values), spread.Min, spread.Max
		}
		l.Values[i] = median
		if l.Low != nil {
			l.Low[i], l.High[i] = low, high
		}
	}
}
