package dilation

import (
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/units"
)

// forPrograms returns what the user of programs should know of a dilation, in sentences: how the
// fabric looks to them, and whether their packets fit this machine. chosen says that this machine chose
// it. Programs have the clock of the machine, not the model's.
func forPrograms(p *plan.Plan, w estimate.Work, dilation float64, chosen bool) (texts []string) {
	if len(p.ApplicationHosts()) == 0 {
		return nil
	}
	if dilation > 1 {
		fastest, rtt := units.Rate(0), p.Path.NetworkRTT
		for _, l := range p.Graph.Links {
			fastest = max(fastest, l.Rate)
		}
		texts = append(texts, fmt.Sprintf("programs see the fabric %v times slower: a link of %v as one of %v, and a round trip of %v takes %v",
			dilation, fastest, units.Rate(rough(float64(fastest)/dilation)), units.Duration(rough(float64(rtt))), units.Duration(rough(float64(rtt)*dilation))))
	}
	here, of := known(len(p.Nodes))
	if text := here.alone(p, w, dilation); chosen && text != "" {
		texts = append(texts, text)
	}
	if load := here.load(p, w) / dilation; !chosen && load > 1 {
		texts = append(texts, fmt.Sprintf("if programs fill their links, the run will be INVALID: their packets take %.2g times what all processors of %s can do at dilation %v; dilation %v holds, --dilation or wall.dilation sets it",
			load, of, dilation, here.dilation(p, w)))
	}
	return texts
}

// muchLess is from which factor on a dilation is worth to be asked for.
const muchLess = 4

// alone says so if the fastest links, which are less than half of all, ask for a dilation much larger
// than the others do. "": they do not.
func (c *calibration) alone(p *plan.Plan, w estimate.Work, dilation float64) string {
	links := p.Graph.Links
	first, second := units.Rate(0), units.Rate(0)
	for _, l := range links {
		if l.Rate > first {
			first, second = l.Rate, first
		} else if l.Rate < first {
			second = max(second, l.Rate)
		}
	}
	slower, graph := *p, *p.Graph
	slower.Graph, graph.Links = &graph, slices.Clone(links)
	var names []string
	for i := range links {
		if links[i].Rate == first {
			names, graph.Links[i].Rate = append(names, p.Links[i].Name), second
		}
	}
	if second == 0 || 2*len(names) >= len(links) {
		return ""
	}
	without := c.dilation(&slower, w)
	if without*muchLess > dilation {
		return ""
	}
	what := "link " + names[0] + " alone asks"
	if n := len(names) - 1; n > 0 {
		what = fmt.Sprintf("link %s and %s alone ask", names[0], spelling.Plural(n, "other"))
	}
	return fmt.Sprintf("%s for this dilation, by rate: with %v, as the fastest of the rest, dilation %v would do", what, second, without)
}

// rough returns a number of two digits, and the rest zeros.
func rough(v float64) int64 {
	digit := math.Pow(10, max(0, math.Floor(math.Log10(max(1, v)))-1))
	return int64(math.Round(v/digit) * digit)
}
