// Package runtimes is the table of runtimes (places where nodes run) and of clocks
// (ways in which model time passes), with the rule which runtime runs under which
// clock. It holds names and runs nothing: the experiment file, the commands and the
// backends import it.
package runtimes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// Names of runtimes.
const (
	Inproc       = "inproc"       // in this process
	Netns        = "netns"        // a network namespace per node
	Containerlab = "containerlab" // a container per node
	Kubernetes   = "kubernetes"   // the pods of a cluster, and in them a network namespace per node
)

// Names of clocks.
const (
	Virtual  = "virtual"  // model time jumps from event to event
	Lockstep = "lockstep" // nodes advance together, each only to the point before which no further frame can arrive
	Wall     = "wall"     // real time, dilated
)

// Capability is what some runtimes or some clocks offer, and others do not. Whoever wants to know
// what a run can do asks for it, and compares no names.
type Capability string

// Capabilities of runtimes.
const (
	RealFrames      Capability = "real frames"      // nodes exchange frames over links of a kernel
	Containers      Capability = "containers"       // a node is a container of the machine's engine
	SharedProcesses Capability = "shared processes" // a process can drive several nodes
	Shards          Capability = "shards"           // a run can be cut into parts
	RealTimeShards  Capability = "real-time shards" // also in real time
	Cluster         Capability = "cluster"          // nodes run in a cluster that a context names, from an image
)

// Capabilities of clocks.
const (
	RealTime   Capability = "real time"    // model time is time of the machine, dilated: for programs and labs
	Repeatable Capability = "repeatable"   // equal runs have equal traces
	SideBySide Capability = "side by side" // runs that share a machine do not change each other
	Untraced   Capability = "untraced"     // the trace hash can be left out
)

// Runtime is a place where nodes run.
type Runtime struct {
	Name   string
	Doc    string       // one line
	Clocks []string     // that it runs under; the first is taken where none is named
	Offers []Capability // of runtimes
	// Program is the one that is linked with the runtime's backend; "": all of them.
	Program string
}

// table is ordered: where a clock alone is named, the first runtime that runs
// under it is taken.
var table = []Runtime{
	{Name: Inproc, Doc: "this process", Clocks: []string{Virtual}},
	{Name: Netns, Doc: "real frames, a network namespace per node", Clocks: []string{Lockstep, Wall}, Offers: []Capability{RealFrames, SharedProcesses, Shards}},
	{Name: Containerlab, Doc: "real frames, a container per node", Clocks: []string{Lockstep, Wall}, Offers: []Capability{RealFrames, Containers}, Program: programs.Lab},
	{Name: Kubernetes, Doc: "real frames, in the pods of a cluster", Clocks: []string{Lockstep, Wall}, Offers: []Capability{RealFrames, SharedProcesses, Shards, RealTimeShards, Cluster}, Program: programs.Cluster},
}

// clocks has each clock with why a runtime without it does not have it; %s is the
// runtime's name.
var clocks = []struct {
	name, why, instead string
	offers             []Capability
}{
	{Virtual, "nodes of their own keep in step with lockstep", Lockstep, []Capability{Repeatable, SideBySide, Untraced}},
	{Lockstep, "the runtime %s has no frames to keep in step", "", []Capability{Repeatable}},
	{Wall, "the runtime %s has no frames to send in time", "", []Capability{RealTime}},
}

// Way is where and how a run runs: the names of a runtime and of a clock. Either may be empty
// where only the other matters.
type Way struct{ Runtime, Clock string }

// Has reports whether the runtime or the clock offers a capability.
func (w Way) Has(c Capability) bool {
	runtime, clock := With(c)
	return slices.Contains(runtime, w.Runtime) || slices.Contains(clock, w.Clock)
}

// With returns the names of the runtimes and of the clocks that offer a capability, in order.
func With(c Capability) (runtime, clock []string) {
	for _, r := range table {
		if slices.Contains(r.Offers, c) {
			runtime = append(runtime, r.Name)
		}
	}
	for _, k := range clocks {
		if slices.Contains(k.offers, c) {
			clock = append(clock, k.name)
		}
	}
	return runtime, clock
}

