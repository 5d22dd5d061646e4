package estimate

import (
	"math"
	"time"
	"unsafe"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Costs is what runs take: CPU time, and memory in bytes.
type Costs struct {
	// The event loop, in virtual time.
	Hop       time.Duration // a packet-hop in the smallest working set of Growth
	Packet    time.Duration // a data packet, beyond its hops: what sender and receiver do
	Tags      float64       // factor of both for packets with CSIG tags
	Growth    []Growth
	Operation time.Duration // of a job, its generator included
	Row       time.Duration // a row of the tables of windows, until it is in the run's part

	// The rest of a run: plan, nodes, tables, metrics and report.
	Start   time.Duration // the program, once
	Port    time.Duration // a port of a run's fabric
	TagPort time.Duration // a port, more, if packets have CSIG tags
	Flow    time.Duration
	EndRow  time.Duration // a row of the tables, from the part to the table and the report

	// Wall time in lockstep, on one machine with two cores.
	LockstepHop time.Duration // a frame-hop
	Exchange    time.Duration // of bounds between two parts: a write and the wait for the other part's, over TCP between two pods

	// Memory: of the program, and of the rest what is in use, to which the collector adds.
	Base       float64 // the program with a small run
	Tables     float64 // tables of many rows; they do not grow further (see TableShare)
	PortMem    float64
	TagPortMem float64 // a port, more, if packets have CSIG tags
	FlowMem    float64
	LiveMem    float64 // an operation of a job from the time at which it is expanded until it is complete
	ValueMem   float64 // a value of a hop with the sample that it is joined with; the collector included
	// A node with real frames, as a process and as a container, the engine's share included.
	Process, Container float64
}

// Growth is how much more a packet-hop costs in a working set that is larger, because
// it does not fit in the caches.
type Growth struct {
	WorkingSet float64 // bytes
	Factor     float64 // of Hop and Packet
}

// Reference is the costs on a virtual machine with two cores of an AMD EPYC, Linux 6.18, Go 1.26.
// Measure them again with
//
//	go test -run '^$' -bench Costs ./orchestrator/plan/estimate
//
// which fits those of virtual time. Start and Tables are larger than the fit, by the embedded
// experiments, whose reports are larger than those of its probes. Those of jobs are from workloads/graph BenchmarkIdeal, those of
// lockstep from orchestrator/backend/netns BenchmarkThreeFlow; ValueMem is what a permutation of 128
// hosts took more with two million values; Process and Container are those of dragonfly-72.
var Reference = Costs{
	Hop: 120 * time.Nanosecond, Packet: 150 * time.Nanosecond, Tags: 1.25,
	Growth:    []Growth{{200e3, 1}, {4.7e6, 2.2}, {37e6, 4.7}},
	Operation: 400 * time.Nanosecond, Row: 700 * time.Nanosecond,
	Start: 220 * time.Millisecond, Port: 130 * time.Microsecond, TagPort: 160 * time.Microsecond, Flow: 95 * time.Microsecond, EndRow: 4 * time.Microsecond,
	LockstepHop: 3500 * time.Nanosecond, Exchange: 49 * time.Microsecond,
	Base: 49e6, Tables: 45e6, PortMem: 4e3, TagPortMem: 600, FlowMem: 1e3, LiveMem: 120, ValueMem: 165,
	Process: 3.7e6, Container: 9e6,
}

// TimeFactor is how far off a time by the Reference may be: machines differ, and caches are shared
// with other programs. cmd/cli TestPredictions compares predictions with runs.
const TimeFactor = 2.5

// Sizes of a working set: what the hops of packets read and write.
const (
	busyPortBytes = 4 << 10
	PacketBytes   = float64(unsafe.Sizeof(wire.Packet{})) + 64 // with its places in queues and pool
)

// Collector is the memory of the heap over what is in use: Go's collector lets garbage
// and free memory grow as large as what is in use (GOGC=100).
const Collector = 2

// workingSet returns about how many bytes the event loop of a run reads and writes again
// and again.
func (w *Work) workingSet() float64 {
	return w.BusyPorts*busyPortBytes + float64(w.InFlight)*PacketBytes
}

// growth returns the factor of a working set: interpolated over its logarithm, and beyond
// the last one that was measured with the slope of the last two.
func (c *Costs) growth(workingSet float64) float64 {
	g := c.Growth
	if workingSet <= g[0].WorkingSet {
		return 1
	}
	i := 1
	for i < len(g)-1 && workingSet > g[i].WorkingSet {
		i++
	}
	a, b := g[i-1], g[i]
	part := math.Log(workingSet/a.WorkingSet) / math.Log(b.WorkingSet/a.WorkingSet)
	return a.Factor + part*(b.Factor-a.Factor)
}

// times returns the cost of so many.
func times(count float64, each time.Duration) time.Duration {
	return time.Duration(count * float64(each))
}

// Loop returns the CPU time of the event loop of a run.
func (c *Costs) Loop(w *Work) time.Duration {
	factor := c.growth(w.workingSet())
	if w.Tagged {
		factor *= c.Tags
	}
	return times(factor*float64(w.PacketHops), c.Hop) + times(factor*float64(w.DataPackets), c.Packet) +
		times(float64(w.Rows), c.Row) + times(float64(w.Operations), c.Operation)
}

// Rest returns the CPU time of a run outside its event loop, without Start.
func (c *Costs) Rest(w *Work) time.Duration {
	return times(float64(w.Ports), c.Port) + times(w.taggedPorts(), c.TagPort) + times(float64(w.Flows), c.Flow) + times(float64(w.Rows), c.EndRow)
}

// Lockstep returns the wall time of so many frame-hops in lockstep.
func (c *Costs) Lockstep(hops float64) time.Duration { return times(hops, c.LockstepHop) }

// Exchanges returns the wall time that so many exchanges between parts add in lockstep.
func (c *Costs) Exchanges(n float64) time.Duration { return times(n, c.Exchange) }

// Memory returns the bytes of a run beyond Base.
func (c *Costs) Memory(w *Work) float64 {
	heap := 1 + float64(plan.HeapGrowth(w.Nodes))/100
	return heap*(float64(w.Ports)*c.PortMem+w.taggedPorts()*c.TagPortMem+float64(w.Flows)*c.FlowMem+float64(w.InFlight)*PacketBytes+float64(w.Live)*c.LiveMem) +
		float64(w.HopValues)*c.ValueMem
}

func (w *Work) taggedPorts() float64 {
	if w.Tagged {
		return float64(w.Ports)
	}
	return 0
}

// TableMemory returns the bytes of the tables of so many rows: the writers' buffers fill, are
// written and fill again.
func (c *Costs) TableMemory(rows float64) float64 { return c.Tables * tableShare(rows) }

func tableShare(rows float64) float64 { return rows / (rows + 50e3) }
