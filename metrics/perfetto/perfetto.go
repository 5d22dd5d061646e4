// Package perfetto writes one run of a run folder as a trace in Chrome's JSON format (Trace
// Event Format, Google, 2016), which ui.perfetto.dev and trace_processor open. Jobs are
// processes and their ranks threads; steps, phases, collectives, computations and messages
// are slices, with an arrow from each send to its receive; transfers of traffic are slices of
// their source hosts; queues and utilisation of the busiest ports are counters. It reads the
// folder's tables as streams: memory grows with ranks and ports, not with the length of the
// run. It computes no metric.
package perfetto

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Ports is how many ports have counters by default.
const Ports = 32

// ErrNoRun is the error of Write when the folder has no run of a variant and seed. Its text
// names those that there are.
var ErrNoRun = errors.New("there is no such run")

// Options say what of a folder is written. The zero value is the first run of the first
// variant, with Ports ports.
type Options struct {
	Variant string // "": the first one
	Seed    uint64 // 0: the variant's first one
	Ports   int    // those that sent most have counters; 0: Ports; -1: none
}

// Written says what a trace has.
type Written struct {
	Variant  string
	Seed     uint64
	Slices   int64 // of steps, phases, collectives, computations, messages, transfers and faults
	Arrows   int64 // from sends to receives
	Counters int   // two for each port
	Ports    int   // of the run that sent something
	LeftOut  int64 // slices that found no row of their own, because too many overlap
}

// Processes of a trace.
const (
	pidFabric   = 1
	pidTraffic  = 2
	pidFirstJob = 3
)

// Bounds of a trace's rows.
const (
	lanes    = 32  // rows of one kind of a rank, or of a host's transfers
	maxText  = 256 // runes of a name
	laneStep = 64  // thread ids of one kind
)

// Write writes a run of a folder as one JSON object. Times are microseconds of model time,
// with fractions. Errors wrap ErrNoRun, runfolder.ErrDamaged, an error of w or of ctx.
func Write(ctx context.Context, w io.Writer, f *runfolder.Folder, o Options) (Written, error) {
	t := &trace{ctx: ctx, folder: f, out: bufio.NewWriterSize(w, 1<<16), threads: map[thread]*lane{}, named: map[[2]int64]bool{}}
	if err := t.choose(o); err != nil {
		return Written{}, err
	}
	err := ctx.Err()
	if err == nil {
		err = t.write(o)
	}
	if err != nil {
		return t.written, fmt.Errorf("write trace: %w", err)
	}
	return t.written, nil
}

// trace is a trace that is being written.
type trace struct {
	ctx     context.Context
	folder  *runfolder.Folder
	out     *bufio.Writer
	line    []byte
	some    bool // an event has been written
	rows    int  // that were read since ctx was asked
	endUS   float64
	written Written
	threads map[thread]*lane
	named   map[[2]int64]bool // threads that have a name, by process and id
}

// choose finds the run.
func (t *trace) choose(o Options) error {
	m := &t.folder.Manifest
	variant := o.Variant
	if variant == "" && len(m.Variants) > 0 {
		variant = m.Variants[0].Name
	}
	var names []string
	for _, v := range m.Variants {
		names = append(names, v.Name)
	}
	if !slices.Contains(names, variant) {
		return fmt.Errorf("variant %q: %w; variants: %q", variant, ErrNoRun, names)
	}
	var seeds []uint64
	for _, r := range m.Runs {
		if r.Variant == variant {
			seeds = append(seeds, r.Seed)
		}
	}
	if len(seeds) == 0 {
		return fmt.Errorf("variant %q: %w", variant, ErrNoRun)
	}
	seed := cmp.Or(o.Seed, seeds[0])
	if !slices.Contains(seeds, seed) {
		return fmt.Errorf("seed %d of variant %q: %w; seeds: %v", seed, variant, ErrNoRun, seeds)
	}
	t.written.Variant, t.written.Seed = variant, seed
	for _, r := range t.folder.Summary.Variants[variant].Runs {
		if r.Seed == seed {
			t.endUS = r.Metrics["model_ms"] * 1000
		}
	}
	return nil
}

// mine reports whether a row is of the run. Now and then it asks ctx.
func (t *trace) mine(variant string, seed uint64) (bool, error) {
	if t.rows++; t.rows&0xfff == 0 {
		if err := t.ctx.Err(); err != nil {
			return false, err
		}
	}
	return seed == t.written.Seed && variant == t.written.Variant, nil
}

