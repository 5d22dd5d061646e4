package plan

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/topologies"
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
				Tier: port.Tier, Direction: port.Direction, Rate: port.Rate, Peer: p.Graph.Nodes[port.Peer.Node].Name,
			})
		}
	}
	jobs, rack := p.flowJobs(), p.racks()
	for i, f := range p.Flows {
		one := exposition.FlowDescription{Flow: f.Flow, Job: jobs[i], Source: rack[f.Src], Destination: rack[f.Dst]}
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

// racks returns the rack of each node that is a host.
func (p *Plan) racks() map[int32]string {
	above := map[int]string{}
	for _, port := range Ports(p.Graph) {
		if _, known := above[port.Node]; !known && p.Graph.Nodes[port.Peer.Node].Kind == topologies.Switch {
			above[port.Node] = p.Graph.Nodes[port.Peer.Node].Name
		}
	}
	var hosts []metrics.Attached
	var numbers []int32
	for i, n := range p.Graph.Nodes {
		if n.Kind != topologies.Switch {
			hosts, numbers = append(hosts, metrics.Attached{Host: n.Name, Switch: above[i]}), append(numbers, int32(i))
		}
	}
	racks, of := metrics.RacksOf(hosts, exposition.MostRacks), make(map[int32]string, len(hosts))
	for i, n := range numbers {
		of[n] = racks.Blocks[racks.Of[i]].Name
	}
	return of
}
