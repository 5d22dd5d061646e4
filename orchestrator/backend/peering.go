package backend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/gateway"
)

// Limits of the time in which the parts of a run connect to each other.
const (
	peersWithin   = 30 * time.Second // all parts must have met
	callerWithin  = 5 * time.Second  // a connection that is accepted must have shown who it is
	sayPeersAfter = 3 * time.Second  // the user is told
	acceptAgain   = 100 * time.Millisecond
)

const (
	// mostCallers is how many connections show at once who they are.
	mostCallers = 32
	// mostRefusals is how many refused connections are noted one by one.
	mostRefusals = 16
	// accepted is the byte that a part sends once it has accepted another: in TLS 1.3 the
	// caller has finished its handshake before its own certificate is checked.
	accepted = 0x06
)

// peering connects a part of a run to the others by mutual TLS. It refuses all other
// connections, until it is closed.
type peering struct {
	part     *Part
	run      string
	control  Control
	within   time.Duration
	listener net.Listener // nil: no part is after this one
	server   *tls.Config
	cancel   context.CancelFunc
	working  sync.WaitGroup
	met      chan struct{} // closed when every part is connected
	failed   chan error    // holds one

	mu       sync.Mutex
	streams  []net.Conn // by part; nil for this one, and for those that are missing
	missing  int
	taken    bool // streams belong to the caller of wait
	refusals int
}

// startPeering starts to accept the parts after this one and to call those before it. It
// closes the files of the meeting.
func startPeering(ctx context.Context, r *Run, c Control, within time.Duration) (*peering, error) {
	part := r.Part
	p := &peering{
		part: part, run: r.ID, control: c, within: within, met: make(chan struct{}), failed: make(chan error, 1),
		streams: make([]net.Conn, len(part.Names)), missing: len(part.Names) - 1,
	}
	ctx, p.cancel = context.WithCancel(ctx)
	if p.missing == 0 {
		close(p.met)
		return p, nil
	}
	calls, err := p.open(c.Meeting)
	if err != nil {
		p.close()
		return nil, fmt.Errorf("%s: %w", part.Names[part.Index], err)
	}
	if p.listener != nil {
		p.working.Go(func() { p.accept(ctx) })
	}
	for peer, conn := range calls {
		p.working.Go(func() {
			if err := p.call(ctx, peer, conn); err != nil {
				conn.Close()
				p.fail(err)
			}
		})
	}
	return p, nil
}

// open makes connections of the files of the meeting, and the TLS configurations.
func (p *peering) open(m *Meeting) (calls []net.Conn, err error) {
	if m == nil {
		return nil, errors.New("it has no way to the other parts of the run")
	}
	defer m.Close()
	defer func() {
		if err != nil {
			for _, c := range calls {
				c.Close()
			}
		}
	}()
	if p.server, err = p.part.Credentials.called(); err != nil {
		return nil, err
	}
	if p.part.Index < len(p.part.Names)-1 {
		if m.Listener == nil {
			return nil, errors.New("it has no socket for the parts after it")
		}
		if p.listener, err = net.FileListener(m.Listener); err != nil {
			return nil, fmt.Errorf("socket for the parts after it: %w", err)
		}
	}
	for peer := range p.part.Index {
		if peer >= len(m.Calls) || m.Calls[peer] == nil {
			return calls, fmt.Errorf("it has no connection to %s", p.part.Names[peer])
		}
		conn, err := net.FileConn(m.Calls[peer])
		if err != nil {
			return calls, fmt.Errorf("connection to %s: %w", p.part.Names[peer], err)
		}
		calls = append(calls, gateway.Prompt(conn))
	}
	return calls, nil
}

// Close closes the files of a meeting, which may be nil.
func (m *Meeting) Close() {
	if m == nil {
		return
	}
	for _, file := range append([]*os.File{m.Listener}, m.Calls...) {
		if file != nil {
			file.Close()
		}
	}
}

