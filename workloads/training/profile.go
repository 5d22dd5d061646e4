package training

import (
	"math"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
	"github.com/csiglab/csiglab/workloads/pipeline"
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
	Servers   collective.Servers   // see collective.Call
	Scale     float64              // of Compute and Bytes, see Config.Scale; 0: 1
	// BytesScale is that of Bytes alone, above 0 and at most 1: on links as much slower, phases
	// take the times that they take on fast ones. 0: 1.
	BytesScale float64
	Steps      int // at least 1
	// Held puts a graph.Hold before the communication. Compute beside the communication does
	// not wait for it.
	Held   bool
	Jitter jitter.Config
}

// Validate checks the configuration. Its errors are of type *graph.FieldError; fields have
// the names of the struct in lower case.
func (c *Profile) Validate() error {
	err := checkBounds([]bound{
		{"ranks", c.Ranks, 2, MaxRanks}, {"channels", c.Channels, 0, MaxChannels}, {"local", c.Local, 0, MaxRanks}, {"steps", c.Steps, 1, pipeline.MaxSteps},
	})
	switch {
	case err != nil:
		return err
	case c.Compute < 0 || c.Compute > longest:
		return graph.Fault("compute", "%v, want 0 to %v", c.Compute, units.Duration(longest))
	case c.Bytes < 1:
		return graph.Fault("bytes", "%d, want 1 or more", int64(c.Bytes))
	case !(c.Overlap >= 0 && c.Overlap <= 1):
		return graph.Fault("overlap", "%v, want 0 to 1", c.Overlap)
	case !(c.Scale >= 0 && c.Scale <= 1):
		return graph.Fault("scale", "%v, want above 0 and at most 1", c.Scale)
	case !(c.BytesScale >= 0 && c.BytesScale <= 1):
		return graph.Fault("bytes_scale", "%v, want above 0 and at most 1", c.BytesScale)
	case c.Chunk < 0:
		return graph.Fault("chunk", "%d B is negative", int64(c.Chunk))
	case c.Pairs && c.Ranks%2 != 0:
		return graph.Fault("ranks", "%d, want an even number for pairs", c.Ranks)
	case c.Pairs && (c.Algorithm != collective.Auto || c.Channels > 1 || c.Chunk > 0 || c.Local > 0):
		return graph.Fault("pairs", "messages have no algorithm, channels or chunks")
	}
	if !c.Pairs {
		call := c.call(0)
		if err := call.Validate(); err != nil {
			return &graph.FieldError{Field: "algorithm", Problem: err.Error()}
		}
	}
	operations := 6 + 8*float64(c.Ranks)*float64(max(c.Channels, 1))
	if c.Chunk > 0 {
		operations += 8 * float64(c.bytes()) / float64(c.Chunk)
	}
	if operations*float64(c.Steps) > MaxOperations {
		return graph.Fault("steps", "%d steps of about %.3g operations are too many for one rank", c.Steps, operations)
	}
	return c.Jitter.Validate(c.Ranks, c.Steps)
}

// scale returns Scale, or 1 without.
func (c *Profile) scale() float64 {
	if c.Scale == 0 {
		return 1
	}
	return c.Scale
}

// Computes returns how long a rank computes in a step before the communication, and beside
// it, without jitter.
func (c *Profile) Computes() (before, beside units.Duration) {
	all := float64(c.Compute) * c.scale()
	before = units.Duration(math.Round(all * (1 - c.Overlap)))
	return before, units.Duration(math.Round(all)) - before
}

// bytes returns the scaled size.
func (c *Profile) bytes() units.Size {
	scale := c.scale()
	if c.BytesScale != 0 {
		scale *= c.BytesScale
	}
	if scale == 1 {
		return c.Bytes
	}
	return units.Size(math.Ceil(float64(c.Bytes) * scale))
}

// call returns the all-reduce of a rank.
func (c *Profile) call(rank int) collective.Call {
	all := make([]int, c.Ranks)
	for i := range all {
		all[i] = i
	}
	return collective.Call{
		Kind: collective.AllReduce, Algorithm: c.Algorithm, Group: all, Me: rank, Bytes: c.bytes(), Channels: c.Channels, Chunk: c.Chunk, Local: c.Local, Servers: c.Servers,
	}
}

