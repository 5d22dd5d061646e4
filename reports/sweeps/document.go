package sweeps

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/page"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// WriteHTML writes the page of a sweep as one file that needs no network.
func (s *Sweep) WriteHTML(w io.Writer) error { return s.document().WriteHTML(w) }

// WriteMarkdown writes what the page says as Markdown, without pictures.
func (s *Sweep) WriteMarkdown(w io.Writer) error { return s.document().WriteMarkdown(w) }

// Figures returns the figures of the page.
func (s *Sweep) Figures() []*chart.Figure { return s.document().Figures() }

func (s *Sweep) document() *page.Document {
	p := s.Plan
	d := &page.Document{
		Title:  fmt.Sprintf("%s, %s", words.Capital(p.Name), p.Started.Format("2 January 2006")),
		About:  []string{fmt.Sprintf("%s, csiglab %s", strings.Join(p.Command, " "), p.Version)},
		Banner: s.banner(), Story: s.story(), Notes: s.notes(),
	}
	add := func(level section.Level, id, title, says string, blocks ...section.Block) {
		d.Parts = append(d.Parts, section.Part{ID: id, Title: title, Says: says, Level: level, Blocks: blocks})
	}
	base, others := s.sides()
	compared, a := s.compared(), s.curve()
	if a != nil && compared {
		var blocks []section.Block
		for _, m := range s.Judge.Metrics {
			blocks = append(blocks, s.gainCurves(m, a))
		}
		add(section.Loud, "curves", "Over "+s.Others[a.dimension]+", against "+base, "", blocks[0], section.Fold{Title: "The other metrics", Blocks: blocks[1:]})
	}
	alone := a != nil && len(s.Others) == 1 // curves say all
	if compared && !alone {
		add(section.Loud, "gain", "What "+others+" gains over "+base, "", s.gainFigure())
		if t := s.dimensionTable(); len(t.Rows) > 0 {
			add(section.Loud, "where", "Where "+others+" is ahead, level, behind", "", t)
		}
	}
	if compared {
		add(section.Telling, "cells", s.Judge.Metrics[0].Title+": cell by cell", "", s.gainTable())
	}
	for i, m := range s.Judge.Metrics {
		level := section.Quiet
		if i == 0 {
			level = section.Plain
		}
		id := fmt.Sprintf("metric-%d", i)
		var blocks []section.Block
		if a != nil {
			blocks = append(blocks, s.valueCurves(m, a))
		}
		if !alone {
			blocks = append(blocks, s.metricFigure(m))
		}
		if compared {
			blocks = append(blocks, section.Fold{Title: "Winners", Blocks: []section.Block{s.winners(m)}})
		}
		add(level, id, "All rivals: "+m.Title, "", blocks...)
	}
	if len(s.Cells) > 1 {
		add(section.Plain, "overall", "One setting for all cells", s.fixedText(), s.overallTable())
	}
	add(section.Quiet, "points", "Runs, and the commands that repeat them", words.Plural(len(p.Points), "point")+".", section.Fold{Title: "All points", Blocks: []section.Block{s.points()}})
	return words.Plain(d)
}

// compared reports whether there are two sides.
func (s *Sweep) compared() bool {
	return slices.ContainsFunc(s.Rivals, func(r Rival) bool { return r.Baseline }) && slices.ContainsFunc(s.Rivals, func(r Rival) bool { return !r.Baseline })
}

func (s *Sweep) banner() section.Banner {
	b := section.Banner{State: section.Good, Headline: fmt.Sprintf("%d of %d runs, all valid", s.Runs, s.Plan.Trials)}
	if missing := s.Plan.Trials - s.Runs; missing > 0 {
		b.State = section.Warn
		b.Reasons = append(b.Reasons, words.Plural(missing, "run")+" are missing: csiglab sweep --resume "+s.Folder+" does them.")
	}
	if s.Invalid > 0 {
		b.State = section.Warn
		b.Headline = fmt.Sprintf("%d of %d runs, of which %d have no numbers that count", s.Runs, s.Plan.Trials, s.Invalid)
	}
	if b.State == section.Warn && s.Invalid == 0 {
		b.Headline = fmt.Sprintf("Incomplete: %d of %d runs", s.Runs, s.Plan.Trials)
	}
	return b
}