// call makes a connection to a part before this one into a stream. It waits for as long as
// the peering.
func (p *peering) call(ctx context.Context, peer int, conn net.Conn) error {
	fault := func(err error) error {
		return &gateway.PartError{Part: p.part.Names[peer], Reason: fmt.Sprintf("the connection to it at %v: %v", conn.RemoteAddr(), err)}
	}
	config, err := p.part.Credentials.calling(peer, p.run)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	secure := tls.Client(conn, config)
	if err := secure.Handshake(); err != nil {
		return fault(err)
	}
	var answer [1]byte
	if _, err := io.ReadFull(secure, answer[:]); err != nil {
		return fault(err)
	}
	if answer[0] != accepted {
		return fault(fmt.Errorf("it answered with %#x", answer[0]))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(peer, secure)
	return nil
}

// accept accepts connections until the listener is closed.
func (p *peering) accept(ctx context.Context) {
	callers := make(chan struct{}, mostCallers)
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			p.refuse("a connection", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(acceptAgain):
			}
			continue
		}
		conn = gateway.Prompt(conn)
		callers <- struct{}{}
		p.working.Go(func() {
			defer func() { <-callers }()
			if err := p.admit(ctx, conn); err != nil {
				conn.Close()
				if ctx.Err() == nil {
					p.refuse(fmt.Sprintf("a connection from %v", conn.RemoteAddr()), err)
				}
			}
		})
	}
}

// admit makes a connection that was accepted into a stream, if it is of a part after this
// one that is missing.
func (p *peering) admit(ctx context.Context, conn net.Conn) error {
	conn.SetDeadline(time.Now().Add(callerWithin))
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	secure := tls.Server(conn, p.server)
	switch err := secure.Handshake(); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no TLS handshake within %v", callerWithin)
	case errors.Is(err, io.EOF):
		return errors.New("it was closed without a TLS handshake")
	case err != nil:
		return err
	}
	names := secure.ConnectionState().PeerCertificates[0].DNSNames
	peer := p.peer(names)
	if peer < 0 {
		return fmt.Errorf("its certificate is of %q, which is no shard after %s", names, shardName(p.part.Index, p.run))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams[peer] != nil {
		return fmt.Errorf("it has the certificate of %s, which is connected already", p.part.Names[peer])
	}
	if _, err := secure.Write([]byte{accepted}); err != nil {
		return err
	}
	conn.SetDeadline(time.Time{})
	p.add(peer, secure)
	return nil
}

// peer returns the part after this one that a certificate names, -1 if it names none.
func (p *peering) peer(names []string) int {
	for peer := p.part.Index + 1; peer < len(p.part.Names); peer++ {
		if slices.Equal(names, []string{shardName(peer, p.run)}) {
			return peer
		}
	}
	return -1
}

// add adds the stream to a part. The caller holds the lock.
func (p *peering) add(peer int, stream net.Conn) {
	p.streams[peer] = stream
	if p.missing--; p.missing == 0 {
		close(p.met)
	}
}

func (p *peering) fail(err error) {
	select {
	case p.failed <- err:
	default: // the first counts
	}
}

// refuse notes that a connection was refused.
func (p *peering) refuse(what string, err error) {
	p.mu.Lock()
	p.refusals++
	n := p.refusals
	p.mu.Unlock()
	switch {
	case p.control.Note == nil || n > mostRefusals:
	case n == mostRefusals:
		p.control.Note(fmt.Sprintf("%s refuses more connections, which are not noted", p.part.Names[p.part.Index]))
	default:
		p.control.Note(fmt.Sprintf("%s refused %s: %v", p.part.Names[p.part.Index], what, err))
	}
}

// wait waits until every part is connected, and returns the streams, by part. The caller
// closes them. A *gateway.PartError names the parts that are missing, or the one whose
// connection has failed; when ctx ends, the error is its cause.
func (p *peering) wait(ctx context.Context) ([]net.Conn, error) {
	limit, say := time.NewTimer(p.within), time.NewTimer(sayPeersAfter)
	defer limit.Stop()
	defer say.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case err := <-p.failed:
			return nil, err
		case <-limit.C:
			return nil, &gateway.PartError{Part: p.absent(), Reason: fmt.Sprintf("has not connected to %s within %v", p.part.Names[p.part.Index], p.within)}
		case <-say.C:
			p.control.SayWaiting("%s to connect", p.absent())
			continue
		case <-p.met:
		}
		p.mu.Lock()
		p.taken = true
		p.mu.Unlock()
		return p.streams, nil
	}
}

// absent names the parts that are missing.
func (p *peering) absent() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for peer, name := range p.part.Names {
		if peer != p.part.Index && p.streams[peer] == nil {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// close ends the peering, and closes the streams that nobody has taken. p may be nil.
func (p *peering) close() {
	if p == nil {
		return
	}
	p.cancel()
	if p.listener != nil {
		p.listener.Close()
	}
	p.working.Wait()
	if p.taken {
		return
	}
	for _, s := range p.streams {
		if s != nil {
			s.Close()
		}
	}
}
