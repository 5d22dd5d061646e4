// Package player runs one host's part of a workload: it says when the host's
// transfers start, by the clock or by the triggers that other transfers hit. A
// dependency that crosses hosts is a control message, which the host machine
// sends on a port of its own and which takes the link's delay.
//
// It also plays the ranks of training jobs that are placed on the host: it drives a
// graph.Engine for each job, hands the host the messages to post on connections, and sends
// those inside a server itself.
package player

import (
	"github.com/csiglab/csiglab/internal/heap"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Local is the port of a target or home that is this host itself.
const Local = -1

// Config is one host's part of a workload: plain data.
type Config struct {
	Starts   []Start
	Hits     []Hit
	Triggers []Trigger
	Jobs     []Job
}

// Start is a transfer that this host sends.
type Start struct {
	Transfer int
	Job      int
	At       units.Time     // when it starts, if it waits for no trigger
	After    int            // the trigger it waits for, or workloads.None
	Delay    units.Duration // between the trigger's firing and the start
}

// Hit is a trigger that something at this host hits.
type Hit struct {
	Transfer int
	Received bool // hit when the transfer is received here; otherwise when it is acknowledged here
	Trigger  int
	Port     int // control port that leads to the trigger's home, or Local
}

// Trigger is a trigger whose hits are counted at this host.
type Trigger struct {
	ID      int
	Kind    workloads.TriggerKind
	Count   int
	Targets []Target // in order of transfer
}

// Target is a transfer that a trigger starts.
type Target struct {
	Transfer int
	Port     int // control port that leads to its sender, or Local
}

// Message is a control message to send.
type Message struct {
	Port          int
	Trigger, Code uint32
}

// codeHit is the code of a message that hits a trigger; a message that starts
// transfer t has code t+1.
const codeHit = 0

// Player is the state of one host's part of the workload.
type Player struct {
	due      []Start       // a heap
	waiting  map[int]Start // by transfer
	hits     map[hitKey][]Hit
	triggers map[int]*triggerState
	outbox   []Message

	jobs    []job
	streams map[int]stream // by flow
	play    units.Time     // when a job goes on next
	posts   []Post
}

type hitKey struct {
	transfer int
	received bool
}

type triggerState struct {
	Trigger
	hits  int
	fired int // one-shot and barrier: 1 after firing; multi-shot: next target
}

// New returns a player at the start of the run, which emits the operations of jobs into
// sink.
func New(cfg Config, sink metrics.Sink) *Player {
	p := &Player{play: units.Never}
	p.addJobs(cfg.Jobs, sink)
	for _, s := range cfg.Starts {
		if s.After == workloads.None {
			p.due = heap.Push(p.due, s, sooner)
			continue
		}
		if p.waiting == nil {
			p.waiting = map[int]Start{}
		}
		p.waiting[s.Transfer] = s
	}
	if len(cfg.Hits) > 0 {
		p.hits = make(map[hitKey][]Hit, len(cfg.Hits))
	}
	if len(cfg.Triggers) > 0 {
		p.triggers = make(map[int]*triggerState, len(cfg.Triggers))
	}
	for _, h := range cfg.Hits {
		k := hitKey{h.Transfer, h.Received}
		p.hits[k] = append(p.hits[k], h)
	}
	for _, t := range cfg.Triggers {
		p.triggers[t.ID] = &triggerState{Trigger: t}
	}
	return p
}

// NextStart is when the next transfer starts or a job goes on, or units.Never.
func (p *Player) NextStart() units.Time {
	if len(p.due) == 0 {
		return p.play
	}
	return min(p.play, p.due[0].At)
}

// Due returns the next transfer that starts at or before now, in order of
// (time, job, transfer).
func (p *Player) Due(now units.Time) (transfer int, ok bool) {
	if len(p.due) == 0 || p.due[0].At > now {
		return 0, false
	}
	var s Start
	s, p.due = heap.Pop(p.due, sooner)
	return s.Transfer, true
}

// OnSent records that a transfer's last byte has been acknowledged.
func (p *Player) OnSent(now units.Time, transfer int) { p.hit(now, hitKey{transfer, false}) }

// OnReceived records that a transfer's last byte has been received.
func (p *Player) OnReceived(now units.Time, transfer int) { p.hit(now, hitKey{transfer, true}) }

// OnMessage takes a control message. A message that names no trigger of this
// host, or no transfer that waits here for the trigger, is ignored; ok is then
// false.
func (p *Player) OnMessage(now units.Time, trigger, code uint32) (ok bool) {
	if trigger&jobMessage != 0 {
		return p.onJobMessage(now, int(trigger&^jobMessage), code)
	}
	if code == codeHit {
		t, ok := p.triggers[int(trigger)]
		if ok {
			p.count(now, t)
		}
		return ok
	}
	return p.start(now, int(trigger), int(code)-1)
}

// Outbox returns the messages to send since the last call, in order. The slice
// is valid until the next call of any method.
func (p *Player) Outbox() []Message {
	out := p.outbox
	p.outbox = p.outbox[:0]
	return out
}

func (p *Player) hit(now units.Time, k hitKey) {
	for _, h := range p.hits[k] {
		if h.Port != Local {
			p.outbox = append(p.outbox, Message{Port: h.Port, Trigger: uint32(h.Trigger), Code: codeHit})
			continue
		}
		p.count(now, p.triggers[h.Trigger])
	}
}

// count takes one hit. A one-shot fires at the first, a barrier at the last, a
// multi-shot starts its next target at each.
func (p *Player) count(now units.Time, t *triggerState) {
	t.hits++
	switch t.Kind {
	case workloads.MultiShot:
		if t.fired < len(t.Targets) {
			t.fired++
			p.fire(now, t.ID, t.Targets[t.fired-1])
		}
		return
	case workloads.Barrier:
		if t.hits < t.Count {
			return
		}
	}
	if t.fired == 0 {
		t.fired = 1
		for _, target := range t.Targets {
			p.fire(now, t.ID, target)
		}
	}
}

func (p *Player) fire(now units.Time, trigger int, target Target) {
	if target.Port != Local {
		p.outbox = append(p.outbox, Message{Port: target.Port, Trigger: uint32(trigger), Code: uint32(target.Transfer) + 1})
		return
	}
	p.start(now, trigger, target.Transfer)
}

func (p *Player) start(now units.Time, trigger, transfer int) bool {
	s, ok := p.waiting[transfer]
	if !ok || s.After != trigger {
		return false
	}
	delete(p.waiting, transfer)
	s.At = now.Add(s.Delay)
	p.due = heap.Push(p.due, s, sooner)
	return true
}

// sooner is the order in which transfers start.
func sooner(a, b Start) bool {
	if a.At != b.At {
		return a.At < b.At
	}
	if a.Job != b.Job {
		return a.Job < b.Job
	}
	return a.Transfer < b.Transfer
}
