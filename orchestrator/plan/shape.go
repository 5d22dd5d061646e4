package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Shape is the common part of the plans of one variant: everything that does not
// depend on the seed, and the workload of the first seed.
type Shape struct {
	experiment   *experiment.Experiment
	graph        *topologies.Graph
	routes       []topologies.Routes
	dragonfly    *topologies.Groups  // of a Dragonfly whose routing leaves minimal paths; nil elsewhere
	workload     *workloads.Workload // with the connections of jobs behind its own transfers
	own          int                 // transfers of the workload itself
	traffic      []jobTraffic        // by job, under the first seed
	shares       [][]metrics.Share   // of links, by job, under the first seed; nil: there are no two jobs
	notes        []string
	controlDelay units.Duration
	captured     []capture.Port
	sizing       sizing
	marking      algorithm.Choice // AQM policy of every switch port
	data         *dataClasses     // nil: one data class, which may lose packets
	tags         *tags            // nil without CSIG
	policies     []policy
	ports        [][]portTags       // by node and port of switches
	paths        *paths             // of signals; nil without CSIG
	secondPaths  *paths             // of signals in tags of the second format; nil without
	interval     units.Duration     // of telemetry; 0: auto, not settled
	faults       []experiment.Fault // of the experiment, with their names, then failures of the workload's file
	faultPlaces  [][]int            // by fault: links or nodes that it may hit
}

// Compile returns the plan of a resolved experiment under a seed. Its error
// wraps failure.ErrConfiguration.
func Compile(e *experiment.Experiment, seed uint64) (*Plan, error) {
	s, err := NewShape(e)
	if err != nil {
		return nil, err
	}
	return s.Plan(seed)
}

// NewShape builds the topology and the workload of a resolved experiment and
// checks them against the rest of it. Its error wraps failure.ErrConfiguration.
func NewShape(e *experiment.Experiment) (*Shape, error) { return new(Variants).NewShape(e) }

// NewShape returns the shape of one more variant; see NewShape. It refuses variants
// that are too many for their size, with an error that wraps failure.ErrConfiguration.
func (v *Variants) NewShape(e *experiment.Experiment) (*Shape, error) {
	fabric, err := v.fabric(e.Topology)
	if err != nil {
		return nil, err
	}
	topology := fabric.built
	s := &Shape{experiment: e, graph: topology.Graph, interval: e.Telemetry.Interval}
	load, notes, err := s.build(e.Seeds[0])
	if err != nil {
		return nil, err
	}
	s.own = len(load.Transfers)
	if load, s.traffic, err = addJobs(load, s.own, max(1, s.graph.NICs), e.Links, e.Seeds[0]); err != nil {
		return nil, failure.At("jobs", err)
	}
	if err := v.count(len(s.graph.Nodes), len(load.Transfers)); err != nil {
		return nil, err
	}
	stuck, err := checkJobs(load, s.traffic, s.graph.Links[s.graph.Adjacency()[0][0].Link].Rate, e.Seeds[0])
	if err != nil {
		return nil, failure.At("jobs", err)
	}
	for i := range s.traffic {
		s.traffic[i].alone = s.traffic[i].load.Length / units.Duration(load.Jobs[i].Source.Steps())
	}
	keepSlots(load, s.traffic)
	s.workload, s.notes = load, slices.Concat(topology.Notes, notes, stuck)
	if s.controlDelay, err = controlDelay(s.graph, e.Workload.ControlDelay); err != nil {
		return nil, err
	}
	if s.captured, err = capturedPorts(s.graph, e.Capture); err != nil {
		return nil, err
	}
	if s.dragonfly, err = newRouting(s.graph, e.Routing); err != nil {
		return nil, err
	}
	idle, err := fabric.idle(e.Links, s.detour())
	if err != nil {
		return nil, err
	}
	s.sizing = sizing{links: e.Links, idle: idle, credits: credits(e)}
	if s.faults, err = faults(e, s.graph, load.Failures); err != nil {
		return nil, err
	}
	if s.faultPlaces, err = faultPlaces(s.graph, s.faults); err != nil {
		return nil, err
	}
	s.routes = fabric.nextHops()
	if s.marking, err = newMarking(s.graph, endless(e.Links, slices.ContainsFunc(e.Classes, func(c experiment.Class) bool { return c.Name == experiment.DefaultClass && c.Lossless })), s.sizing); err != nil {
		return nil, err
	}
	if s.data, err = newClasses(s.graph, e, s.sizing, s.marking); err != nil {
		return nil, err
	}
	if s.tags, err = newTags(s.graph, e.CSIG, s.sizing.rtt); err != nil {
		return nil, failure.At("csig", err) // where no narrower place is known
	}
	if s.tags != nil {
		s.sizing.interval = e.CSIG.Interval
	}
	if s.ports, err = applyPortRules(s.graph, e.CSIG); err != nil {
		return nil, failure.At("csig.ports", err)
	}
	if s.policies, err = newPolicies(e.CSIG.Policies); err != nil {
		return nil, err
	}
	s.paths, s.secondPaths = newPaths(s, false), newPaths(s, true)
	s.shares = s.newShares()
	return s, nil
}

