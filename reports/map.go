package reports

import (
	"encoding/base64"

	"github.com/csiglab/csiglab/reports/analysis"
)

// fabricMap is what the page's script needs to colour the lines of the fabric over time.
// Without script the page shows the fabric's load over the whole run.
type fabricMap struct {
	Lines      []string      `json:"lines"` // names, in the order of the drawing's data-line
	Variants   []mapVariant  `json:"variants"`
	Quantities []mapQuantity `json:"quantities"`
}

// mapVariant has, by quantity, a byte for each line and bin, line after line, in base64:
// per cent, or noByte. A quantity that the variant lacks is "".
type mapVariant struct {
	Name   string   `json:"name"`
	BinUS  float64  `json:"binUs"`
	Bins   int      `json:"bins"`
	Values []string `json:"values"`
}

// noByte stands for no value.
const noByte = 255

// mapQuantity is what lines can be coloured by.
type mapQuantity struct {
	Name   string   `json:"name"`
	Verb   string   `json:"verb"`          // after a value in per cent
	Low    bool     `json:"low,omitempty"` // small values are the dark ones
	Legend []string `json:"legend"`        // of no or nearly no colour, then of each pair of levels
}

// newFabricMap returns nil when there is nothing over time.
func newFabricMap(r *analysis.Result) *fabricMap {
	if r.Fabric == nil || len(r.FabricLoads) == 0 {
		return nil
	}
	m := &fabricMap{Quantities: []mapQuantity{
		{Name: "Utilisation", Verb: "busy", Legend: []string{"idle", "to 20 % busy", "to 40 %", "to 60 %", "to 80 %", "to 100 %"}},
		{Name: "Available bandwidth (ABW/C), least", Verb: "of the rate available", Low: true, Legend: []string{"all available", "80 % and more", "60 %", "40 %", "20 %", "less"}},
		{Name: "Share of CSIG samples that name the link", Verb: "of the samples name it", Legend: []string{"none", "to 20 % of the samples", "to 40 %", "to 60 %", "to 80 %", "to 100 %"}},
	}}
	for i := range r.Fabric.Lines {
		l := &r.Fabric.Lines[i]
		m.Lines = append(m.Lines, clipped(r.Fabric.Boxes[l.A].Name)+" – "+clipped(r.Fabric.Boxes[l.B].Name))
	}
	for i := range r.FabricLoads {
		load := &r.FabricLoads[i]
		if load.Bins < 1 || len(load.Lines) != len(m.Lines) {
			continue
		}
		v := mapVariant{Name: clipped(load.Variant), BinUS: load.BinUS, Bins: load.Bins, Values: []string{
			packed(load, func(l *analysis.FabricInTime) analysis.Percents { return l.Busy }),
			packed(load, func(l *analysis.FabricInTime) analysis.Percents { return l.Left }), "",
		}}
		if load.HasNamed {
			v.Values[2] = packed(load, func(l *analysis.FabricInTime) analysis.Percents { return l.Named })
		}
		m.Variants = append(m.Variants, v)
	}
	if len(m.Variants) == 0 {
		return nil
	}
	return m
}

func packed(load *analysis.FabricLoad, of func(*analysis.FabricInTime) analysis.Percents) string {
	text := make([]byte, 0, len(load.Lines)*load.Bins)
	for i := range load.Lines {
		values := of(&load.Lines[i])
		for bin := range load.Bins {
			b := byte(noByte)
			if bin < len(values) && values[bin] >= 0 {
				b = byte(values[bin])
			}
			text = append(text, b)
		}
	}
	return base64.StdEncoding.EncodeToString(text)
}

// Keys returns the legend of the map: the script writes the texts of the quantity.
func (m *fabricMap) Keys() []pictureKey {
	keys := scaleKeys("", func(float64, float64) string { return "" })
	for i := range keys {
		keys[i].Name = m.Quantities[0].Legend[i]
	}
	return keys
}