// story says in how many cells a side is ahead, by each metric.
func (s *Sweep) story() (told []string) {
	if !s.compared() {
		return nil
	}
	base, others := s.sides()
	first := s.Judge.Metrics[0]
	if list := s.side(false); len(s.side(true)) == 1 && len(list) > 1 && len(list) <= mostTold {
		for _, r := range list {
			told = append(told, s.counted(first, s.Rivals[r].Name(), base, func(c *Cell) (j Judgement) {
				j.Estimate, j.Absolute, j.Verdict = s.compare(c, first.Name, s.side(true)[0], r)
				return j
			}))
		}
	} else {
		told = append(told, s.counted(first, others, base, func(c *Cell) Judgement { return s.Judgement(c, first.Name) }))
		for _, m := range s.Judge.Metrics[1:] {
			n := s.count(s.cells(nil), func(c *Cell) Judgement { return s.Judgement(c, m.Name) })
			told = append(told, fmt.Sprintf("%s: ahead in %d, level in %d, behind in %d%s.", m.Title, n.Ahead, n.Level, n.Behind, n.amounts()))
		}
	}
	if a := s.curve(); a != nil {
		told = append(told, s.bestText(a)...)
	}
	if text := s.fixedText(); text != "" {
		told = append(told, text)
	}
	return told
}

// mostTold is the most rivals that the story tells each of.
const mostTold = 4

// counted says in how many cells one is ahead of another by a metric.
func (s *Sweep) counted(m Metric, one, other string, judge func(c *Cell) Judgement) string {
	n := s.count(s.cells(nil), judge)
	return fmt.Sprintf("%s: %s is ahead of %s in %d of %d cells, level in %d and behind in %d%s.", m.Title, one, other, n.Ahead, len(s.Cells)-n.Unknown, n.Level, n.Behind, n.amounts())
}

// amounts says by how much.
func (n *Count) amounts() (text string) {
	if !math.IsNaN(n.Gain) {
		text = "; where it is ahead, by " + words.Share2(n.Gain) + " in the median"
	}
	if !math.IsNaN(n.Loss) {
		text += "; where it is behind, by " + words.Share2(n.Loss)
	}
	return text
}

// fixedText compares the best settings over all cells.
func (s *Sweep) fixedText() string {
	m := s.Judge.Metrics[0]
	b, o := s.Fixed(m.Name)
	if b < 0 || o < 0 || s.single() {
		return ""
	}
	base, others := s.names()
	n := s.count(s.cells(nil), func(c *Cell) (j Judgement) {
		j.Estimate, j.Absolute, j.Verdict = s.compare(c, m.Name, b, o)
		return j
	})
	return fmt.Sprintf("One setting for all cells, by the same metric: %s is the best %s, and against %s, the best %s, it is ahead in %d of %d cells, level in %d and behind in %d.",
		s.Rivals[o].Name(), others, s.Rivals[b].Name(), base, n.Ahead, len(s.Cells)-n.Unknown, n.Level, n.Behind)
}

func (s *Sweep) notes() []string {
	base, others := len(s.side(true)), len(s.side(false))
	n := len(s.Plan.Seeds)
	notes := []string{
		fmt.Sprintf("Numbers are medians over %s. Ahead and behind mean a difference of at least 1 %% whose interval (%.0f %%, seeds in pairs) leaves out 0. Level means not shown to differ by 1 %%; it does not mean shown to be equal.", words.Plural(n, "seed"), 100*confidence(n)),
	}
	if base > 0 && others > 0 {
		if n > 1 {
			notes = append(notes, fmt.Sprintf("The intervals are not corrected for the number of comparisons, which is %d by all metrics together. Where nothing differs, about %.0f %% of them leave out 0 by chance.", len(s.Cells)*len(s.Judge.Metrics), 100*(1-confidence(n))))
		}
	}
	if base > 0 && others > 0 && base+others > 2 {
		notes = append(notes, fmt.Sprintf("In each cell the best of %d rivals meets the best of %d. Both are chosen by the seeds that judge them, which flatters the side with more rivals. One setting for all cells is the test without that choice in each cell.", others, base))
	}
	missing := 0
	for i := range s.Cells {
		for r := range s.Rivals {
			if r >= len(s.Cells[i].Results) || s.Cells[i].Results[r] == nil || len(s.Cells[i].Results[r].Seeds) == 0 {
				missing++
			}
		}
	}
	if missing > 0 {
		notes = append(notes, words.Plural(missing, "result")+" are missing. Their cells are empty frames, and winners are among the others.")
	}
	return notes
}

