package plan

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
)

// Compile returns the plan of a resolved experiment under a seed. Its error
// wraps failure.ErrConfiguration.
func Compile(e *experiment.Experiment, seed uint64) (*Plan, error) {
	s, err := NewShape(e)
	if err != nil {
		return nil, err
	}
	return s.Plan(seed)
}

// Shape is the common part of the plans of one variant: everything that does not
// depend on the seed, and the workload of the first seed.
type Shape struct {
	experiment *experiment.Experiment
	fabric     fabric
	first      workload
	jobs       playedJobs
	buffers    buffers
	signals    signals
	faults     []placedFault
	captured   []capture.Port
	// controlDelay is the delay of dependencies that cross hosts.
	controlDelay units.Duration
	length       units.Duration // predicted, of a run whose telemetry interval is auto; 0 of others
	interval     units.Duration // of telemetry
	notes        []string       // on how files were read, and on what was not checked
	rival        bool           // a variant before has no CSIG
}

// NewShape builds the topology and the workload of a resolved experiment and
// checks them against the rest of it. Its error wraps failure.ErrConfiguration.
func NewShape(e *experiment.Experiment) (*Shape, error) { return new(Variants).NewShape(e) }

// NewShape returns the shape of one more variant; see NewShape. It refuses variants
// that are too many for their size, with an error that wraps failure.ErrConfiguration.
func (v *Variants) NewShape(e *experiment.Experiment) (*Shape, error) {
	fabric, err := v.fabric(e)
	if err != nil {
		return nil, err
	}
	if fabric.foreign, err = newForeign(e, &fabric); err != nil {
		return nil, err
	}
	first, notes, err := newWorkload(e, &fabric, e.Seeds[0])
	if err != nil {
		return nil, err
	}
	if err := v.count(len(fabric.graph.Nodes), len(first.Transfers)); err != nil {
		return nil, err
	}
	if !fabric.joined() {
		flows := newFlows(e, &fabric, &first)
		if err := fabric.reached(flows.list); err != nil {
			return nil, err
		}
	}
	jobs, stuck, err := playJobs(e, &fabric, &first)
	if err != nil {
		return nil, err
	}
	delay, err := controlDelay(fabric.graph, e.Workload.ControlDelay)
	if err != nil {
		return nil, err
	}
	captured, err := capturedPorts(&fabric, e.Capture)
	if err != nil {
		return nil, err
	}
	faults, err := newFaults(e, &fabric, first.Failures)
	if err != nil {
		return nil, err
	}
	buffers, err := newBuffers(e, &fabric)
	if err != nil {
		return nil, err
	}
	signals, err := newSignals(e, &fabric)
	if err != nil {
		return nil, err
	}
	if err := checkAlgorithms(e, &fabric, buffers.sizing, signals.domain()); err != nil {
		return nil, err
	}
	if err := checkFluid(e); err != nil {
		return nil, err
	}
	length, interval := newInterval(e, &fabric, &first, jobs.loads)
	rival := v.untagged
	v.untagged = v.untagged || e.CSIG.Format == csig.FormatNone
	return &Shape{
		rival:      rival,
		experiment: e, fabric: fabric, first: first, jobs: jobs, buffers: buffers, signals: signals, faults: faults, captured: captured,
		controlDelay: delay, length: length, interval: interval, notes: slices.Concat(fabric.notes, notes, stuck, v.balanceNotes(e, &fabric)),
	}, nil
}

// run is a shape under a seed: what the nodes of a plan follow from.
type run struct {
	*Shape
	Recording
	seed     uint64
	hosts    int
	workload workload
	busy     []bool // by host: it sends or receives transfers
	flows    flows
	format   wire.Format
	// paths are what senders know of the ways of tags of the first format and of the second;
	// nil without.
	paths, secondPaths *paths
}

func newRun(s *Shape, seed uint64) (*run, error) {
	workload, err := s.workloadOf(seed)
	if err != nil {
		return nil, err
	}
	e, f := s.experiment, &s.fabric
	r := &run{
		Shape: s, seed: seed, hosts: f.graph.Hosts(), workload: workload, busy: workload.busy(f.graph.Hosts()), flows: newFlows(e, f, &workload), format: newFormat(s),
		paths: newPaths(f, e.Links, s.signals, false), secondPaths: newPaths(f, e.Links, s.signals, true),
	}
	if !f.joined() {
		if err := f.reached(r.flows.list); err != nil {
			return nil, err
		}
	}
	r.Recording, err = newRecording(s, &r.flows)
	return r, err
}

