package chart

import (
	"math"
	"slices"
)

// hatchGap is the distance of the lines of a hatch, in user units.
const hatchGap = 4.5

// hatched returns marks with the hatches that a palette has over their fills.
func hatched(marks []Mark, palette *Palette) []Mark {
	if palette.hatches == [paints]Hatch{} {
		return marks
	}
	var all []Mark
	var boxes []*Rect // with a hatch
	for _, m := range marks {
		var fill Paint
		var o Outline
		solid := true
		switch m := m.(type) {
		case *Group:
			g := *m
			g.Marks = hatched(m.Marks, palette)
			all = append(all, &g)
			continue
		case *Cells:
			all = append(all, m)
			var lines [hatches]Outline
			m.runs(func(level, row, from, to int) {
				if h := palette.hatches[m.Paints[level]]; h != Plain {
					w, t := m.Width/float64(m.Columns), m.Height/float64(m.Rows)
					cells := boxOf(Area{m.X + w*float64(from), m.Y + t*float64(row), w * float64(to-from), t})
					hatchLines(&lines[h], h, cells.flat())
				}
			})
			for _, o := range lines {
				if !o.Empty() {
					all = append(all, hatchPath(o))
				}
			}
			continue
		case *Rect:
			fill, solid = m.Fill, m.Opacity == 0 || m.Opacity == 1
			if palette.hatches[fill] != Plain {
				boxes = append(boxes, m)
				a, edge := m.Area, 0.0
				if m.Stroke != None {
					edge = 0.6
				}
				o = boxOf(Area{a.X + edge, a.Y + edge, max(a.Width-2*edge, 0), max(a.Height-2*edge, 0)})
			}
		case *Path:
			fill, solid, o = m.Fill, m.Opacity == 0 || m.Opacity == 1, m.Outline
		case *Text: // letters stand on plain ground
			for _, box := range slices.Backward(boxes) {
				if m.Anchor == Middle && m.X > box.X && m.X < box.X+box.Width && m.Y > box.Y && m.Y < box.Y+box.Height {
					wide := min(TextWidth(m.Text, m.size(), m.Bold)+4, box.Width)
					all = append(all, &Rect{Style: Style{Fill: box.Fill}, Area: Area{m.X - wide/2, m.Y - m.size()*0.6, wide, m.size() * 1.2}})
					break
				}
			}
		}
		all = append(all, m)
		if h := palette.hatches[fill]; h != Plain && solid && !o.Empty() {
			var lines Outline
			hatchLines(&lines, h, o.flat())
			if !lines.Empty() {
				all = append(all, hatchPath(lines))
			}
		}
	}
	return all
}

func hatchPath(o Outline) Mark {
	return &Path{Style: Style{Stroke: Ink, Weight: 0.5, Opacity: 0.7}, Outline: o}
}

// hatchLines adds the parts of parallel lines that are within polygons (even-odd).
func hatchLines(to *Outline, h Hatch, polygons [][]float64) {
	// Lines are those of equal u; v goes along them.
	way := map[Hatch][2]float64{Rising: {1, 1}, Falling: {1, -1}, Upright: {1, 0}, Across: {0, 1}}[h]
	n := math.Hypot(way[0], way[1])
	ux, uy := way[0]/n, way[1]/n
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range polygons {
		for i := 0; i+1 < len(p); i += 2 {
			u := p[i]*ux + p[i+1]*uy
			low, high = min(low, u), max(high, u)
		}
	}
	for k := math.Ceil(low/hatchGap) + 0.0; k*hatchGap < high; k++ {
		u := k*hatchGap + 1e-7 // beside the corners
		var cuts []float64
		for _, p := range polygons {
			for i := 0; i+1 < len(p); i += 2 {
				j := (i + 2) % len(p)
				u1, u2 := p[i]*ux+p[i+1]*uy, p[j]*ux+p[j+1]*uy
				if (u1 < u) == (u2 < u) {
					continue
				}
				v1, v2 := -p[i]*uy+p[i+1]*ux, -p[j]*uy+p[j+1]*ux
				cuts = append(cuts, v1+(v2-v1)*(u-u1)/(u2-u1))
			}
		}
		slices.Sort(cuts)
		for i := 0; i+1 < len(cuts); i += 2 {
			to.Move(u*ux-cuts[i]*uy, u*uy+cuts[i]*ux)
			to.Line(u*ux-cuts[i+1]*uy, u*uy+cuts[i+1]*ux)
		}
	}
}

// flat returns the polygons of an outline, with curves as straight pieces: x and y in turn.
func (o *Outline) flat() (all [][]float64) {
	var at []float64
	o.each(func(kind op, p []float64) {
		switch kind {
		case opMove:
			if at != nil {
				all = append(all, at)
			}
			at = []float64{p[0], p[1]}
		case opLine:
			at = append(at, p...)
		case opCurve:
			const parts = 12
			x, y := at[len(at)-2], at[len(at)-1]
			for i := 1; i <= parts; i++ {
				t := float64(i) / parts
				s := 1 - t
				at = append(at, s*s*s*x+3*s*s*t*p[0]+3*s*t*t*p[2]+t*t*t*p[4], s*s*s*y+3*s*s*t*p[1]+3*s*t*t*p[3]+t*t*t*p[5])
			}
		}
	})
	if at != nil {
		all = append(all, at)
	}
	return all
}