// place returns the first cell with values, nil for none.
func (s *Sweep) place(values []string) *Cell {
	for i := range s.Cells {
		if slices.Equal(s.Cells[i].Values, values) {
			return &s.Cells[i]
		}
	}
	return nil
}

// combinations returns every combination of values; one that is empty of none.
func combinations(values [][]string) (all [][]string) {
	all = [][]string{nil}
	for _, list := range values {
		var more [][]string
		for _, begin := range all {
			for _, v := range list {
				more = append(more, append(slices.Clone(begin), v))
			}
		}
		all = more
	}
	return all
}

// amount prints a value of a metric.
func (s *Sweep) amount(metric string, v float64) string {
	unit := s.of(metric).Unit
	shown, factor := words.ScaleOf(unit, v)
	return strings.TrimSpace(words.Three(v*factor) + " " + shown)
}

// effect prints a judgement's difference with its interval, or that there is none to show.
func (s *Sweep) effect(j *Judgement, metric string, interval bool) string {
	text := func(v float64) string {
		if j.Absolute {
			sign := ""
			if v > 0 {
				sign = "+"
			}
			return sign + strings.Replace(s.amount(metric, v), " %", " points", 1) // of per cent
		}
		return words.Change(v)
	}
	switch {
	case j.Verdict == Unknown:
		return words.None
	case !interval && j.Verdict == Level:
		return "="
	case !interval:
		return text(j.Effect)
	case j.Verdict == Level:
		return "level"
	case math.IsInf(j.Low, 0) || math.IsInf(j.High, 0):
		return text(j.Effect)
	}
	return fmt.Sprintf("%s [%s, %s]", text(j.Effect), text(j.Low), text(j.High))
}

// dimensionTable counts the verdicts by the values of each dimension.
func (s *Sweep) dimensionTable() *section.Table {
	t := &section.Table{Label: "Cells in which it is ahead / level / behind", Columns: phrases.Columns("", "Cells")}
	t.Columns[1].Number = true
	for _, m := range s.Judge.Metrics {
		t.Columns = append(t.Columns, section.Column{Name: m.Title})
	}
	for k, name := range s.Others {
		if len(s.Values[k]) < 2 {
			continue
		}
		for _, v := range s.Values[k] {
			cells := s.cells(func(c *Cell) bool { return c.Values[k] == v })
			row := phrases.Cells(name+" "+v, fmt.Sprint(len(cells)))
			for _, m := range s.Judge.Metrics {
				n := s.count(cells, func(c *Cell) Judgement { return s.Judgement(c, m.Name) })
				cell := section.Cell{Text: fmt.Sprintf("%d / %d / %d", n.Ahead, n.Level, n.Behind)}
				switch {
				case n.Ahead > n.Level+n.Behind:
					cell.State = section.Good
				case n.Behind > n.Level+n.Ahead:
					cell.State = section.Bad
				}
				row = append(row, cell)
			}
			t.Rows = append(t.Rows, section.Row{Cells: row})
		}
	}
	return t
}

// gainTable has the differences by the first metric, a column for each value of the last
// dimension.
func (s *Sweep) gainTable() *section.Table {
	m := s.Judge.Metrics[0]
	base, others := s.sides()
	t := &section.Table{
		Label: m.Title, Columns: phrases.Columns(s.Others...),
		Note: fmt.Sprintf("A cell names the side that is ahead and its best rival. Its figure is how much more (+) or less (−) %s has than %s. = is level: not shown to differ by 1 %%.", others, base),
	}
	last := []string{""}
	rows := s.Values
	if n := len(s.Others); n > 0 {
		t.Columns, rows, last = t.Columns[:n-1], s.Values[:n-1], s.Values[n-1]
	}
	for _, v := range last {
		t.Columns = append(t.Columns, section.Column{Name: v})
	}
	for _, where := range combinations(rows) {
		cells := phrases.Cells(where...)
		for _, v := range last {
			at := where
			if len(s.Others) > 0 {
				at = append(slices.Clone(where), v)
			}
			cells = append(cells, s.gainCell(s.place(at), m))
		}
		t.Rows = append(t.Rows, section.Row{Cells: cells})
	}
	return t
}

