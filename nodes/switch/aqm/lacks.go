package aqm

import (
	"fmt"
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/units"
)

// Register adds an algorithm to Table. It is for the init functions of modules that
// csiglab build compiles in (docs/how-to/extend.md). An algorithm whose name is taken, or that
// lacks something, is not added; csiglab and the node programs then say so and do not
// start (modules.Check).
func Register(a Algorithm) {
	lacks := append(a.Lacks(), algorithm.Taken(Table, a.Name)...)
	var ok bool
	if a.Module, ok = modules.Register(modules.Caller(1), "aqm", a.Name, lacks); ok {
		Table = append(Table, a)
	}
}

// Lacks returns what an algorithm lacks, in sentences that say where it goes. It builds a
// policy and asks it about a packet from an idle port; the suite aqmtest tries more.
func (a Algorithm) Lacks() []string {
	lacks, sound := a.Spec.BuilderLacks(a.Build != nil, "a policy")
	if !sound {
		return lacks
	}
	// A port of the reference simulator's 3-tier fat tree at 100 Gbps.
	port := Port{Rate: 100 * units.Gbps, Queue: 178_450, ECN: Thresholds{Low: 37_350, High: 145_250}, Random: rand.New(rand.NewPCG(1, 1))}
	p, lack := algorithm.BuildLacks(a.Spec, nil, func() (Policy, error) { return a.New(port, nil) })
	if lack == "" {
		lack = a.idle(p)
	}
	if lack != "" {
		lacks = append(lacks, lack)
	}
	return lacks
}

// idle asks a policy about a packet from an idle port and returns what is wrong, "" if
// nothing is.
func (a Algorithm) idle(p Policy) (lack string) {
	defer func() {
		if caught := recover(); caught != nil {
			lack = fmt.Sprintf("the policy of %s panics: %v", a.Name, caught)
		}
	}()
	if p.Mark(units.Time(units.Microsecond), Departure{}) {
		return fmt.Sprintf("Mark of %s marks a packet from an idle port, where nothing is queued and nothing has waited", a.Name)
	}
	return ""
}
