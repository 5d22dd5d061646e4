package chart

import (
	"fmt"
	"math"
)

// Matrix is cells in rows and columns, such as from each of some things to each of them.
type Matrix struct {
	Name    string
	Corner  string   // in the corner of the names: "from ↓, to →"
	Names   []string // of rows, and of columns unless these have names of their own
	Columns []string // nil: Names
	Value   Scaling  // of the cells: its name, unit and ends
	Values  []string // where values are indices of these names; nil where they are numbers
	Cell    func(row, column int) Cell
}

func (c *Matrix) columns() []string {
	if c.Columns != nil {
		return c.Columns
	}
	return c.Names
}

// Cell is a cell of a matrix.
type Cell struct {
	Value float64 // NaN for none
	Paint Paint   // None for no cell
	Few   bool    // an empty frame: something was there, but too little
	Text  string  // in the cell, where it has room
	Tip   string  // about the cell; a small matrix shows it as a tooltip
}

// Bounds of what a matrix draws cell by cell.
const (
	mostTips  = 16 // rows
	mostCells = 48 // rows
	mostSide  = 560.0
)

// Draw implements Chart.
func (c *Matrix) Draw(width float64) *Drawing {
	rows, columns := len(c.Names), len(c.columns())
	most := max(rows, columns, 1)
	longest := 0.0
	for _, name := range c.Names {
		longest = max(longest, TextWidth(clip(name), 10, false))
	}
	left := min(max(longest+10, 30), 96)
	below := 0.8 * left
	cell := min((width-left-30)/float64(most), mostSide/float64(most), 56)
	// Names of columns are at an angle and need room to the left of the first and below.
	area := Area{left + 14, 16, cell * float64(columns), cell * float64(rows)}
	d := &Drawing{Width: width, Height: area.Y + area.Height + below + 14, Plot: area, Title: c.Name, Desc: fmt.Sprintf("%d sources by %d destinations", rows, columns)}
	if c.Columns != nil {
		d.Desc = fmt.Sprintf("%d rows by %d columns", rows, columns)
	}
	d.add(&Text{Text: c.Corner, Y: 6, Size: 9, Paint: Soft, Most: width})
	every := max(1, int(math.Ceil(11/cell)))
	for i := 0; i < rows; i += every {
		at := (float64(i) + 0.5) * cell
		d.add(&Text{X: area.X - 5, Y: area.Y + at, Text: c.Names[i], Size: 10, Anchor: End, Most: left - 2})
	}
	for i := 0; i < columns; i += max(1, int(math.Ceil(15/cell))) {
		at := (float64(i) + 0.5) * cell
		d.add(&Text{X: area.X + at + 2, Y: area.Y + area.Height + 8, Text: c.columns()[i], Size: 10, Anchor: End, Rotate: -50, Most: left - 4})
	}
	if most > mostCells {
		d.add(c.small(area))
	} else {
		d.add(&Rect{Style: Style{Fill: Idle}, Area: area})
		c.large(d, area, cell)
	}
	var edge Outline
	edge.Move(area.X, area.Y)
	edge.Line(area.X, area.Y+area.Height)
	edge.Line(area.X+area.Width, area.Y+area.Height)
	d.add(&Path{Style: Style{Stroke: Axis}, Outline: edge})
	return d
}

// large draws cells with texts.
func (c *Matrix) large(d *Drawing, area Area, cell float64) {
	columns := c.columns()
	var texts []Mark
	for i := range c.Names {
		for k := range columns {
			v := c.Cell(i, k)
			box := Area{area.X + float64(k)*cell + 0.3, area.Y + float64(i)*cell + 0.3, cell - 0.6, cell - 0.6}
			tag := Tag{}
			// Tips of large matrices would be most of the page; the script has the values.
			if len(c.Names) <= mostTips && v.Tip != "" {
				tag.Tip = clip(c.Names[i]) + " → " + clip(columns[k]) + ": " + v.Tip
			}
			switch {
			case v.Paint != None:
				d.add(&Rect{Style: Style{Fill: v.Paint}, Tag: tag, Area: box})
			case v.Few:
				d.add(&Rect{Style: Style{Stroke: Rule}, Tag: tag, Area: box})
			}
			if v.Text == "" {
				continue
			}
			size := min(cell*0.42, 12)
			if wide := TextWidth(v.Text, size, false); wide > cell-2 {
				size *= (cell - 2) / wide
			}
			if size >= 5 || len([]rune(v.Text)) == 1 {
				size = math.Floor(size*2) / 2
				texts = append(texts, &Text{X: box.X + box.Width/2, Y: box.Y + box.Height/2, Text: v.Text, Size: max(size, 2), Anchor: Middle, Paint: onPaint(v.Paint)})
			}
		}
	}
	d.add(texts...)
}

// small returns cells without texts.
func (c *Matrix) small(area Area) *Cells {
	n := len(c.columns())
	m := &Cells{Area: area, Rows: len(c.Names), Columns: n}
	of := map[Paint]int{}
	levels := make([]int16, m.Rows*n)
	for i := range levels {
		v := c.Cell(i/n, i%n)
		if v.Paint == None && v.Few {
			v.Paint = Rule
		}
		level, known := of[v.Paint]
		if !known && v.Paint != None {
			level = len(m.Paints)
			of[v.Paint] = level
			m.Paints = append(m.Paints, v.Paint)
		}
		if v.Paint == None {
			level = -1
		}
		levels[i] = int16(level)
	}
	m.Level = func(row, column int) int { return int(levels[row*n+column]) }
	return m
}

// Data implements Chart.
func (c *Matrix) Data() *Data {
	n := len(c.columns())
	d := &Data{Kind: KindMatrix, Name: c.Name, X: AxisOf{Name: "To", Max: float64(n)}, Y: AxisOf{Name: "From", Max: float64(len(c.Names))}, Value: c.Value.data()}
	if c.Columns != nil {
		d.X.Name, d.Y.Name = "Column", "Row"
	}
	d.Value.Names = c.Values
	for _, name := range c.columns() {
		d.X.Names = append(d.X.Names, clip(name))
	}
	for i := range c.Names {
		s := Series{Name: clip(c.Names[i]), Values: make(Numbers, n)}
		for k := range n {
			s.Values[k] = c.Cell(i, k).Value
		}
		d.Series = append(d.Series, s)
	}
	return d
}
