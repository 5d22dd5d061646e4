package plan

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/nodes/csig"
)

// Expositions returns what the metrics of each group of nodes mean. A group is the nodes
// of one process. The caller fills in Common and Info.
func (p *Plan) Expositions(groups [][]int) []exposition.Description {
	list := make([]exposition.Description, len(groups))
	of := make([]int, len(p.Nodes)) // group of each node
	for i := range of {
		of[i] = -1
	}
	locators := p.exposedLocators()
	for g, nodes := range groups {
		for _, n := range nodes {
			of[n] = g
		}
		list[g] = exposition.Description{Window: p.Interval, Signals: csig.TypeNames(), Locators: locators}
	}
	for _, port := range Ports(p.Graph) {
		if g := of[port.Node]; g >= 0 {
			list[g].Ports = append(list[g].Ports, exposition.PortDescription{
				Node: int32(port.Node), Port: int32(port.Port), NodeName: p.Graph.Nodes[port.Node].Name, Name: port.Name,
				Tier: port.Tier, Direction: port.Direction, Rate: port.Rate,
			})
		}
	}
	jobs := p.flowJobs()
	for i, f := range p.Flows {
		one := exposition.FlowDescription{Flow: f.Flow, Job: jobs[i]}
		if len(p.Flows) <= exposition.MostFlows {
			one.Name = f.Name
		}
		for k, end := range []int32{f.Src, f.Dst} {
			if g := of[end]; g >= 0 && (k == 0 || of[f.Src] != g) {
				list[g].Flows = append(list[g].Flows, one)
			}
		}
	}
	for _, job := range p.Jobs {
		for g := range groups {
			if slices.ContainsFunc(job.Ranks, func(host int32) bool { return of[host] == g }) {
				one := metrics.JobInfo{Job: job.Job, Name: job.Name, Steps: job.Steps, Phases: job.Phases, Collectives: job.Collectives}
				list[g].Jobs = append(list[g].Jobs, one)
			}
		}
	}
	return list
}

// flowJobs returns the name of the training job or of the traffic group of each flow. A
// group without a name is job-N, or "" if there is no other, as in the series of a run
// folder (metrics/series).
func (p *Plan) flowJobs() []string {
	names := make([]string, len(p.Flows))
	jobs, transfers := map[int32]bool{}, map[int32]bool{}
	for _, f := range p.Flows[:p.Transfers] {
		jobs[f.Job] = true
		if f.Messages == 0 {
			transfers[f.Job] = true
		}
	}
	for i := 1; i <= len(jobs) && i < len(p.Groups); i++ { // after that of all transfers
		for _, flow := range p.Groups[i].Flows {
			if job := p.Flows[flow].Job; len(transfers) > 1 || p.Groups[i].Name != fmt.Sprintf("job-%d", job) {
				names[flow] = p.Groups[i].Name
			}
		}
	}
	for i, f := range p.Flows {
		if f.Messages > 0 && int(f.Job) < len(p.Jobs) {
			names[i] = p.Jobs[f.Job].Name
		}
	}
	return names
}

// exposedLocators returns what the locators of the fabric stand for.
func (p *Plan) exposedLocators() (list []exposition.LocatorDescription) {
	tiers := map[string]string{}
	for _, port := range Ports(p.Graph) {
		tiers[port.Name] = port.Tier
	}
	names := p.PortNames()
	for _, t := range p.LocatorTables() {
		for _, l := range t.Locators {
			one := exposition.LocatorDescription{Locator: l.Locator, Port: names[l.Locator], Tier: tiers[l.Ports[0]]}
			if slices.ContainsFunc(l.Ports, func(name string) bool { return tiers[name] != one.Tier }) {
				one.Tier = ""
			}
			list = append(list, one)
		}
	}
	return list
}
