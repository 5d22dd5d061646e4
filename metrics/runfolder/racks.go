package runfolder

import "github.com/csiglab/csiglab/metrics"

// Racks puts the hosts among the nodes of a variant into at most most blocks, by the first
// switch of each. block is that of each host, by number.
func Racks(nodes []Node, ports []Port, most int) (r metrics.Racks, block map[int32]int) {
	name, host := map[int32]string{}, map[int32]bool{}
	for _, n := range nodes {
		name[n.Node], host[n.Node] = n.Name, n.Kind == KindHost
	}
	above := map[int32]string{}
	for _, p := range ports {
		if _, known := above[p.Node]; host[p.Node] && !known && !host[p.Peer] {
			above[p.Node] = name[p.Peer]
		}
	}
	var hosts []metrics.Attached
	var numbers []int32
	for _, n := range nodes {
		if host[n.Node] {
			hosts, numbers = append(hosts, metrics.Attached{Host: n.Name, Switch: above[n.Node]}), append(numbers, n.Node)
		}
	}
	r = metrics.RacksOf(hosts, most)
	block = make(map[int32]int, len(numbers))
	for i, n := range numbers {
		block[n] = r.Of[i]
	}
	return r, block
}
