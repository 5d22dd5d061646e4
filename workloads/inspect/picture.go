package inspect

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Sizes of the picture, in pixels.
const (
	maxRows   = 64
	columns   = 1200
	rowHeight = 14
	left      = 70
	top       = 46
)

// interval is when a rank computes or has a message on its way.
type interval struct {
	from, until units.Time
	computes    bool
}

// draw keeps what the picture shows of an operation.
func (k *keeper) draw(o *metrics.Operation) {
	if o.Kind == metrics.OperationRecv {
		return // drawn with its send
	}
	i := interval{o.Start, o.End, o.Kind == metrics.OperationCompute}
	for _, rank := range [2]int32{o.Rank, o.Peer} {
		if rank >= 0 && int(rank) < len(k.rows) && (rank == o.Rank || !i.computes) {
			k.rows[rank] = append(k.rows[rank], i)
		}
	}
}

// Picture is ranks by time.
type Picture struct {
	rows  [][]interval
	ranks int
	end   units.Time
}

// Colours of what a rank does.
var colours = []struct{ name, colour string }{
	{"waits", ""}, {"computes", "#4477aa"}, {"has messages on their way", "#ee8866"}, {"both", "#7b5ea7"},
}

// SVG writes the picture: a row for each of the first 64 ranks.
func (p Picture) SVG(out io.Writer, title string) error {
	w := bufio.NewWriter(out)
	height := top + len(p.rows)*rowHeight + 30
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="11">`+"\n", left+columns+20, height)
	fmt.Fprintf(w, `<rect width="100%%" height="100%%" fill="white"/>`+"\n"+`<text x="%d" y="16" font-size="13">%s</text>`+"\n", left, html.EscapeString(title))
	x := left
	for _, c := range colours {
		fill := c.colour
		if fill == "" {
			fill = "#eeeeee"
		}
		fmt.Fprintf(w, `<rect x="%d" y="26" width="12" height="10" fill="%s"/><text x="%d" y="35">%s</text>`+"\n", x, fill, x+16, c.name)
		x += 40 + 7*len(c.name)
	}
	for rank, intervals := range p.rows {
		y := top + rank*rowHeight
		fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="end">rank %d</text><rect x="%d" y="%d" width="%d" height="%d" fill="#eeeeee"/>`+"\n", left-6, y+10, rank, left, y, columns, rowHeight-2)
		state := p.states(intervals)
		for from := 0; from < columns; {
			until := from + 1
			for until < columns && state[until] == state[from] {
				until++
			}
			if state[from] != 0 {
				fmt.Fprintf(w, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", left+from, y, until-from, rowHeight-2, colours[state[from]].colour)
			}
			from = until
		}
	}
	y := height - 14
	for i := range 5 {
		at := units.Duration(p.end) / 4 * units.Duration(i)
		fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="middle">%v</text>`+"\n", left+columns/4*i, y, rounded(at))
	}
	if rest := p.ranks - len(p.rows); rest > 0 {
		fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="end" fill="#666666">and %d more ranks</text>`+"\n", left+columns, 16, rest)
	}
	fmt.Fprintln(w, "</svg>")
	return w.Flush()
}

// states returns what a rank does in each column: bit 0 computes, bit 1 messages.
func (p Picture) states(intervals []interval) []uint8 {
	state := make([]uint8, columns)
	if p.end == 0 {
		return state
	}
	column := func(t units.Time) int { return min(columns-1, int(float64(t)/float64(p.end)*columns)) }
	slices.SortFunc(intervals, func(a, b interval) int { return int(min(1, max(-1, a.from-b.from))) })
	done := [2]int{-1, -1} // columns that are set already
	for _, i := range intervals {
		if i.until <= i.from {
			continue
		}
		bit := 1
		if i.computes {
			bit = 0
		}
		for c := max(column(i.from), done[bit]+1); c <= column(i.until-1); c++ {
			state[c] |= 1 << bit
			done[bit] = c
		}
	}
	return state
}

// rounded returns a time with three digits or so.
func rounded(d units.Duration) units.Duration {
	step := units.Duration(1)
	for d/step >= 10000 {
		step *= 10
	}
	return d / step * step
}
