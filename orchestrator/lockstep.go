package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/capture/spool"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/containerlab"
	"github.com/csiglab/csiglab/orchestrator/containers"
	"github.com/csiglab/csiglab/orchestrator/netns"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Payloads of real frames.
const (
	PayloadFull  = "full"
	PayloadElide = "elide"
)

// Processes of runtime netns.
const (
	ProcessesNode = "node" // one for each node
	ProcessesOne  = "one"
	// ProcessesSwitches has all switches in one, joined in memory; clock wall.
	ProcessesSwitches = "switches"
)

// real runs a plan with real frames between network namespaces or containers.
func (r *runner) real(ctx context.Context, j job, fraction func(float64), pcap *capturing, to keeper) (*outcome, error) {
	p := j.plan
	f, err := r.netnsFabric(p)
	if err != nil {
		return nil, err
	}
	records := newGathering(p, to)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f.Records = func(b *metrics.Batch) {
		records.Consume(b)
		if err := records.err(); err != nil {
			cancel(err) // a run whose records cannot be written need not go on
		}
	}
	if pcap != nil {
		f.Spools = emu.Capture{Folder: nodesFolder(r.runtime, f.Folder)}
		for _, port := range p.Capture.Ports {
			f.Spools.Ports = append(f.Spools.Ports, topologies.End{Node: port.Node, Port: port.Port})
		}
		defer removeSpools(f.Spools)
	}
	// The end is not known before it has come; the fluid bound is close where a
	// link is the bottleneck.
	_, bound := estimate(p.Graph, p.Workload, p.Path)
	if len(p.Programs) > 0 {
		bound = max(bound, units.Duration(min(p.End, lastStart(p.Programs).Add(guessedProgram))))
	}
	progress := func(now units.Time) { fraction(min(float64(now)/float64(max(bound, 1)), 0.99)) }
	if r.wall != nil {
		f.Live = emu.Live{Folder: nodesFolder(r.runtime, f.Folder), About: r.set.Variants[j.variant].Name}
		defer spool.RemovePipes(f.Live.Folder)
		f.Patience, f.Hold = time.Minute+20*r.wall.At(units.Time(bound)), r.opts.Hold
		f.Programs = programsOf(p, f.Folder, r.set.Variants[j.variant].Name, j.seed)
		f.Ready = func(id string) {
			r.log.Info("started", "id", id)
			if r.opts.Ready != nil {
				r.opts.Ready(Started{ID: id, Folder: f.Folder})
			}
		}
	}
	run := r.namespaces
	if r.runtime == RuntimeContainerlab {
		run = r.containers
	}
	out, err := run(ctx, p, f, progress, records)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, infrastructure(err)
	}
	if pcap != nil {
		if err := pcap.merge(f.Spools); err != nil {
			return nil, writeError(f.Folder, err)
		}
	}
	return out, nil
}

// namespaces runs a fabric in network namespaces.
func (r *runner) namespaces(ctx context.Context, p *Plan, f netns.Fabric, progress func(units.Time), records *gathering) (*outcome, error) {
	got, err := netns.Run(ctx, f, progress)
	if err != nil {
		return nil, err
	}
	return r.realOutcome(p, f, left{
		Outcome: got.Outcome, shaped: got.Shaped, programs: got.Programs, cpu: got.CPU, setup: got.Setup, wall: got.Wall,
		tx: got.Counters.TxPackets, rx: got.Counters.RxPackets, records: records,
	}), nil
}

func (r *runner) netnsFabric(p *Plan) (netns.Fabric, error) {
	f := netns.Fabric{
		Fabric: emu.Fabric{
			Graph: p.Graph, Format: p.Format, TieSeed: p.TieSeed, End: p.End, Elide: r.opts.Payload == PayloadElide,
			Applications: p.applicationHosts(), Profile: p.Capture.Domain.Profile(),
		},
		Wall:           r.wall,
		ApplicationMTU: p.ApplicationMTU,

		Name:       r.set.Base.Name,
		Folder:     r.writer.Dir(),
		MaxPayload: max(p.Path.MTU-p.Path.Header, p.ApplicationMTU),
		OneProcess: r.opts.Processes == ProcessesOne,

		SwitchesTogether: r.opts.Processes == ProcessesSwitches,
	}
	if folder, err := filepath.Abs(f.Folder); err == nil {
		f.Folder = folder
	}
	for _, c := range p.Control {
		f.Control = append(f.Control, emu.ControlLink(c))
	}
	var err error
	if f.Inject, err = r.injections(p); err != nil {
		return f, err
	}
	for i := range p.Graph.Nodes {
		f.Nodes = append(f.Nodes, p.Machine(i))
	}
	return f, nil
}

// injections returns the faults that the options ask for.
func (r *runner) injections(p *Plan) (list []emu.Injection, err error) {
	for _, text := range r.opts.Inject {
		i, err := emu.ParseInjection(text, p.Graph)
		if err != nil {
			return nil, configuration(fmt.Errorf("--inject: %w", err))
		}
		list = append(list, i)
	}
	return list, nil
}

// ready finds out, before anything is made, what would keep real nodes from
// running.
func (r *runner) ready(ctx context.Context, jobs []job) error {
	if r.runtime == RuntimeInproc {
		return nil
	}
	for _, j := range jobs {
		if _, err := r.injections(j.plan); err != nil {
			return inVariant(r.set, j.variant, err)
		}
		if err := r.checkPrograms(j.plan); err != nil {
			return inVariant(r.set, j.variant, err)
		}
	}
	if r.runtime == RuntimeContainerlab {
		if err := r.checkContainers(ctx, jobs); err != nil {
			return err
		}
	}
	if r.opts.Processes == ProcessesOne {
		return nil
	}
	_, err := nodePrograms()
	return infrastructure(err)
}

// checkContainers finds out whether containers can run, of the user's images too.
func (r *runner) checkContainers(ctx context.Context, jobs []job) error {
	checked := map[string]bool{}
	for _, j := range jobs {
		image := j.plan.ApplicationImage
		if checked[image] {
			continue
		}
		checked[image] = true
		switch err := containers.Check(ctx, image); {
		case errors.Is(err, containerlab.ErrNoImage):
			return inVariant(r.set, j.variant, at("applications.image", err))
		case err != nil:
			return infrastructure(err)
		}
	}
	return nil
}

// checkFrames compares the frames that the nodes sent with what the interfaces
// of the nodes counted.
func checkFrames(p *Plan, results []metrics.NodeTotals, frames, sent, received int64) check {
	c := check{name: "frames", ok: true}
	var packets int64
	for _, n := range results {
		for _, t := range n.Ports {
			packets += t.TxPackets
		}
	}
	var wrong []string
	compare := func(what string, n int64) {
		if n != frames {
			wrong = append(wrong, fmt.Sprintf("%s %d", what, n))
		}
	}
	if len(p.Control) == 0 { // control messages are frames but no packets of a port
		compare("packets sent", packets)
	}
	compare("frames that interfaces sent", sent)
	compare("frames that interfaces received", received)
	c.detail = fmt.Sprintf("%d frames sent, %d and %d counted by the interfaces at both ends of the links", frames, sent, received)
	if len(wrong) > 0 {
		c.ok = false
		c.detail = fmt.Sprintf("%d frames sent, but %s", frames, strings.Join(wrong, ", "))
	}
	return c
}
