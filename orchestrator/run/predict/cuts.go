package predict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/parts"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Cut is how a fabric is cut into parts, which is alike for some variants, and what
// that costs each of them.
type Cut struct {
	Parts     []CutPart `json:"parts"`
	Links     []string  `json:"cutLinks"`
	Control   int       `json:"cutControlLinks,omitempty"`
	Lookahead string    `json:"lookahead"`
	Variants  []CutCost `json:"variants"`

	of []int
}

// CutPart is a part of a fabric.
type CutPart struct {
	Hosts    int      `json:"hosts"`
	Switches int      `json:"switches"`
	Load     float64  `json:"predictedLoad"` // share, of 1, in the first of the variants
	Nodes    []string `json:"nodes"`
}

// CutCost is what a cut is predicted to cost a variant: under clock lockstep, one run.
type CutCost struct {
	Name      string  `json:"name"`
	Crossing  float64 `json:"predictedCrossingFrames"`
	Exchanges float64 `json:"predictedExchanges,omitempty"`
	Seconds   float64 `json:"predictedSeconds,omitempty"`
	Slowdown  float64 `json:"predictedSlowdown,omitempty"`
}

// addCut adds the cut of a variant's plan to those of the variants before it.
func addCut(cuts []Cut, variant string, clock string, p *plan.Plan, n int) ([]Cut, error) {
	placed, err := parts.Cut(p, n)
	if err != nil {
		return cuts, err
	}
	i := slices.IndexFunc(cuts, func(c Cut) bool { return slices.Equal(c.of, placed.Of) })
	if i < 0 {
		i = len(cuts)
		cuts = append(cuts, newCut(p, placed))
	}
	cost := CutCost{Name: variant, Crossing: placed.Crossing}
	if !(runtimes.Way{Clock: clock}).Has(runtimes.RealTime) { // in real time there are no exchanges
		cost.Exchanges, cost.Seconds, cost.Slowdown = placed.Exchanges, placed.Seconds, placed.Slowdown
	}
	cuts[i].Variants = append(cuts[i].Variants, cost)
	return cuts, nil
}

func newCut(p *plan.Plan, placed *parts.Placement) Cut {
	c := Cut{Links: []string{}, Control: placed.Control, Lookahead: placed.Lookahead.String(), of: placed.Of}
	for _, part := range placed.Parts {
		c.Parts = append(c.Parts, CutPart{Hosts: part.Hosts, Switches: part.Switches, Load: part.Load})
	}
	for node, part := range placed.Of {
		c.Parts[part].Nodes = append(c.Parts[part].Nodes, p.Graph.Nodes[node].Name)
	}
	for _, id := range placed.Links {
		c.Links = append(c.Links, p.Links[id].Name)
	}
	return c
}

// shownCutLinks bounds the list of cut links in words; JSON has them all.
const shownCutLinks = 8

// text returns the cut in words. It names the variants if there are several.
func (c *Cut) text(variants int) string {
	of := ""
	if variants > 1 {
		names := make([]string, len(c.Variants))
		for i, v := range c.Variants {
			names[i] = v.Name
		}
		of = " of " + strings.Join(names, ", ")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s:\n", spelling.Plural(len(c.Parts), "part"), of)
	for i, part := range c.Parts {
		fmt.Fprintf(&b, "  part %d: %s, %s, %.0f %% of the load\n", i, spelling.Plural(part.Hosts, "host"), spelling.Plural(part.Switches, "switch"), 100*part.Load)
	}
	if len(c.Links)+c.Control == 0 {
		return b.String()
	}
	links := strings.Join(c.Links[:min(len(c.Links), shownCutLinks)], " ")
	if more := len(c.Links) - shownCutLinks; more > 0 {
		links += fmt.Sprintf(" and %d more", more)
	}
	if c.Control > 0 {
		links += fmt.Sprintf("; %s", spelling.Plural(c.Control, "control link"))
	}
	fmt.Fprintf(&b, "  %s cut, lookahead %s: %s\n", spelling.Plural(len(c.Links), "link"), c.Lookahead, links)
	for _, v := range c.Variants {
		name := ""
		if variants > 1 {
			name = v.Name + ": "
		}
		fmt.Fprintf(&b, "  %sabout %.0f frames cross", name, v.Crossing)
		if v.Exchanges > 0 {
			fmt.Fprintf(&b, "; in lockstep about %.0f exchanges, %s", v.Exchanges, Roughly(time.Duration(v.Seconds*float64(time.Second))))
		}
		if v.Slowdown > 0 {
			fmt.Fprintf(&b, ", %.2f times one machine's time", v.Slowdown)
		}
		b.WriteString("\n")
	}
	return b.String()
}
