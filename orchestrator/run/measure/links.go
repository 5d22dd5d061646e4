package measure

import (
	"math"
	"slices"

	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/fluid"
)

// lineTime returns how long a port takes, in ps, to send what a job sends through it in a
// step.
func lineTime(d *plan.PortDemand) float64 {
	return d.Bytes * 8 / float64(d.Rate) * float64(units.Second)
}

// fabricLink is a port that several jobs send through.
type fabricLink struct {
	rate float64
	use  []float64 // by job: of what it sends; 0: nothing
}

// connect gives jobs their links, and returns the capacities of these, in bit/s on the line.
// A job sends at most at the rate of its narrowest port. Ports are links where the jobs
// could send more than they carry; ports that all jobs use alike are one. connections are,
// by job, how many of its connections send through one such port at a time, at most.
func connect(demands []plan.Demand, jobs []fluid.Job) (capacities, connections []float64) {
	narrowest := make([]*plan.PortDemand, len(jobs))
	for i := range demands {
		ports := demands[i].Ports
		narrowest[i] = &ports[0]
		for k := range ports {
			if lineTime(&ports[k]) > lineTime(narrowest[i]) {
				narrowest[i] = &ports[k]
			}
		}
		jobs[i].Rate = float64(narrowest[i].Rate)
		connections = append(connections, 1)
	}
	var links []fabricLink
	for _, at := range allPorts(demands) {
		l := fabricLink{use: make([]float64, len(jobs))}
		users, most := 0, 0.0
		for i := range demands {
			d := find(demands[i].Ports, at)
			if d == nil {
				continue
			}
			l.rate = float64(d.Rate)
			l.use[i] = d.Bytes / narrowest[i].Bytes
			users++
			most += l.use[i] * jobs[i].Rate
		}
		if users < 2 || most <= l.rate*(1+alike) {
			continue
		}
		for i := range demands {
			if d := find(demands[i].Ports, at); d != nil {
				connections[i] = max(connections[i], float64(d.Senders))
			}
		}
		if k := slices.IndexFunc(links, func(other fabricLink) bool { return slices.EqualFunc(l.use, other.use, near) }); k >= 0 {
			links[k].rate = min(links[k].rate, l.rate)
			continue
		}
		links = append(links, l)
	}
	for _, l := range links {
		for i, use := range l.use {
			if use > 0 {
				jobs[i].Links, jobs[i].Use = append(jobs[i].Links, len(capacities)), append(jobs[i].Use, use)
			}
		}
		capacities = append(capacities, l.rate)
	}
	for i := range jobs {
		if len(jobs[i].Links) == 0 { // it shares nothing
			jobs[i].Links, jobs[i].Use = []int{len(capacities)}, []float64{1}
			capacities = append(capacities, jobs[i].Rate)
		}
	}
	return capacities, connections
}

// alike is the difference between shares that are the same but for rounding.
const alike = 1e-6

func near(a, b float64) bool { return math.Abs(a-b) <= alike*max(a, b) }

type place struct{ node, port int }

// allPorts returns the ports that any job uses, in the order of the first job that does.
func allPorts(demands []plan.Demand) (all []place) {
	known := map[place]bool{}
	for i := range demands {
		for k := range demands[i].Ports {
			at := place{demands[i].Ports[k].Node, demands[i].Ports[k].Port}
			if !known[at] {
				known[at] = true
				all = append(all, at)
			}
		}
	}
	return all
}

func find(ports []plan.PortDemand, at place) *plan.PortDemand {
	k, ok := slices.BinarySearchFunc(ports, at, func(d plan.PortDemand, at place) int {
		if d.Node != at.node {
			return d.Node - at.node
		}
		return d.Port - at.port
	})
	if !ok {
		return nil
	}
	return &ports[k]
}
