package sweeps

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/words"
)

// none is a cell without numbers.
var none = chart.BlockCell{Cell: chart.Cell{Value: math.NaN(), Few: true}}

// end is the end of the scale of colours, as a share.
const end = 0.5

// dimension returns the values of a dimension of cells, or one without a name.
func (s *Sweep) dimension(k int) []string {
	if k < len(s.Values) {
		return s.Values[k]
	}
	return []string{""}
}

// at returns the cell of values by dimension, of which those beyond the sweep's are ignored.
func (s *Sweep) at(values ...string) *Cell { return s.place(values[:len(s.Others)]) }

// paint returns the colour of a difference by a metric: better ones are less, worse ones more.
func (s *Sweep) paint(metric string, share float64) chart.Paint {
	if s.higher(metric) {
		share = -share
	}
	level := chart.ChangeOf(min(max(share, -end), end), end)
	if level == 0 && share != 0 {
		level = int(math.Copysign(1, share))
	}
	return chart.Change(level)
}

// gainFigure has a panel for each metric: what the best of the others gains in each cell.
func (s *Sweep) gainFigure() *chart.Figure {
	base, others := s.sides()
	f := &chart.Figure{
		ID: "gains", Title: "", Columns: 3, Legend: chart.ChangeKeys(100*end, "%", "better", "worse"),
		Caption: fmt.Sprintf("Difference of %s from %s; = is level: not shown to differ by 1 %%. Rows are %s, columns %s.", others, base, strings.Join(s.Others[:min(2, len(s.Others))], " and "), strings.Join(s.Others[min(2, len(s.Others)):], " and ")),
	}
	rest := combinations(s.Values[min(2, len(s.Values)):])
	columns := make([]string, len(rest))
	for i, r := range rest {
		columns[i] = strings.Join(r, ", ")
	}
	down, rows := s.dimension(0), s.dimension(1)
	for _, m := range s.Judge.Metrics {
		f.Panels = append(f.Panels, chart.Panel{Title: m.Title, Chart: &chart.Blocks{
			Name: m.Title, Across: []string{""}, Down: down, Rows: rows, Columns: columns, Value: chart.Scaling{Name: "Difference", Unit: "%"},
			Cell: func(d, _, row, column int) chart.BlockCell {
				return s.gain(s.at(append([]string{down[d], rows[row]}, rest[column]...)...), m)
			},
		}})
	}
	return f
}

// figureID returns the ID of a figure of a metric, which is fit for the name of a file.
func figureID(metric, what string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, metric) + "-" + what
}

func (s *Sweep) gain(c *Cell, m Metric) chart.BlockCell {
	if c == nil {
		return none
	}
	j := s.Judgement(c, m.Name)
	switch j.Verdict {
	case Unknown:
		return none
	case Level:
		return chart.BlockCell{Cell: chart.Cell{Value: 0, Paint: chart.Idle, Text: "=", Tip: strings.Join(c.Values, ", ") + ": level"}}
	}
	v := chart.BlockCell{Cell: chart.Cell{Value: 100 * j.Effect, Text: s.effect(&j, m.Name, false), Tip: fmt.Sprintf("%s: %s %s, %s %s", strings.Join(c.Values, ", "),
		s.Rivals[j.Other].Name(), s.amount(m.Name, j.Medians[j.Other]), s.Rivals[j.Base].Name(), s.amount(m.Name, j.Medians[j.Base]))}}
	share := j.Effect
	if j.Absolute { // a value of 0 on one side: the colour says only which
		share = math.Copysign(end, j.Effect)
		v.Value = math.NaN()
	}
	v.Paint = s.paint(m.Name, share)
	v.Text = strings.ReplaceAll(v.Text, "\u00a0", "")
	return v
}

// metricFigure has all rivals in all cells by a metric: their difference from the best of the
// baseline, or from the best of all where there is none.
func (s *Sweep) metricFigure(m Metric) *chart.Figure {
	against, _ := s.sides()
	if !s.compared() {
		against = "the winner"
	}
	f := &chart.Figure{
		ID: figureID(m.Name, "rivals"), Title: m.Title, Legend: chart.ChangeKeys(100*end, "%", "better", "worse"),
		Caption: fmt.Sprintf("Each rival's median against that of %s in the same block, in percent. A frame is the winner of a block; an empty frame has no numbers.", against),
	}
	var rows, columns []string
	for i := range s.Rivals {
		row, column := s.Rivals[i].Values[0], strings.Join(s.Rivals[i].Values[1:], ", ")
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	}
	down, across := s.dimension(0), s.dimension(1)
	for _, rest := range combinations(s.Values[min(2, len(s.Values)):]) {
		f.Panels = append(f.Panels, chart.Panel{Title: strings.Join(rest, ", "), Chart: &chart.Blocks{
			Name: m.Title + " " + strings.Join(rest, ", "), Across: across, Down: down, Rows: rows, Columns: columns, Value: chart.Scaling{Name: "Difference", Unit: "%"},
			Cell: func(d, a, row, column int) chart.BlockCell {
				c := s.at(append([]string{down[d], across[a]}, rest...)...)
				if c == nil {
					return none
				}
				j := s.Judgement(c, m.Name)
				return s.rival(c, m, &j, rows[row], columns[column])
			},
		}})
	}
	return f
}

func (s *Sweep) rival(c *Cell, m Metric, j *Judgement, row, column string) chart.BlockCell {
	r := slices.IndexFunc(s.Rivals, func(o Rival) bool { return o.Values[0] == row && strings.Join(o.Values[1:], ", ") == column })
	if r < 0 || math.IsNaN(j.Medians[r]) {
		return none
	}
	against := j.Base
	if against < 0 {
		against = j.Winner
	}
	v, best := j.Medians[r], j.Medians[against]
	cell := chart.BlockCell{Best: r == j.Winner, Cell: chart.Cell{Value: v, Paint: chart.Idle, Tip: fmt.Sprintf("point %d: %s", c.Results[r].Point, s.amount(m.Name, v))}}
	switch share := v/best - 1; {
	case v == best:
		cell.Text = "0"
	case best == 0:
		cell.Paint, cell.Text = s.paint(m.Name, end), words.Three(v)
	default:
		cell.Text = fmt.Sprintf("%+.0f", 100*share)
		cell.Text = strings.Replace(cell.Text, "-", "−", 1)
		if cell.Text == "+0" || cell.Text == "−0" {
			cell.Text = "0"
			break
		}
		cell.Paint = s.paint(m.Name, share)
	}
	return cell
}
