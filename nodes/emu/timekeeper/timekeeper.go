// Package timekeeper keeps the parts of a run in real time together that run on several
// machines. It measures how far the machines' clocks are apart, starts all parts at one
// moment and ends them at one model time, finds out when the run is over, and notices when a
// part is gone. It carries no frame, and decides nothing about one part alone.
//
// Each part has a Keeper, with a connection to each other part. Part 0 leads: it says when
// the run starts, on the clock of each part, and when it ends. Of each two parts the first
// sends probes, and the other answers. So both know that the other lives, and the first how
// long the way is and how far the clocks are apart.
//
//	part 0: Begin ── start ──▶ Collect … ── limit, stop ──▶ Close
//	           ▲ ready          ▲ replies
//	part 1: Begin             (waits)                       Close
package timekeeper

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/units"
)

// Config describes the Keeper of one part.
type Config struct {
	Part  int
	Names []string // of the parts, for errors
	// Peers are the connections to the other parts, by part; nil for this one. The Keeper
	// closes them.
	Peers []net.Conn
	Nodes Nodes // of this part
	// Programs returns what the programs of this part do; it is called from several goroutines
	// at once. nil: there are none.
	Programs func() Programs
	// Quit is called, perhaps more than once, when no part waits for its programs any more. May
	// be nil.
	Quit func()
	// Silence is how long another part may send nothing. 0: gateway.DefaultSilence.
	Silence time.Duration
	// Now is the clock of this machine; nil: wall.Monotonic.
	Now func() time.Duration
}

// Nodes are the nodes of a part, such as wall.ControlBlock. Its methods are called from several
// goroutines at once.
type Nodes interface {
	Look() wall.Progress          // how far they are
	Start(at time.Duration)       // starts them at a time of the machine's clock, or moves the start
	Began() (time.Duration, bool) // returns the start once it is set
	Limit(end units.Time)         // ends them before a model time
}

// Times of a run in several parts.
const (
	// probes is how many round trips are measured before the start.
	probes = 64
	// followers is how often two parts that do not lead exchange a probe.
	followers = 200 * time.Millisecond
	// idle is how often the leader does while it waits for others.
	idle = 50 * time.Millisecond
	// window is how long samples are collected for one estimate of an offset.
	window = time.Second
	// readyWithin is how long the nodes of another part may take to wait for the start after
	// those of this one do.
	readyWithin = 60 * time.Second
	// closeWithin is how long the others may take to say that they have ended.
	closeWithin = 5 * time.Second
)

// leader is the part that leads.
const leader = 0

// Verdict is the end of a run.
type Verdict struct {
	End     units.Time
	Drained bool
	Behind  time.Duration // how late the run was when it was given up; 0: it was not
}

// Keeper is one part of a run. Its methods are called by one goroutine.
type Keeper struct {
	Config
	peers []*peer // by part, nil for this one
	broke chan struct{}
	ended sync.WaitGroup // readers and probers

	mu       sync.Mutex
	err      error
	begun    chan struct{} // closed when the start is known
	released atomic.Bool
	verdict  atomic.Pointer[Verdict]
	closing  atomic.Bool
}

// peer is another part.
type peer struct {
	part    int
	name    string
	conn    net.Conn
	writing sync.Mutex
	buffer  []byte
	replies chan answer
	ready   chan struct{} // closed when its nodes are ready
	gone    chan struct{} // closed when its reader has ended
	bye     chan struct{} // closed when it has said that nothing more comes
	trip    *track        // of a part that this one sends probes to
}

// New starts a Keeper. The caller closes it.
func New(c Config) *Keeper {
	if c.Silence == 0 {
		c.Silence = gateway.DefaultSilence
	}
	if c.Now == nil {
		c.Now = wall.Monotonic
	}
	k := &Keeper{Config: c, broke: make(chan struct{}), begun: make(chan struct{})}
	for i, conn := range c.Peers {
		if i == c.Part {
			k.peers = append(k.peers, nil)
			continue
		}
		p := &peer{part: i, name: c.Names[i], conn: conn, replies: make(chan answer, 1), ready: make(chan struct{}), gone: make(chan struct{}), bye: make(chan struct{})}
		if i > c.Part {
			p.trip = new(track)
		}
		k.peers = append(k.peers, p)
		k.ended.Go(func() {
			defer close(p.gone)
			k.lose(p, k.listen(p))
		})
		k.ended.Go(func() { k.live(p) })
		if c.Part != leader && i > c.Part {
			k.ended.Go(func() { k.follow(p) })
		}
	}
	return k
}

