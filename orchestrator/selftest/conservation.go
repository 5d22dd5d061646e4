package selftest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/sim"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
	"github.com/csiglab/csiglab/orchestrator/run/check"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"

	recorded "github.com/csiglab/csiglab/metrics"
)

// booksBasis is where the conservation of packets comes from.
var booksBasis = basis{"port: in = out + dropped + queued, in packets and in bytes; flow: sent = delivered + dropped + in flight", "counting"}

// books returns a check that the checks of a run hold in which packets are trimmed and lost.
func books(experiment string) func(context.Context, *bench) ([]Claim, error) {
	return func(ctx context.Context, b *bench) ([]Claim, error) {
		set, err := b.parse(experiment)
		if err != nil {
			return nil, err
		}
		runs, err := b.run(ctx, set, campaign.Options{})
		if err != nil {
			return nil, err
		}
		r := runs["run"][0]
		needed := basis{"books are worth checking only where packets go missing", "the experiment: short queues, and a link that loses packets"}
		claims := []Claim{
			r.some("packets that were trimmed", "trims", "packets", needed),
			r.some("packets that were dropped", "drops", "packets", needed),
		}
		for _, name := range []string{"conservation", "completion"} {
			claims = append(claims, word("check "+name, "holds", outcomeOf(name, r.checks), booksBasis))
		}
		return claims, nil
	}
}

// outcomeOf returns what a check of a run came to.
func outcomeOf(name string, checks []runfolder.Check) string {
	for _, c := range checks {
		switch {
		case c.Name == name && c.OK:
			return "holds"
		case c.Name == name:
			return c.Detail
		}
	}
	return "the run has no such check"
}

// leak is a machine that loses one packet without counting it.
type leak struct {
	node.Machine
	nth int // packet that it receives, from 1
}

// Receive loses the packet or hands it on.
func (l *leak) Receive(now units.Time, port int, p *wire.Packet) {
	if l.nth--; l.nth != 0 {
		l.Machine.Receive(now, port, p)
	}
}

// leaking returns a check that the loss of the nth packet at a switch is noticed.
func leaking(nth int) func(context.Context, *bench) ([]Claim, error) {
	return func(ctx context.Context, b *bench) ([]Claim, error) {
		set, err := b.parse("small")
		if err != nil {
			return nil, err
		}
		p, err := plan.Compile(set.Variants[0].Experiment, set.Base.Seeds[0])
		if err != nil {
			return nil, err
		}
		at := p.Hosts() // the first switch
		noticed, err := leakAt(ctx, p, at, nth)
		if err != nil {
			return nil, err
		}
		name, measured := p.Graph.Nodes[at].Name, noticed.Detail
		if !noticed.OK && strings.Contains(measured, name) {
			measured = "noticed at " + name
		}
		return []Claim{word("check conservation", "noticed at "+name, measured, booksBasis)}, nil
	}
}

// leakAt runs a plan in virtual time in which a node loses a packet, and judges the run.
func leakAt(ctx context.Context, p *plan.Plan, at, nth int) (runfolder.Check, error) {
	records := measure.NewRecords(p, nil)
	cfg := sim.Config{TieSeed: p.TieSeed, End: p.End, Progress: func(int, units.Time) bool { return ctx.Err() == nil }}
	pool := &wire.Pool{}
	var sinks []*recorded.Batcher
	for i, spec := range p.Nodes {
		sink := recorded.NewBatcher(i, 1, records)
		m, err := spec.New(pool, sink)
		if err != nil {
			return runfolder.Check{}, err
		}
		if i == at {
			m = &leak{Machine: m, nth: nth}
		}
		sinks = append(sinks, sink)
		cfg.Nodes = append(cfg.Nodes, sim.Station{Machine: m, Ports: spec.Ports(), Sink: sink})
	}
	for _, l := range p.Links {
		cfg.Links = append(cfg.Links, topologies.Link{A: l.A, B: l.B, Delay: l.Delay})
	}
	s := sim.New(cfg)
	if !s.Run() {
		return runfolder.Check{}, ctx.Err()
	}
	out := &backend.Outcome{End: s.End(), Drained: s.Drained()}
	if !s.Close() {
		return runfolder.Check{}, ctx.Err()
	}
	for _, sink := range sinks {
		sink.Flush()
	}
	return check.Conservation(p, out, records.Nodes()), nil
}

// realFrames are options of runs with a network namespace per node, in model time.
var realFrames = campaign.Options{Runtime: runtimes.Netns, Clock: runtimes.Lockstep, CheckParity: true}

// lostFrame returns a check that the loss of a real frame ends a run with the name of its link.
func lostFrame(link string, nth int) func(context.Context, *bench) ([]Claim, error) {
	return func(ctx context.Context, b *bench) ([]Claim, error) {
		set, err := b.parse("small")
		if err != nil {
			return nil, err
		}
		opts := realFrames
		opts.Inject = []string{fmt.Sprintf("drop=%s:%d", link, nth)}
		_, err = b.run(ctx, set, opts)
		var invalid *invalidError
		measured := "nothing was noticed"
		switch {
		case ctx.Err() != nil || errors.Is(err, backend.ErrUnavailable):
			return nil, err
		case errors.As(err, &invalid) || errors.Is(err, failure.ErrInfrastructure):
			if measured = err.Error(); strings.Contains(measured, link) {
				measured = "the run ended, and named the link"
			}
		case err != nil:
			return nil, err
		}
		return []Claim{word("a real frame that is lost on "+link, "the run ended, and named the link", measured, basis{"frames read = frames sent, on each link", "the counters that nodes publish (docs/explanation/lockstep.md)"})}, nil
	}
}

// parity returns a check that real frames leave the trace of virtual time. inject damages
// frames, for tests.
func parity(inject ...string) func(context.Context, *bench) ([]Claim, error) {
	return func(ctx context.Context, b *bench) ([]Claim, error) {
		set, err := b.parse("small")
		if err != nil {
			return nil, err
		}
		opts := realFrames
		opts.Inject = inject
		runs, err := b.run(ctx, set, opts)
		if err != nil {
			return nil, err
		}
		virtual, err := b.run(ctx, set, campaign.Options{})
		if err != nil {
			return nil, err
		}
		theorem := basis{"conservative parallel simulation processes the events of each node in the sequential order", "docs/explanation/lockstep.md"}
		real, simulated := runs["run"][0], virtual["run"][0]
		return []Claim{
			word("trace of each node", "holds", outcomeOf("parity", real.checks), theorem),
			word("trace of the run", sameTrace, traces(simulated, real), theorem),
			word("metrics", "the same", differences(simulated.metrics, real.metrics), theorem),
			word("frames that the kernel counted", "holds", outcomeOf("frames", real.checks), basis{"sent by nodes = sent and received by interfaces", "counters of the kernel"}),
		}, nil
	}
}
