package campaign

import (
	"reflect"
	"runtime"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/dilation"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/workloads/collective"
)

// newManifest describes the runs to come.
func newManifest(c *work, started time.Time) runfolder.Manifest {
	set, mo, opts, jobs := c.set, c.mode, c.opts, c.jobs
	base := set.Base
	m := runfolder.Manifest{
		Name:        base.Name,
		Description: base.Description,
		Version:     opts.Version,
		GoVersion:   runtime.Version(),
		Modules:     compiledModules(),
		Machine:     dilation.Machine(),
		Command:     opts.Command,
		Runtime:     mo.Runtime,
		Clock:       mo.Clock,
		Started:     started.UTC(),
		IntervalUS:  jobs[0].plan.Interval.Microseconds(),
		Measure: runfolder.Window{
			FromUS: base.Measure.From.Microseconds(),
			ToUS:   base.Measure.To.Microseconds(),
		},
		Expectations: base.Expect,
		NoTraceHash:  base.Telemetry.Untraced(),
		Signals:      csig.TypeNames(),
		Details:      detailsOf(jobs).Names(),
		Options: runfolder.Options{
			Payload: opts.Payload, Processes: opts.Processes, CheckParity: opts.CheckParity, Inject: opts.Inject, Held: opts.Hold != nil,
			Shards: opts.Shards, Context: opts.Remote.Context, Namespace: opts.Remote.Namespace, Image: opts.Remote.Image,
		},
	}
	for _, t := range csig.Registered() {
		s := t.Definition()
		m.ModuleSignals = append(m.ModuleSignals, runfolder.ModuleSignal{Name: s.Name, Doc: s.Doc, Unit: s.Unit.String(), Least: s.Min, Heavy: float64(s.Heavy)})
	}
	if mo.Has(runtimes.RealTime) {
		m.Dilation = mo.wall.Dilation
	}
	for _, p := range base.Published {
		m.Published = append(m.Published, runfolder.Published(p))
	}
	described := map[int]bool{}
	for _, j := range jobs {
		if !described[j.variant] {
			described[j.variant] = true
			describe(&m, set.Variants[j.variant].Experiment, j)
			m.Missing = append(m.Missing, runfolder.VariantSeeds{Variant: j.name})
		}
		last := &m.Missing[len(m.Missing)-1] // jobs are by variant
		last.Seeds = append(last.Seeds, j.seed)
	}
	return m
}

// compiledModules returns the modules that csiglab build has compiled in.
func compiledModules() (list []runfolder.Module) {
	for _, m := range modules.Compiled() {
		one := runfolder.Module{Path: m.Path, Version: m.Version, Sum: m.Sum, Registers: []string{}}
		for _, e := range m.Entries() {
			one.Registers = append(one.Registers, e.Kind+" "+e.Name)
		}
		list = append(list, one)
	}
	return list
}

// onePath reports whether the load balancing of an experiment keeps flows to one path at a time.
func onePath(e *experiment.Experiment) bool {
	lb, ok := balance.Table.Lookup(e.Hosts.LB.Name)
	return ok && lb.OnePath
}

// describe adds a variant, with its own ports and flows where they are not the
// first variant's.
func describe(m *runfolder.Manifest, e *experiment.Experiment, j job) {
	p := j.plan
	variant := runfolder.Variant{
		Name:     j.name,
		MTU:      int64(e.Links.MTU),
		Header:   int64(e.Links.Header),
		Overhead: int64(e.Links.Overhead),
		CC:       e.Hosts.CC.Name,
		LB:       e.Hosts.LB.Name,
		OnePath:  onePath(e),
		CSIG:     e.CSIG.Format.String(),
		Second:   secondFormat(e),
		Flow:     e.Fidelity == experiment.Flow,
		Hybrid:   e.Fidelity == experiment.Hybrid,
		AQM:      p.AQM(),
		Routing:  e.Routing.Name,
		Notes:    p.Notes,
		Silent:   p.Silent,
		Tunnels:  e.Tunnels.Where(),

		Parameters: p.Parameters(),
	}
	for _, a := range p.Actions {
		variant.Actions = append(variant.Actions, runfolder.Action(a))
	}
	for _, c := range p.Constants {
		variant.Constants = append(variant.Constants, runfolder.Constant(c))
	}
	nodes, ports, flows, jobs := nodeTable(p), portTable(p.Graph), runfolder.Flows(p.Flows), jobTable(p)
	for _, t := range p.LocatorTables() {
		variant.Locators = addLocators(variant.Locators, t, nodes, ports)
	}
	if len(m.Variants) == 0 {
		m.Nodes, m.Ports, m.Flows, m.Jobs = nodes, ports, flows, jobs
	} else {
		if !reflect.DeepEqual(nodes, m.Nodes) {
			variant.Nodes = nodes
		}
		if !reflect.DeepEqual(ports, m.Ports) {
			variant.Ports = ports
		}
		if !reflect.DeepEqual(flows, m.Flows) {
			variant.Flows = flows
		}
		if !reflect.DeepEqual(jobs, m.Jobs) {
			variant.Jobs = jobs
		}
	}
	m.Variants = append(m.Variants, variant)
}

