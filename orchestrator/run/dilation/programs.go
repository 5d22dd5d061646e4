package dilation

import (
	"fmt"
	"math"

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

// alone says so if a single link asks for a dilation much larger than all others do. "": none does.
func (c *calibration) alone(p *plan.Plan, w estimate.Work, dilation float64) string {
	links := p.Graph.Links
	if len(links) < 2 {
		return ""
	}
	fastest := 0
	for i, l := range links {
		if l.Rate > links[fastest].Rate {
			fastest = i
		}
	}
	second := units.Rate(0)
	for i, l := range links {
		if i != fastest {
			second = max(second, l.Rate)
		}
	}
	slower := *p
	graph := *p.Graph
	graph.Links = append(graph.Links[:0:0], links...)
	graph.Links[fastest].Rate, slower.Graph = second, &graph
	if without := c.dilation(&slower, w); without*muchLess <= dilation {
		return fmt.Sprintf("link %s alone asks for this dilation, by its rate: with %v, as the fastest of the others has, dilation %v would do",
			p.Links[fastest].Name, second, without)
	}
	return ""
}

// rough returns a number of two digits, and the rest zeros.
func rough(v float64) int64 {
	digit := math.Pow(10, max(0, math.Floor(math.Log10(max(1, v)))-1))
	return int64(math.Round(v/digit) * digit)
}
