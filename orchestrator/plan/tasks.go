package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// tasks is what the hosts do when, by host, and the control links that dependencies across
// hosts and messages inside servers need.
type tasks struct {
	players []player.Config
	ports   []int // control ports
	links   []Link
	fluid   fluidLinks
}

// newTasks gives every host its part of the workload's dependencies and the ranks of jobs that
// are placed on it. edges are those beside the transport, by host.
func newTasks(r *run, edges []*shim.EdgeConfig) (tasks, error) {
	t := tasks{players: make([]player.Config, r.hosts), ports: make([]int, r.hosts)}
	control := &controlLinks{graph: r.fabric.graph, edges: edges, ports: map[controlLink]int{}, tasks: &t}
	homes := triggerHomes(r.workload.Workload)
	triggers := make([]player.Trigger, len(r.workload.Triggers))
	for i, t := range r.workload.Triggers {
		triggers[i] = player.Trigger{ID: i, Kind: t.Kind, Count: t.Count}
	}
	between := func(a, b int) int { return control.between(a, b, r.controlDelay) }
	for i, transfer := range r.workload.Transfers {
		if transfer.Messages > 0 {
			continue
		}
		src, dst := &t.players[transfer.Src], &t.players[transfer.Dst]
		start := transfer.Start + jitter(r.seed, i, r.experiment.Workload.StartJitter)
		src.Starts = append(src.Starts, player.Start{
			Transfer: i, Job: transfer.Job, After: transfer.After, At: units.Time(start), Delay: start,
		})
		if at := transfer.After; at != workloads.None {
			triggers[at].Targets = append(triggers[at].Targets, player.Target{Transfer: i, Port: between(homes[at], transfer.Src)})
		}
		if at := transfer.SendDone; at != workloads.None {
			src.Hits = append(src.Hits, player.Hit{Transfer: i, Trigger: at, Port: between(transfer.Src, homes[at])})
		}
		if at := transfer.RecvDone; at != workloads.None {
			dst.Hits = append(dst.Hits, player.Hit{Transfer: i, Received: true, Trigger: at, Port: between(transfer.Dst, homes[at])})
		}
	}
	for i, trigger := range triggers {
		home := &t.players[homes[i]]
		home.Triggers = append(home.Triggers, trigger)
	}
	for i := range r.workload.Jobs {
		parts, err := newParts(r, i, control)
		if err != nil {
			return t, failure.At("jobs", err)
		}
		for _, h := range slices.Sorted(maps.Keys(parts)) {
			parts[h].Source = r.workload.Jobs[i].Source.Only(parts[h].Read())
			t.players[h].Jobs = append(t.players[h].Jobs, *parts[h])
		}
	}
	t.fluid = newFluidLinks(r, control)
	return t, nil
}

// newParts returns the hosts' parts of a job, by host and without its source: the ranks, and
// the ways of their messages.
func newParts(r *run, number int, control *controlLinks) (map[int]*player.Job, error) {
	job, streams := &r.workload.Jobs[number], r.workload.jobs[number].streams
	parts := map[int]*player.Job{}
	for rank, h := range job.Hosts {
		if parts[h] == nil {
			parts[h] = &player.Job{Job: number, Start: units.Time(job.Start), Seed: jobSeed(r.seed, number), Schedule: job.Schedule, Local: job.Local}
		}
		parts[h].Ranks = append(parts[h].Ranks, rank)
	}
	least := leastDelay(r.fabric.graph)
	for i := range streams {
		t := &streams[i]
		from, to := job.Hosts[t.From], job.Hosts[t.To]
		there := player.Route{Stream: t.Stream, Flow: t.transfer, Port: player.Local, ID: uint32(i)}
		back, next := there, to // host inside the server, if the message goes there
		if t.transfer != within {
			next = r.workload.Transfers[t.transfer].Src
		}
		if (t.transfer == within || next != from) && from != to {
			if job.Local.Delay < least {
				return nil, fmt.Errorf("job %s: messages inside a server take %v between hosts; this is below the smallest link delay, %v", job.Name, job.Local.Delay, least)
			}
			there.Flow, there.Port = within, control.between(from, next, job.Local.Delay)
			port := control.between(next, from, job.Local.Delay)
			if next == to {
				back.Port = port
			} else {
				passing := back
				passing.Port, passing.Relay = port, true
				parts[next].Routes = append(parts[next].Routes, passing)
			}
		}
		parts[from].Routes = append(parts[from].Routes, there)
		if from != to {
			parts[to].Routes = append(parts[to].Routes, back)
		}
	}
	return parts, nil
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
	edges []*shim.EdgeConfig // control ports come after that of programs
	ports map[controlLink]int
	tasks *tasks
}

// controlLink is one direction of a control link.
type controlLink struct {
	from, to int
	delay    units.Duration
}

// between returns the control port at a that leads to b with some delay, or player.Local.
func (c *controlLinks) between(a, b int, delay units.Duration) int {
	if a == b {
		return player.Local
	}
	if port, ok := c.ports[controlLink{a, b, delay}]; ok {
		return port
	}
	link := Link{A: c.end(a), B: c.end(b), Delay: delay}
	link.Name = controlName(c.graph, link.A, link.B)
	c.tasks.links = append(c.tasks.links, link)
	c.ports[controlLink{a, b, delay}], c.ports[controlLink{b, a, delay}] = link.A.Port, link.B.Port
	return link.A.Port
}

// end returns one more control port of a host.
func (c *controlLinks) end(h int) topologies.End {
	c.tasks.ports[h]++
	with := host.Config{Edge: c.edges[h], Control: c.tasks.ports[h]}
	return topologies.End{Node: h, Port: with.Ports() - 1}
}
