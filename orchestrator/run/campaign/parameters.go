package campaign

import (
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// Parameters returns the parameters of a plan's nodes as the manifest has them.
func Parameters(p *plan.Plan) *runfolder.Parameters {
	from := p.Parameters()
	to := &runfolder.Parameters{Ports: make([]runfolder.PortClass, len(from.Ports)), Flows: make([]runfolder.FlowClass, len(from.Flows))}
	for i := range from.Ports {
		c := &from.Ports[i]
		to.Ports[i] = runfolder.PortClass{
			Tier: c.Tier, Direction: c.Direction, PeerTier: c.PeerTier, Ports: c.Ports, RateBPS: int64(c.Rate), BDPBytes: int64(c.BDP),
			QueueBytes: int64(c.Queue), ControlQueueBytes: int64(c.ControlQueue), AQM: c.AQM, AQMParameters: c.Marking,
			ECNLowBytes: int64(c.ECNLow), ECNHighBytes: int64(c.ECNHigh),
		}
	}
	for i := range from.Flows {
		c := &from.Flows[i]
		class := runfolder.FlowClass{
			Flows: c.Flows, First: c.First, RateBPS: int64(c.Rate),
			NetworkRTTUS: c.NetworkRTT.Microseconds(), BaseRTTUS: c.BaseRTT.Microseconds(), BaseRTTMaxUS: c.BaseRTTMax.Microseconds(), RTOUS: c.RTO.Microseconds(),
			CC: c.CC.Name, CCParameters: c.CC.Parameters, Constants: map[string]float64{}, LB: c.LB, LBParameters: c.LBParameters,
			WindowBytes: int64(c.CC.Window), MTUBytes: int64(c.MTU), HeaderBytes: int64(c.Header), MSSBytes: int64(c.MSS), AckEveryBytes: int64(c.AckEvery),
		}
		for _, constant := range c.CC.Constants {
			class.Constants[constant.Name] = constant.Value
		}
		if w := c.CC.Windows; w != nil {
			class.WindowMinBytes, class.WindowMaxBytes = int64(w.Min), int64(w.Max)
		}
		to.Flows[i] = class
	}
	return to
}

// remarks returns what values auto of an experiment became, for the text of it in the run
// folder. In the part that the variants share it is the value of all variants that have
// auto there, with their names where these differ.
func remarks(c *work) experiment.Remark {
	set, m, jobs := c.set, c.mode, c.jobs
	var names []string
	autos := map[string]*plan.Auto{} // by variant
	for _, j := range jobs {
		if autos[j.name] != nil {
			continue
		}
		a := &plan.Auto{Experiment: set.Variants[j.variant].Experiment, Plan: j.plan}
		if m.Has(runtimes.RealTime) {
			a.Dilation = m.wall.Dilation
		}
		names, autos[j.name] = append(names, j.name), a
	}
	return func(variant, path string) string {
		if variant != "" {
			if a := autos[variant]; a != nil {
				return a.Value(path)
			}
			return ""
		}
		var values []string
		of := map[string][]string{}
		for _, name := range names {
			if !autos[name].Experiment.IsAuto(path) {
				continue
			}
			v := autos[name].Value(path)
			if of[v] == nil {
				values = append(values, v)
			}
			of[v] = append(of[v], name)
		}
		switch len(values) {
		case 0:
			return "not used: every variant has a value"
		case 1:
			return values[0]
		}
		for i, v := range values {
			values[i] = strings.Join(of[v], ", ") + ": " + v
		}
		return strings.Join(slices.DeleteFunc(values, func(v string) bool { return strings.HasSuffix(v, ": ") }), "; ")
	}
}
