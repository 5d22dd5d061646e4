package chart

import (
	"fmt"
	"math"
)

// Blocks is a table of blocks, each a table of cells. All blocks have the same rows and columns.
type Blocks struct {
	Name          string
	Across, Down  []string // names of the columns and the rows of blocks; one without a name is no heading
	Columns, Rows []string // of each block
	Value         Scaling  // of the cells: its name and unit
	Cell          func(down, across, row, column int) BlockCell
}

// BlockCell is a cell of a block.
type BlockCell struct {
	Cell
	Best bool // a strong frame
}

// Draw implements Chart.
func (c *Blocks) Draw(width float64) *Drawing {
	left := 20.0
	for _, name := range c.Rows {
		left = max(left, TextWidth(clip(name), 10, false)+10)
	}
	left = min(left, width/4)
	columns, blocks := float64(len(c.Columns)), float64(max(len(c.Across), 1))
	const gap, heading = 4.0, 16.0
	cell := min((width-left-gap*blocks)/(blocks*max(columns, 1)), 72)
	height := 17.0
	longest := 0.0
	for _, name := range c.Columns {
		longest = max(longest, TextWidth(clip(name), 10, false))
	}
	slanted := longest > cell-4
	foot := 16.0
	if slanted {
		foot = min(longest, 76)*0.8 + 14
	}
	d := &Drawing{Width: width, Title: c.Name, Desc: fmt.Sprintf("%d by %d blocks of %d rows by %d columns", len(c.Down), len(c.Across), len(c.Rows), len(c.Columns))}
	x := func(across, column int) float64 {
		return left + float64(across)*(columns*cell+gap) + float64(column)*cell
	}
	y := 4.0
	for a, name := range c.Across {
		if name != "" {
			d.add(&Text{X: x(a, 0) + columns*cell/2, Y: y + 6, Text: name, Size: 10, Bold: true, Anchor: Middle, Most: columns*cell + gap - 2})
			if a == len(c.Across)-1 {
				y += heading
			}
		}
	}
	for down, name := range c.Down {
		if name != "" {
			d.add(&Text{X: 0, Y: y + 8, Text: name, Size: 10, Bold: true, Paint: Soft, Most: width})
			y += heading
		}
		for row, name := range c.Rows {
			d.add(&Text{X: left - 5, Y: y + height/2, Text: name, Size: 10, Anchor: End, Most: left - 6})
			for across := range max(len(c.Across), 1) {
				for column := range c.Columns {
					c.draw(d, c.Cell(down, across, row, column), Area{x(across, column) + 0.4, y + 0.4, cell - 0.8, height - 0.8})
				}
			}
			y += height
		}
		y += gap
	}
	for across := range max(len(c.Across), 1) {
		for column, name := range c.Columns {
			t := &Text{X: x(across, column) + cell/2, Y: y + 7, Text: name, Size: 10, Anchor: Middle, Most: cell}
			if slanted {
				t.X, t.Anchor, t.Rotate, t.Most = t.X+3, End, -50, 76
			}
			d.add(t)
		}
	}
	d.Height = y + foot
	return d
}

// draw draws a cell. Texts that would be too small are left out.
func (c *Blocks) draw(d *Drawing, v BlockCell, box Area) {
	tag := Tag{Tip: v.Tip}
	switch {
	case v.Paint != None:
		d.add(&Rect{Style: Style{Fill: v.Paint}, Tag: tag, Area: box})
	case v.Few:
		d.add(&Rect{Style: Style{Stroke: Rule}, Tag: tag, Area: box})
	}
	if v.Best {
		inner := Area{box.X + 0.9, box.Y + 0.9, box.Width - 1.8, box.Height - 1.8}
		d.add(&Rect{Style: Style{Stroke: Ink, Weight: 1.8}, Area: inner})
	}
	if v.Text == "" {
		return
	}
	size := 10.0
	if wide := TextWidth(v.Text, size, false); wide > box.Width-2 {
		size *= (box.Width - 2) / wide
	}
	if size >= 7.5 {
		d.add(&Text{X: box.X + box.Width/2, Y: box.Y + box.Height/2, Text: v.Text, Size: math.Floor(size*2) / 2, Anchor: Middle, Paint: onPaint(v.Paint)})
	}
}

// Data implements Chart.
func (c *Blocks) Data() *Data {
	d := &Data{Kind: KindNamed, Name: c.Name, Value: c.Value.data()}
	name := func(a, b string) string {
		if a == "" {
			return b
		}
		return a + " / " + b
	}
	for down := range c.Down {
		for row := range c.Rows {
			s := Series{Name: name(c.Down[down], c.Rows[row])}
			for across := range max(len(c.Across), 1) {
				for column := range c.Columns {
					of := ""
					if len(c.Across) > 0 {
						of = c.Across[across]
					}
					s.add(name(of, c.Columns[column]), c.Cell(down, across, row, column).Value, math.NaN(), math.NaN())
				}
			}
			d.Series = append(d.Series, s)
		}
	}
	return d
}
