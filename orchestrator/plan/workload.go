package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// assignWorkload gives every host its flows, its part of the workload's dependencies and the
// ranks of jobs that are placed on it. It returns the control links that dependencies across
// hosts and messages inside servers need.
func assignWorkload(s *Shape, hosts []host.Config, seed uint64) ([]Link, error) {
	w := s.workload
	control := &controlLinks{graph: s.graph, hosts: hosts, delay: s.controlDelay, ports: map[controlLink]int{}}
	homes := triggerHomes(w)
	triggers := make([]player.Trigger, len(w.Triggers))
	for i, t := range w.Triggers {
		triggers[i] = player.Trigger{ID: i, Kind: t.Kind, Count: t.Count}
	}
	sends, receives := make([]int, len(hosts)), make([]int, len(hosts))
	for i := range w.Transfers {
		sends[w.Transfers[i].Src]++
		receives[w.Transfers[i].Dst]++
	}
	for h := range hosts {
		c := &hosts[h]
		c.Sends, c.Receives = slices.Grow(c.Sends, sends[h]), slices.Grow(c.Receives, receives[h])
		if len(s.traffic) == 0 { // connections have no start
			c.Player.Starts = slices.Grow(c.Player.Starts, sends[h])
		}
	}
	for i, t := range w.Transfers {
		src, dst := &hosts[t.Src], &hosts[t.Dst]
		end := host.End{ID: i, Peer: wire.HostIP(t.Dst), Size: t.Size, Stop: units.Time(t.Stop), Connection: t.Messages > 0}
		src.Sends = append(src.Sends, host.Flow{End: end, Paths: s.paths.between(t.Src, t.Dst)})
		end.Peer = wire.HostIP(t.Src)
		dst.Receives = append(dst.Receives, end)
		if t.Messages > 0 {
			continue
		}
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
	for i := range w.Jobs {
		if err := assignJob(s, i, hosts, control, seed); err != nil {
			return nil, failure.At("jobs", err)
		}
	}
	return control.links, nil
}

// assignJob gives the hosts their part of a job: the ranks, and the ways of their messages.
func assignJob(s *Shape, number int, hosts []host.Config, control *controlLinks, seed uint64) error {
	job := &s.workload.Jobs[number]
	parts := map[int]*player.Job{} // by host
	for rank, h := range job.Hosts {
		if parts[h] == nil {
			parts[h] = &player.Job{Job: number, Start: units.Time(job.Start), Seed: jobSeed(seed, number), Schedule: job.Schedule, Local: job.Local}
		}
		parts[h].Ranks = append(parts[h].Ranks, rank)
	}
	least := slices.MinFunc(s.graph.Links, func(a, b topologies.Link) int { return cmp.Compare(a.Delay, b.Delay) }).Delay
	streams := s.traffic[number].streams
	for i := range streams {
		t := &streams[i]
		from, to := job.Hosts[t.From], job.Hosts[t.To]
		route := player.Route{Stream: t.Stream, Flow: t.transfer, Port: player.Local, ID: uint32(i)}
		switch {
		case t.transfer != within || from == to:
			parts[from].Routes = append(parts[from].Routes, route)
			if from != to {
				parts[to].Routes = append(parts[to].Routes, route)
			}
			continue
		case job.Local.Delay < least:
			return fmt.Errorf("job %s: messages inside a server take %v between hosts; this is below the smallest link delay, %v", job.Name, job.Local.Delay, least)
		}
		control.delay = job.Local.Delay
		route.Port = control.between(from, to)
		parts[from].Routes = append(parts[from].Routes, route)
		route.Port = control.between(to, from)
		parts[to].Routes = append(parts[to].Routes, route)
	}
	for h := range hosts {
		if part := parts[h]; part != nil {
			part.Source = job.Source.Only(part.Ranks)
			hosts[h].Player.Jobs = append(hosts[h].Player.Jobs, *part)
		}
	}
	return nil
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

// controlLinks hands out control ports, one link for a pair of hosts and a delay.
type controlLinks struct {
	graph *topologies.Graph
	hosts []host.Config
	delay units.Duration // of the links that between returns
	ports map[controlLink]int
	links []Link
}

// controlLink is one direction of a control link.
type controlLink struct {
	from, to int
	delay    units.Duration
}

// between returns the control port at a that leads to b, or player.Local.
func (c *controlLinks) between(a, b int) int {
	if a == b {
		return player.Local
	}
	if port, ok := c.ports[controlLink{a, b, c.delay}]; ok {
		return port
	}
	end := func(h int) topologies.End {
		c.hosts[h].Control++
		return topologies.End{Node: h, Port: c.hosts[h].Ports() - 1}
	}
	link := Link{A: end(a), B: end(b), Delay: c.delay}
	link.Name = controlName(c.graph, link.A, link.B)
	c.links = append(c.links, link)
	c.ports[controlLink{a, b, c.delay}], c.ports[controlLink{b, a, c.delay}] = link.A.Port, link.B.Port
	return link.A.Port
}
