package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/training"
)

// slotNotes remarks on schedules whose period is shorter than an iteration: than one on
// links at the NIC's rate without congestion (alone, by job), or than what its messages take
// at the narrowest port of their ways, where they have one way each, behind the compute of a
// profile.
func slotNotes(r *run, p *Plan) (notes []string) {
	var demands []Demand
	for i := range r.workload.Jobs {
		job := &r.workload.Jobs[i]
		period := job.Schedule.Period
		if period == 0 {
			continue
		}
		if demands == nil {
			demands = p.Demands()
		}
		iteration, why := r.jobs.alone[i], "without congestion"
		if d := &demands[i]; d.Ambiguous == "" {
			narrowest := 0.0 // ps
			for _, port := range d.Ports {
				narrowest = max(narrowest, port.Bytes*8/float64(port.Rate)*float64(units.Second))
			}
			least := units.Duration(math.Round(narrowest))
			if source, ok := job.Source.(*training.ProfileSource); ok {
				before, _ := source.Config.Computes()
				least += before
			}
			if least > iteration {
				iteration, why = least, "with its narrowest link for itself"
			}
		}
		if iteration > period {
			notes = append(notes, fmt.Sprintf("jobs[%d].schedule.period: %v is shorter than an iteration of %s, which takes %v %s: its phases come later for their slots each time, and wait for the next slot now and then",
				i, period, job.Name, iteration/units.Microsecond*units.Microsecond, why))
		}
	}
	return notes
}

// valuesAsked is how many entropy values are asked for to find out whether a load balancer
// spreads a flow over paths.
const valuesAsked = 64

// recoveryNotes remarks on packets of one flow that overtake each other where the
// transport takes packets in order alone.
func recoveryNotes(r *run) []string {
	if r.experiment.Hosts.Recovery != transport.GoBackN || !r.fabric.manyPaths() {
		return nil
	}
	lb, _ := balance.Table.Lookup(r.experiment.Hosts.LB.Name)
	b, err := lb.New(sampleFlow(r.buffers.path(r.fabric.rate(0)), r.signals.domain()), r.experiment.Hosts.LB.Params)
	if err != nil {
		return nil // checkAlgorithms says so
	}
	first := b.Next(0)
	for i := range valuesAsked {
		if b.Next(units.Time(i)) != first {
			return []string{fmt.Sprintf("hosts.recovery: go_back_n takes packets in order alone, and hosts.lb %s sends those of one flow on several paths: every packet that overtakes another counts as a loss; hosts.lb: single keeps them in order", lb.Name)}
		}
	}
	return nil
}

// manyPaths reports whether a switch has more than one port for a host.
func (f *fabric) manyPaths() bool {
	for node := f.graph.Hosts(); node < len(f.graph.Nodes); node++ {
		for h := range f.graph.Hosts() {
			if len(f.routes[node].To(h)) > 1 {
				return true
			}
		}
	}
	return false
}

// classNotes finds classes that no transfer is in, and settings of flow control that no class uses.
// Packets of programs bring their class with them.
func classNotes(r *run, p *Plan) (notes []string) {
	used := make([]bool, len(p.Classes))
	programs := false
	for n := range p.Nodes[:p.Hosts()] {
		programs = programs || p.HasPrograms(n)
		if host := p.Nodes[n].Host; host != nil {
			for i := range host.Sends {
				if c := int(host.Sends[i].Class); c < len(used) {
					used[c] = true
				}
			}
		}
	}
	for i, c := range p.Classes {
		if i > 0 && !used[i] && !programs {
			notes = append(notes, fmt.Sprintf("classes: no transfer is in class %s; its match says which are", c.Name))
		}
	}
	if !p.Format.PFC && r.experiment.Links.PFC != experiment.DefaultLinks().PFC {
		notes = append(notes, "links.pfc: no class is lossless, so nothing is paused")
	}
	return notes
}

// tensorNotes finds jobs whose groups of tensor parallelism are larger than a server, so that the
// most frequent messages cross the fabric.
func tensorNotes(r *run, p *Plan) (notes []string) {
	for i := range min(len(r.workload.Jobs), len(r.experiment.Jobs)) {
		model, ok := r.experiment.Jobs[i].Spec.(experiment.ModelJob)
		if !ok || p.Graph.NICs < 2 {
			continue
		}
		size, hosts := model.Parallel.TP, r.workload.Jobs[i].Hosts
		for from := 0; size > 1 && from+size <= len(hosts); from += size {
			server := func(host int) bool { return p.Graph.Server(host) != p.Graph.Server(hosts[from]) }
			if slices.ContainsFunc(hosts[from:from+size], server) {
				notes = append(notes, fmt.Sprintf("job %s: tensor parallelism of %d ranks crosses servers of %d NICs: its messages, the most frequent ones, take the fabric", r.workload.Jobs[i].Name, size, p.Graph.NICs))
				break
			}
		}
	}
	return notes
}

// serverNotes returns a remark on transfers between NICs of one server: they take the
// fabric here, where a real server would move the data inside.
func serverNotes(p *Plan) []string {
	if p.Graph.NICs < 2 {
		return nil
	}
	within := 0
	transfers := p.Completing()
	for _, f := range p.Flows[:transfers] {
		if p.Graph.Server(int(f.Src)) == p.Graph.Server(int(f.Dst)) {
			within++
		}
	}
	if within == 0 {
		return nil
	}
	return []string{fmt.Sprintf("workload: %d of %d transfers are between NICs of one server; they cross the fabric, as the links inside a server are not modelled", within, transfers)}
}
