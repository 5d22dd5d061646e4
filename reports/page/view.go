package page

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/section"
)

// view is what the templates show.
type view struct {
	*Document
	First       []figureView
	Open, Quiet []partView
	Data        template.HTML // for the script
}

// partView is a part whose blocks stand in rows.
type partView struct {
	ID, Title, Says string
	Half            bool // stands beside the next one, or the one before, on a wide window
	Rows            []rowView
}

// rowView is blocks below each other, or two of them side by side on a wide window. Prose
// is paragraphs and lists.
type rowView struct {
	Pair, Prose, Long bool
	Alone             bool // a block that half of the width is enough for, in a row of its own
	Blocks            []blockView
}

// blockView is one kind of block: the field that is not zero.
type blockView struct {
	Half       bool // half of the width is enough
	Text, Code string
	Items      []string
	Table      *tableView
	Figure     *figureView
	Fold       *foldView
}

type foldView struct {
	Title string
	Rows  []rowView
}

type tableView struct {
	*section.Table
	Name    string // of the table alone, for readers who do not see where it stands
	Heading string // "" if the part's title is enough
}

// figureView is a figure and its drawings.
type figureView struct {
	ID, Heading, Caption string
	Columns              int
	Legend               []keyView
	Panels               []panelView
	Marks                []section.Mark
	MapLegend            []keyView // of the map over time
}

type keyView struct {
	Swatch template.HTML
	Name   string
}

// panelView is a panel's drawing. Narrow is that of a phone, "" if the other fits there.
type panelView struct {
	Title, Subtitle, Variant string
	SVG, Narrow              template.HTML
}

// Widths of drawings in user units, which are about as many pixels.
const (
	wholeWidth  = 1100.0 // of the column of parts on a wide window
	halfWidth   = 540.0
	gapWidth    = 20.0
	narrowWidth = 388.0 // of a phone
	// bothWidth is the greatest width of a drawing that is shown on a phone too.
	bothWidth = 400.0
)

// drawer makes views, and collects what they share.
type drawer struct {
	ids, names map[string]bool // that are taken
	figures    []*chart.Data   // for the script
}

func newView(d *Document) (*view, error) {
	m := &drawer{ids: map[string]bool{}, names: map[string]bool{}}
	open, quiet := d.ordered()
	for _, id := range []string{"content", "data", "verdict", "story", "notes", "parts", "main", "fabric"} {
		m.ids[id] = true
	}
	for _, parts := range [][]section.Part{open, quiet} {
		for i := range parts {
			if id := parts[i].ID; id == "" || m.ids[id] {
				return nil, fmt.Errorf("part %q: its ID %q is empty, or another's", parts[i].Title, id)
			}
			m.ids[parts[i].ID] = true
		}
	}
	v := &view{Document: d}
	var overTime *chart.Map
	for _, p := range d.First {
		f := m.figure(p.Figure, halfWidth, "")
		for i := range f.Panels { // all are shown
			f.Panels[i].Variant = ""
		}
		if f.ID = "main"; p.Figure.ID == "fabric" {
			f.ID = "fabric"
		}
		f.Marks = p.Marks
		if p.Map != nil {
			overTime = p.Map
			f.MapLegend = keys(p.Map.Keys)
		}
		v.First = append(v.First, *f)
	}
	var err error
	if v.Open, err = m.parts(open); err != nil {
		return nil, err
	}
	pairUp(v.Open)
	if v.Quiet, err = m.parts(quiet); err != nil {
		return nil, err
	}
	v.Data, err = dataBlock(m.figures, d.Variants, overTime)
	return v, err
}

