package predict

import (
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// Frames returns the estimate of a plan, and how many frames the run is expected to send in
// each direction of each link of the fabric: 2*id from end A of link id to end B, 2*id+1
// back. Frames of programs are not known, and are not in either.
func Frames(p *plan.Plan) (Estimate, []float64) {
	t := newTraffic(p, topologies.NewPaths(p.Graph))
	e := t.estimated()
	return e, t.packets
}

// LockstepSeconds returns the wall time of a run in lockstep on one machine with two cores.
func (e *Estimate) LockstepSeconds() float64 { return float64(e.PacketHops) * lockstepHop }

// LockstepFrames returns the wall seconds that so many more frames take in lockstep: on one
// more link each.
func LockstepFrames(n float64) float64 { return n * lockstepHop }
