// Package chart draws charts and figures: data in, and out come inline SVG for pages, SVG,
// PNG, PDF and PGF documents for papers, the numbers for the page's script, and CSV. It knows
// nothing of runs, variants or ports, and takes no CSS: colours are names of a Palette.
//
// # From data to a page
//
// A chart is a struct of data. Each has Draw, for any width, and Data:
//
//	Lines      lines over time or another quantity: bands, levels, a shaded span, gaps
//	Bars       rows of parts behind each other: shares, or times and their parts
//	Pairs      horizontal bars in groups, with whiskers: shares before and after
//	Matrix     from each of some things to each of them: cells with texts and names
//	Heat       rows over time: many columns, headings, a value at the right, spans above
//	Gantt      lanes with spans over time, rows and shares above, a critical path
//	Wheel      rings of a turn with arcs
//	Graph      boxes and links of a fabric, ways through it, badges
//	Intervals  an effect with its interval in each row, on a common axis
//	Dots       the samples of one effect, stacked, with the effect and its interval below
//
// A Figure is charts with a title, a legend and a caption:
//
//	f := &chart.Figure{ID: "queue", Title: "Queues", Caption: "Means of 1 ms.", Columns: 2,
//		Legend: []chart.Key{chart.LineKey("flow a", chart.Nth(0))},
//		Panels: []chart.Panel{{Title: "reno", Variant: "reno", Chart: &chart.Lines{
//			Name:  "reno",
//			X:     chart.Scaling{Name: "Time", Unit: "ms", Max: 200, Clock: chart.ClockRun, Microseconds: 1000},
//			Y:     chart.Scaling{Name: "Queue", Unit: "kB"},
//			Lines: []chart.Line{{Name: "flow a", Look: chart.Nth(0), X: x, Y: y}},
//		}}}}
//
// Its page shows f.SVG(i, width) of each panel, at two widths, and key.Swatch of each key;
// f.Data() goes into the data block for the script. CSS returns the rules that define the
// variables of all paints.
//
// Values are in the units that the axis names: the caller chooses a unit in which numbers are
// short. NaN is "no value" everywhere. Names may be anything; control characters are made
// visible, and texts that have no room are cut in their middle, with the whole as tooltip.
//
// # Colours and looks
//
// A Paint is a name: Ink, Flow(i), Action(i), Scale(level), Change(level), and so on. A Look is
// how a line is drawn; Nth(i) is the look of the i-th variant, or of the i-th of many lines where
// there are no variants, Beside that of other lines on a page of variants, Others that of the line of
// all others, and Look.Model that of what a model says of a line.
//
// # The page around a drawing
//
// A drawing carries its style. The style sheet of a page only says how large .chart and .swatch
// are and which font they have, and styles what the script adds (.cursor, .ticks, .zoomed,
// .mapped, [data-off]); a rule for fill, stroke, size or baseline of marks would undo theirs.
// An entry of a legend whose text is the name of a series becomes a button of the script. The
// links of a Graph are those that the script colours over time, in the order of Graph.Links.
//
// # Documents
//
// Figure.Write makes documents of a Layout: as wide as on a page, in one or two columns of a
// paper, or as a slide. In columns there is neither title nor caption, texts are 8 points, and
// colours are those of Print, which a grey print keeps apart with dashes and hatches.
//
// # Drawings by hand
//
// What no chart draws is a Drawing: a list of marks (Path, Rect, Circle, Text, Cells, Group)
// with a Style and a Tag each. It is all that the writers know.
package chart