func (m *drawer) parts(parts []section.Part) (views []partView, err error) {
	for i := range parts {
		p := &parts[i]
		v := partView{ID: p.ID, Title: p.Title, Says: p.Says}
		if v.Rows, err = m.rows(p, p.Blocks); err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

// rows returns blocks in rows: what needs less than half of the width stands side by side.
func (m *drawer) rows(p *section.Part, blocks []section.Block) (rows []rowView, err error) {
	waits := false // for a second block of its row
	for _, b := range blocks {
		if !shows(b) {
			continue
		}
		v, err := m.block(p, b)
		if err != nil {
			return nil, err
		}
		prose := v.Text != "" || v.Items != nil
		last := len(rows) - 1
		switch {
		case prose && last >= 0 && rows[last].Prose:
			rows[last].Blocks = append(rows[last].Blocks, v)
		case v.Half && waits:
			rows[last].Pair, rows[last].Alone = true, false
			rows[last].Blocks = append(rows[last].Blocks, v)
			waits = false
		default:
			rows = append(rows, rowView{Prose: prose, Alone: v.Half, Blocks: []blockView{v}})
			waits = v.Half
		}
	}
	for i := range rows {
		rows[i].Long = rows[i].Prose && letters(rows[i].Blocks) > longProse
	}
	return rows, nil
}

// longProse is the number of letters of text that is set in two columns.
const longProse = 450

func letters(blocks []blockView) (n int) {
	for _, b := range blocks {
		n += utf8.RuneCountInString(b.Text)
		for _, item := range b.Items {
			n += utf8.RuneCountInString(item)
		}
	}
	return n
}

func (m *drawer) block(p *section.Part, b section.Block) (v blockView, err error) {
	switch b := b.(type) {
	case section.Paragraph:
		v.Text = string(b)
	case section.List:
		v.Items = b
	case section.Code:
		v.Code = string(b)
	case *section.Table:
		v.Table = m.table(p, b)
		v.Half = tableWidth(b) <= halfTable
	case *chart.Figure:
		columns := max(b.Columns, 1)
		v.Half = len(b.Panels) == 1 && columns > 1
		v.Figure = m.figure(b, (wholeWidth-gapWidth*float64(columns-1))/float64(columns), p.Title)
	case section.Fold:
		v.Fold = &foldView{Title: b.Title}
		v.Fold.Rows, err = m.rows(p, b.Blocks)
	default:
		err = unknown(p, b)
	}
	return v, err
}

func (m *drawer) table(p *section.Part, t *section.Table) *tableView {
	v := &tableView{Table: t, Name: t.Label}
	if t.Label != p.Title {
		v.Heading = t.Label
	}
	if v.Name == "" {
		v.Name = p.Title
	} else if m.names[v.Name] {
		v.Name += ": " + p.Title
	}
	for name, n := v.Name, 2; m.names[v.Name]; n++ {
		v.Name = fmt.Sprintf("%s (%d)", name, n)
	}
	m.names[v.Name] = true
	return v
}

// Widths of tables in letters.
const (
	halfTable      = 82 // fits in half of the width
	mostInCell     = 34 // in one line of a cell; longer texts break
	longText       = 80 // of cells that are sentences, and have more room
	longCell       = 22 // name and text that stand on half a line of a phone
	betweenColumns = 3
)

// class returns the classes of a cell.
func class(c section.Column, cell section.Cell) string {
	classes, length := string(cell.State), utf8.RuneCountInString(cell.Text)
	switch {
	case c.Number:
		classes += " n"
	case length > longText:
		classes += " breaks text"
	case length > mostInCell:
		classes += " breaks"
	}
	if utf8.RuneCountInString(c.Name)+length > longCell {
		classes += " long"
	}
	return strings.TrimSpace(classes)
}

func tableWidth(t *section.Table) (sum int) {
	for i, c := range t.Columns {
		most := min(utf8.RuneCountInString(c.Name), mostInCell/2)
		for _, r := range t.Rows {
			if i < len(r.Cells) {
				most = max(most, utf8.RuneCountInString(r.Cells[i].Text))
			}
		}
		if !c.Number {
			most = min(most, mostInCell)
		}
		sum += most + betweenColumns
	}
	return sum
}

// figure draws a figure, each panel at a width. Its heading is its title, unless that is the
// title of what it stands in.
func (m *drawer) figure(f *chart.Figure, width float64, in string) *figureView {
	v := &figureView{Caption: f.Caption, Columns: min(max(f.Columns, 1), max(len(f.Panels), 1)), Legend: keys(f.Legend)}
	if f.Title != in {
		v.Heading = f.Title
	}
	if !m.ids[f.ID] {
		v.ID = f.ID
		m.ids[f.ID] = true
	}
	m.figures = append(m.figures, f.Data()...)
	for i := range f.Panels {
		p := &f.Panels[i]
		wide := cmp.Or(p.Width, width)
		panel := panelView{Title: p.Title, Subtitle: p.Subtitle, Variant: p.Variant, SVG: f.SVG(i, wide)}
		if wide > bothWidth {
			panel.Narrow = f.SVG(i, narrowWidth)
		}
		v.Panels = append(v.Panels, panel)
	}
	return v
}

func keys(legend []chart.Key) (views []keyView) {
	for i := range legend {
		views = append(views, keyView{Swatch: legend[i].Swatch(), Name: legend[i].Name})
	}
	return views
}

// pairUp puts short parts that follow each other side by side.
func pairUp(parts []partView) {
	for i := 0; i+1 < len(parts); i++ {
		if parts[i].short() && parts[i+1].short() {
			for k := range 2 {
				parts[i+k].Half = true
				for r := range parts[i+k].Rows {
					parts[i+k].Rows[r].Alone = false
				}
			}
			i++
		}
	}
}

// short reports whether half of the width is enough for a part: for its one table or figure
// and what is said about it.
func (p *partView) short() bool {
	wide, halves := 0, 0
	for _, r := range p.Rows {
		switch {
		case r.Alone:
			halves++
		case !r.Prose || r.Long:
			wide++
		}
	}
	return wide == 0 && halves == 1
}
