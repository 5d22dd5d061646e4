package orchestrator

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/topologies"
)

// manifest describes the runs to come.
func (r *runner) manifest(jobs []job) runfolder.Manifest {
	base := r.set.Base
	m := runfolder.Manifest{
		Name:        base.Name,
		Description: base.Description,
		Version:     r.opts.Version,
		GoVersion:   runtime.Version(),
		Machine:     runfolder.Machine{CPU: cpuModel(), Cores: runtime.NumCPU(), Kernel: kernel()},
		Command:     r.opts.Command,
		Runtime:     r.runtime,
		Clock:       r.clock,
		Started:     r.started.UTC(),
		IntervalUS:  base.Telemetry.Interval.Microseconds(),
		Measure: runfolder.Window{
			FromUS: base.Measure.From.Microseconds(),
			ToUS:   base.Measure.To.Microseconds(),
		},
		Expectations: base.Expect,
	}
	if r.wall != nil {
		m.Dilation = r.wall.Dilation
	}
	for _, p := range base.Published {
		m.Published = append(m.Published, runfolder.Published{
			Variant: p.Variant, Metric: p.Metric, Value: p.Value, Low: p.Low, High: p.High, Source: p.Source, Note: p.Note,
		})
	}
	described := map[int]bool{}
	for _, j := range jobs {
		if described[j.variant] {
			continue
		}
		described[j.variant] = true
		r.describe(&m, j)
	}
	return m
}

// describe adds a variant, with its own ports and flows where they are not the
// first variant's.
func (r *runner) describe(m *runfolder.Manifest, j job) {
	p, v := j.plan, r.set.Variants[j.variant]
	variant := runfolder.Variant{
		Name:   v.Name,
		MTU:    int64(v.Experiment.Links.MTU),
		Header: int64(v.Experiment.Links.Header),
		CC:     v.Experiment.Hosts.CC.Name,
		LB:     v.Experiment.Hosts.LB.Name,
		CSIG:   v.Experiment.CSIG.Format,
	}
	if len(p.Switches) > 0 { // all have the same
		variant.AQM = p.Switches[0].AQM.Name
	}
	for _, a := range p.Actions {
		variant.Actions = append(variant.Actions, runfolder.Action(a))
	}
	for _, c := range p.Constants {
		variant.Constants = append(variant.Constants, runfolder.Constant(c))
	}
	nodes, ports, flows := nodeTable(p.Graph), portTable(p.Graph), runfolder.Flows(p.Flows)
	if len(m.Variants) == 0 {
		m.Nodes, m.Ports, m.Flows = nodes, ports, flows
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
	}
	m.Variants = append(m.Variants, variant)
}

func nodeTable(g *topologies.Graph) []runfolder.Node {
	nodes := make([]runfolder.Node, len(g.Nodes))
	for i, n := range g.Nodes {
		nodes[i] = runfolder.Node{Node: int32(i), Name: n.Name, Kind: runfolder.KindHost}
		if n.Kind == topologies.Switch {
			nodes[i].Kind = runfolder.KindSwitch
		}
	}
	return nodes
}

func portTable(g *topologies.Graph) []runfolder.Port {
	names := g.LinkNames()
	ports := make([]runfolder.Port, 0, 2*len(g.Links))
	for id, l := range g.Links {
		for _, d := range [][2]topologies.End{{l.A, l.B}, {l.B, l.A}} {
			ports = append(ports, runfolder.Port{
				Node: int32(d[0].Node), Port: int32(d[0].Port), Peer: int32(d[1].Node), PeerPort: int32(d[1].Port),
				RateBPS: int64(l.Rate), Link: names[id],
			})
		}
	}
	return ports
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return fmt.Sprintf("Linux %s %s", string(release[:max(0, len(release)-1)]), runtime.GOARCH)
}
