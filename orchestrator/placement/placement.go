// Package placement cuts the fabric of a plan into parts that run on several machines: it
// cuts where the lookahead is largest, then balances the predicted load, then lets the
// fewest frames cross. It predicts what the cut costs.
package placement

import (
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Placement is which node of a plan runs in which part, and what that costs.
type Placement struct {
	Of    []int // by node: its part; every part has a node
	Parts []Part
	Links []int // IDs of the graph's links that are cut, ascending
	// Lookahead is the smallest of a cut link (or control link between parts): a window in
	// which parts advance without each other.
	Lookahead units.Duration
	Crossing  float64 // predicted frames on cut links, both directions
	Exchanges float64 // predicted exchanges of bounds in lockstep
	Slowdown  float64 // predicted wall time in lockstep, as a multiple of one machine's
}

// Part is one part of a placement.
type Part struct {
	Hosts, Switches int
	Load            float64 // predicted share of the run's work, of 1
}

// Cut cuts a plan into so many parts. The same plan is always cut alike. An error says why
// there can be no such cut: more parts than nodes, or links without any lookahead.
func Cut(p *plan.Plan, parts int) (*Placement, error) {
	panic("not built yet")
}