func jobTable(p *plan.Plan) []runfolder.Job {
	jobs, predicted := runfolder.Jobs(p.Jobs), measure.Predict(p)
	for i := range jobs {
		o := &predicted[i]
		jobs[i].Prediction = &runfolder.Prediction{
			ComputeUS: o.Compute.Microseconds(), BesideUS: o.Beside.Microseconds(), CommunicationUS: o.Communication.Microseconds(), AloneUS: o.Alone.Microseconds(),
			FairUS: o.Fair.Microseconds(), FluidUS: o.Fluid.Microseconds(), Law: o.Law, Weight: o.Weight, Intercept: o.Intercept, Slope: o.Slope, Strict: o.Strict, Reason: o.NoAlone, FluidReason: o.NoFluid,
		}
		for k := range jobs[i].Collectives {
			c := &jobs[i].Collectives[k]
			if kind, err := collective.ParseKind(c.Kind); err == nil {
				c.BusFactor = collective.BusFactor(kind, c.Ranks)
			}
		}
	}
	return jobs
}

// secondFormat returns the format of a fabric's other tags, "" without.
func secondFormat(e *experiment.Experiment) string {
	if f := e.CSIG.SecondFormat(); f != csig.FormatNone {
		return f.String()
	}
	return ""
}

// addLocators adds the locators of one format to a table, which is nil at first.
func addLocators(table *runfolder.LocatorTable, t *plan.LocatorTable, nodes []runfolder.Node, ports []runfolder.Port) *runfolder.LocatorTable {
	places := make(map[string]runfolder.Place, len(ports))
	for _, p := range ports {
		places[p.Name] = runfolder.Place{Node: nodes[p.Node].Name, Port: p.Port, Peer: nodes[p.Peer].Name, Tier: p.Tier, Direction: p.Direction}
	}
	if table == nil {
		table = &runfolder.LocatorTable{Scheme: t.Scheme.String(), Remedy: t.Remedy}
	} else {
		table.SecondScheme, table.SecondRemedy = t.Scheme.String(), t.Remedy
	}
	for _, l := range t.Locators {
		at := make([]runfolder.Place, len(l.Ports))
		for k, name := range l.Ports {
			at[k] = places[name]
		}
		table.Locators = append(table.Locators, runfolder.Locator{Locator: int32(l.Locator), Ports: l.Ports, Places: at})
	}
	return table
}

func nodeTable(p *plan.Plan) []runfolder.Node {
	nodes := make([]runfolder.Node, len(p.Graph.Nodes))
	for i, n := range p.Graph.Nodes {
		nodes[i] = runfolder.Node{Node: int32(i), Name: n.Name, Kind: runfolder.KindHost, Foreign: p.ForeignNode(i) != nil}
		if n.Kind == topologies.Switch {
			nodes[i].Kind = runfolder.KindSwitch
		}
	}
	return nodes
}

func portTable(g *topologies.Graph) []runfolder.Port {
	names, all := g.LinkNames(), plan.Ports(g)
	ports := make([]runfolder.Port, len(all))
	for i, p := range all {
		ports[i] = runfolder.Port{
			Node: int32(p.Node), Port: int32(p.Port), Peer: int32(p.Peer.Node), PeerPort: int32(p.Peer.Port),
			RateBPS: int64(p.Rate), Link: names[p.Link], Name: p.Name, Tier: p.Tier, Direction: p.Direction,
		}
	}
	return ports
}
