// Package orchestrator turns an experiment into plans, runs them on a backend
// and a clock, and leaves a run folder. It knows what the parts are built from;
// what they do is theirs.
package orchestrator

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/application"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Plan is one variant with one seed, compiled: what every node is built from.
// Nothing is decided later.
type Plan struct {
	Graph    *topologies.Graph
	Workload *workloads.Workload
	Hosts    []host.Config      // node i is host i, unless it is one of Shims
	Switches []dataplane.Config // node len(Hosts)+i is switch i
	Control  []ControlLink
	Flows    []metrics.FlowInfo // by flow id: the workload's, then those of Pairs
	Sizes    wire.Sizes
	Format   wire.Format
	TieSeed  uint64
	End      units.Time // exclusive; units.Never: until all is done
	Measure  transport.Span
	Interval units.Duration
	Path     congestion.Path
	// Shims are the hosts that run programs, by host, Pairs the flows between them.
	Shims            map[int]shim.Config
	Pairs            []metrics.Pair
	Programs         []application.Program // without Output
	ApplicationMTU   units.Size
	ApplicationImage string // see experiment.Applications
	// Actions are those of the congestion control, Constants its figures that
	// follow from the configuration alone, such as target_qdelay_us; they become
	// metrics.
	Actions   []congestion.Action
	Constants []congestion.Constant
	// Capture has the ports whose packets are captured, if any, and how to read
	// them.
	Capture capture.Config
	// Notes are what the user should know of how the inputs were read, such as a
	// value that is not used.
	Notes []string
}

// ControlLink joins control ports of two hosts between which dependencies of the
// workload run. It is no link of the fabric: its messages take Delay and nothing
// else.
type ControlLink struct {
	A, B  topologies.End
	Delay units.Duration
}

// fabric is what does not depend on the seed.
type fabric struct {
	experiment   *experiment.Experiment
	graph        *topologies.Graph
	workload     *workloads.Workload
	notes        []string
	routes       []topologies.Routes
	path         congestion.Path
	queue        units.Size
	aqm          algorithm.Choice
	thresholds   aqm.Thresholds
	bdpPackets   units.Size
	controlDelay units.Duration
	csig         *csig.Config
	locators     []uint16 // of switch ports, in order of node and port
	tagging      transport.Tagging
	switchCSIG   *dataplane.CSIG
	capture      capture.Config // without Format
}

// Compile returns the plan of a resolved experiment under a seed. Its error
// wraps ErrConfiguration.
func Compile(e *experiment.Experiment, seed uint64) (*Plan, error) {
	f, err := newFabric(e)
	if err != nil {
		return nil, err
	}
	return f.plan(seed)
}

func newFabric(e *experiment.Experiment) (*fabric, error) {
	f := &fabric{experiment: e}
	for _, step := range []func() error{f.buildTopology, f.buildWorkload, f.setControlDelay} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if err := f.setCapture(); err != nil {
		return nil, err
	}
	f.routes = topologies.NextHops(f.graph)
	f.sizePath()
	if err := f.configureAQM(); err != nil {
		return nil, err
	}
	if err := f.configureCSIG(); err != nil {
		return nil, at("csig", err) // where it is not known better
	}
	return f, nil
}

// sizePath derives what the reference simulator derives from the topology: the
// network RTT, and from it queues and thresholds
// (docs/references.md#network-constants, #switch-queue).
func (f *fabric) sizePath() {
	links := f.experiment.Links
	rate := f.graph.Links[f.graph.Adjacency()[0][0].Link].Rate
	rtt := networkRTT(f.graph, links)
	f.path = congestion.Path{LinkRate: rate, NetworkRTT: rtt, MTU: links.MTU, Header: links.Header, Trim: links.Trim}
	f.bdpPackets = (rate.Volume(rtt) + links.MTU - 1) / links.MTU
	f.queue = links.Queue
	if f.queue == 0 {
		f.queue = f.bdpPackets * links.MTU
		if !links.Trim {
			f.queue *= 5
		}
	}
}

// networkRTT returns the time of a full packet from a host to the farthest other
// one over idle links, and of its ACK back. Departs from the reference where
// links differ: that charges as many links as the path with the largest delay
// has, each at the rate of the hosts' links.
func networkRTT(g *topologies.Graph, links experiment.Links) units.Duration {
	there := topologies.Graph{Nodes: slices.Clone(g.Nodes), Links: slices.Clone(g.Links)}
	for i := range there.Nodes {
		there.Nodes[i].Delay *= 2
	}
	for i := range there.Links {
		l := &there.Links[i]
		l.Delay = 2*l.Delay + l.Rate.Serialisation(links.MTU) + l.Rate.Serialisation(links.Header)
	}
	_, rtt := topologies.LongestPath(&there)
	return rtt
}

