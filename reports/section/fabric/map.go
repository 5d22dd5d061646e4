package fabric

import (
	"math"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/words"
)

// quantities are what the map colours lines by, in the order of InTime's fields.
var quantities = []chart.MapQuantity{
	{Name: "Utilisation", Verb: "busy", Legend: []string{"idle", "to 20 % busy", "to 40 %", "to 60 %", "to 80 %", "to 100 %"}},
	{Name: "Available bandwidth (ABW/C), least", Verb: "of the rate available", Low: true, Legend: []string{"all available", "80 % and more", "60 %", "40 %", "20 %", "less"}},
	{Name: "Share of CSIG samples that name the link", Verb: "of the samples name it", Legend: []string{"none", "to 20 % of the samples", "to 40 %", "to 60 %", "to 80 %", "to 100 %"}},
}

// Map returns the load of the drawing's lines over time; nil when there is nothing over time.
func (s *Section) Map() *chart.Map {
	if s.Fabric == nil || len(s.Loads) == 0 {
		return nil
	}
	legend := quantities[0].Legend
	m := &chart.Map{Quantities: quantities, Keys: chart.ScaleKeys(legend[0], func(_, to float64) string {
		return legend[int(math.Round(to*float64(len(legend)-1)))]
	})}
	for i := range s.Fabric.Lines {
		l := &s.Fabric.Lines[i]
		m.Lines = append(m.Lines, words.Clipped(s.Fabric.Boxes[l.A].Name)+" – "+words.Clipped(s.Fabric.Boxes[l.B].Name))
	}
	for i := range s.Loads {
		l := &s.Loads[i]
		if l.Bins < 1 || len(l.Lines) != len(m.Lines) {
			continue
		}
		v := chart.MapVariant{Name: words.Clipped(l.Variant), BinUS: l.BinUS, Bins: l.Bins, Values: [][]byte{
			l.packed(func(t *InTime) reading.Percents { return t.Busy }), l.packed(func(t *InTime) reading.Percents { return t.Left }), nil,
		}}
		if l.HasNamed {
			v.Values[2] = l.packed(func(t *InTime) reading.Percents { return t.Named })
		}
		m.Variants = append(m.Variants, v)
	}
	if len(m.Variants) == 0 {
		return nil
	}
	return m
}

// packed returns values as chart.MapVariant has them.
func (l *Load) packed(of func(*InTime) reading.Percents) []byte {
	packed := make([]byte, 0, len(l.Lines)*l.Bins)
	for i := range l.Lines {
		values := of(&l.Lines[i])
		for bin := range l.Bins {
			b := byte(chart.NoByte)
			if bin < len(values) && values[bin] >= 0 {
				b = byte(values[bin])
			}
			packed = append(packed, b)
		}
	}
	return packed
}