// newFormat returns the format of the frames of a run.
func newFormat(s *Shape) wire.Format {
	e := s.experiment
	f := wire.Format{
		Sizes: wire.Sizes{Header: e.Links.Header, CountTag: e.Links.CountTag, Overhead: e.Links.Overhead},
		Raw:   e.Applications != nil || len(e.Generators) > 0, PFC: s.buffers.data.lossless(), Tunnel: newTunnel(s),
	}
	if domain := s.signals.domain(); domain != nil {
		f.TPIDCompact, f.TPIDWide = domain.TPIDCompact, domain.TPIDWide
	}
	return f
}

// decided is what the stages of a plan have decided of its nodes.
type decided struct {
	kinds
	tasks
	rules
	collecting
	weights []*forward.Weights // by node; nil but under routing wcmp
	faults  faultPlan
	choices []*fluid.Choice // by transfer: which messages are packets beside a fluid; nil: none; nil without
}

// Plan returns the plan of a seed.
func (s *Shape) Plan(seed uint64) (*Plan, error) {
	r, err := newRun(s, seed)
	if err != nil {
		return nil, err
	}
	edges, err := newEdges(r)
	if err != nil {
		return nil, err
	}
	applications, err := newApplications(s.experiment.Applications)
	if err != nil {
		return nil, err
	}
	choices, err := newPacketChoices(r)
	if err != nil {
		return nil, err
	}
	tasks, err := newTasks(r, edges.beside)
	if err != nil {
		return nil, err
	}
	rules, err := newRules(r)
	if err != nil {
		return nil, err
	}
	generators, err := newGenerators(r, edges.alone)
	if err != nil {
		return nil, err
	}
	kinds, weights := kinds{edges, generators}, newWeights(&s.fabric, s.experiment.Routing)
	collecting, err := newCollecting(r, kinds, weights)
	if err != nil {
		return nil, err
	}
	faults, err := newFaultPlan(r, kinds)
	if err != nil {
		return nil, err
	}
	groups, err := newGroups(r)
	if err != nil {
		return nil, err
	}
	d := &decided{kinds, tasks, rules, collecting, weights, faults, choices}
	network := newNetwork(r, d)
	jobs, kept := newJobInfos(r)
	p := &Plan{Network: network, Traffic: newTraffic(r, groups, jobs), Applications: applications, Recording: r.Recording, Tags: s.signals.meaning(s.fabric.graph)}
	if p.Fluid, err = newFluid(r, d, p); err != nil {
		return nil, err
	}
	p.Notes = newNotes(r, p, kept)
	return p, nil
}

// newNetwork returns what runs.
func newNetwork(r *run, d *decided) Network {
	n := Network{
		Graph: r.fabric.graph, Nodes: newNodes(r, d), Foreign: r.fabric.foreign, Links: append(graphLinks(r.fabric.graph), d.links...), Path: r.buffers.path(r.fabric.rate(0)), Format: r.format,
		Faults: d.faults.list, TieSeed: r.experiment.TieSeed, End: cmp.Or(units.Time(r.experiment.End), units.Never),
	}
	if r.buffers.data != nil {
		n.Classes = r.buffers.data.list
	}
	return n
}

// newNodes returns the specifications of all nodes.
func newNodes(r *run, d *decided) []machine.Spec {
	nodes, hosts := make([]machine.Spec, len(r.fabric.graph.Nodes)), newHosts(r, d)
	for n := range nodes {
		spec := &nodes[n]
		switch spec.Faults = d.faults.nodes[n]; {
		case n >= r.hosts:
			spec.Switch = newSwitch(r, d, n)
		case d.generators[n] != nil:
			spec.Generator = d.generators[n]
		case d.alone[n] != nil:
			spec.Shim = d.alone[n]
		default:
			spec.Host = hosts[n]
		}
	}
	return nodes
}

// newTraffic returns what hosts send.
func newTraffic(r *run, groups []Group, jobs []metrics.JobInfo) Traffic {
	return Traffic{
		Flows: r.flows.list, Transfers: r.flows.transfers, Calls: r.workload.calls(), Pairs: r.flows.pairs, Groups: groups,
		Jobs: jobs, Loads: r.jobs.loads, StartUnit: r.workload.StartUnit,
	}
}