// share returns the given tenths of the BDP, in whole packets rounded up.
func (f *fabric) share(tenths units.Size) units.Size {
	return (f.bdpPackets*tenths + 9) / 10 * f.path.MTU
}

// rto is the reference's: 15 us and six full queues.
func (f *fabric) rto() units.Duration {
	if d := f.experiment.Hosts.MinRTO; d != 0 {
		return d
	}
	return 15*units.Microsecond + 6*f.path.LinkRate.Serialisation(f.queue)
}

func (f *fabric) plan(seed uint64) (*Plan, error) {
	e := f.experiment
	p := &Plan{
		Graph:    f.graph,
		Workload: f.workload,
		Flows:    flowInfos(f.workload, e.Links),
		Sizes:    wire.Sizes{Header: e.Links.Header, CountTag: e.Links.CountTag},
		TieSeed:  e.TieSeed,
		End:      units.Never,
		Measure:  transport.Span{From: units.Time(e.Measure.From), To: units.Never},
		Interval: e.Telemetry.Interval,
		Path:     f.path,
		Capture:  f.capture,
		Notes:    f.notes,
	}
	p.Format = wire.Format{Sizes: p.Sizes}
	if f.csig != nil {
		p.Format.TPIDCompact, p.Format.TPIDWide = f.csig.TPIDCompact, f.csig.TPIDWide
	}
	if e.End != 0 {
		p.End = units.Time(e.End)
	}
	if e.Measure.To != 0 {
		p.Measure.To = units.Time(e.Measure.To)
	}
	cc, ok := congestion.Table.Lookup(e.Hosts.CC.Name)
	if !ok {
		return nil, configuration(fmt.Errorf("unknown congestion control %q", e.Hosts.CC.Name))
	}
	if _, err := cc.New(f.path, e.Hosts.CC.Params); err != nil { // before a host is built
		return nil, atParam("hosts.cc", err)
	}
	p.Actions, p.Constants = cc.Actions, cc.ConstantsOf(f.path, e.Hosts.CC.Params)
	adjacency := f.graph.Adjacency()
	for h := range f.graph.Hosts() {
		p.Hosts = append(p.Hosts, f.host(h, seed, p, adjacency))
	}
	f.assignWorkload(p, seed)
	if err := f.assignApplications(p, seed); err != nil {
		return nil, err
	}
	p.Capture.Format = p.Format
	locators := f.locators
	for n := f.graph.Hosts(); n < len(f.graph.Nodes); n++ {
		s, err := f.switchConfig(n, seed, p, adjacency[n], locators)
		if err != nil {
			return nil, err
		}
		locators = locators[min(len(adjacency[n]), len(locators)):]
		p.Switches = append(p.Switches, s)
	}
	return p, nil
}

func (f *fabric) host(h int, seed uint64, p *Plan, adjacency [][]topologies.Adjacent) host.Config {
	e := f.experiment
	up := adjacency[h][0]
	return host.Config{
		Node:       h,
		Name:       f.graph.Nodes[h].Name,
		IP:         wire.HostIP(h),
		MAC:        wire.MAC(h, 0),
		NextHopMAC: wire.MAC(up.Peer.Node, up.Peer.Port),
		Rate:       f.graph.Links[up.Link].Rate,
		MTU:        e.Links.MTU,
		Sizes:      p.Sizes,
		RTO:        f.rto(),
		AckEvery:   e.Hosts.AckEvery,
		CC:         e.Hosts.CC,
		LB:         e.Hosts.LB,
		Path:       f.path,
		CSIG:       f.csig,
		Tagging:    f.tagging,
		Seed:       seed,
		Measure:    p.Measure,
		Records:    p.Interval,
	}
}

func flowInfos(w *workloads.Workload, links experiment.Links) []metrics.FlowInfo {
	flows := make([]metrics.FlowInfo, len(w.Transfers))
	repeats := map[[2]int]int{}
	for i, t := range w.Transfers {
		name := fmt.Sprintf("%d-%d", t.Src, t.Dst)
		pair := [2]int{t.Src, t.Dst}
		if repeats[pair]++; repeats[pair] > 1 {
			name = fmt.Sprintf("%s#%d", name, repeats[pair])
		}
		flows[i] = metrics.FlowInfo{
			Flow: int32(i), Name: name, Src: int32(t.Src), Dst: int32(t.Dst), Job: int32(t.Job),
			Size: t.Size, Packets: transport.Packets(t.Size, links.MTU, links.Header),
		}
	}
	return flows
}

// jitter returns how much the start of a transfer is moved.
func jitter(seed uint64, transfer int, limit units.Duration) units.Duration {
	if limit <= 0 {
		return 0
	}
	return units.Duration(node.Random(seed, node.NoNode, node.RandomJitter, transfer).Int64N(int64(limit)))
}
