package training

import (
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/jitter"
)

// Profile is a job that computes for a time and then communicates, again and again, as in
// the literature on jobs that share a link (Rajasekaran et al., HotNets 2022): its compute
// phase is the forward pass, its communication phase the backward pass with the all-reduce.
// It is plain data.
type Profile struct {
	Ranks   int            // at least 2
	Compute units.Duration // of a step; not negative
	Bytes   units.Size     // of the all-reduce's buffer, or of the messages; at least 1
	// Overlap is the part of Compute that runs beside the communication, from 0 to 1. The
	// communication begins when the rest of Compute is done.
	Overlap float64
	// Pairs sends Bytes from each rank of the first half to the one that is Ranks/2 further
	// on, in place of the all-reduce. Ranks is even then.
	Pairs     bool
	Algorithm collective.Algorithm // of the all-reduce
	Channels  int                  // see collective.Call; 0: 1
	Chunk     units.Size           // see collective.Call; 0: no slicing
	Local     int                  // see collective.Call
	Scale     float64              // of Compute and Bytes, see Config.Scale; 0: 1
	Steps     int                  // at least 1
	Jitter    jitter.Config
}