// build returns the workload of a seed with its jobs, without their connections. Notes are
// what the user should know of how files were read.
func (s *Shape) build(seed uint64) (load *workloads.Workload, notes []string, err error) {
	e := s.experiment
	load, notes, err = e.Workload.Build(s.graph.Hosts(), e.Links, seed)
	if err != nil {
		return nil, nil, failure.Configuration(err)
	}
	jobs, more, err := e.BuildJobs(s.graph)
	if err != nil {
		return nil, nil, failure.Configuration(err)
	}
	load.AddJobs(jobs)
	if err := checkWorkload(load, e); err != nil {
		return nil, nil, failure.At("workload", err)
	}
	return load, slices.Concat(notes, more), nil
}

// controlDelay returns the delay of dependencies that cross hosts: the one given,
// or the smallest link delay where that is 0. A delay below the smallest link delay
// is an error, so that clocks that keep nodes in step look as far ahead with
// dependencies as without.
func controlDelay(g *topologies.Graph, given units.Duration) (units.Duration, error) {
	least := g.Links[0].Delay
	for _, l := range g.Links {
		least = min(least, l.Delay)
	}
	switch {
	case given == 0:
		return least, nil
	case given < least:
		return 0, failure.At("workload.control_delay", fmt.Errorf("%v is below the smallest link delay, %v", given, least))
	}
	return given, nil
}

// Plan returns the plan of a seed.
func (s *Shape) Plan(seed uint64) (*Plan, error) {
	s, err := s.withSeed(seed)
	if err != nil {
		return nil, err
	}
	e := s.experiment
	adjacency := s.graph.Adjacency()
	flows, interval := s.flowInfos(), s.interval
	if interval == 0 {
		interval = autoInterval(s.length(flows))
	}
	p := &Plan{
		Graph:     s.graph,
		Nodes:     make([]machine.Spec, len(s.graph.Nodes)),
		Links:     graphLinks(s.graph),
		Flows:     flows,
		Jobs:      jobInfos(s.workload, s.traffic),
		Loads:     jobLoads(s.traffic),
		Transfers: len(s.workload.Transfers),
		Calls:     calls(s.workload),
		Format:    wire.Format{Sizes: wire.Sizes{Header: e.Links.Header, CountTag: e.Links.CountTag, Overhead: e.Links.Overhead}},
		TieSeed:   e.TieSeed,
		End:       units.Never,
		Measure:   metrics.Span{From: units.Time(e.Measure.From), To: units.Never},
		Interval:  interval,
		Untraced:  e.Telemetry.Untraced(),
		Path:      s.sizing.path(s.graph.Links[adjacency[0][0].Link].Rate),
		Captured:  s.captured,
		StartUnit: s.workload.StartUnit,
		Traced:    newTraced(e.Trace),
		Truth:     metrics.TruthChoice(e.Telemetry.Truth),
	}
	for i, shares := range s.shares {
		p.Jobs[i].Shares = shares
	}
	if s.tags != nil {
		p.CSIG, p.Locators = &s.tags.domain, s.tags.table
		if s.tags.second != nil {
			p.Second = s.tags.second.table
		}
		p.Format.TPIDCompact, p.Format.TPIDWide = s.tags.domain.TPIDCompact, s.tags.domain.TPIDWide
	}
	if e.End != 0 {
		p.End = units.Time(e.End)
	}
	if e.Measure.To != 0 {
		p.Measure.To = units.Time(e.Measure.To)
	}
	if err := s.configureCC(p, adjacency); err != nil {
		return nil, err
	}
	if err := checkLB(p, e.Hosts.LB); err != nil {
		return nil, err
	}
	hosts := make([]host.Config, s.graph.Hosts())
	for h := range hosts {
		hosts[h] = s.host(h, seed, p, adjacency[h][0])
	}
	if a := e.Applications; a != nil {
		if err := s.assignApplications(p, hosts, a, seed); err != nil {
			return nil, err
		}
	}
	links, err := assignWorkload(s, hosts, seed) // numbers control ports, which come after that of programs
	if err != nil {
		return nil, err
	}
	p.Links = append(p.Links, links...)
	if err := s.assignClasses(p, hosts); err != nil {
		return nil, err
	}
	if err := s.checkPolicies(p, hosts); err != nil {
		return nil, err
	}
	s.assignTagging(p, hosts)
	if err := s.assignCC(p, hosts); err != nil {
		return nil, err
	}
	for h := range hosts {
		if p.Nodes[h].Shim == nil {
			p.Nodes[h].Host = &hosts[h]
		}
	}
	if err := s.assignGenerators(p); err != nil {
		return nil, err
	}
	s.addSwitches(p, seed, adjacency)
	s.weigh(p, adjacency)
	if err := s.collect(p, adjacency); err != nil {
		return nil, err
	}
	if err := s.addFaults(p, seed); err != nil {
		return nil, err
	}
	if err := s.trace(p); err != nil {
		return nil, err
	}
	if p.Groups, err = s.groups(p); err != nil {
		return nil, err
	}
	p.Notes = slices.Concat(s.notes, s.slotNotes(p), newSignalling(s, p).notes(), s.recoveryNotes(p), s.traceNotes(p), serverNotes(p))
	if s.data.lossless() {
		p.Notes = append(p.Notes, flowControlNote(p))
	}
	p.Notes = append(p.Notes, keepOperations(p.Jobs, e.Telemetry.Operations)...)
	if p.Untraced {
		p.Notes = append(p.Notes, untracedNote)
	}
	return p, nil
}

