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

// Runtime is a place where nodes run.
type Runtime struct {
	Name   string
	Doc    string   // one line
	Clocks []string // that it runs under; the first is taken where none is named
	// Program is the one that is linked with the runtime's backend; "": all of them.
	Program string
}

// table is ordered: where a clock alone is named, the first runtime that runs
// under it is taken.
var table = []Runtime{
	{Name: Inproc, Doc: "this process", Clocks: []string{Virtual}},
	{Name: Netns, Doc: "real frames, a network namespace per node", Clocks: []string{Lockstep, Wall}},
	{Name: Containerlab, Doc: "real frames, a container per node", Clocks: []string{Lockstep, Wall}, Program: programs.Lab},
	{Name: Kubernetes, Doc: "real frames, in the pods of a cluster", Clocks: []string{Lockstep, Wall}, Program: programs.Cluster},
}

// clocks has each clock with why a runtime without it does not have it; %s is the
// runtime's name.
var clocks = []struct{ name, why, instead string }{
	{Virtual, "nodes of their own keep in step with lockstep", Lockstep},
	{Lockstep, "the runtime %s has no frames to keep in step", ""},
	{Wall, "the runtime %s has no frames to send in time", ""},
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
