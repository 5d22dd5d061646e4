package balance

import (
	"fmt"
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Register adds an algorithm to Table. It is for the init functions of modules that
// csiglab build compiles in (docs/how-to/extend.md). An algorithm whose name is taken, or that
// lacks something, is not added; csiglab and the node programs then say so and do not
// start (modules.Check).
func Register(a Algorithm) {
	lacks := append(a.Lacks(), algorithm.Taken(Table, a.Name)...)
	var ok bool
	if a.Module, ok = modules.Register(modules.Caller(1), "lb", a.Name, lacks); ok {
		Table = append(Table, a)
	}
}

// Lacks returns what an algorithm lacks, in sentences that say where it goes. It builds a
// balancer and asks it for some EVs; the suite balancetest tries more.
func (a Algorithm) Lacks() []string {
	lacks, sound := a.Spec.BuilderLacks(a.Build != nil, "a balancer")
	if !sound {
		return lacks
	}
	flow := Flow{ID: 1, Random: rand.New(rand.NewPCG(1, 1)), NetworkRTT: 14_022_720, MTU: 4150, Trim: true, Interval: 10 * units.Microsecond}
	b, lack := algorithm.BuildLacks(a.Spec, nil, func() (Balancer, error) { return a.New(flow, nil) })
	if lack == "" {
		lack = a.firstEVs(b)
	}
	if lack != "" {
		lacks = append(lacks, lack)
	}
	return lacks
}

// firstEVs asks a balancer for EVs and returns what is wrong, "" if nothing is.
func (a Algorithm) firstEVs(b Balancer) (lack string) {
	defer func() {
		if p := recover(); p != nil {
			lack = fmt.Sprintf("the balancer of %s panics: %v", a.Name, p)
		}
	}()
	for _, outcome := range []Outcome{Good, Marked, Trimmed, Lost} {
		ev := b.Next(0)
		if ev >= wire.EntropyRange {
			return fmt.Sprintf("Next of %s returns the EV %d; EVs lie below wire.EntropyRange, %d", a.Name, ev, wire.EntropyRange)
		}
		b.OnFeedback(0, &Feedback{EV: ev, Outcome: outcome})
	}
	return ""
}
