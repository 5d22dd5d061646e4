package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/experiment/validity"
)

// Sizes of the picture.
const (
	cellWidth, cellHeight = 66, 34
	leftMargin, topMargin = 92, 46
	panelGap              = 76
)

// validityPicture returns the map as SVG: a panel per rate, a cell per point. A cell has its figure
// as text, so that colour is not needed; a thick line parts gain from loss.
func validityPicture(points []validity.Point) string {
	var b strings.Builder
	rates := coordinates(points, func(p validity.Point) float64 { return float64(p.Rate) })
	y := 0
	for _, rate := range rates {
		panel := slices.DeleteFunc(slices.Clone(points), func(p validity.Point) bool { return float64(p.Rate) != rate })
		y = drawPanel(&b, panel, y)
	}
	width := leftMargin + 8*cellWidth + 16
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="11" role="img" aria-label="change of the victims' times by CSIG max(Delay)">
<rect width="100%%" height="100%%" fill="#fff"/>
`, width, y, width, y) + b.String() + "</svg>\n"
}

func coordinates(points []validity.Point, of func(validity.Point) float64) (list []float64) {
	for _, p := range points {
		list = append(list, of(p))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// drawPanel draws the points of one rate below y and returns where it ends.
func drawPanel(b *strings.Builder, points []validity.Point, y int) int {
	bdps := coordinates(points, func(p validity.Point) float64 { return p.BDP })
	flows := coordinates(points, func(p validity.Point) float64 { return p.Flows })
	top := y + topMargin
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" font-size=\"13\" font-weight=\"bold\">%v: change of the victims' times by CSIG, in %%</text>\n", leftMargin, y+20, points[0].Rate)
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" fill=\"#444\">small: packets of BDP per flow; in brackets: 95 %% interval holds 0</text>\n", leftMargin, y+36)
	bottom := top + len(flows)*cellHeight
	grid := map[[2]int]validity.Point{}
	for _, p := range points {
		grid[[2]int{slices.Index(bdps, p.BDP), slices.Index(flows, p.Flows)}] = p
	}
	corner := func(i, j int) (int, int) { return leftMargin + i*cellWidth, bottom - (j+1)*cellHeight }
	for j, f := range flows {
		_, cy := corner(0, j)
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.1f</text>\n", leftMargin-6, cy+cellHeight/2+4, f)
		for i := range bdps {
			p, ok := grid[[2]int{i, j}]
			if !ok {
				continue
			}
			cx, cy := corner(i, j)
			fill, ink := colour(p.Ratio)
			text := fmt.Sprintf("%+.0f", extraTime(p.Ratio))
			if p.Low <= 1 && 1 <= p.High {
				text = "(" + text + ")"
			}
			fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"><title>%+.0f to %+.0f %%</title></rect>\n", cx, cy, cellWidth, cellHeight, fill, extraTime(p.High), extraTime(p.Low))
			fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"%s\">%s</text>\n", cx+cellWidth/2, cy+15, ink, text)
			fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"8\" fill=\"%s\">%.1f</text>\n", cx+cellWidth/2, cy+28, ink, p.BDP/p.Flows)
		}
	}
	var edges []string
	for j := range flows {
		for i := range bdps {
			cx, cy := corner(i, j)
			if signChanges(grid, [2]int{i, j}, [2]int{i + 1, j}) {
				edges = append(edges, fmt.Sprintf("M%d %dv%d", cx+cellWidth, cy, cellHeight))
			}
			if signChanges(grid, [2]int{i, j}, [2]int{i, j + 1}) {
				edges = append(edges, fmt.Sprintf("M%d %dh%d", cx, cy, cellWidth))
			}
		}
	}
	fmt.Fprintf(b, "<path d=\"%s\" stroke=\"#000\" stroke-width=\"3\" stroke-linecap=\"square\" fill=\"none\"/>\n", strings.Join(edges, ""))
	for i, v := range bdps {
		cx, _ := corner(i, 0)
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", cx+cellWidth/2, bottom+15, v)
	}
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">BDP of the path, packets</text>\n", leftMargin, bottom+31)
	fmt.Fprintf(b, "<text x=\"16\" y=\"%d\" transform=\"rotate(-90 16 %d)\" text-anchor=\"middle\">flows per link</text>\n", (top+bottom)/2, (top+bottom)/2)
	return bottom + panelGap - topMargin + 10
}

// extraTime returns how much longer a flow takes at 1/ratio times its rate, in %.
func extraTime(ratio float64) float64 { return 100 * (1/ratio - 1) }

// signChanges reports whether the sign changes between two cells that both exist.
func signChanges(grid map[[2]int]validity.Point, a, b [2]int) bool {
	p, okP := grid[a]
	q, okQ := grid[b]
	return okP && okQ && (p.Ratio < 1) != (q.Ratio < 1)
}

// colour returns a cell's colour and that of its text: orange where CSIG lengthens, blue
// where it shortens, darker the more.
func colour(ratio float64) (fill, ink string) {
	orange := []string{"#fef0e0", "#fdd0a2", "#fdae6b", "#e6781e"}
	blue := []string{"#e8f1fa", "#bdd7ee", "#7fb3dd", "#1f5fa0"}
	step := min(3, int(math.Abs(math.Log2(ratio))/0.25))
	if ratio < 1 {
		return orange[step], "#000"
	}
	if ink = "#000"; step == 3 {
		ink = "#fff"
	}
	return blue[step], ink
}
