// Package section has what a section of a report shows: parts, which consist of blocks.
// It computes nothing and renders nothing: package reports/page makes HTML and Markdown of
// parts.
package section

// Part is what a section shows under one heading.
type Part struct {
	// ID is the part's anchor, each once in a report: small letters, digits and hyphens. It
	// must not be one of package reports/page, such as "content" or "story".
	ID    string
	Title string
	// Says is one sentence on what the part says of this run. It stands below the title, and
	// in the line of a part that is closed. It is "" where there is nothing to say.
	Says   string
	Level  Level
	Blocks []Block
}

// Level is how much a part has to say. Parts of greater levels come first, those of equal
// ones in the order of the list. Parts of level Quiet are closed, and stand together below
// the others.
type Level int

// Levels of parts.
const (
	Quiet   Level = iota // nothing stands out, or it is for those who look it up
	Plain                // worth a look in every run
	Telling              // something stands out
	Loud                 // explains the answer of the report
)

// Block is a piece of a part: Paragraph, List, Code, *Table, *chart.Figure or Fold. Others
// are refused when the part is rendered. What half of the page's width is enough for stands
// beside its neighbour if that is so too: small tables, and figures of one panel whose Columns
// are two or more. A figure of one panel and one column has the whole width.
type Block any

// Paragraph is text.
type Paragraph string

// List is a list of texts.
type List []string

// Code is a command, or other text that readers copy as it is.
type Code string

// Fold is closed until the reader opens it. Markdown leaves it out: what every reader needs
// is no Fold but a part of its own.
type Fold struct {
	Title  string
	Blocks []Block
}

// Table is a table of text. A table without rows is not shown.
type Table struct {
	// Label is the table's name. It is its heading where it differs from the part's title.
	Label   string
	Columns []Column
	Rows    []Row
	Note    string // below the table
	Query   string // a command that lists in the run folder what the table leaves out; may be ""
}

// Column is a column's heading. Numbers are set flush right and sorted by value.
type Column struct {
	Name   string
	Number bool
	// Variant is the variant whose values the column has, "" if it is of none or of all.
	// Readers who choose another variant do not see the column.
	Variant string
}

// Row is a row of a table, with as many cells as there are columns.
type Row struct {
	// Variant is the variant that the row is of, "" if it is of none or of all. Readers who
	// choose another variant do not see the row.
	Variant string
	Cells   []Cell
}

// Cell is one cell of a table.
type Cell struct {
	Text  string
	State State
}

// State is how a value, or a whole result, is to be taken; "" if it is neither good nor bad.
type State string

// States of cells and of results.
const (
	Good State = "good"
	Warn State = "warn" // good, with a reservation
	Bad  State = "bad"
)