// configureCC checks the parameters of the congestion control with the link of each host,
// before one is built, and takes its actions and constants.
func (s *Shape) configureCC(p *Plan, adjacency [][]topologies.Adjacent) error {
	a := s.experiment.Hosts.CC
	cc, ok := congestion.Table.Lookup(a.Name)
	if !ok {
		return failure.Configuration(fmt.Errorf("unknown congestion control %q", a.Name))
	}
	checked := map[units.Rate]bool{}
	for h := range s.graph.Hosts() {
		rate := s.graph.Links[adjacency[h][0].Link].Rate
		if checked[rate] {
			continue
		}
		checked[rate] = true
		_, err := cc.New(s.sizing.path(rate), a.Params)
		var param *algorithm.ParamError
		if h > 0 && errors.As(err, &param) { // a parameter that does not fit the first host fits none as a rule
			err = &algorithm.ParamError{Param: param.Param, Err: fmt.Errorf("at %s: %w", s.graph.Nodes[h].Name, param.Err)}
		}
		if err != nil {
			return failure.AtParam("hosts.cc", err)
		}
	}
	p.Actions, p.Constants = cc.Actions, cc.ConstantsOf(p.Path, a.Params)
	return nil
}

// checkLB checks the parameters of the load balancer, before a host is built.
func checkLB(p *Plan, a experiment.Algorithm) error {
	lb, ok := balance.Table.Lookup(a.Name)
	if !ok {
		return failure.Configuration(fmt.Errorf("unknown load balancer %q", a.Name))
	}
	if _, err := lb.New(sampleFlow(p.Path, p.CSIG), a.Params); err != nil {
		return failure.AtParam("hosts.lb", err)
	}
	return nil
}

// sampleFlow is what a load balancer is built with to see what it makes of its parameters.
func sampleFlow(p congestion.Path, c *csig.Config) balance.Flow {
	flow := host.BalanceFlow(p, c)
	flow.Random = rand.New(rand.NewPCG(0, 0))
	return flow
}

// host returns the configuration of a host that runs the transport. up is the port
// to which its NIC leads.
func (s *Shape) host(h int, seed uint64, p *Plan, up topologies.Adjacent) host.Config {
	e := s.experiment
	rate := s.graph.Links[up.Link].Rate
	c := host.Config{
		Node:       h,
		Name:       s.graph.Nodes[h].Name,
		IP:         wire.HostIP(h),
		MAC:        wire.MAC(h, 0),
		NextHopMAC: wire.MAC(up.Peer.Node, up.Peer.Port),
		Rate:       rate,
		MTU:        e.Links.MTU,
		Sizes:      p.Format.Sizes,
		RTO:        s.sizing.rto(e.Hosts.MinRTO, rate),
		AckEvery:   e.Hosts.AckEvery,
		Recovery:   s.experiment.Hosts.Recovery,
		Credits:    e.Hosts.Credits,
		CC:         e.Hosts.CC,
		LB:         e.Hosts.LB,
		Path:       s.sizing.path(rate),
		CSIG:       p.CSIG,
		Seed:       seed,
		Measure:    p.Measure,
		Records:    p.Interval,
		Traced:     p.Traced,
		Truth:      p.Truth,
	}
	c.Place = e.Hosts.TrimPlace
	if s.tags != nil {
		c.Tagging, c.LastHops = s.tags.tagging, s.tags.lastHops
	}
	return c
}

