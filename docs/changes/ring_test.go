package changes_test

import (
	"fmt"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// ringGraph is what would be a generator in package topologies.
func ringGraph(switches, hosts int, rate units.Rate, delay units.Duration, delays map[int]units.Duration) (*topologies.Graph, error) {
	if switches < 3 || hosts < 1 {
		return nil, fmt.Errorf("%w: a ring of %d switches with %d hosts each", topologies.ErrInvalid, switches, hosts)
	}
	g := &topologies.Graph{Name: fmt.Sprintf("ring-%d", switches)}
	for h := range switches * hosts {
		g.Nodes = append(g.Nodes, topologies.Node{Name: fmt.Sprintf("h%d", h), Pod: -1, Index: h})
	}
	for s := range switches {
		g.Nodes = append(g.Nodes, topologies.Node{Name: fmt.Sprintf("s%d", s), Kind: topologies.Switch, Tier: topologies.TierToR, Pod: -1, Index: s})
	}
	first := switches * hosts
	for h := range first {
		g.Connect(h, first+h/hosts, rate, delay)
	}
	for s := range switches {
		along := delay
		if d := delays[s]; d != 0 {
			along = d
		}
		g.Connect(first+s, first+(s+1)%switches, rate, along)
	}
	return g, nil
}

// neighbourTransfers is what would be a generator in package workloads.
func neighbourTransfers(hosts, reach int, size units.Size) *workloads.Workload {
	w := &workloads.Workload{Name: "neighbours", Hosts: hosts}
	for src := range hosts {
		for step := 1; step <= reach; step++ {
			w.Transfers = append(w.Transfers, workloads.Transfer{
				Src: src, Dst: (src + step) % hosts, Size: size,
				After: workloads.None, SendDone: workloads.None, RecvDone: workloads.None,
			})
		}
	}
	return w
}

func indexed(list string, i int, key string) string { return fmt.Sprintf("%s[%d].%s", list, i, key) }
