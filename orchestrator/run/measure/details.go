package measure

import (
	"iter"

	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// Kind is what a metric is about.
type Kind uint8

// Kinds of metrics.
const (
	ofRun         Kind = 0               // the whole run, a class of ports or a group of flows
	ofFlow        Kind = 1               // one flow
	ofPort        Kind = 2               // one port, or one switch
	ofFlowAndPort Kind = ofFlow | ofPort // a transfer and a port
	ofCollective  Kind = 4               // a collective of a job
	kinds              = 5
)

// kindNames are the kinds in manifest.json and summary.json.
var kindNames = [kinds]string{ofFlow: "flows", ofPort: "ports", ofFlowAndPort: "flows by port", ofCollective: "collectives"}

// Limits of summary.json (docs/reference/metrics.md#where-they-are). They keep it to about 3 MB: a flow
// has some 40 metrics of 50 bytes, for the run and for the median over the runs.
const (
	SummaryFlows     = 1024 // flows, summed over the runs of all variants
	SummaryPorts     = 256  // switch ports of a variant
	SummaryPortsRuns = 4096 // switch ports, summed over the runs of all variants
	SummaryShares    = 4096 // transfers times switch ports of a variant

	SummaryCollectives = 64   // of the jobs of a variant
	SummaryRuns        = 1024 // collectives of jobs, summed over the runs of all variants
)

// Details says which kinds of metrics are details: metrics.parquet has them, and
// summary.json does not. Its zero value has none.
type Details [kinds]bool

// DetailsOf returns the details of an experiment with runs of these plans.
func DetailsOf(runs iter.Seq[*plan.Plan]) Details {
	var d Details
	flows, ports, collectives, tags := 0, 0, 0, false
	var before *plan.Plan
	of := 0 // switch ports of before
	for p := range runs {
		if p != before {
			before, of = p, switchPorts(p.Graph)
		}
		tags = tags || p.CSIG != nil
		flows, ports = flows+len(p.Flows), ports+of
		ofJobs := 0
		for i := range p.Jobs {
			ofJobs += len(p.Jobs[i].Collectives)
		}
		collectives += ofJobs
		d[ofCollective] = d[ofCollective] || ofJobs > SummaryCollectives
		d[ofPort] = d[ofPort] || of > SummaryPorts
		d[ofFlowAndPort] = d[ofFlowAndPort] || p.CSIG != nil && p.Transfers*of > SummaryShares
	}
	d[ofFlow] = flows > SummaryFlows
	d[ofCollective] = d[ofCollective] || collectives > SummaryRuns
	d[ofPort] = d[ofPort] || ports > SummaryPortsRuns
	d[ofFlowAndPort] = d[ofFlowAndPort] || tags && (d[ofFlow] || d[ofPort])
	return d
}

// Names returns the kinds that are details by name; nil without.
func (d Details) Names() (names []string) {
	for kind, is := range d {
		if is {
			names = append(names, kindNames[kind])
		}
	}
	return names
}

// switchPorts returns the number of ports that the switches of a fabric have.
func switchPorts(g *topologies.Graph) (ports int) {
	for i := range g.Links {
		for _, end := range []topologies.End{g.Links[i].A, g.Links[i].B} {
			if g.Nodes[end.Node].Kind == topologies.Switch {
				ports++
			}
		}
	}
	return ports
}
