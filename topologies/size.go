package topologies

import (
	"fmt"

	"github.com/csiglab/csiglab/units"
)

// Size is how large a fabric will be, known before it is built.
type Size struct {
	Hosts, Switches int
	Racks           int   // switches with hosts
	HostLinks       int   // between a host and a switch
	SwitchLinks     int64 // between two switches
	PodLinks        bool  // switches of different pods share links, as in a Dragonfly
}

// Limits bound the estimated cost of an experiment's fabric.
type Limits struct {
	Memory units.Size
	Steps  int64
}

// Checked are the limits within which a fabric is built and its paths are found within 5 s and
// 500 MB (docs/explanation/reliability.md#hostile-files). The fat tree of 64-port switches, 65,536
// hosts, is the largest of its kind that fits. Largest are those of fabrics that run: 262,144 hosts
// fit.
var (
	Checked = Limits{280 * units.MB, 130_000_000}
	Largest = Limits{1200 * units.MB, 700_000_000}
)

// Estimates of Memory, measured with fat trees of 16- to 64-port switches.
const (
	memoryPerHost = 1500 * units.Byte
	memoryPerLink = 800 * units.Byte
	memoryOfRoute = 4 * units.Byte // of a switch to a block of hosts
)

// stepsAtOnce is how many steps of searches from single racks a step of a sweep is worth,
// measured with fat trees.
const stepsAtOnce = 8

// Memory estimates the memory of the fabric's nodes, links and routes.
func (s Size) Memory() units.Size {
	return units.Size(s.Hosts)*memoryPerHost + units.Size(int64(s.HostLinks)+s.SwitchLinks)*memoryPerLink +
		units.Size(s.Hosts/HostsPerBlock)*units.Size(s.Switches)*memoryOfRoute
}

// Steps estimates the steps of a search for all paths: from each rack over each link
// between switches, in both directions. Where no link joins two pods, the search goes
// from many racks at once.
func (s Size) Steps() int64 {
	steps := int64(s.Racks) * 2 * s.SwitchLinks
	if !s.PodLinks {
		steps /= stepsAtOnce
	}
	return steps
}

// Excess returns which of the limits the fabric exceeds and by what estimate, "" if none.
func (s Size) Excess(l Limits) string {
	if m := s.Memory(); m > l.Memory {
		return fmt.Sprintf("%d hosts, %d switches and %d links would take an estimated %d MB; the limit is %d MB",
			s.Hosts, s.Switches, int64(s.HostLinks)+s.SwitchLinks, m/units.MB, l.Memory/units.MB)
	}
	if n := s.Steps(); n > l.Steps {
		return fmt.Sprintf("the paths from %d switches with hosts over %d links between switches would take an estimated %d million steps; the limit is %d million",
			s.Racks, s.SwitchLinks, n/1e6, l.Steps/1_000_000)
	}
	return ""
}

// Size returns the size of a graph.
func (g *Graph) Size() Size {
	s := Size{Hosts: g.Hosts()}
	s.Switches = len(g.Nodes) - s.Hosts
	racks := make(map[int]bool)
	for _, l := range g.Links {
		switch {
		case g.Nodes[l.A.Node].Kind == Host:
			racks[l.B.Node] = true
		case g.Nodes[l.B.Node].Kind == Host:
			racks[l.A.Node] = true
		default:
			s.SwitchLinks++
			s.PodLinks = s.PodLinks || g.betweenPods(l.A.Node, l.B.Node)
			continue
		}
		s.HostLinks++
	}
	s.Racks = len(racks)
	return s
}
