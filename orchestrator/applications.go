package orchestrator

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/orchestrator/application"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Machine returns the description of a node's machine.
func (p *Plan) Machine(node int) machine.Spec {
	if node >= len(p.Hosts) {
		return machine.Spec{Switch: &p.Switches[node-len(p.Hosts)]}
	}
	if s, ok := p.Shims[node]; ok {
		return machine.Spec{Shim: &s}
	}
	return machine.Spec{Host: &p.Hosts[node]}
}

// applicationHosts returns the hosts that run programs, ascending.
func (p *Plan) applicationHosts() []int {
	var hosts []int
	for h := range p.Hosts {
		if _, ok := p.Shims[h]; ok {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// assignApplications gives hosts that run programs their shims, and names the
// flows between them, which come after those of the workload.
func (f *fabric) assignApplications(p *Plan, seed uint64) error {
	a := f.experiment.Applications
	if a == nil {
		return nil
	}
	p.Programs, p.ApplicationMTU, p.ApplicationImage = nil, a.MTU, a.Image
	p.Format.Raw = true
	hosts := slices.Sorted(slices.Values(a.Hosts))
	name := func(h int) string { return f.graph.Nodes[h].Name }
	for _, src := range hosts {
		for _, dst := range hosts {
			if src == dst {
				continue
			}
			id := int32(len(p.Flows))
			p.Flows = append(p.Flows, metrics.FlowInfo{
				Flow: id, Name: fmt.Sprintf("%s-%s app", name(src), name(dst)), Src: int32(src), Dst: int32(dst),
			})
			p.Pairs = append(p.Pairs, metrics.Pair{Flow: id, Source: int32(src), Destination: int32(dst)})
		}
	}
	signals, err := f.applicationSignals(a)
	if err != nil {
		return at("applications.signals", err)
	}
	p.Shims = map[int]shim.Config{}
	for _, h := range hosts {
		c := &p.Hosts[h]
		s := shim.Config{
			Node: h, Name: c.Name, Rate: c.Rate, Queue: a.Queue, Sizes: p.Sizes, CSIG: f.csig,
			Seed: seed, Measure: p.Measure, Records: p.Interval,
		}
		if s.Queue == 0 {
			s.Queue = f.queue
		}
		if f.csig != nil {
			s.Signals, s.Every = signals, f.tagging.Every
		}
		for _, pair := range p.Pairs {
			if int(pair.Source) == h || int(pair.Destination) == h {
				s.Pairs = append(s.Pairs, pair)
			}
		}
		p.Shims[h] = s
	}
	for i, program := range a.Programs {
		args, err := program.Args()
		if err != nil {
			return at(fmt.Sprintf("applications.programs[%d].run", i), err)
		}
		p.Programs = append(p.Programs, application.Program{
			Host: program.Host, Name: name(program.Host), Args: args,
			Start: units.Time(program.Start), Background: program.Background,
		})
	}
	return nil
}

func (f *fabric) applicationSignals(a *experiment.Applications) ([]csig.Type, error) {
	if len(a.Signals) == 0 {
		return []csig.Type{f.tagging.Signal}, nil
	}
	var signals []csig.Type
	for _, text := range a.Signals {
		t, err := csig.ParseType(text)
		if err != nil {
			return nil, err
		}
		signals = append(signals, t)
	}
	return signals, nil
}

// parted refuses transfers of hosts that run programs; they have no transport.
func (f *fabric) parted(w *workloads.Workload) error {
	a := f.experiment.Applications
	if a == nil {
		return nil
	}
	for i, t := range w.Transfers {
		for _, h := range []int{t.Src, t.Dst} {
			if !slices.Contains(a.Hosts, h) {
				continue
			}
			label := t.Label
			if label == "" {
				label = fmt.Sprint(i)
			}
			return fmt.Errorf("transfer %s from %d to %d: host %d is one of applications.hosts, which have no transport", label, t.Src, t.Dst, h)
		}
	}
	return nil
}

// programsOf returns the programs of a run, with the files that take what they
// write below the run folder.
func programsOf(p *Plan, folder, variant string, seed uint64) []application.Program {
	programs := slices.Clone(p.Programs)
	for i := range programs {
		programs[i].Output = filepath.Join(folder, "programs", fmt.Sprintf("%s-%d", variant, seed), fmt.Sprintf("%s-%d.txt", programs[i].Name, i))
	}
	return programs
}

// checkPrograms finds out whether programs that run on this machine's files are
// there.
func (r *runner) checkPrograms(p *Plan) error {
	if r.runtime == RuntimeContainerlab && p.ApplicationImage != "" {
		return nil
	}
	for i, program := range p.Programs {
		if err := program.Check(); err != nil {
			return at(fmt.Sprintf("applications.programs[%d].run", i), err)
		}
	}
	return nil
}

// takePrograms adds to the outcome how the programs of a run ended.
func (o *outcome) takePrograms(programs []application.Program, ended []application.Ended, folder string) {
	if len(programs) == 0 {
		return
	}
	us := func(t units.Time) *float64 {
		if t == units.Never {
			return nil
		}
		v := units.Duration(t).Microseconds()
		return &v
	}
	c := check{name: "programs", ok: true, detail: fmt.Sprintf("%d programs ended well, or with the run", len(programs))}
	for i, e := range ended {
		output, err := filepath.Rel(folder, programs[i].Output)
		if err != nil {
			output = programs[i].Output
		}
		o.programs = append(o.programs, runfolder.Program{
			Host: programs[i].Name, Args: programs[i].Args, Output: output, StartUS: us(e.Started), EndUS: us(e.Ended),
			Code: e.Code, Signal: e.Signal, Stopped: e.Stopped, Failure: e.Failure,
		})
		if c.ok && !e.OK() {
			c.ok = false
			c.detail = fmt.Sprintf("%q on %s %v", programs[i].Args[0], programs[i].Name, e)
			if e.Failure == "" {
				c.detail += "; what it wrote is in " + output
			}
		}
	}
	o.checks = append(o.checks, c)
}

// pathSums adds up what tags said of the paths between programs in the measuring
// window, as the windows come.
type pathSums struct {
	plan *Plan
	sums map[int32]*[csig.Types]pathSum // by flow, whose samples are at one host
}

type pathSum struct {
	samples, points int64
	named           map[uint16]int64 // by locator
}

func newPathSums(p *Plan) *pathSums {
	return &pathSums{plan: p, sums: map[int32]*[csig.Types]pathSum{}}
}

// Consume implements metrics.Consumer.
func (c *pathSums) Consume(b *metrics.Batch) {
	if _, programs := c.plan.Shims[int(b.Node)]; !programs {
		return
	}
	for i := range b.Signals {
		w := &b.Signals[i]
		if w.Start < c.plan.Measure.From || w.Start >= c.plan.Measure.To || csig.Type(w.Type) >= csig.Types {
			continue
		}
		if c.sums[w.Flow] == nil {
			c.sums[w.Flow] = &[csig.Types]pathSum{}
		}
		s := &c.sums[w.Flow][w.Type]
		if s.named == nil {
			s.named = map[uint16]int64{}
		}
		s.samples += w.Samples
		s.points += w.PointSum
		s.named[w.Locator] += w.Samples
	}
}

// measure adds the share of samples that name each port, by signal, and the mean of
// the available bandwidths.
func (c *pathSums) measure(m map[string]float64) {
	ports := c.plan.portNames()
	for flow, signals := range c.sums {
		for t, s := range signals {
			if s.samples == 0 {
				continue
			}
			name := c.plan.Flows[flow].Name
			for locator, n := range s.named {
				m[fmt.Sprintf("bottleneck_share.%s.%v.%s", name, csig.Type(t), ports[locator])] = float64(n) / float64(s.samples)
			}
			if csig.Type(t) == csig.ABW {
				m["abw_gbps."+name] = float64(s.points) / float64(s.samples) * 8 / float64(units.Gbps)
			}
		}
	}
}

// portNames returns the switch ports that each locator stands for, such as
// tor0-agg0 for the one of tor0 that leads to agg0.
func (p *Plan) portNames() map[uint16]string {
	names := map[uint16]string{0: "none"}
	adjacency := p.Graph.Adjacency()
	for i, s := range p.Switches {
		node := len(p.Hosts) + i
		for port, cfg := range s.Ports {
			if cfg.Locator == 0 {
				continue
			}
			name := p.Graph.Nodes[node].Name + "-" + p.Graph.Nodes[adjacency[node][port].Peer.Node].Name
			if before := names[cfg.Locator]; before != "" {
				name = before + "+" + name
			}
			names[cfg.Locator] = name
		}
	}
	return names
}

// guessedProgram is how long a program is taken to run for the bar of progress.
const guessedProgram = 10 * units.Second

func lastStart(programs []application.Program) (last units.Time) {
	for _, p := range programs {
		last = max(last, p.Start)
	}
	return last
}

// applicationLoad bounds the frame-hops that programs cause in a model second:
// each host sends full frames at the rate of its link, over the longest path.
func applicationLoad(p *Plan) float64 {
	hops, _ := topologies.LongestPath(p.Graph)
	var perSecond float64
	for _, s := range p.Shims {
		perSecond += float64(s.Rate) / 8 / float64(p.ApplicationMTU+experiment.FrameOverhead) * float64(hops)
	}
	return perSecond
}
