package plan

import (
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// assignWorkload gives every host its flows and its part of the workload's
// dependencies. It returns the control links that dependencies across hosts need.
func assignWorkload(s *Shape, hosts []host.Config, seed uint64) []Link {
	w := s.workload
	control := &controlLinks{graph: s.graph, hosts: hosts, delay: s.controlDelay, ports: map[[2]int]int{}}
	homes := triggerHomes(w)
	triggers := make([]player.Trigger, len(w.Triggers))
	for i, t := range w.Triggers {
		triggers[i] = player.Trigger{ID: i, Kind: t.Kind, Count: t.Count}
	}
	for i, t := range w.Transfers {
		src, dst := &hosts[t.Src], &hosts[t.Dst]
		src.Sends = append(src.Sends, host.Flow{ID: i, Peer: wire.HostIP(t.Dst), Size: t.Size, Paths: s.paths.between(t.Src, t.Dst)})
		dst.Receives = append(dst.Receives, host.Flow{ID: i, Peer: wire.HostIP(t.Src), Size: t.Size})

		start := t.Start + jitter(seed, i, s.experiment.Workload.StartJitter)
		src.Player.Starts = append(src.Player.Starts, player.Start{
			Transfer: i, Job: t.Job, After: t.After, At: units.Time(start), Delay: start,
		})
		if t.After != workloads.None {
			triggers[t.After].Targets = append(triggers[t.After].Targets, player.Target{
				Transfer: i, Port: control.between(homes[t.After], t.Src),
			})
		}
		if t.SendDone != workloads.None {
			src.Player.Hits = append(src.Player.Hits, player.Hit{
				Transfer: i, Trigger: t.SendDone, Port: control.between(t.Src, homes[t.SendDone]),
			})
		}
		if t.RecvDone != workloads.None {
			dst.Player.Hits = append(dst.Player.Hits, player.Hit{
				Transfer: i, Received: true, Trigger: t.RecvDone, Port: control.between(t.Dst, homes[t.RecvDone]),
			})
		}
	}
	for i, t := range triggers {
		home := &hosts[homes[i]].Player
		home.Triggers = append(home.Triggers, t)
	}
	return control.links
}

// triggerHomes returns the host at which each trigger's hits are counted: where
// they all happen, if that is one host, so that a local dependency costs
// nothing; otherwise the sender of its first target.
func triggerHomes(w *workloads.Workload) []int {
	const unset, several = -1, -2
	homes := make([]int, len(w.Triggers))
	for i := range homes {
		homes[i] = unset
	}
	hit := func(trigger, host int) {
		if trigger == workloads.None {
			return
		}
		if homes[trigger] == unset {
			homes[trigger] = host
		} else if homes[trigger] != host {
			homes[trigger] = several
		}
	}
	for _, t := range w.Transfers {
		hit(t.SendDone, t.Src)
		hit(t.RecvDone, t.Dst)
	}
	for _, t := range w.Transfers {
		if t.After != workloads.None && homes[t.After] < 0 {
			homes[t.After] = t.Src
		}
	}
	return homes
}

// controlLinks hands out control ports, one link for a pair of hosts.
type controlLinks struct {
	graph *topologies.Graph
	hosts []host.Config
	delay units.Duration
	ports map[[2]int]int // (from, to) -> port at from
	links []Link
}

// between returns the control port at a that leads to b, or player.Local.
func (c *controlLinks) between(a, b int) int {
	if a == b {
		return player.Local
	}
	if port, ok := c.ports[[2]int{a, b}]; ok {
		return port
	}
	end := func(h int) topologies.End {
		c.hosts[h].Control++
		return topologies.End{Node: h, Port: c.hosts[h].Ports() - 1}
	}
	link := Link{A: end(a), B: end(b), Delay: c.delay}
	link.Name = controlName(c.graph, link.A, link.B)
	c.links = append(c.links, link)
	c.ports[[2]int{a, b}], c.ports[[2]int{b, a}] = link.A.Port, link.B.Port
	return link.A.Port
}