func (s *Sweep) gainCell(c *Cell, m Metric) section.Cell {
	if c == nil {
		return section.Cell{Text: words.None}
	}
	j := s.Judgement(c, m.Name)
	cell := section.Cell{Text: s.effect(&j, m.Name, false)}
	switch j.Verdict {
	case Ahead:
		cell.State = section.Good
	case Behind:
		cell.State = section.Bad
	}
	if cell.State != "" {
		base, others := s.sides()
		side, best := others, s.Rivals[j.Other].Name()
		if j.Verdict == Behind {
			side, best = base, s.Rivals[j.Base].Name()
		}
		if side != best {
			side = fmt.Sprintf("%s is ahead (%s)", words.Capital(side), best)
		} else {
			side += " is ahead"
		}
		cell.Text = side + ": " + cell.Text
	}
	return cell
}

// winners is a table of all cells by one metric.
func (s *Sweep) winners(m Metric) *section.Table {
	base, others := s.names()
	t := &section.Table{Label: "Winners by " + m.Title, Columns: phrases.Columns(slices.Concat(s.Others, []string{"Best " + base, "Value", "Best " + others, "Value", "Difference", "Repeat the winner"})...)}
	for i := range s.Cells {
		c := &s.Cells[i]
		j := s.Judgement(c, m.Name)
		cells := phrases.Cells(c.Values...)
		for _, r := range []int{j.Base, j.Other} {
			if r < 0 {
				cells = append(cells, phrases.Cells(words.None, words.None)...)
				continue
			}
			cells = append(cells, phrases.Cells(s.Rivals[r].Name(), s.amount(m.Name, j.Medians[r]))...)
		}
		diff := section.Cell{Text: s.effect(&j, m.Name, true)}
		switch j.Verdict {
		case Ahead:
			diff.State = section.Good
		case Behind:
			diff.State = section.Bad
		}
		repeat := words.None
		if j.Winner >= 0 {
			repeat = s.Command(c.Results[j.Winner])
		}
		t.Rows = append(t.Rows, section.Row{Cells: append(cells, diff, section.Cell{Text: repeat})})
	}
	return t
}

// overallTable compares the rivals over all cells.
func (s *Sweep) overallTable() *section.Table {
	t := &section.Table{Label: "Rivals over all cells", Columns: phrases.Columns(append(slices.Clone(s.Judge.Between), "")...)}
	type column struct {
		means []float64
		cells int
	}
	var columns []column
	least := len(s.Cells)
	for _, m := range s.Judge.Metrics {
		t.Columns = append(t.Columns, section.Column{Name: m.Title, Number: true})
		means, cells := s.Overall(m.Name)
		columns = append(columns, column{means, cells})
		if cells > 0 {
			least = min(least, cells)
		}
	}
	t.Note = fmt.Sprintf("Geometric means over cells of the median over that of %s, of the cells in which all rivals have values above 0 (%d at least; – for none).", s.Rivals[0].Name(), least)
	base, others := s.names()
	order := make([]int, len(s.Rivals))
	for i := range order {
		order[i] = i
	}
	if columns[0].cells > 0 {
		slices.SortStableFunc(order, func(a, b int) int {
			x, y := columns[0].means[a], columns[0].means[b]
			if s.higher(s.Judge.Metrics[0].Name) {
				x, y = y, x
			}
			return cmp.Compare(x, y)
		})
	}
	for _, r := range order {
		side := others
		if s.Rivals[r].Baseline {
			side = base
		}
		if !s.compared() || s.single() {
			side = ""
		}
		cells := phrases.Cells(append(slices.Clone(s.Rivals[r].Values), side)...)
		for _, c := range columns {
			cells = append(cells, section.Cell{Text: words.Three(c.means[r])})
		}
		t.Rows = append(t.Rows, section.Row{Cells: cells})
	}
	return t
}

// points is a table of all results with their commands.
func (s *Sweep) points() *section.Table {
	t := &section.Table{Label: "Points", Columns: phrases.Columns("Point", "Runs", "Trace of the first seed", "Command")}
	for i := range s.Cells {
		for _, r := range s.Cells[i].Results {
			if r == nil {
				continue
			}
			runs := fmt.Sprint(len(r.Seeds))
			if r.Invalid > 0 {
				runs += fmt.Sprintf(", and %d without numbers: %s", r.Invalid, words.Shortened(r.Reason, 100))
			}
			t.Rows = append(t.Rows, section.Row{Cells: phrases.Cells(fmt.Sprint(r.Point), runs, words.Prefix(r.Hash), s.Command(r))})
		}
	}
	return t
}