// others calls f for each other part.
func (k *Keeper) others(f func(*peer) error) error {
	for _, p := range k.peers {
		if p != nil {
			if err := f(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// listen handles the messages of another part until there are no more.
func (k *Keeper) listen(p *peer) error {
	from := bufio.NewReader(gateway.Patient(p.conn, nil))
	patience := max(readyWithin, k.Silence) // it may still be making its nodes
	for {
		p.conn.SetReadDeadline(time.Now().Add(patience))
		m, err := read(from)
		now := k.Now()
		if err != nil {
			return err
		}
		patience = k.Silence
		if err := k.handle(p, &m, now); err != nil {
			return err
		}
	}
}

// errUnexpected reports a message that this part must not get from that one.
var errUnexpected = errors.New("sent a message that is not its to send")

// handle handles a message that was received at a time of this machine's clock.
func (k *Keeper) handle(p *peer, m *message, now time.Duration) error {
	switch m.kind {
	case start, limit, quit, stop:
		if p.part != leader {
			return errUnexpected
		}
	case ready, released:
		if k.Part != leader {
			return errUnexpected
		}
	case probe:
		if p.trip != nil {
			return errUnexpected
		}
	case reply:
		if p.trip == nil {
			return errUnexpected
		}
	}
	switch m.kind {
	case probe:
		a := answer{Sample: Sample{Sent: time.Duration(m.words[0]), Received: now}, start: k.start(), state: k.state()}
		a.Answered = k.Now()
		return k.send(p, message{kind: reply, words: a.words()})
	case reply:
		select {
		case p.replies <- m.answer(now):
		default:
			return errors.New("answered a probe twice")
		}
	case ready:
		if isClosed(p.ready) {
			return errors.New("was ready twice")
		}
		close(p.ready)
	case released:
		k.released.Store(true)
	case start:
		k.Nodes.Start(time.Duration(m.words[0]))
		if !isClosed(k.begun) {
			close(k.begun)
		}
	case limit:
		k.Nodes.Limit(units.Time(m.words[0]))
	case quit:
		k.quit()
	case stop:
		k.verdict.Store(&Verdict{End: units.Time(m.words[0]), Drained: m.words[1] != 0, Behind: time.Duration(m.words[2])})
	case failed:
		if at := m.words[0]; at >= 0 && at < int64(len(k.Names)) {
			return &gateway.PartError{Part: k.Names[at], Reason: gateway.Printable([]byte(m.text))}
		}
		return errors.New("named a part that does not exist")
	case bye:
		if isClosed(p.bye) {
			return errors.New("ended twice")
		}
		close(p.bye)
	}
	return nil
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (k *Keeper) state() State {
	s := State{Progress: k.Nodes.Look()}
	if k.Config.Programs != nil {
		s.Programs = k.Config.Programs()
	}
	return s
}

func (k *Keeper) quit() {
	if k.Config.Quit != nil {
		k.Config.Quit()
	}
}

// start returns the start of the run on this machine's clock, 0 before it is known.
func (k *Keeper) start() time.Duration {
	at, _ := k.Nodes.Began()
	return at
}

// send sends a message.
func (k *Keeper) send(p *peer, m message) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.buffer = m.append(p.buffer[:0])
	p.conn.SetWriteDeadline(time.Now().Add(k.Silence))
	_, err := p.conn.Write(p.buffer)
	return err
}

// lose records that a part is gone, and why. Once the run is over that is no error.
func (k *Keeper) lose(p *peer, err error) {
	if err == nil || isClosed(p.bye) || k.closing.Load() || k.verdict.Load() != nil {
		return
	}
	var part *gateway.PartError
	if !errors.As(err, &part) {
		reason := err.Error()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			reason = fmt.Sprintf("has sent nothing for %v", k.Silence)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
			reason = "the connection was closed"
		}
		part = &gateway.PartError{Part: p.name, Reason: reason}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.err = part
		close(k.broke)
	}
}

// Err returns why the run has failed in another part, a *gateway.PartError, nil if it has not.
func (k *Keeper) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// live shows another part life until the connection is closed.
func (k *Keeper) live(p *peer) {
	ticker := time.NewTicker(min(k.Silence/5, time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-p.gone:
			return
		case <-ticker.C:
		}
		if k.send(p, message{kind: alive}) != nil {
			return // the reader finds out why
		}
	}
}

// follow exchanges probes with a part when neither leads, until the connection is closed.
func (k *Keeper) follow(p *peer) {
	ticker := time.NewTicker(followers)
	defer ticker.Stop()
	for {
		select {
		case <-p.gone:
			return
		case <-ticker.C:
		}
		if k.send(p, message{kind: probe, words: []int64{int64(k.Now())}}) != nil {
			return // the reader finds out why
		}
		select {
		case <-p.gone:
			return
		case a := <-p.replies:
			p.trip.add(a, k.start())
		}
	}
}

// Begin is called when the nodes of this part wait for the start. It waits for the other
// parts, sets the common start, and returns it on the clock of this machine. In the leader's
// part that is so long from then, and the time that the others need to learn it.
func (k *Keeper) Begin(ctx context.Context, in time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if k.Part != leader {
		if err := k.send(k.peers[leader], message{kind: ready}); err != nil {
			k.lose(k.peers[leader], err)
		}
		if err := k.await(ctx, k.begun, func() error { return k.late(k.peers[leader]) }); err != nil {
			return 0, err
		}
		return k.start(), nil
	}
	if err := k.others(func(p *peer) error { return k.awaitReady(ctx, p) }); err != nil {
		return 0, err
	}
	k.others(func(p *peer) error { //nolint:errcheck // it returns none
		*p.trip = track{}
		return nil
	})
	for range probes {
		if _, err := k.Collect(ctx); err != nil {
			return 0, err
		}
	}
	k.others(func(p *peer) error { //nolint:errcheck // it returns none
		in = max(in, 4*p.trip.trips.Quantile(0.9))
		return nil
	})
	at := k.Now() + in
	k.Nodes.Start(at)
	err := k.others(func(p *peer) error {
		offset, _ := Estimate(p.trip.samples, at)
		p.trip.begin(at)
		return k.tell(p, message{kind: start, words: []int64{int64(at + offset.Ahead)}})
	})
	return at, err
}

// awaitReady waits until the nodes of a part are ready, and shows all others life meanwhile.
func (k *Keeper) awaitReady(ctx context.Context, p *peer) error {
	for !isClosed(p.ready) {
		if _, err := k.Collect(ctx); err != nil {
			if ctx.Err() == context.DeadlineExceeded {
				return k.late(p)
			}
			return err
		}
		short, cancel := context.WithTimeout(ctx, idle)
		err := k.await(short, p.ready, func() error { return nil })
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *Keeper) late(p *peer) error {
	return &gateway.PartError{Part: p.name, Reason: fmt.Sprintf("is not ready after %v", readyWithin)}
}

// await waits for a channel to be closed. When ctx ends by its deadline it returns what
// expired returns.
func (k *Keeper) await(ctx context.Context, c <-chan struct{}, expired func() error) error {
	select {
	case <-c:
		return nil
	case <-k.broke:
		return k.Err()
	case <-ctx.Done():
		if ctx.Err() == context.DeadlineExceeded {
			return expired()
		}
		return context.Cause(ctx)
	}
}

// tell sends a message of the run's course.
func (k *Keeper) tell(p *peer, m message) error {
	if err := k.send(p, m); err != nil {
		k.lose(p, err)
		return k.Err()
	}
	return nil
}

// Collection is how far all parts are together.
type Collection struct {
	State
	Began, Ended time.Duration // when it was begun and complete, on this machine's clock
}

// Collect asks all parts how far they are. The leader calls it repeatedly; that also keeps
// the clocks of the parts together.
func (k *Keeper) Collect(ctx context.Context) (Collection, error) {
	all := Collection{State: k.state(), Began: k.Now()}
	err := k.others(func(p *peer) error {
		return k.tell(p, message{kind: probe, words: []int64{int64(k.Now())}})
	})
	if err == nil {
		err = k.others(func(p *peer) error {
			select {
			case a := <-p.replies:
				all.Next, all.Last = min(all.Next, a.state.Next), max(all.Last, a.state.Last)
				all.Sent, all.Received = all.Sent+a.state.Sent, all.Received+a.state.Received
				all.Programs = all.Programs.or(a.state.Programs)
				return k.correct(p, a)
			case <-k.broke:
				return k.Err()
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}
	all.Ended = k.Now()
	return all, err
}

// correct moves the start of another part on its clock when the clocks have drifted apart.
func (k *Keeper) correct(p *peer, a answer) error {
	ahead, drifted := p.trip.add(a, k.start())
	if !drifted {
		return nil
	}
	return k.tell(p, message{kind: start, words: []int64{int64(a.start + ahead)}})
}

// Leads reports whether this part decides for all when the run starts and ends.
func (k *Keeper) Leads() bool { return k.Part == leader }

// Release says that this part is not held any more. The leader then ends the run in all.
func (k *Keeper) Release() error {
	if k.Part == leader {
		k.released.Store(true)
		return nil
	}
	return k.tell(k.peers[leader], message{kind: released})
}

// Released reports to the leader whether a part has called Release.
func (k *Keeper) Released() bool { return k.released.Load() }

// Ahead returns how far ahead of its end the leader must announce it to the other parts.
func (k *Keeper) Ahead() (d time.Duration) {
	k.others(func(p *peer) error { //nolint:errcheck // it returns none
		d = max(d, 4*p.trip.trips.Quantile(0.99))
		return nil
	})
	return d
}

// QuitPrograms says in all parts that programs are not waited for any more. The leader calls it.
func (k *Keeper) QuitPrograms() error {
	k.quit()
	return k.others(func(p *peer) error { return k.tell(p, message{kind: quit}) })
}

// Limit ends the run before a model time in all parts. The leader calls it.
func (k *Keeper) Limit(end units.Time) error {
	k.Nodes.Limit(end)
	return k.others(func(p *peer) error { return k.tell(p, message{kind: limit, words: []int64{int64(end)}}) })
}

// Stop says in all parts that the run is over. The leader calls it.
func (k *Keeper) Stop(v Verdict) error {
	k.verdict.Store(&v)
	drained := int64(0)
	if v.Drained {
		drained = 1
	}
	return k.others(func(p *peer) error {
		return k.send(p, message{kind: stop, words: []int64{int64(v.End), drained, int64(v.Behind)}})
	})
}

// Stopped returns the end of the run once the leader has called Stop.
func (k *Keeper) Stopped() (Verdict, bool) {
	v := k.verdict.Load()
	if v == nil {
		return Verdict{}, false
	}
	return *v, true
}

// Close ends the Keeper. cause is why this part has failed, which the others learn; with nil
// it waits a little until they have ended as well.
func (k *Keeper) Close(cause error) {
	k.closing.Store(true)
	last := message{kind: bye}
	if cause != nil {
		last = message{kind: failed, words: []int64{int64(k.Part)}, text: cause.Error()}
		var part *gateway.PartError
		if errors.As(cause, &part) {
			for i, name := range k.Names {
				if name == part.Part {
					last.words[0], last.text = int64(i), part.Reason
				}
			}
		}
	}
	k.others(func(p *peer) error { //nolint:errcheck // it returns none
		k.send(p, last) //nolint:errcheck // it may be gone
		return nil
	})
	within, cancel := context.WithTimeout(context.Background(), closeWithin) // of all of them
	defer cancel()
	k.others(func(p *peer) error { //nolint:errcheck // it returns none
		if cause == nil {
			select {
			case <-p.bye:
			case <-p.gone:
			case <-within.Done():
			}
		}
		p.conn.Close()
		return nil
	})
	k.ended.Wait()
}
