package predict

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"
	"unsafe"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// Costs is what runs in virtual time take on a machine with one build of csiglab: CPU
// time in seconds, memory in bytes. Calibrate measures it. The zero value is not usable;
// see Reference.
type Costs struct {
	// The event loop.
	Hop    float64 // a packet-hop in a working set of SmallSet bytes
	Packet float64 // a data packet, beyond its hops: what sender and receiver do
	Tags   float64 // factor of both for packets with CSIG tags
	Row    float64 // a row of the tables of windows, until it is in the run's part
	Growth []Growth

	// The rest of a run: plan, nodes, tables, metrics and report.
	Start   float64 // the program, once
	Port    float64 // a port of a run's fabric
	TagPort float64 // a port, more, if packets have CSIG tags
	Flow    float64 // a flow of a run
	EndRow  float64 // a row of the tables, from the part to the table and the report

	// Memory: of the process, and of ports and flows what is in use, to which the collector
	// adds.
	Base       float64 // the program with a small run
	TableMem   float64 // tables of many rows; they do not grow further (see tableShare)
	PortMem    float64 // a port
	TagPortMem float64 // a port, more, if packets have CSIG tags
	FlowMem    float64 // a flow
}

// Growth is how much more a packet-hop costs in a working set that is larger, because
// it does not fit in the caches.
type Growth struct {
	WorkingSet float64 // bytes
	Factor     float64 // of Hop and Packet
}

// Reference is the costs on the machine of docs/explanation/performance.md. It serves to decide
// whether a calibration is worth its time, and where none can be made.
var Reference = Costs{
	Hop: 110e-9, Packet: 300e-9, Tags: 1.2, Row: 1e-6,
	Growth: []Growth{{80e3, 1}, {4e6, 2.2}, {35e6, 5}},
	Start:  0.1, Port: 60e-6, TagPort: 60e-6, Flow: 60e-6, EndRow: 3e-6,
	Base: 70e6, TableMem: 30e6, PortMem: 3e3, TagPortMem: 1e3, FlowMem: 6e3,
}

// Sizes of a working set: what the hops of packets read and write.
const (
	busyPortBytes = 4 << 10
	packetBytes   = float64(unsafe.Sizeof(wire.Packet{})) + 64 // with its places in queues and pool
)

// collector is the memory of the heap over what is in use: Go's collector lets garbage
// and free memory grow as large as what is in use (GOGC=100).
const collector = 2

// workingSet returns about how many bytes the event loop of a run reads and writes again
// and again.
func (e *Estimate) workingSet() float64 {
	return e.BusyPorts*busyPortBytes + float64(e.InFlight)*packetBytes
}

// growth returns the factor of a working set: interpolated over its logarithm, and beyond
// the last one that was measured with the slope of the last two.
func (c *Costs) growth(workingSet float64) float64 {
	g := c.Growth
	if len(g) == 0 || workingSet <= g[0].WorkingSet {
		return 1
	}
	i := 1
	for i < len(g)-1 && workingSet > g[i].WorkingSet {
		i++
	}
	if i >= len(g) {
		return g[0].Factor
	}
	a, b := g[i-1], g[i]
	part := math.Log(workingSet/a.WorkingSet) / math.Log(b.WorkingSet/a.WorkingSet)
	return a.Factor + part*(b.Factor-a.Factor)
}

// loop returns the CPU seconds of the event loop of a run.
func (c *Costs) loop(e *Estimate) float64 {
	packets := float64(e.PacketHops)*c.Hop + float64(e.DataPackets)*c.Packet
	if e.Tagged {
		packets *= c.Tags
	}
	return packets*c.growth(e.workingSet()) + float64(e.Rows)*c.Row + float64(e.Operations)*operationTime
}

// rest returns the CPU seconds of a run outside its event loop, without Start.
func (c *Costs) rest(e *Estimate) float64 {
	return float64(e.Ports)*c.Port + e.taggedPorts()*c.TagPort + float64(e.Flows)*c.Flow + float64(e.Rows)*c.EndRow
}

// memory returns the bytes of a run beyond Base.
func (c *Costs) memory(e *Estimate) float64 {
	return collector*(float64(e.Ports)*c.PortMem+e.taggedPorts()*c.TagPortMem+float64(e.Flows)*c.FlowMem+float64(e.InFlight)*packetBytes+float64(e.Live)*operationMemory) + float64(e.HopValues)*hopValueMemory
}

// hopValueMemory is what a value of a hop takes in bytes, the sample that it is joined with and
// the collector included: a permutation of 128 hosts took 97 MB more with 0.59 million values, and
// 330 MB more with two million.
const hopValueMemory = 165

// What playing an operation of a job takes, its generator included: CPU seconds, and bytes
// from the time at which it is expanded until it is complete (workloads/graph BenchmarkIdeal).
const (
	operationTime   = 0.4e-6
	operationMemory = 120
)

