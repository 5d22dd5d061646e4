package chart

import (
	"cmp"
	"encoding/csv"
	"io"
	"math"
	"strconv"
)

// csv writes the numbers of all panels as one table: a row for each value, with the panel, the
// series, x, the value, and what it lies between where that is known. Units are in the header
// where all panels have the same, or else in columns of their own.
func (f *Figure) csv(to io.Writer) error {
	var all []*Data
	for i := range f.Panels {
		all = append(all, f.Panels[i].Chart.Data())
	}
	same := true
	var x, value AxisOf
	for i, d := range all {
		dx, dv := d.columns()
		if i == 0 {
			x, value = dx, dv
		}
		same = same && label(dx) == label(x) && label(dv) == label(value)
	}
	w := csv.NewWriter(to)
	header := []string{"panel", "series", cmp.Or(label(x), "x"), cmp.Or(label(value), "value"), "low", "high"}
	if !same {
		header = []string{"panel", "series", "x", "value", "low", "high", "x unit", "value unit"}
	}
	w.Write(header) // errors are those of Flush
	for i, d := range all {
		panel := cmp.Or(f.Panels[i].Title, d.Name)
		dx, dv := d.columns()
		d.each(func(series, x string, value, low, high float64) {
			row := []string{clip(panel), clip(series), x, plain(value), plain(low), plain(high)}
			if names := d.Value.Names; value >= 0 && value < float64(len(names)) { // it is an index
				row[3] = names[int(value)]
			}
			if !same {
				row = append(row, label(dx), label(dv))
			}
			w.Write(row)
		})
	}
	w.Flush()
	return w.Error()
}

func label(a AxisOf) string { return (&Scaling{Name: a.Name, Unit: a.Unit}).Label() }

// plain prints a number with twelve digits; nothing for NaN.
func plain(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 12, 64)
}

// columns returns what x and the values of the table are.
func (d *Data) columns() (x, value AxisOf) {
	switch d.Kind {
	case KindLines:
		return d.X, d.Y
	case KindBars:
		return d.Y, d.X
	case KindMatrix:
		return d.X, d.Value
	}
	return AxisOf{}, d.Value
}

// each calls f for each value. Low and high are NaN where they are not known.
func (d *Data) each(f func(series, x string, value, low, high float64)) {
	at := func(n Numbers, i int) float64 {
		if i < len(n) {
			return n[i]
		}
		return math.NaN()
	}
	for k := range d.Series {
		s := &d.Series[k]
		for i, v := range s.Values {
			x := ""
			switch {
			case d.Kind == KindLines && s.Step != 0:
				x = plain(s.Start + float64(i)*s.Step)
			case d.Kind == KindLines:
				x = plain(at(s.X, i))
			case d.Kind == KindMatrix && d.X.Names == nil:
				x = plain(d.X.Start + float64(i)*d.X.Step)
			default:
				names := map[Kind][]string{KindMatrix: d.X.Names, KindBars: d.Y.Names, KindNamed: s.Names}[d.Kind]
				if i < len(names) {
					x = names[i]
				}
			}
			f(s.Name, x, v, at(s.Low, i), at(s.High, i))
		}
	}
}
