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
}

// Limits of the estimated cost of an experiment's fabric: with them, it is built and its paths are found
// within 5 s and 500 MB (docs/reliability.md#hostile-files). The fat tree of 48-port
// switches, 27,648 hosts, is the largest of its kind that fits.
const (
	MaxMemory = 280 * units.MB
	MaxSteps  = 130_000_000
)

// Estimates of Memory, measured with fat trees of 16- to 48-port switches.
const (
	memoryPerHost = 1500 * units.Byte
	memoryPerLink = 800 * units.Byte
	memoryOfRoute = 2 * units.Byte
)

// Memory estimates the memory of the fabric's nodes, links and routes.
func (s Size) Memory() units.Size {
	return units.Size(s.Hosts)*memoryPerHost + units.Size(int64(s.HostLinks)+s.SwitchLinks)*memoryPerLink +
		units.Size(s.Hosts)*units.Size(s.Switches)*memoryOfRoute
}

// Steps estimates the steps of a search for all paths: from each rack over each link
// between switches, in both directions.
func (s Size) Steps() int64 { return int64(s.Racks) * 2 * s.SwitchLinks }

// Excess returns which limit the fabric exceeds and by what estimate, "" if none.
func (s Size) Excess() string {
	if m := s.Memory(); m > MaxMemory {
		return fmt.Sprintf("%d hosts, %d switches and %d links would take an estimated %d MB; the limit is %d MB",
			s.Hosts, s.Switches, int64(s.HostLinks)+s.SwitchLinks, m/units.MB, MaxMemory/units.MB)
	}
	if n := s.Steps(); n > MaxSteps {
		return fmt.Sprintf("the paths from %d switches with hosts over %d links between switches would take an estimated %d million steps; the limit is %d million",
			s.Racks, s.SwitchLinks, n/1e6, MaxSteps/1_000_000)
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
			continue
		}
		s.HostLinks++
	}
	s.Racks = len(racks)
	return s
}
