package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Fault is a fault of a run, in words and times. What it does is in the configurations
// of the nodes that it touches.
type Fault struct {
	Name  string // unique in the run
	Kind  string // see experiment.FaultKinds
	Where []string
	What  string     // in words, such as "link tor0-agg0 is down"
	From  units.Time // when it begins
	Until units.Time // when it ends; units.Never: with the run
	// Reroute is how long after it begins and ends routing follows;
	// experiment.NoReroute: never.
	Reroute units.Duration
}

// Strands reports whether the run has a fault without end that may leave a flow no way.
func (p *Plan) Strands() bool { return slices.ContainsFunc(p.Faults, Fault.strands) }

// FaultsDrop reports whether the run has a fault that drops packets.
func (p *Plan) FaultsDrop() bool { return slices.ContainsFunc(p.Faults, Fault.drops) }

// strands reports whether the fault has no end and may leave a flow no way.
func (f Fault) strands() bool { return f.Until == units.Never && f.drops() }

// drops reports whether the fault drops packets.
func (f Fault) drops() bool { return f.Kind != experiment.LinkRate && f.Kind != experiment.SlowNIC }

// placedFault is a fault and the links, switches or hosts that it names: ids of links of the
// graph, or of nodes.
type placedFault struct {
	experiment.Fault
	places []int
}

// newFaults returns the faults of an experiment, with their names, and behind them those that
// a workload's file has. It finds their places.
func newFaults(e *experiment.Experiment, f *fabric, failures []workloads.Failure) ([]placedFault, error) {
	faults := slices.Clone(e.Faults)
	for i := range faults {
		faults[i].Name = e.FaultName(i)
	}
	more, err := failed(f.graph, failures)
	if err != nil || len(faults)+len(more) == 0 {
		return nil, err
	}
	links, hosts, switches := f.graph.LinkNames(), nodeNames(f.graph.Nodes[:f.graph.Hosts()]), f.switchNames()
	var placed []placedFault
	for i, one := range append(faults, more...) {
		at := fmt.Sprintf("faults[%d].", i)
		key, names, pattern, first := "links", links, one.Links, 0
		switch {
		case one.Switches != "":
			key, names, pattern, first = "switches", switches, one.Switches, len(hosts)
		case one.Hosts != "":
			key, names, pattern = "hosts", hosts, one.Hosts
		}
		var places []int
		if key == "links" {
			places = f.graph.FindLinks(func(name string) bool { return wildcard.Match(pattern, name) })
		} else {
			for id, name := range names {
				if wildcard.Match(pattern, name) {
					places = append(places, first+id)
				}
			}
		}
		if len(places) == 0 {
			return nil, failure.At(at+key, unknownPlace(key, pattern, names))
		}
		if one.Random > len(places) {
			return nil, failure.At(at+"random", fmt.Errorf("%d of the %d %s that %q stands for", one.Random, len(places), key, pattern))
		}
		if err := checkRate(f, &one, places); err != nil {
			return nil, failure.At(at+"rate", err)
		}
		placed = append(placed, placedFault{one, places})
	}
	return placed, nil
}

// failed returns the failures of a workload's file as faults: links that are down from the
// beginning, and that routes avoid, as htsim takes them out of its routes (add_failed_link of
// its fat_tree_topology.cpp).
func failed(g *topologies.Graph, failures []workloads.Failure) (faults []experiment.Fault, err error) {
	if len(failures) == 0 {
		return nil, nil
	}
	upwards := map[string][]string{} // names of links, by the switch at their lower end
	for id, l := range g.Links {
		if l.A.Node >= g.Hosts() {
			name := g.Nodes[l.A.Node].Name
			upwards[name] = append(upwards[name], g.LinkName(id))
		}
	}
	for i, f := range failures {
		links := upwards[fmt.Sprint(f.Tier, f.Switch)]
		if f.Link >= len(links) {
			return nil, failure.At("workload", fmt.Errorf("failure %d of the file: link %d upwards of switch %s%d; it has %d such links", i+1, f.Link, f.Tier, f.Switch, len(links)))
		}
		faults = append(faults, experiment.Fault{Name: fmt.Sprintf("failure-%d", i), Kind: experiment.LinkDown, Links: links[f.Link], Direction: experiment.FaultDirections[0]})
	}
	return faults, nil
}

func nodeNames(nodes []topologies.Node) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	return names
}

// unknownPlace returns the error of a name or a pattern that no link, switch or host has.
func unknownPlace(key, pattern string, names []string) error {
	switch {
	case key == "links":
		return UnknownLink(pattern, names)
	case key == "switches":
		return unknownSwitch(pattern, names)
	}
	return fmt.Errorf("no host is called %q; hosts go from %s to %s", pattern, names[0], names[len(names)-1])
}

// checkRate refuses a rate above that of a link.
func checkRate(f *fabric, one *experiment.Fault, places []int) error {
	for _, id := range places {
		if one.Hosts != "" {
			id = f.up(id).Link
		}
		if one.Switches == "" && one.Rate > f.graph.Links[id].Rate {
			return fmt.Errorf("%v is above the rate of link %s, %v", one.Rate, f.graph.LinkName(id), f.graph.Links[id].Rate)
		}
	}
	return nil
}

// inWords returns what a fault is, without its times. It may be at some of its places alone.
func inWords(f *placedFault, info *Fault) string {
	const most = 4
	kind := "link"
	switch {
	case f.Switches != "":
		kind = "switch"
	case f.Hosts != "":
		kind = "the NIC of host"
	}
	what := kind + " " + info.Where[0]
	plural := map[string]string{"link": "links", "switch": "switches", "the NIC of host": "NICs of hosts"}[kind]
	switch n, places := len(info.Where), len(f.places); {
	case n < places: // others for another seed
		what = fmt.Sprintf("%d of %d %s %s", n, places, plural, f.Links+f.Switches+f.Hosts)
	case n > 1:
		what = fmt.Sprintf("%d %s (%s", n, plural, strings.Join(info.Where[:min(n, most)], ", "))
		if n > most {
			what += ", …"
		}
		what += ")"
	}
	left := f.Rate.String()
	if f.Rate == 0 {
		left = fmt.Sprintf("%g %% of the rate", f.Share*100)
	}
	lost := fmt.Sprintf("%g %% of the packets", f.Share*100)
	if f.Burst > 0 {
		lost += fmt.Sprintf(" in bursts of %g", f.Burst)
	}
	direction := map[string]string{directionUp: " away from the hosts", directionDown: " towards the hosts"}[f.Direction]
	switch f.Kind {
	case experiment.LinkDown:
		return what + " down"
	case experiment.SwitchRestart:
		return what + " restarting"
	case experiment.Loss:
		return what + direction + " losing " + lost
	case experiment.Corruption:
		return what + direction + " corrupting " + lost
	}
	if f.Buffers == experiment.BuffersKept {
		left += ", with the queues of the whole rate"
	}
	return what + direction + " at " + left
}
