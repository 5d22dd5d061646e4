package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/topologies"
)

// portSet is the ports that one remark is about.
type portSet struct {
	signal csig.Type
	policy dataplane.Policy
	names  []string
}

// exceptions returns the ports on the paths of packets with tags whose policy for the
// type is not update, by type and policy. lastHop says whether the ports lead to hosts, and
// initiated whether the tags are those that ports put on for hosts without CSIG.
func (c *signalling) exceptions(lastHop, initiated bool) (sets []portSet) {
	var crossed [csig.Types]map[topologies.End]bool
	for at, p := range c.plan.switchPorts {
		if !c.run.signals.speaks(at.Node) || c.run.fabric.strips(c.run.fabric.adjacency[at.Node][at.Port].Peer.Node) {
			continue // silentSwitches and foreignNotes have their own remarks
		}
		for t, policy := range c.policies(p) {
			signal := csig.Type(t)
			if policy == dataplane.Update || p.LastHop != lastHop {
				continue
			}
			if crossed[t] == nil {
				crossed[t] = c.crossed(signal, initiated)
			}
			if !crossed[t][at] {
				continue
			}
			k := slices.IndexFunc(sets, func(s portSet) bool { return s.signal == signal && s.policy == policy })
			if k < 0 {
				k = len(sets)
				sets = append(sets, portSet{signal: signal, policy: policy})
			}
			sets[k].names = append(sets[k].names, c.run.fabric.portName(at))
		}
	}
	return sets
}

// crossed returns the switch ports on the paths of packets whose tags ask for a type: tags
// of hosts, or those that ports put on, which cross ports up to the one that removes them.
func (c *signalling) crossed(t csig.Type, initiated bool) map[topologies.End]bool {
	sources := map[int][]int{} // first switches, by destination
	for i := range c.flows {
		if f := &c.plan.Flows[i]; c.flows[i].fabric.has(t) && c.flows[i].host.has(t) != initiated {
			sources[int(f.Dst)] = append(sources[int(f.Dst)], c.run.fabric.up(int(f.Src)).Peer.Node)
		}
	}
	ports := map[topologies.End]bool{}
	if c.run.fabric.groups != nil && len(sources) > 0 {
		for _, p := range c.run.fabric.ports {
			if !p.toHost {
				ports[p.End] = true
			}
		}
	}
	for dst, next := range sources { // order: a set
		seen := map[int]bool{}
		for ; len(next) > 0; next = next[1:] {
			node := next[0]
			if node < c.plan.Hosts() || seen[node] {
				continue
			}
			seen[node] = true
			for _, port := range c.run.fabric.routes[node].To(dst) {
				ports[topologies.End{Node: node, Port: int(port)}] = true
				if policy := c.policies(&c.plan.Switch(node).Ports[port])[t]; initiated && policy >= dataplane.Strip {
					continue
				}
				next = append(next, c.run.fabric.adjacency[node][port].Peer.Node)
			}
		}
	}
	return ports
}

// where returns the policy and the ports in words.
func (p *portSet) where() string {
	return fmt.Sprintf("with policy %s at %s", dataplane.Policies()[p.policy], p.ports())
}

// ports returns the ports in words: the first few names.
func (p *portSet) ports() string {
	if len(p.names) == 1 {
		return "port " + p.names[0]
	}
	return fmt.Sprintf("%d ports (%s)", len(p.names), firstOf(p.names))
}

// firstOf returns the first few names.
func firstOf(names []string) string {
	const shown = 3
	text := strings.Join(names[:min(shown, len(names))], ", ")
	if len(names) > shown {
		text += ", …"
	}
	return text
}

// hiddenLastHop finds ports that lead to receivers and do not report their own queue,
// which is where an incast builds up, or leave the receiver nothing to report.
func hiddenLastHop(c *signalling) (notes []string) {
	for _, p := range c.exceptions(true, false) {
		text := fmt.Sprintf("csig.ports: %s, towards receivers, %v samples do not cover the last hop: an incast there is in none of them", p.where(), p.signal)
		switch {
		case p.policy == dataplane.Terminate && !c.transfers[p.signal]:
			continue // the port's own samples are as good as the receiver's
		case p.policy == dataplane.Terminate:
			text = fmt.Sprintf("csig.ports: %s, towards receivers, %v tags end there, and the receiver has no tag to return to the sender", p.where(), p.signal)
		case p.policy == dataplane.Strip && c.transfers[p.signal]:
			text += ", and the receiver has no tag to return to the sender"
		}
		notes = append(notes, text+"; use update there")
	}
	return append(notes, c.endless(true)...)
}

// silentHops finds the other ports of paths that do not report.
func silentHops(c *signalling) (notes []string) {
	for _, p := range c.exceptions(false, false) {
		text := fmt.Sprintf("csig.ports: %s, %v samples do not cover the queues there", p.where(), p.signal)
		if p.policy != dataplane.Pass {
			text = fmt.Sprintf("csig.ports: %s, %v tags end inside the fabric: packets that leave there bring no sample to their receiver", p.where(), p.signal)
		}
		notes = append(notes, text+"; use update there")
	}
	return append(notes, c.endless(false)...)
}

// endless finds ports that do not report in the tags that ports put on for hosts without
// CSIG. Such tags end at a port that terminates them, and nowhere else with a sample.
func (c *signalling) endless(lastHop bool) (notes []string) {
	for _, p := range c.exceptions(lastHop, true) {
		tags := fmt.Sprintf("csig.ports: %s, %v tags that ports put on", p.where(), p.signal)
		switch {
		case p.policy == dataplane.Strip:
			notes = append(notes, tags+" end without a sample; use terminate there")
		case p.policy == dataplane.Pass && lastHop:
			notes = append(notes, tags+" go to a host, and do not cover the last hop: an incast there is in none of them; use terminate there")
		case p.policy == dataplane.Pass:
			notes = append(notes, tags+" do not cover the queues there; use update there")
		}
	}
	return notes
}
