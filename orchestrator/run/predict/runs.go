package predict

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
)

// costs are those that all predictions are made of.
var costs = &estimate.Reference

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
	estimate.Work
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

// Runs predicts runs.
func Runs(loads []Load, way Way) (p Prediction) {
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
	cpu := costs.Start.Seconds()
	wall := cpu * restShare
	var largest, kept, rows float64
	for i := range loads {
		l := &loads[i]
		workers := 0
		for _, cores := range slots {
			workers += Workers(cores, l.Hosts)
		}
		p.cores = max(p.cores, min(workers, runtime.GOMAXPROCS(0)))
		loop, rest, n := costs.Loop(&l.Work).Seconds(), costs.Rest(&l.Work).Seconds(), float64(l.Runs)
		cpu += n * (loop + rest)
		wall += n * (loop/(1+moreWorkers*(float64(workers)/float64(len(slots))-1))/beside + rest*restShare)
		flows := estimate.Collector * float64(l.Flows) * costs.FlowMem
		memory := costs.Memory(&l.Work)
		if !virtual {
			memory = flows + nodeMemory(&l.Work, way)
		}
		largest = max(largest, memory)
		rows += n * float64(l.Rows)
		kept += n*flows*keptShare + l.plan()
	}
	p.CPU, p.Wall = time.Duration(cpu*float64(time.Second)), time.Duration(wall*float64(time.Second))
	p.base = costs.Base + costs.TableMemory(rows)
	p.alone = int64(p.base + kept + largest)
	p.Memory = p.alone + int64(largest*float64(p.AtOnce-1))
	return p
}

// keptShare is the part of a flow's memory that stays until the end of all runs, for
// metrics and report.
const keptShare = 0.3

// plan returns the bytes of the plan of a variant, which stays for all its runs.
func (l *Load) plan() float64 {
	const node = float64(unsafe.Sizeof(machine.Spec{})) + float64(unsafe.Sizeof(host.Config{}))
	const flow = float64(unsafe.Sizeof(metrics.FlowInfo{})) + float64(unsafe.Sizeof(host.Flow{})) + float64(unsafe.Sizeof(host.End{})) + float64(unsafe.Sizeof(player.Start{}))
	return estimate.Collector * (node*float64(l.Nodes) + flow*float64(l.Flows) + float64(unsafe.Sizeof(dataplane.Port{}))*float64(l.Ports))
}

// nodeMemory returns the bytes that the nodes of a run with real frames take.
func nodeMemory(w *estimate.Work, way Way) float64 {
	switch {
	case way.Has(runtimes.Containers):
		return costs.Container * float64(w.Nodes)
	case way.Processes == backend.OneProcess:
		return 0
	case way.Processes == backend.SwitchProcess:
		return costs.Process * float64(w.Hosts)
	}
	return costs.Process * float64(w.Nodes)
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
	return fmt.Sprintf("%s on %s, %s of CPU time, %s; about %s of memory", Roughly(p.Wall), spelling.Plural(p.cores, "core"), Roughly(p.CPU), Accuracy, Gigabytes(p.Memory))
}

// Tightness says how much memory is needed and how much there is.
func (p *Prediction) Tightness(there Available) string {
	return fmt.Sprintf("this needs about %s, and %s %s", Gigabytes(p.Memory), there.Limit, Gigabytes(there.Bytes))
}

// Accuracy says how far off predicted times may be.
var Accuracy = fmt.Sprintf("within a factor of %v", estimate.TimeFactor)

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
		packets = max(packets, float64(l.InFlight)*estimate.PacketBytes*estimate.Collector)
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
