package backend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/gateway"
)

const peeringRun = "0123456789ab"

// peerings are the parts of a run that meet on the loopback address.
type peerings struct {
	t         *testing.T
	parts     []*Part
	listeners []*net.TCPListener
	notes     []chan string
}

func newPeerings(t *testing.T, n int) *peerings {
	p := &peerings{t: t}
	authority := must(NewAuthority(peeringRun))(t)
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("shard %d", i))
	}
	for i := range n {
		listener := must(net.Listen("tcp", "127.0.0.1:0"))(t).(*net.TCPListener)
		t.Cleanup(func() { listener.Close() })
		p.parts = append(p.parts, &Part{Index: i, Names: names, Credentials: must(authority.Issue(i))(t)})
		p.listeners, p.notes = append(p.listeners, listener), append(p.notes, make(chan string, 100))
	}
	return p
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// start starts a part, which has the time within to meet the others.
func (p *peerings) start(i int, within time.Duration) *peering {
	p.t.Helper()
	m := &Meeting{Listener: must(p.listeners[i].File())(p.t)}
	for j := range i {
		call := must(net.Dial("tcp", p.listeners[j].Addr().String()))(p.t)
		m.Calls = append(m.Calls, must(call.(*net.TCPConn).File())(p.t))
		call.Close()
	}
	peers := must(startPeering(p.t.Context(), &Run{ID: peeringRun, Part: p.parts[i]}, Control{
		Meeting: m, Note: func(text string) { p.notes[i] <- text },
	}, within))(p.t)
	p.t.Cleanup(peers.close)
	return peers
}

// Parts that have the run's certificates get a stream to each other part, and each stream
// leads to the part that it is for.
func TestPartsMeet(t *testing.T) {
	const n = 4
	p := newPeerings(t, n)
	peers := make([]*peering, n)
	for i := range peers {
		peers[i] = p.start(i, 10*time.Second)
	}
	streams := make([][]net.Conn, n)
	for i := range peers {
		streams[i] = must(peers[i].wait(t.Context()))(t)
	}
	for i := range n {
		for j := range n {
			if i == j {
				if streams[i][j] != nil {
					t.Errorf("part %d has a stream to itself", i)
				}
				continue
			}
			if _, err := streams[i][j].Write([]byte{byte(10*i + j)}); err != nil {
				t.Fatal(err)
			}
			var got [1]byte
			if _, err := streams[j][i].Read(got[:]); err != nil || got[0] != byte(10*i+j) {
				t.Errorf("part %d reads %d of part %d (%v), want %d", j, got[0], i, err, 10*i+j)
			}
			state := streams[i][j].(*tls.Conn).ConnectionState()
			if state.Version != tls.VersionTLS13 || state.DidResume || len(state.VerifiedChains) == 0 {
				t.Errorf("parts %d and %d: %+v, want TLS 1.3 with a certificate that was verified, not resumed", i, j, state)
			}
		}
	}
	for _, s := range streams {
		for _, c := range s {
			if c != nil {
				c.Close()
			}
		}
	}
}

// A connection that is not one of the run's parts is refused and named, and the part that is
// expected meets the run afterwards.
func TestForeignConnections(t *testing.T) {
	p := newPeerings(t, 3)
	other := must(NewAuthority(peeringRun))(t)
	own := &Authority{}
	*own = *must(NewAuthority(peeringRun))(t)
	for _, part := range p.parts { // all of one authority that can issue other certificates too
		part.Credentials = must(own.Issue(part.Index))(t)
	}
	now := time.Now()
	first := p.start(0, 20*time.Second)
	present := func(c Credentials) func(net.Conn) error {
		return func(conn net.Conn) error {
			config := must(c.calling(0, peeringRun))(t)
			config.RootCAs = must(p.parts[0].Credentials.calling(0, peeringRun))(t).RootCAs
			secure := tls.Client(conn, config)
			if err := secure.Handshake(); err != nil {
				return err
			}
			_, err := secure.Read(make([]byte, 1))
			return err
		}
	}
	for name, c := range map[string]struct {
		call func(net.Conn) error
		want string
	}{
		"another authority": {present(must(other.Issue(1))(t)), "x509: certificate signed by unknown authority"},
		"expired":           {present(must(own.issue(shardName(1, peeringRun), now.Add(-2*time.Hour), now.Add(-time.Hour)))(t)), "x509: certificate has expired or is not yet valid"},
		"another name":      {present(must(own.issue("localhost", now.Add(-time.Hour), now.Add(time.Hour)))(t)), `its certificate is of ["localhost"], which is no shard after shard-0.` + peeringRun},
		"another run":       {present(must(own.issue(shardName(1, "ffffffffffff"), now.Add(-time.Hour), now.Add(time.Hour)))(t)), "which is no shard after shard-0." + peeringRun},
		"its own name":      {present(must(own.Issue(0))(t)), "which is no shard after shard-0." + peeringRun},
		"garbage": {func(conn net.Conn) error {
			if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
				return err
			}
			_, err := conn.Read(make([]byte, 100))
			if err == nil { // an alert may come first
				_, err = conn.Read(make([]byte, 100))
			}
			return err
		}, "tls: first record does not look like a TLS handshake"},
		"nothing": {func(conn net.Conn) error {
			conn.(*net.TCPConn).CloseWrite()
			_, err := conn.Read(make([]byte, 1))
			return err
		}, "it was closed without a TLS handshake"},
		"no certificate": {func(conn net.Conn) error {
			config := must(p.parts[1].Credentials.calling(0, peeringRun))(t)
			config.Certificates = nil
			secure := tls.Client(conn, config)
			if err := secure.Handshake(); err != nil {
				return err
			}
			_, err := secure.Read(make([]byte, 1))
			return err
		}, "tls: client didn't provide a certificate"},
		"TLS 1.2": {func(conn net.Conn) error {
			config := must(p.parts[1].Credentials.calling(0, peeringRun))(t)
			config.MinVersion, config.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
			return tls.Client(conn, config).Handshake()
		}, "tls: client offered only unsupported versions"},
	} {
		conn := must(net.Dial("tcp", p.listeners[0].Addr().String()))(t)
		if err := c.call(conn); err == nil {
			t.Errorf("%s: the connection was accepted", name)
		}
		want := fmt.Sprintf("shard 0 refused a connection from %v: ", conn.LocalAddr())
		if got := <-p.notes[0]; !strings.HasPrefix(got, want) || !strings.Contains(got, c.want) {
			t.Errorf("%s: note %q, want %s… %s", name, got, want, c.want)
		}
		conn.Close()
	}
	second, third := p.start(1, 20*time.Second), p.start(2, 20*time.Second)
	for _, peers := range []*peering{first, second, third} {
		for _, s := range must(peers.wait(t.Context()))(t) {
			if s != nil {
				defer s.Close()
			}
		}
	}
	// Later too: here with the certificate of a part that has been stolen.
	conn := must(net.Dial("tcp", p.listeners[0].Addr().String()))(t)
	defer conn.Close()
	if err := present(p.parts[1].Credentials)(conn); err == nil {
		t.Error("a second shard 1 was accepted")
	}
	if got, want := <-p.notes[0], "it has the certificate of shard 1, which is connected already"; !strings.HasSuffix(got, want) {
		t.Errorf("note %q, want …%s", got, want)
	}
}

