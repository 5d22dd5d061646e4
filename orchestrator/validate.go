package orchestrator

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Figures of docs/performance.md that predictions are made of.
const (
	virtualHop  = 170e-9 // seconds of CPU for a packet-hop in virtual time
	lockstepHop = 3.5e-6 // wall seconds for a frame-hop in lockstep on two cores
	acksPerData = 0.8
)

// Validation is what is known of an experiment before it runs.
type Validation struct {
	Hosts, Switches, Links int
	Counts                 topologies.Counts
	Flows                  int
	Bytes                  int64
	Runs                   int
	Notes                  []string // of how the inputs were read
	// PacketHops is the estimated number of transmissions of one run, and
	// ModelTime the fluid bound on its length.
	PacketHops int64
	ModelTime  units.Duration
	// Predicted wall seconds of all runs, in virtual time, in lockstep and in real
	// time; the last with the dilation that auto would choose unless one is set.
	VirtualSeconds, LockstepSeconds, WallSeconds float64
}

// Validate compiles every variant, deploys nothing and predicts how long the
// experiment takes. Its error wraps ErrConfiguration.
func Validate(set *experiment.Set) (*Validation, error) {
	v := &Validation{}
	for i, variant := range set.Variants {
		f, err := newFabric(variant.Experiment)
		if err != nil {
			return nil, inVariant(set, i, err)
		}
		p, err := f.plan(variant.Experiment.Seeds[0])
		if err != nil {
			return nil, inVariant(set, i, err)
		}
		if n := len(p.Programs); n > 0 {
			f.notes = append(f.notes, fmt.Sprintf("how long programs take is not predicted; here are %d, on %d hosts", n, len(p.Shims)))
		}
		for _, n := range f.notes {
			if !slices.Contains(v.Notes, n) {
				v.Notes = append(v.Notes, n)
			}
		}
		hops, length := estimate(f.graph, f.workload, f.path)
		runs := len(variant.Experiment.Seeds)
		v.Runs += runs
		v.VirtualSeconds += float64(runs) * float64(hops) * virtualHop / float64(runtime.NumCPU())
		v.LockstepSeconds += float64(runs) * float64(hops) * lockstepHop
		dilation := float64(set.Base.Wall.Dilation)
		if dilation == 0 {
			c, ok := cachedCalibration(len(f.graph.Nodes))
			if !ok {
				c = measured
			}
			dilation = c.dilation(p)
		}
		v.WallSeconds += float64(runs) * length.Seconds() * dilation
		if i == 0 {
			v.Hosts, v.Switches, v.Links = f.graph.Hosts(), len(f.graph.Nodes)-f.graph.Hosts(), len(f.graph.Links)
			v.Counts = f.graph.Counts()
			v.Flows, v.Bytes = len(f.workload.Transfers), int64(f.workload.Bytes())
			v.PacketHops, v.ModelTime = hops, length
		}
	}
	return v, nil
}

// estimate returns the transmissions of a run, ACKs included, and how long the
// most loaded link needs for its bytes if each transfer takes one shortest path.
func estimate(g *topologies.Graph, w *workloads.Workload, path congestion.Path) (hops int64, length units.Duration) {
	paths := topologies.NewPaths(g)
	load := make([]units.Duration, 2*len(g.Links)) // by link and direction
	for _, t := range w.Transfers {
		packets := transport.Packets(t.Size, path.MTU, path.Header)
		route := paths.Links(t.Src, t.Dst)
		hops += int64(float64(packets) * (1 + acksPerData) * float64(len(route)))
		at := t.Src
		for _, id := range route {
			l := g.Links[id]
			direction := 0
			if l.A.Node != at {
				direction = 1
			}
			at = l.A.Node + l.B.Node - at
			load[2*id+direction] += l.Rate.Serialisation(t.Size)
			length = max(length, load[2*id+direction])
		}
	}
	return hops, length
}
