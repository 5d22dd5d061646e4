package wall

import (
	"math"
	"time"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// sleeper is the wall clock of a pacer: time since the common start of the run,
// and sleep. wait returns at until or a little later; with frames set, also when a
// frame can be read; and never much later than maxSleep from now.
type sleeper interface {
	now() time.Duration
	wait(until time.Duration, frames bool)
}

const (
	// maxSleep is the longest sleep, after which a pacer looks whether the run is
	// over and publishes that its nodes are alive.
	maxSleep = 20 * time.Millisecond
	// batchWithin is how early an event may be processed together with those that
	// are due: a wakeup costs 15 to 20 us of CPU.
	batchWithin = 60 * time.Microsecond
	// tolerance is how long a frame may be under way beyond what its link explains: a
	// sender and a receiver that are each as late as a run may be before it is given up.
	tolerance = 4 * time.Second
	// turnEvents bounds a turn, so that a node with a backlog sends its frames.
	turnEvents = 64
	// HandOnEvery is how long records wait at most until they are handed on, apart from
	// maxSleep.
	HandOnEvery = 200 * time.Millisecond
	// receiveBatches bounds how many batches are read between two looks at the
	// clock, where frames come faster than they can be read.
	receiveBatches = 16
)

// pacer drives some nodes of a fabric in real time, on one goroutine. An event is
// processed when its model time has come on the wall clock. A frame is handed to
// the wire when its transmission begins, and carries the time at which its last
// bit arrives at the far end; the receiver keeps it until then. So the wire has
// the link's delay and the serialisation, dilated, to deliver the frame, and a
// sleep that ends late moves no event unless it is later than that. An event that
// is late is processed with its own model time, so that rates and delays stay
// exact; its lateness is counted.
type pacer struct {
	clock Clock
	end   units.Time
	nodes []*paced
	block *ControlBlock
	sleep sleeper
}

// paced is a node of a pacer.
type paced struct {
	*emu.Node
	timing Timing
	trains []train // by port
	// wakes says that a frame wakes the node at any time: it has programs or is beside a foreign
	// node, whose frames are due at once.
	wakes bool
	// slack is the wall time that the fastest link into the node gives a frame.
	slack    time.Duration
	polled   time.Duration // when it read frames last
	handed   time.Duration // when its records were handed on last
	requests int64         // number of requests for captures that it has served
}

// train is the last packets that left a port back to back.
type train struct {
	begins, departs units.Time
	sentAt          time.Duration
	started         bool
	timing          PortTiming
}

// newPacer returns the pacer of some nodes. links are the fabric's.
func newPacer(c Clock, end units.Time, nodes []*emu.Node, links []lockstep.Channel, block *ControlBlock) *pacer {
	k := &pacer{clock: c, end: end, block: block}
	for _, n := range nodes {
		lookahead := units.Duration(units.Second)
		for _, l := range links {
			if l.To == n.ID() {
				lookahead = min(lookahead, l.Lookahead)
			}
		}
		n.BeginRealTime(units.Duration(min(c.Model(tolerance), units.Time(units.Hour))))
		p := &paced{Node: n, trains: make([]train, n.Ports()), wakes: n.Wakes(), slack: c.At(units.Time(lookahead))}
		for i := range p.trains {
			p.trains[i].timing = PortTiming{Node: n.ID(), Port: i}
		}
		k.nodes = append(k.nodes, p)
	}
	return k
}

// run drives the nodes until the run is stopped, and returns its end.
func (k *pacer) run() (units.Time, error) {
	for {
		for _, p := range k.nodes {
			if err := k.turn(p); err != nil {
				return 0, err
			}
		}
		if end, over := k.block.stopped(); over {
			return end, nil
		}
		// Frames between nodes of this pacer wake nobody.
		for _, p := range k.nodes[:len(k.nodes)-1] {
			if err := k.poll(p); err != nil {
				return 0, err
			}
		}
		k.rest()
	}
}

// turn reads the frames of a node and processes what is due.
func (k *pacer) turn(p *paced) error {
	if err := k.poll(p); err != nil {
		return err
	}
	early := min(batchWithin, p.slack/8)
	application := p.Application()
	for range turnEvents {
		due := p.Next()
		if due >= k.end {
			break
		}
		at, now := k.clock.At(due), k.sleep.now()
		if at > now+early {
			break
		}
		if now-p.polled > p.slack/4 { // the backlog is long: frames may have come that are due earlier than it
			if err := k.poll(p); err != nil {
				return err
			}
			due = p.Next()
			at = k.clock.At(due)
		}
		// A limit is set ahead of the clock. It is read after the clock, so that an
		// event that is due by now comes before a limit that is not seen yet.
		if due >= k.block.limit() {
			break
		}
		p.timing.Lateness.Add(now - at)
		if err := p.Step(); err != nil {
			return err
		}
		for _, d := range p.Departures() {
			if d.Port != application {
				p.trains[d.Port].add(p.Now(), d.Departs, now)
			}
		}
	}
	if err := p.Flush(); err != nil {
		return err
	}
	if requests := k.block.requests(p.ID()); requests != p.requests {
		p.requests = requests
		p.OpenLive()
	}
	p.FlushLive()
	now := k.sleep.now()
	if now-p.handed >= HandOnEvery {
		p.handed = now
		p.HandOn()
	}
	counts := p.LinkCounts()
	k.block.publish(p.ID(), Progress{Next: p.Next(), Last: p.Now(), Sent: counts.Sent, Received: counts.Received}, k.block.start()+now)
	k.block.publishLateness(p.ID(), p.timing.Lateness.Max)
	return nil
}

// poll reads frames that have come, or a part of very many.
func (k *pacer) poll(p *paced) error {
	p.polled = k.sleep.now()
	return p.Poll(k.clock.Model(p.polled), receiveBatches)
}

// rest sleeps until something is due. A frame that comes meanwhile is not due
// before the slack is over: frames within the slack need no wakeup. A frame of a
// program is due when it comes.
func (k *pacer) rest() {
	until, frames := time.Duration(math.MaxInt64), false
	now, end := k.sleep.now(), min(k.end, k.block.limit())
	for _, p := range k.nodes {
		if next := p.Next(); next < end {
			until = min(until, k.clock.At(next))
		}
	}
	for _, p := range k.nodes {
		frames = frames || p.wakes || until-now > p.slack/2
	}
	if until > now {
		k.sleep.wait(min(until, now+maxSleep), frames)
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
func (k *pacer) timings() ([]Timing, error) {
	all := make([]Timing, len(k.nodes))
	for i, p := range k.nodes {
		counts := p.LinkCounts()
		all[i] = p.timing
		all[i].Displaced, all[i].DisplacedMax, all[i].Sent, all[i].Received = counts.Displaced, counts.DisplacedMax, counts.Sent, counts.Received
		var err error
		if all[i].Unread, err = p.Unread(); err != nil {
			return nil, err
		}
		for _, t := range p.trains {
			all[i].Ports = append(all[i].Ports, t.timing)
		}
	}
	return all, nil
}
