package forward

import (
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Register adds an algorithm to Table. It is for the init functions of modules that
// csiglab build compiles in (docs/how-to/extend.md). An algorithm whose name is taken, or that
// lacks something, is not added; csiglab and the node programs then say so and do not
// start (modules.Check).
func Register(a Algorithm) {
	lacks := append(a.Lacks(), algorithm.Taken(Table, a.Name)...)
	var ok bool
	if a.Module, ok = modules.Register(modules.Caller(1), "routing", a.Name, lacks); ok {
		Table = append(Table, a)
	}
}

// Lacks returns what an algorithm lacks, in sentences that say where it goes. It builds a
// policy of a switch with one port; the suite forwardtest sends packets.
func (a Algorithm) Lacks() []string {
	lacks, sound := a.Spec.BuilderLacks(a.Build != nil, "a policy")
	if !sound {
		return lacks
	}
	ecmp := NewECMP(Config{Routes: topologies.NewRoutes([]uint16{0})})
	s := Switch{ECMP: &ecmp, Queued: func(int) units.Size { return 0 }, Random: rand.New(rand.NewPCG(1, 1))}
	if _, lack := algorithm.BuildLacks(a.Spec, nil, func() (Policy, error) { return a.New(s, nil) }); lack != "" {
		lacks = append(lacks, lack)
	}
	return lacks
}