// ProfileSource is the programs of a Profile. NewProfile makes it.
type ProfileSource struct{ Config Profile }

// NewProfile returns the programs of a profile. The error is that of Profile.Validate.
func NewProfile(c Profile) (graph.Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &ProfileSource{c}, nil
}

// Ranks implements graph.Source.
func (s *ProfileSource) Ranks() int { return s.Config.Ranks }

// Steps implements graph.Source.
func (s *ProfileSource) Steps() int { return s.Config.Steps }

// Phases of a profile.
const (
	profileCompute = iota
	profileCommunication
)

// Labels implements graph.Source.
func (s *ProfileSource) Labels() *graph.Labels {
	c := &s.Config
	call := c.call(0)
	what := graph.Collective{Name: "gradients", Kind: collective.AllReduce.String(), Algorithm: call.How(), Ranks: c.Ranks, Bytes: c.bytes()}
	if c.Pairs {
		what.Name, what.Kind, what.Algorithm, what.Ranks = "messages", collective.SendRecv.String(), collective.Direct.String(), 2
	}
	return &graph.Labels{Phases: []string{"compute", "communication"}, Collectives: []graph.Collective{what}}
}

// Only implements graph.Source. Programs are computed, so that there is nothing to leave out.
func (s *ProfileSource) Only([]int) graph.Source { return s }

// Program implements graph.Source.
func (s *ProfileSource) Program(rank int, seed uint64) graph.Program {
	p := &profileProgram{config: &s.Config, rank: rank, clock: s.Config.Jitter.NewClock(seed, rank)}
	if !s.Config.Pairs {
		p.call = s.Config.call(rank)
	}
	return &graph.Pieces{Append: p.append}
}

// profileProgram expands the program of a rank, a step at a time.
type profileProgram struct {
	config *Profile
	rank   int
	clock  *jitter.Clock
	call   collective.Call
	step   int
	tail   uint32
}

func (p *profileProgram) append(b *graph.Builder) bool {
	c := p.config
	p.clock.StartStep(p.step)
	mark := graph.Tag{Step: int32(p.step), Phase: graph.None, Collective: graph.None, Group: graph.None}
	compute, communicate := mark, mark
	compute.Phase = profileCompute
	communicate.Phase, communicate.Collective, communicate.Group = profileCommunication, 0, 0
	before, beside := c.Computes()

	b.Tag = mark
	if p.step == 0 {
		p.tail = b.Begin()
	} else {
		p.tail = b.Begin(p.tail)
	}
	ends := make([]uint32, 0, 2)
	b.Tag = compute
	p.tail = b.Add(graph.Op{Kind: graph.Compute, Duration: p.clock.Compute(before), Fence: true}, p.tail)
	computed := p.tail
	if c.Held {
		b.Tag.Phase = profileCommunication
		p.tail = b.Hold(p.tail)
	}
	b.Tag = communicate
	if c.Pairs {
		ends = append(ends, p.exchange(b))
	} else {
		end, err := collective.Append(b, &p.call, p.tail)
		if err != nil {
			panic("training: " + err.Error()) // Validate has tried it
		}
		ends = append(ends, end)
	}
	if beside > 0 {
		b.Tag = compute
		ends = append(ends, b.Compute(p.clock.Compute(beside), computed))
	}
	b.Tag = mark
	p.tail = b.Add(graph.Op{Kind: graph.End, Fence: true}, ends...)
	p.step++
	return p.step < c.Steps
}

// exchange appends the message of a pair and returns its end. The group is the pair.
func (p *profileProgram) exchange(b *graph.Builder) uint32 {
	half := p.config.Ranks / 2
	b.Tag.Group = int32(p.rank % half)
	begin := b.Begin(p.tail)
	if p.rank < half {
		return b.End(b.Add(graph.Op{Kind: graph.Send, Peer: int32(p.rank + half), Bytes: p.config.bytes(), Total: p.config.bytes()}, begin))
	}
	return b.End(b.Recv(p.rank-half, 0, p.config.bytes(), begin))
}