// A part does not go on with a part before it that is not the one it called.
func TestCallsCheckTheCertificate(t *testing.T) {
	for name, c := range map[string]struct {
		issue func(own, other *Authority) (Credentials, error)
		want  string
	}{
		"another authority":                {func(_, other *Authority) (Credentials, error) { return other.Issue(0) }, "certificate signed by unknown authority"},
		"the certificate of another shard": {func(own, _ *Authority) (Credentials, error) { return own.Issue(2) }, "certificate is valid for shard-2." + peeringRun + ", not shard-0." + peeringRun},
	} {
		p := newPeerings(t, 3)
		own, other := must(NewAuthority(peeringRun))(t), must(NewAuthority(peeringRun))(t)
		p.parts[1].Credentials = must(own.Issue(1))(t)
		p.parts[0].Credentials = must(c.issue(own, other))(t)
		p.parts[0].Credentials.Authority = p.parts[1].Credentials.Authority
		p.start(0, 10*time.Second)
		_, err := p.start(1, 10*time.Second).wait(t.Context())
		var part *gateway.PartError
		if !errors.As(err, &part) || part.Part != "shard 0" || !strings.Contains(part.Reason, c.want) || !strings.Contains(part.Reason, p.listeners[0].Addr().String()) {
			t.Errorf("%s: error %v, want one of shard 0 at its address: %s", name, err, c.want)
		}
	}
}

// The parts that do not come are named, those that should call and those that do not answer.
func TestMissingParts(t *testing.T) {
	p := newPeerings(t, 3)
	for i, want := range []string{
		"shard 1, shard 2: has not connected to shard 0 within 100ms",
		"shard 0, shard 2: has not connected to shard 1 within 100ms",
	} {
		peers := p.start(i, 100*time.Millisecond)
		_, err := peers.wait(t.Context())
		peers.close()
		var part *gateway.PartError
		if !errors.As(err, &part) || err.Error() != want {
			t.Errorf("part %d: error %v, want %s", i, err, want)
		}
	}
}

// What the run has not given to a part is missed at once.
func TestPeeringWithoutFiles(t *testing.T) {
	p := newPeerings(t, 3)
	for want, m := range map[string]*Meeting{
		"shard 1: it has no way to the other parts of the run":      nil,
		"shard 1: it has no socket for the parts after it":          {},
		"shard 1: it has no connection to shard 0":                  {Listener: must(p.listeners[1].File())(t)},
		"shard 1: credentials of the part: tls: failed to find any": {Listener: must(p.listeners[1].File())(t)},
	} {
		part := *p.parts[1]
		if strings.Contains(want, "credentials") {
			part.Credentials = Credentials{}
		}
		_, err := startPeering(t.Context(), &Run{ID: peeringRun, Part: &part}, Control{Meeting: m}, time.Second)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// A run that is ended while its parts meet ends with its cause.
func TestPeeringEnds(t *testing.T) {
	p := newPeerings(t, 2)
	peers := p.start(0, time.Minute)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(os.ErrProcessDone)
	if _, err := peers.wait(ctx); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("error %v, want the cause", err)
	}
}

// Credentials do not appear where a Part is printed.
func TestCredentialsAreNotPrinted(t *testing.T) {
	c := must(must(NewAuthority(peeringRun))(t).Issue(0))(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, Part{Credentials: c}); strings.Contains(text, "BEGIN") || strings.Contains(text, "45 45") || strings.Contains(text, "0x2d, 0x2d") {
			t.Errorf("%s prints %.80s", verb, text)
		}
	}
}