// withSeed returns the shape with what the workload and the jobs send under a seed.
func (s *Shape) withSeed(seed uint64) (*Shape, error) {
	seeded := s.experiment.Workload.Seeded()
	if len(s.workload.Jobs) == 0 && !seeded || seed == s.experiment.Seeds[0] {
		return s, nil
	}
	with := *s
	with.paths, with.secondPaths = s.paths.clone(), s.secondPaths.clone() // plans of several seeds may be made at the same time
	load, err := s.workload, error(nil)
	if with.interval == 0 {
		with.interval = autoInterval(s.length(s.flowInfos())) // one for all seeds
	}
	if seeded {
		if load, _, err = s.build(seed); err != nil {
			return nil, err
		}
		with.own = len(load.Transfers)
	}
	loads := jobLoads(s.traffic)
	if with.workload, with.traffic, err = addJobs(load, with.own, max(1, s.graph.NICs), s.experiment.Links, seed); err != nil {
		return nil, failure.At("jobs", err)
	}
	for i := range loads {
		with.traffic[i].load, with.traffic[i].alone = loads[i], s.traffic[i].alone // about the same as under the first seed
	}
	if !sameStreams(s.traffic, with.traffic) {
		with.shares = with.newShares()
	}
	return &with, nil
}

// flowInfos names the flow of each transfer.
func (s *Shape) flowInfos() []metrics.FlowInfo {
	flows, links := make([]metrics.FlowInfo, len(s.workload.Transfers)), s.experiment.Links
	repeats := make(map[[2]int32]int32, len(flows))
	for i, t := range s.workload.Transfers {
		name := fmt.Sprintf("%d-%d", t.Src, t.Dst)
		pair := [2]int32{int32(t.Src), int32(t.Dst)}
		if repeats[pair]++; repeats[pair] > 1 {
			name = fmt.Sprintf("%s#%d", name, repeats[pair])
		}
		flows[i] = metrics.FlowInfo{
			Flow: int32(i), Name: name, Src: int32(t.Src), Dst: int32(t.Dst), Job: int32(t.Job),
			Size: t.Size,
		}
	}
	s.boundStops(flows)
	for i := range flows {
		flows[i].Packets = transport.Packets(flows[i].Size, links.MTU, links.Header)
	}
	for _, job := range s.traffic {
		for i := range job.streams {
			if c := &job.streams[i]; c.transfer != within {
				f := &flows[c.transfer]
				f.Messages, f.SrcRank, f.DstRank, f.Channel, f.Packets = int(c.messages), c.From, c.To, c.Channel, c.packets
			}
		}
	}
	return flows
}

// boundStops bounds the sizes of transfers that stop by what their links carry until then.
func (s *Shape) boundStops(flows []metrics.FlowInfo) {
	var adjacency [][]topologies.Adjacent
	for i, t := range s.workload.Transfers {
		if t.Stop == 0 {
			continue
		}
		if adjacency == nil {
			adjacency = s.graph.Adjacency()
		}
		time := t.Stop
		if t.After == workloads.None {
			time = max(0, t.Stop-t.Start)
		}
		rate := s.graph.Links[adjacency[t.Src][0].Link].Rate
		flows[i].Size = min(t.Size, rate.Volume(time)+s.experiment.Links.MTU)
	}
}

// calls returns the RPCs of a workload.
func calls(w *workloads.Workload) (calls []Call) {
	for i, t := range w.Transfers {
		if t.Response {
			calls = append(calls, Call{Request: int32(i - 1), Response: int32(i)})
		}
	}
	return calls
}

// jitter returns how much the start of a transfer is moved.
func jitter(seed uint64, transfer int, limit units.Duration) units.Duration {
	if limit <= 0 {
		return 0
	}
	return units.Duration(node.Random(seed, node.NoNode, node.RandomJitter, transfer).Int64N(int64(limit)))
}
