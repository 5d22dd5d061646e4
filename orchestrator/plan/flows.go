package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/workloads"
)

// flows is all flows of a run: the transfers, then the flows of raw frames between hosts that
// run programs, then those that generators send.
type flows struct {
	list      []metrics.FlowInfo
	transfers int
	pairs     []metrics.Pair // the hosts of the flows of raw frames
	programs  int            // how many of pairs run programs
}

// newFlows names the flows of an experiment.
func newFlows(e *experiment.Experiment, f *fabric, w *workload) flows {
	all := flows{list: transferFlows(e.Links, f, w), transfers: len(w.Transfers)}
	add := func(src, dst int, kind string) {
		id := int32(len(all.list))
		name := fmt.Sprintf("%s-%s %s", f.graph.Nodes[src].Name, f.graph.Nodes[dst].Name, kind)
		all.list = append(all.list, metrics.FlowInfo{Flow: id, Name: name, Src: int32(src), Dst: int32(dst)})
		all.pairs = append(all.pairs, metrics.Pair{Flow: id, Source: int32(src), Destination: int32(dst)})
	}
	if a := e.Applications; a != nil {
		hosts := slices.Sorted(slices.Values(a.Hosts))
		for _, src := range hosts {
			for _, dst := range hosts {
				if src != dst {
					add(src, dst, "app")
				}
			}
		}
	}
	all.programs = len(all.pairs)
	known := map[[2]int]bool{}
	for _, g := range e.Generators {
		if pair := [2]int{g.Host, g.To}; !known[pair] {
			known[pair] = true
			add(g.Host, g.To, "raw")
		}
	}
	return all
}

// sent returns the transfers.
func (f *flows) sent() []metrics.FlowInfo { return f.list[:f.transfers] }

// ruled returns the flows that policies may be for: all but those of generators.
func (f *flows) ruled() []metrics.FlowInfo { return f.list[:f.transfers+f.programs] }

// pairsOf returns those of some pairs that a host is an end of.
func pairsOf(pairs []metrics.Pair, h int) (own []metrics.Pair) {
	for _, p := range pairs {
		if int(p.Source) == h || int(p.Destination) == h {
			own = append(own, p)
		}
	}
	return own
}

// joined reports whether a way leads from the first host to each other one.
func (f *fabric) joined() bool {
	at := f.up(0).Peer.Node
	for h := 1; h < f.graph.Hosts() && at >= f.graph.Hosts(); h++ {
		if len(f.routes[at].To(h)) == 0 {
			return false
		}
	}
	return true
}

// reached refuses flows between rails that no spine joins.
func (f *fabric) reached(list []metrics.FlowInfo) error {
	for i := range list {
		src, dst := int(list[i].Src), int(list[i].Dst)
		if at := f.up(src).Peer.Node; at < f.graph.Hosts() || len(f.routes[at].To(dst)) > 0 {
			continue
		}
		name := func(host int) string { return f.graph.Nodes[host].Name }
		return failure.At("topology", fmt.Errorf("no way leads from %s to %s, as no spines join the rails; messages of jobs stay on a rail with jobs[].local.pxn, if the job has a rank at every NIC", name(src), name(dst)))
	}
	return nil
}

// transferFlows names the flow of each transfer.
func transferFlows(links experiment.Links, f *fabric, w *workload) []metrics.FlowInfo {
	flows := make([]metrics.FlowInfo, len(w.Transfers))
	repeats := make(map[[2]int32]int32, len(flows))
	for i, t := range w.Transfers {
		name := fmt.Sprintf("%d-%d", t.Src, t.Dst)
		pair := [2]int32{int32(t.Src), int32(t.Dst)}
		if repeats[pair]++; repeats[pair] > 1 {
			name = fmt.Sprintf("%s#%d", name, repeats[pair])
		}
		size := t.Size
		if t.Stop != 0 { // at most what its link carries until then
			time := t.Stop
			if t.After == workloads.None {
				time = max(0, t.Stop-t.Start)
			}
			size = min(size, f.rate(t.Src).Volume(time)+links.MTU)
		}
		flows[i] = metrics.FlowInfo{
			Flow: int32(i), Name: name, Src: pair[0], Dst: pair[1], Job: int32(t.Job),
			Size: size, Packets: transport.Packets(size, links.MTU, links.Header),
		}
	}
	for _, job := range w.jobs {
		for i := range job.streams {
			if c := &job.streams[i]; c.transfer != within {
				f := &flows[c.transfer]
				f.Messages, f.SrcRank, f.DstRank, f.Channel, f.Packets = int(c.messages), c.From, c.To, c.Channel, c.packets
			}
		}
	}
	return flows
}

// Group is flows that some metrics are computed over, such as Jain's index.
type Group struct {
	Name  string
	Flows []int // ascending; not empty
}

// AllTransfers is the name of the group of all transfers.
const AllTransfers = "all"

// newGroups returns the groups of a run: all transfers, the transfers of each job, by its
// name if it has one, and those of measure.groups by name.
func newGroups(r *run) (groups []Group, err error) {
	transfers, flows := r.flows.sent(), r.flows.list
	if len(transfers) > 0 {
		all, jobs := Group{Name: AllTransfers, Flows: make([]int, 0, len(transfers))}, map[int32][]int{}
		sizes := map[int32]int{}
		for i := range transfers {
			all.Flows = append(all.Flows, i)
			sizes[transfers[i].Job]++
		}
		for job, n := range sizes {
			if n == len(transfers) { // the only one
				jobs[job] = all.Flows
				continue
			}
			jobs[job] = make([]int, 0, n)
		}
		for i := range transfers {
			if job := transfers[i].Job; len(jobs[job]) < sizes[job] {
				jobs[job] = append(jobs[job], i)
			}
		}
		groups = append(groups, all)
		for _, job := range slices.Sorted(maps.Keys(jobs)) {
			name, ok := r.workload.JobNames[int(job)]
			if !ok {
				name = fmt.Sprintf("job-%d", job)
			}
			groups = append(groups, Group{name, jobs[job]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.experiment.Measure.Groups)) {
		in, at, err := fitting(r.experiment.Measure.Groups[name], flows)
		if err != nil {
			return nil, failure.At(fmt.Sprintf("measure.groups.%s[%d]", name, at), err)
		}
		g := Group{Name: name}
		for k, is := range in {
			if is {
				g.Flows = append(g.Flows, k)
			}
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// bySource calls visit with the index of each flow, those of one source together: the
// paths of a large fabric are then computed once without being kept.
func bySource(flows []metrics.FlowInfo, visit func(i int)) {
	order := make([]int32, len(flows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(flows[a].Src, flows[b].Src) })
	for _, i := range order {
		visit(int(i))
	}
}