func (e *Estimate) taggedPorts() float64 {
	if e.Tagged {
		return float64(e.Ports)
	}
	return 0
}

// tableShare returns the share of TableMem that tables of so many rows take: the writers'
// buffers fill, are written and fill again.
func tableShare(rows float64) float64 { return rows / (rows + 50e3) }

// hostsPerCore is the least number of hosts for which another core makes a run in
// virtual time faster: with fewer, the cores wait for each other at the end of every
// window (nodes/sim).
const hostsPerCore = 120

// Slots shares cores out between runs in virtual time: as many runs are executed at a time
// as it returns numbers, each with so many cores. parallel is how many cores are asked for;
// 0: those that there are. Several runs side by side are faster than several cores for
// one run, because runs do not wait for each other. More runs than cores may be asked for;
// the workers of one run, which wait for each other all the time, never get more cores than
// there are.
func Slots(parallel, runs int) (slots []int) {
	have := runtime.GOMAXPROCS(0) // less than the machine's in a container with a limit
	cores := have
	if parallel > 0 {
		cores = parallel
	}
	atOnce := max(1, min(cores, runs))
	cores = min(cores, have)
	for i := range atOnce {
		n := cores / atOnce
		if i < cores%atOnce {
			n++
		}
		slots = append(slots, max(1, n))
	}
	return slots
}

// Workers returns how many of the cores of its slot a run of so many hosts uses.
func Workers(cores, hosts int) int { return max(1, min(cores, hosts/hostsPerCore)) }

// Parallel efficiencies (docs/explanation/performance.md).
const (
	moreWorkers = 0.75 // what another core adds to a run, of a core
	restShare   = 0.75 // wall time of the rest of a run over its CPU time: the collector runs beside it
)

// Load is runs of one kind: a variant with its seeds.
type Load struct {
	Estimate
	Runs int
}

// Way is how runs are executed.
type Way struct {
	runtimes.Way     // empty: in this process, in virtual time
	Parallel     int // cores asked for, in virtual time; 0: all
	Processes    backend.Processes
}

// Prediction is what runs take together.
type Prediction struct {
	CPU    time.Duration // in virtual time
	Wall   time.Duration // in virtual time, on a machine that does nothing else
	Memory int64         // bytes at the peak
	AtOnce int           // runs at a time

	loads []Load
	cores int     // that work at the same time
	alone int64   // Memory with one run at a time
	base  float64 // memory of csiglab itself
}

// Predict predicts runs.
func (c *Costs) Predict(loads []Load, way Way) (p Prediction) {
	runs := 0
	for _, l := range loads {
		runs += l.Runs
	}
	if runs == 0 {
		return p
	}
	virtual := !way.Has(runtimes.RealFrames)
	p.loads = loads
	slots := []int{1}
	if virtual {
		slots = Slots(way.Parallel, runs)
	}
	p.AtOnce = len(slots)
	beside := float64(min(p.AtOnce, runtime.GOMAXPROCS(0))) // runs that really go on at a time
	cpu, wall := c.Start, c.Start*restShare
	var largest, kept, rows float64
	for i := range loads {
		l := &loads[i]
		workers := 0
		for _, cores := range slots {
			workers += Workers(cores, l.Hosts)
		}
		p.cores = max(p.cores, min(workers, runtime.GOMAXPROCS(0)))
		loop, rest, n := c.loop(&l.Estimate), c.rest(&l.Estimate), float64(l.Runs)
		cpu += n * (loop + rest)
		wall += n * (loop/(1+moreWorkers*(float64(workers)/float64(len(slots))-1))/beside + rest*restShare)
		memory := c.memory(&l.Estimate)
		if !virtual {
			memory = collector*float64(l.Flows)*c.FlowMem + nodeMemory(&l.Estimate, way)
		}
		largest = max(largest, memory)
		rows += n * float64(l.Rows)
		kept += n*collector*float64(l.Flows)*c.FlowMem*keptShare + l.plan()
	}
	p.CPU, p.Wall = seconds(cpu), seconds(wall)
	p.base = c.Base + tableShare(rows)*c.TableMem
	p.alone = int64(p.base + kept + largest)
	p.Memory = p.alone + int64(largest*float64(p.AtOnce-1))
	return p
}

// keptShare is the part of a flow's memory that stays until the end of all runs, for
// metrics and report.
const keptShare = 0.3

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// plan returns the bytes of the plan of a variant, which stays for all its runs.
func (l *Load) plan() float64 {
	const node = float64(unsafe.Sizeof(machine.Spec{})) + float64(unsafe.Sizeof(host.Config{}))
	const flow = float64(unsafe.Sizeof(metrics.FlowInfo{})) + float64(unsafe.Sizeof(host.Flow{})) + float64(unsafe.Sizeof(host.End{})) + float64(unsafe.Sizeof(player.Start{}))
	return collector * (node*float64(l.Nodes) + flow*float64(l.Flows) + float64(unsafe.Sizeof(dataplane.Port{}))*float64(l.Ports))
}