// Need is what an option asks of the way of a run.
type Need struct {
	Option string // its flag; "": an experiment asks
	Of     Capability
	Else   string // what to say where the way does not have it
}

// Unmet returns the first need that the way does not meet, nil if it meets all.
func (w Way) Unmet(needs []Need) *Need {
	for i := range needs {
		if !w.Has(needs[i].Of) {
			return &needs[i]
		}
	}
	return nil
}

// Add adds a runtime to the table, unless it is there. A backend that is not one of
// csiglab's own is added before an experiment is read.
func Add(r Runtime) {
	if !slices.Contains(Names(), r.Name) {
		table = append(table, r)
	}
}

// Get returns a runtime of the table. It panics if there is none of that name.
func Get(name string) Runtime {
	for _, r := range table {
		if r.Name == name {
			return r
		}
	}
	panic("runtimes: no runtime " + name)
}

// Names returns the names of the runtimes in order.
func Names() (names []string) {
	for _, r := range table {
		names = append(names, r.Name)
	}
	return names
}

// Clocks returns the names of the clocks in order.
func Clocks() (names []string) {
	for _, c := range clocks {
		names = append(names, c.name)
	}
	return names
}

// Fits reports whether the runtime runs under the clock.
func Fits(runtime, clock string) bool { return slices.Contains(clocksOf(runtime), clock) }

// clocksOf returns the clocks of a runtime, the one taken where none is named
// first; nil for an unknown runtime.
func clocksOf(runtime string) []string {
	for _, r := range table {
		if r.Name == runtime {
			return r.Clocks
		}
	}
	return nil
}

// Of returns the runtimes that run under a clock, the one taken where none is
// named first; nil for an unknown clock.
func Of(clock string) (names []string) {
	for _, r := range table {
		if slices.Contains(r.Clocks, clock) {
			names = append(names, r.Name)
		}
	}
	return names
}

// Settle returns the runtime and the clock of a choice. Each argument is what was
// named, or empty; fallbackRuntime and fallbackClock are taken where nothing was
// named. Where one of the two alone is named, the other follows: its fallback if
// that fits, the first that fits otherwise. Names that the table does not have, and
// two that do not fit, are returned as they are.
func Settle(runtime, clock, fallbackRuntime, fallbackClock string) (string, string) {
	switch {
	case runtime != "" && clock != "":
		return runtime, clock
	case runtime != "":
		if known := clocksOf(runtime); len(known) > 0 && !Fits(runtime, fallbackClock) {
			return runtime, known[0]
		}
		return runtime, fallbackClock
	case clock != "":
		if known := Of(clock); len(known) > 0 && !Fits(fallbackRuntime, clock) {
			return known[0], clock
		}
		return fallbackRuntime, clock
	}
	return fallbackRuntime, fallbackClock
}

// Misfit returns why the runtime does not run under the clock, and the clock that
// was probably meant, or "". Both names are of the table.
func Misfit(runtime, clock string) (msg, suggestion string) {
	for _, c := range clocks {
		if c.name == clock {
			why := strings.ReplaceAll(c.why, "%s", runtime)
			return fmt.Sprintf("%s needs runtime %s; %s", clock, lines.Alternatives(Of(clock)), why), c.instead
		}
	}
	return fmt.Sprintf("%s is no clock; want %s", clock, lines.Alternatives(Clocks())), ""
}

// Summary returns which runtimes run under which clocks, in words.
func Summary() string {
	var parts []string
	for i := 0; i < len(table); {
		with := table[i].Clocks
		var names []string
		for ; i < len(table) && slices.Equal(table[i].Clocks, with); i++ {
			names = append(names, table[i].Name)
		}
		parts = append(parts, lines.Alternatives(names)+" with "+lines.Alternatives(with))
	}
	return strings.Join(parts, ", ")
}