func (t *trace) write(o Options) error {
	m := &t.folder.Manifest
	t.out.WriteString(`{"displayTimeUnit":"ns","otherData":{"experiment":`)
	t.out.Write(quote(nil, m.Name))
	t.out.WriteString(`,"variant":`)
	t.out.Write(quote(nil, t.written.Variant))
	fmt.Fprintf(t.out, `,"seed":"%d","csiglab":`, t.written.Seed)
	t.out.Write(quote(nil, m.Version))
	t.out.WriteString(`},"traceEvents":[`)
	for _, part := range []func() error{
		t.faults, t.instances, t.operations, t.transfers,
		func() error { return t.ports(o.Ports) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	t.out.WriteString("\n]}\n")
	return t.out.Flush()
}

// jobs returns the jobs of the run by number.
func (t *trace) jobs() map[int32]*runfolder.Job {
	list := t.folder.Manifest.JobsOf(t.written.Variant)
	jobs := make(map[int32]*runfolder.Job, len(list))
	for i := range list {
		jobs[list[i].Job] = &list[i]
	}
	return jobs
}

// faults writes the faults of the run.
func (t *trace) faults() error {
	for _, r := range t.folder.Manifest.Runs {
		if r.Variant != t.written.Variant || r.Seed != t.written.Seed {
			continue
		}
		for _, f := range r.Faults {
			if !f.Happened {
				continue
			}
			until := max(t.endUS, f.FromUS)
			if f.UntilUS != nil {
				until = *f.UntilUS
			}
			t.slice(slice{row{pidFabric, 0, kindFault}, "faults", f.Name, "fault", f.FromUS, until}, text("what", f.What), number("dropped", f.Arriving+f.Queued))
		}
	}
	return nil
}

// Kinds of rows, in the order in which a rank shows them.
const (
	kindSteps = iota
	kindCompute
	kindCollectives
	kindSends
	kindReceives
	kindFault
	kinds
)

// instances writes the steps and collectives of jobs as a whole, in the thread of no rank.
func (t *trace) instances() error {
	jobs := t.jobs()
	for r, err := range t.folder.Instances() {
		if err != nil {
			return err
		}
		if mine, err := t.mine(r.Variant, r.Seed); err != nil {
			return err
		} else if !mine || jobs[r.Job] == nil {
			continue
		}
		pid, all := jobPID(r.Job), -1
		if r.Collective == "" {
			t.slice(slice{row{pid, all, kindSteps}, "all ranks: steps", fmt.Sprintf("step %d", r.Step), "step", r.BeginUS, r.EndUS},
				number("step", int64(r.Step)), number("last rank", int64(r.Last)), number("slowest rank", int64(r.Slow)))
			continue
		}
		group := int64(0)
		if r.Group != nil {
			group = int64(*r.Group)
		}
		t.slice(slice{row{pid, all, kindCollectives}, "all ranks: collectives", r.Collective, "collective", r.BeginUS, r.EndUS},
			number("step", int64(r.Step)), number("group", group), number("ranks", int64(r.Ranks)), number("late rank", int64(r.Late)), number("last rank", int64(r.Last)))
	}
	return nil
}

// operations writes what ranks do.
func (t *trace) operations() error {
	jobs := t.jobs()
	for r, err := range t.folder.Operations() {
		if err != nil {
			return err
		}
		if mine, err := t.mine(r.Variant, r.Seed); err != nil {
			return err
		} else if !mine || jobs[r.Job] == nil || r.Rank < 0 {
			continue
		}
		t.operation(&r)
	}
	return nil
}

func (t *trace) operation(r *runfolder.OperationRow) {
	pid, rank := jobPID(r.Job), int(r.Rank)
	who := fmt.Sprintf("rank %d", r.Rank)
	step := number("step", int64(r.Step))
	at := func(kind int) row { return row{pid, rank, kind} }
	switch r.Kind {
	case "span":
		switch {
		case r.Collective != "":
			t.slice(slice{at(kindCollectives), who + ": collectives", r.Collective, "collective", r.StartUS, r.EndUS}, step, text("phase", r.Phase))
		case r.Phase != "":
			t.slice(slice{at(kindSteps), fmt.Sprintf("%s (%s)", who, clip(r.HostName)), r.Phase, "phase", r.StartUS, r.EndUS}, step)
		default:
			t.slice(slice{at(kindSteps), fmt.Sprintf("%s (%s)", who, clip(r.HostName)), fmt.Sprintf("step %d", r.Step), "step", r.StartUS, r.EndUS}, step)
		}
	case "compute":
		t.slice(slice{at(kindCompute), who + ": compute", cmp.Or(r.Phase, "compute"), "compute", r.StartUS, r.EndUS}, step, number("op", r.Op))
	case "hold":
		t.slice(slice{at(kindCompute), who + ": compute", "held by the schedule", "hold", r.StartUS, r.EndUS}, step, number("op", r.Op))
	case "send", "recv":
		if r.Peer == nil {
			return
		}
		args := []arg{step, number("bytes", r.Bytes), number("peer", int64(*r.Peer)), text("flow", r.FlowName), text("collective", r.Collective), text("phase", r.Phase)}
		if r.Kind == "send" {
			if tid := t.slice(slice{at(kindSends), who + ": sends", fmt.Sprintf("send to %d", *r.Peer), "send", r.StartUS, r.EndUS}, args...); tid != 0 {
				t.arrow("s", pid, tid, r.StartUS, message(r, r.Rank, *r.Peer))
			}
			return
		}
		if tid := t.slice(slice{at(kindReceives), who + ": receives", fmt.Sprintf("receive from %d", *r.Peer), "recv", r.StartUS, r.EndUS}, args...); tid != 0 {
			t.arrow("f", pid, tid, math.Max(r.StartUS, r.EndUS-1e-3), message(r, *r.Peer, r.Rank))
		}
	}
}

// message identifies a message of a job; "" if the row does not say which one it is.
func message(r *runfolder.OperationRow, from, to int32) string {
	if r.Channel == nil || r.Message == nil {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d.%d.%d.%d", r.Job, r.Step, from, to, *r.Channel, *r.Message)
}

// transfers writes the flows that are no connections of jobs.
func (t *trace) transfers() error {
	m := &t.folder.Manifest
	flows := map[int32]*runfolder.Flow{}
	list := m.FlowsOfRun(t.written.Variant, t.written.Seed)
	for i := range list {
		if list[i].Messages == 0 && list[i].Size > 0 {
			flows[list[i].Flow] = &list[i]
		}
	}
	for r, err := range t.folder.Phases() {
		if err != nil {
			return err
		}
		if mine, err := t.mine(r.Variant, r.Seed); err != nil {
			return err
		} else if !mine || flows[r.Flow] == nil || r.StartUS == nil {
			continue
		}
		f, until, state := flows[r.Flow], max(t.endUS, *r.StartUS), "the run ended before it"
		if r.SenderDoneUS != nil {
			until, state = *r.SenderDoneUS, "complete"
		}
		t.slice(slice{row{pidTraffic, int(f.Src), kindSends}, clip(r.SrcName), r.FlowName, "transfer", *r.StartUS, until},
			text("to", r.DstName), number("bytes", f.Size), number("retransmitted", r.Retransmitted), number("timeouts", r.Timeouts), text("state", state))
	}
	return nil
}

// counted is a port with counters.
type counted struct {
	name  string
	bytes int64
	until float64 // end of its last window; NaN before the first
}

// ports writes the counters of the ports that sent most.
func (t *trace) ports(most int) error {
	if most == 0 {
		most = Ports
	}
	if most < 0 {
		return nil
	}
	type id struct{ node, port int32 }
	ports := map[id]*counted{}
	for r, err := range t.folder.Ports() {
		if err != nil {
			return err
		}
		if mine, err := t.mine(r.Variant, r.Seed); err != nil {
			return err
		} else if !mine {
			continue
		}
		p := ports[id{r.Node, r.Port}]
		if p == nil {
			p = &counted{name: cmp.Or(r.PortName, fmt.Sprintf("%s:%d", r.NodeName, r.Port)), until: math.NaN()}
			ports[id{r.Node, r.Port}] = p
		}
		p.bytes += r.TxBytes
	}
	t.written.Ports = len(ports)
	ids := slices.SortedFunc(maps.Keys(ports), func(a, b id) int {
		return cmp.Or(cmp.Compare(ports[b].bytes, ports[a].bytes), cmp.Compare(a.node, b.node), cmp.Compare(a.port, b.port))
	})
	for _, left := range ids[min(most, len(ids)):] {
		delete(ports, left)
	}
	if len(ports) == 0 {
		return nil
	}
	interval := t.folder.Manifest.IntervalUS
	t.process(pidFabric, "fabric")
	for r, err := range t.folder.Ports() {
		if err != nil {
			return err
		}
		p := ports[id{r.Node, r.Port}]
		if mine, err := t.mine(r.Variant, r.Seed); err != nil {
			return err
		} else if !mine || p == nil || r.RateBPS <= 0 {
			continue
		}
		if r.StartUS > p.until+interval/2 { // nothing happened in between
			t.counters(p, p.until, 0, 0)
		}
		busy := r.BusyUS() / interval
		t.counters(p, r.StartUS, r.QueueMax, min(1, busy))
		p.until = r.StartUS + interval
	}
	for _, id := range ids[:len(ports)] {
		if p := ports[id]; !math.IsNaN(p.until) {
			t.counters(p, p.until, 0, 0)
		}
	}
	t.written.Counters = 2 * len(ports)
	return nil
}

func (t *trace) counters(p *counted, us float64, queue int64, busy float64) {
	t.counter(p.name+" queue", us, number("bytes", queue))
	t.counter(p.name+" utilisation", us, real("percent", math.Round(1e4*busy)/100))
}