// Memory of a node with real frames in bytes, as a process and as a container, the
// engine's share included (docs/explanation/performance.md).
const (
	processMemory   = 3.7e6
	containerMemory = 9e6
)

// nodeMemory returns the bytes that the nodes of a run with real frames take.
func nodeMemory(e *Estimate, way Way) float64 {
	switch {
	case way.Has(runtimes.Containers):
		return containerMemory * float64(e.Nodes)
	case way.Processes == backend.OneProcess:
		return 0
	case way.Processes == backend.SwitchProcess:
		return processMemory * float64(e.Hosts)
	}
	return processMemory * float64(e.Nodes)
}

// largeShare is the share of the memory that there is from which on a prediction deserves
// figures of this machine: the memory may not suffice.
const largeShare = 0.25

// Predict predicts runs with the costs of this machine, which it measures if they are not
// known and matter for these runs. The error says why the figures are those of another machine.
func (m *Meter) Predict(ctx context.Context, loads []Load, way Way, there Available) (Prediction, error) {
	costs, err := Reference, error(nil)
	rough := costs.Predict(loads, way)
	virtual := !way.Has(runtimes.RealFrames)
	known := false
	if m != nil && m.Measure != nil && !m.Anew {
		if c, ok := m.cached(); ok {
			costs, known = c, true
		}
	}
	if m != nil && !known && (m.Anew || virtual && rough.CPU > m.Worth || float64(rough.Memory) > largeShare*float64(there.Bytes)) {
		costs, err = m.costs(ctx)
	}
	return costs.Predict(loads, way), err
}

// errorBand is how far off a prediction of memory may be, as a factor; what may fit is
// not refused. TestPredictions compares predictions with runs.
const errorBand = 1.25

// Fits returns a *MemoryError if runs would not fit into the memory that there is, even if
// the prediction is too high by errorBand.
func (p *Prediction) Fits(there Available) error {
	if float64(p.Memory)/errorBand <= float64(there.Bytes) {
		return nil
	}
	return &MemoryError{Needed: p.Memory, Available: there, Advice: p.advice(there)}
}

// Tight reports whether runs fit only if the prediction is not too low.
func (p *Prediction) Tight(there Available) bool {
	return float64(p.Memory)*errorBand > float64(there.Bytes)
}

// Text returns the prediction in words: wall time, CPU time and memory.
func (p *Prediction) Text() string {
	return fmt.Sprintf("%s on %s, %s of CPU time, about %s of memory", Roughly(p.Wall), cores(p.cores), Roughly(p.CPU), Gigabytes(p.Memory))
}

// Tightness says how much memory is needed and how much there is.
func (p *Prediction) Tightness(there Available) string {
	return fmt.Sprintf("this needs about %s, and %s %s", Gigabytes(p.Memory), there.Limit, Gigabytes(there.Bytes))
}

func cores(n int) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}

// Roughly returns a time with two digits.
func Roughly(d time.Duration) string {
	switch {
	case d < 500*time.Millisecond:
		return "less than 0.5 s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// advice returns what makes the memory less, the best first; nothing if csiglab alone is
// too large.
func (p *Prediction) advice(there Available) (advice []string) {
	room := float64(there.Bytes) - p.base
	if room <= 0 {
		return nil
	}
	if p.alone < p.Memory {
		if p.alone <= there.Bytes {
			advice = append(advice, fmt.Sprintf("--parallel 1, which needs about %s", Gigabytes(p.alone)))
		} else {
			advice = append(advice, "--parallel 1 as well as the following")
		}
	}
	runs, flows, hosts, packets := 0, 0, 0, 0.0
	for _, l := range p.loads {
		runs, flows, hosts = runs+l.Runs, max(flows, l.Flows), max(hosts, l.Hosts)
		packets = max(packets, float64(l.InFlight)*packetBytes*collector)
	}
	share := min(1, room/(float64(p.alone)-p.base)) // of hosts and flows that fit alone
	if float64(hosts)*share >= 2 {
		advice = append(advice, fmt.Sprintf("about %d hosts in place of %d", int(float64(hosts)*share), hosts))
	}
	if flows > hosts {
		advice = append(advice, fmt.Sprintf("about %d flows in place of %d", int(float64(flows)*share), flows))
	}
	if packets > float64(p.alone)/3 {
		advice = append(advice, "smaller transfers, which have fewer packets on their way")
	}
	if runs > p.AtOnce {
		advice = append(advice, fmt.Sprintf("fewer than %d seeds and variants", runs))
	}
	return advice
}
