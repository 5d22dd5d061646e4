package experiment

import (
	"fmt"

	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// datapath refuses what switches in the kernel cannot do.
func (d *decoder) datapath(e *Experiment) {
	if e.Wall.Datapath != DatapathEBPF || !d.sound("wall", "runtime", "clock") {
		return
	}
	lacks := func(path, what string) {
		d.failAt(path, what+": switches in the kernel (wall.datapath: ebpf) cannot do that", "")
	}
	if !e.Way().Has(runtimes.RealTime) {
		d.failAt("wall.datapath", fmt.Sprintf("ebpf needs clock %s, not %s: the kernel forwards in real time", runtimes.Wall, e.Clock), "")
	} else if e.Runtime != runtimes.Netns {
		d.failAt("wall.datapath", fmt.Sprintf("ebpf needs runtime %s, not %s", runtimes.Netns, e.Runtime), "")
	}
	if e.Workload.Spec != nil || len(e.Jobs) > 0 {
		lacks("wall.datapath", "packets of csiglab's transport are trimmed and have a TTL, and ACKs go first; leave workload and jobs out")
	}
	if aqm := e.Links.AQM.Name; e.Links.ECN.Enabled && aqm != "step" && aqm != "none" {
		lacks("links.aqm", aqm+"; want step or none")
	}
	if e.Routing.Name != "ecmp" {
		lacks("routing", e.Routing.Name+"; want ecmp")
	}
	for _, key := range []struct {
		path string
		set  bool
	}{
		{"classes", len(e.Classes) > 0}, {"links.buffer.shared", e.Links.Buffer.Shared > 0}, {"faults", len(e.Faults) > 0}, {"nodes", len(e.Nodes) > 0},
		{"csig.collector", e.CSIG.Collector != nil}, {"telemetry.truth", e.Telemetry.Truth > 0},
	} {
		if key.set {
			lacks(key.path, "is set")
		}
	}
	for i, rule := range e.CSIG.Ports {
		path := fmt.Sprintf("csig.ports[%d]", i)
		switch inside := rule.Outside != nil && !*rule.Outside; {
		case rule.Policy == "terminate":
			lacks(path+".policy", "terminate")
		case rule.Policy == "strip" && !inside:
			lacks(path+".policy", "strip, without 'outside: false', removes tags of frames that come in")
		case rule.Init != "" && rule.Init != "none":
			lacks(path+".init", rule.Init)
		case rule.Outside != nil && *rule.Outside:
			lacks(path+".outside", "true")
		}
	}
}
