package emu

import (
	"math"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// Wall is real time, dilated: a model second takes Dilation wall seconds. Rates
// and delays are the model's everywhere but here.
type Wall struct {
	Dilation float64
}

// At returns when a model time comes, since the start of the run.
func (w Wall) At(t units.Time) time.Duration {
	ns := float64(t) / 1000 * w.Dilation
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// Model returns the model time at a wall time since the start.
func (w Wall) Model(d time.Duration) units.Time {
	return units.Time(float64(d) / w.Dilation * 1000)
}

// waker is the wall clock of a Pacer: time since the common start of the run, and
// sleep. wait returns at until or a little later; with frames set, also when one
// can be read; and never much later than restless from now.
type waker interface {
	now() time.Duration
	wait(until time.Duration, frames bool)
}

const (
	// restless is the longest sleep, after which a node looks whether the run is
	// over and shows that it lives.
	restless = 20 * time.Millisecond
	// togetherWithin is how far ahead of its time an event is taken along: a wake
	// costs 15 to 20 us of CPU (datapath.md).
	togetherWithin = 60 * time.Microsecond
	// turnEvents bounds a turn, so that a node with a backlog lets its frames go.
	turnEvents = 64
	// receiveBatches bounds how many frames are read without a look at the clock,
	// where they come faster than they can be read.
	receiveBatches = 16
)

// Pacer drives some nodes of a fabric in real time, on one goroutine. Every event
// has its model time, as under any clock, and happens when that has come. A frame
// is handed to the wire when its transmission begins, and tells when its last bit
// arrives at the far end; the receiver keeps it until then. So the wire has the
// link's delay and the serialisation, dilated, to deliver it, and a wait that
// ends late moves no event unless it is later than that. An event that is late
// happens at its own model time, so that rates and delays stay exact; lateness is
// counted.
type Pacer struct {
	wall  Wall
	end   units.Time
	nodes []*paced
	sheet *Sheet
	clock waker
	epoch time.Duration // the start on CLOCK_MONOTONIC, for the beat
}

type paced struct {
	*Node
	timing Timing
	trains []train // by port
	// woken tells that a frame wakes the node whenever it comes: programs send some,
	// which are due at once.
	woken bool
	// slack is the wall time that the fastest link into the node gives a frame.
	slack   time.Duration
	lastGet time.Duration // when it read frames last
	rung    int64         // how often somebody had rung when it looked for pipes last
}

// train is the packets that leave a port without a gap: its last.
type train struct {
	begins, departs units.Time
	sentAt          time.Duration
	started         bool
	timing          PortTiming
}

// newPacer returns the Pacer of some nodes. links are the fabric's.
func newPacer(w Wall, end units.Time, nodes []*Node, links []lockstep.Link, sheet *Sheet) *Pacer {
	k := &Pacer{wall: w, end: end, sheet: sheet}
	for _, n := range nodes {
		lookahead := units.Duration(units.Second)
		for _, l := range links {
			if l.To == n.cfg.Node {
				lookahead = min(lookahead, l.Lookahead)
			}
		}
		n.paced = true
		p := &paced{Node: n, trains: make([]train, len(n.ports)), woken: n.programs() >= 0, slack: w.At(units.Time(lookahead))}
		for i := range p.trains {
			p.trains[i].timing = PortTiming{Node: n.cfg.Node, Port: i}
		}
		k.nodes = append(k.nodes, p)
	}
	return k
}

// run drives the nodes until the sheet says that the run is over, and returns its
// end.
func (k *Pacer) run() (units.Time, error) {
	for {
		for _, p := range k.nodes {
			if err := k.turn(p); err != nil {
				return 0, err
			}
		}
		if end, over := k.sheet.stopped(); over {
			return end, nil
		}
		// What nodes of this pacer have sent each other wakes nobody.
		for _, p := range k.nodes[:len(k.nodes)-1] {
			if err := k.receive(p); err != nil {
				return 0, err
			}
		}
		k.rest()
	}
}

// turn reads the frames of a node and processes what is due.
func (k *Pacer) turn(p *paced) error {
	if err := k.receive(p); err != nil {
		return err
	}
	p.beginReport()
	early := min(togetherWithin, p.slack/8)
	for range turnEvents {
		due := p.next()
		if due >= k.end {
			break
		}
		at, now := k.wall.At(due), k.clock.now()
		if at > now+early {
			break
		}
		if now-p.lastGet > p.slack/4 { // the backlog is long: frames may have come that are due before the rest
			if err := k.receive(p); err != nil {
				return err
			}
			due = p.next()
			at = k.wall.At(due)
		}
		// A limit is set ahead of the clock. It is read after the clock was, so that
		// what is due by now comes before a limit that is not seen yet.
		if due >= k.sheet.limit() {
			break
		}
		p.timing.Lateness.Add(now - at)
		p.step()
		for _, d := range p.stepper.Departures {
			if !p.ports[d.Port].Application {
				p.trains[d.Port].add(p.now, d.Departs, now)
			}
			if err := p.depart(d); err != nil {
				return err
			}
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if rung := k.sheet.rung(p.cfg.Node); rung != p.rung {
		p.rung = rung
		p.answer()
	}
	if p.taps != nil {
		p.taps.sendLive()
	}
	p.endReport()
	k.sheet.publish(p.cfg.Node, Standing{Next: p.next(), Last: p.now, Sent: p.numbered, Received: p.received}, k.epoch+k.clock.now())
	return nil
}

// receive reads what has come, or a part of very much.
func (k *Pacer) receive(p *paced) error {
	p.lastGet = k.clock.now()
	p.present = k.wall.Model(p.lastGet)
	for range receiveBatches {
		got, err := p.conn.Receive(p.frames, 0)
		if err != nil {
			return p.failed(err)
		}
		for i := range p.frames[:got] {
			if err := p.accept(p.frames[i]); err != nil {
				return err
			}
		}
		if got == 0 {
			return nil
		}
	}
	return nil
}

// rest sleeps until something is due. A frame that comes meanwhile is not due
// before the slack is over, so that it wakes nobody who wakes by then anyway; but
// one of a program is due as it comes.
func (k *Pacer) rest() {
	until, frames := time.Duration(math.MaxInt64), false
	now, end := k.clock.now(), min(k.end, k.sheet.limit())
	for _, p := range k.nodes {
		if next := p.next(); next < end {
			until = min(until, k.wall.At(next))
		}
	}
	for _, p := range k.nodes {
		frames = frames || p.woken || until-now > p.slack/2
	}
	if until > now {
		k.clock.wait(min(until, now+restless), frames)
	}
}

func (t *train) add(begins, departs units.Time, now time.Duration) {
	if t.started && begins == t.departs {
		t.timing.Packets++
		t.timing.Model += begins.Sub(t.begins)
		t.timing.Wall += now - t.sentAt
	}
	t.started, t.begins, t.departs, t.sentAt = true, begins, departs, now
}

// timings returns how the nodes kept real time.
func (k *Pacer) timings() ([]Timing, error) {
	all := make([]Timing, len(k.nodes))
	for i, p := range k.nodes {
		all[i] = p.timing
		all[i].Displaced, all[i].DisplacedMax, all[i].Sent, all[i].Received = p.displaced, p.displacedMax, p.numbered, p.received
		var err error
		if all[i].Unread, err = p.unread(); err != nil {
			return nil, err
		}
		for _, t := range p.trains {
			all[i].Ports = append(all[i].Ports, t.timing)
		}
	}
	return all, nil
}
