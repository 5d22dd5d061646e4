package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/netio"
)

// peer is another part as the goroutine sees it that receives from it.
type peer struct {
	part     int
	conn     net.Conn
	from     *bufio.Reader
	limit    int // of a message's length
	shape    shape
	message  []byte
	exchange lockstep.Exchange
	frames   []netio.Message // of a message, whose bytes they refer to
}

// streamBuffer is how many bytes of a stream are read at once at most.
const streamBuffer = 64 << 10

func newPeer(g *gateway, part int, conn net.Conn) *peer {
	p := &peer{
		part: part, conn: conn, from: bufio.NewReaderSize(Patient(conn, func() bool { return g.failure() != nil }), streamBuffer), limit: headLimit,
		shape: shape{part: part, parts: len(g.Peers), exits: g.Board.Exits(part), entries: g.Board.EntryLinks(part)},
	}
	for _, s := range g.Stubs {
		if s.Peer == part {
			p.limit += (g.Board.Capacity(s.In) + slotsSpare) * (g.MaxFrame + frameHead)
		}
	}
	return p
}

// closed reports whether an error says that the other end of a connection is gone.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, errReset) || errors.Is(err, errPipe)
}

// receive takes in what another part sends, until that part says that the run is over.
func (g *gateway) receive(p *peer) {
	for {
		// A deadline that fail has set is not moved: fail is seen here, or its deadline is last.
		p.conn.SetReadDeadline(time.Now().Add(g.Silence)) //nolint:errcheck // reads fail too
		if g.failure() != nil {
			return
		}
		kind, err := p.read()
		var protocol *protocolError
		switch {
		case err == nil:
		case errors.As(err, &protocol):
			g.fail(&PartError{Part: g.Names[p.part], Reason: protocol.Error()})
			return
		default:
			g.fail(g.lost(p.part, err))
			return
		}
		switch kind {
		case kindAlive:
		case kindExchange:
			if err := g.take(p); err != nil {
				g.fail(err)
				return
			}
		case kindGaveUp:
			g.fail(&PartError{Part: g.Names[p.part], Reason: fmt.Sprintf("has given up: %s", Printable(p.message))})
			return
		case kindOver:
			g.importing.Lock()
			g.waiting--
			last := g.waiting == 0
			g.importing.Unlock()
			if !last {
				return
			}
			switch over, err := g.Board.Over(); {
			case err != nil:
				g.fail(err)
			case !over:
				g.fail(&PartError{Part: g.Names[p.part], Reason: "says that the run is over, and it is not"})
			}
			return
		}
	}
}

// take takes in an exchange: it puts the frames on the stubs and imports the exchange when
// those that it depends on have been imported.
func (g *gateway) take(p *peer) error {
	x := &p.exchange
	refuse := func(link, format string, args ...any) error {
		if link != "" { // the exchange as a whole may be the cause
			if err := g.Board.Check(x); err != nil && !errors.Is(err, lockstep.ErrEarly) && !errors.Is(err, shared.ErrGivenUp) {
				link, format, args = "", "%v", []any{err}
			}
		}
		return &PartError{Part: g.Names[p.part], Link: link, Reason: fmt.Sprintf(format, args...)}
	}
	rest, err := p.shape.parseExchange(p.message, x)
	if err != nil {
		return refuse("", "%v", err)
	}
	p.frames = p.frames[:0]
	for _, s := range x.Sent {
		i, ours := g.byIn[s.Link]
		if !ours || g.Stubs[i].Peer != p.part {
			continue
		}
		at, link := &g.stubs[i], g.Stubs[i].Link
		for range s.Frames {
			var frame []byte
			if frame, rest, err = parseFrame(rest, g.MaxFrame); err != nil {
				return refuse(link, "frame %d: %v", at.in+1, err)
			}
			t, ok := emu.ReadTrailer(frame)
			switch {
			case !ok || t.Mark != at.enters:
				return refuse(link, "frame %d is not of this link and run", at.in+1)
			case t.Sequence != at.in+1:
				return refuse(link, "frame %d was sent in place of frame %d", t.Sequence, at.in+1)
			case t.Arrival < s.First:
				return refuse(link, "frame %d arrives at %v, before the first of exchange %d", t.Sequence, t.Arrival, x.Version)
			}
			at.in++
			at.count.In++
			p.frames = append(p.frames, netio.Message{Port: i, Header: frame})
		}
	}
	if len(rest) > 0 {
		return refuse("", "exchange %d has %d bytes more than it should", x.Version, len(rest))
	}
	if len(p.frames) > 0 {
		g.wire.Lock()
		err := g.Conn.Send(p.frames)
		g.wire.Unlock()
		if err != nil {
			return g.onStub(err)
		}
	}
	return g.apply(p)
}

// onStub names the link of a stub that takes no frame.
func (g *gateway) onStub(err error) error {
	var port *netio.PortError
	if errors.As(err, &port) {
		return fmt.Errorf("link %s: stub of %s: %w", g.Stubs[port.Port].Link, g.Names[g.Part], port.Err)
	}
	return fmt.Errorf("stubs of %s: %w", g.Names[g.Part], err)
}

// apply imports an exchange, and waits for those that it depends on.
func (g *gateway) apply(p *peer) error {
	g.importing.Lock()
	defer g.importing.Unlock()
	var since time.Time
	for {
		err := g.Board.Import(&p.exchange)
		switch {
		case err == nil:
			g.imported.Broadcast()
			return nil
		case errors.Is(err, shared.ErrGivenUp):
			return err
		case !errors.Is(err, lockstep.ErrEarly):
			return &PartError{Part: g.Names[p.part], Reason: err.Error()}
		case since.IsZero():
			since = time.Now()
			defer time.AfterFunc(g.Silence, g.wake).Stop()
		case time.Since(since) >= g.Silence:
			var names []string
			for _, r := range g.Board.Missing(&p.exchange) {
				names = append(names, g.Names[r])
			}
			return &PartError{Part: strings.Join(names, ", "), Reason: fmt.Sprintf("what exchange %d of %s depends on has not come for %v",
				p.exchange.Version, g.Names[p.part], g.Silence)}
		}
		g.imported.Wait()
		if err := g.failure(); err != nil {
			return err
		}
	}
}
