package parts

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/units"
)

// small returns a run in two parts, and of each node its part.
func small(t *testing.T) (*backend.Run, []int) {
	p := backendtest.Compile(t, backendtest.Small)
	of := make([]int, len(p.Graph.Nodes))
	for i := range of {
		of[i] = i % 2
	}
	return &backend.Run{ID: "ab12", Plan: p, Folder: t.TempDir(), Identity: "build-1"}, of
}

// script is what a shard does in a test once it is connected.
type script func(s *stream, conn net.Conn)

// well is a shard that does what it has to; last is its last message.
func well(last message, ordered chan<- *order) script {
	return func(s *stream, _ net.Conn) {
		s.limit = orderLimit
		s.send(message{Hello: &hello{Protocol: protocol, Build: modules.Build(), Identity: "build-1", Address: "127.0.0.1:1"}})
		for {
			m, err := s.receive()
			switch {
			case err != nil, m.Stop:
				return
			case m.Order != nil:
				if ordered != nil {
					ordered <- m.Order
				}
				s.send(message{Ready: true})
			case m.Go:
				s.send(last)
			}
		}
	}
}

// scripted runs a run whose shards follow scripts, which end when they return.
func scripted(ctx context.Context, r *backend.Run, of []int, c backend.Control, scripts ...script) (*backend.Outcome, error) {
	var list []Shard
	names := []string{"shard 0 (pod a on x)", "shard 1 (pod b on y)"}
	for i, do := range scripts {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			do(newStream(there, orphanAfter), there)
		}()
		list = append(list, Shard{Name: names[i], Conn: here})
	}
	return Coordinate(ctx, r, of, list, c)
}

func outcome(end units.Time) message {
	return message{Outcome: &backend.Outcome{End: end, Frames: 3, Cut: &backend.Cut{}}}
}

// The outcomes of both parts become one. Each shard gets its own part with a certificate of
// its own.
func TestCoordinate(t *testing.T) {
	r, of := small(t)
	orders := make(chan *order, 2)
	last := outcome(7)
	for _, l := range r.Plan.Links {
		if of[l.A.Node] != of[l.B.Node] {
			last.Outcome.Cut.Links = append(last.Outcome.Cut.Links,
				backend.CutLink{Link: l.Name, Sender: l.A, Receiver: l.B}, backend.CutLink{Link: l.Name, Sender: l.B, Receiver: l.A})
		}
	}
	out, err := scripted(t.Context(), r, of, backend.Control{}, well(last, orders), well(last, orders))
	if err != nil || out.Frames != 6 || out.End != 7 {
		t.Fatalf("got %+v, %v", out, err)
	}
	a, b := <-orders, <-orders
	if a.Run.Part.Index+b.Run.Part.Index != 1 || !slices.Equal(a.Run.Part.Of, of) || len(a.Run.Part.Addresses) != 2 {
		t.Errorf("parts %+v and %+v", a.Run.Part, b.Run.Part)
	}
	if ka, kb := a.Run.Part.Credentials, b.Run.Part.Credentials; len(ka.Key) == 0 || string(ka.Key) == string(kb.Key) || string(ka.Authority) != string(kb.Authority) {
		t.Error("the credentials are not each shard's own")
	}
}

// A shard that breaks the rules ends the run, and is named.
func TestCoordinateRefuses(t *testing.T) {
	greet := func(change func(*hello)) script {
		return func(s *stream, _ net.Conn) {
			h := &hello{Protocol: protocol, Build: modules.Build(), Identity: "build-1"}
			change(h)
			s.send(message{Hello: h})
			s.receive()
		}
	}
	bad := &gateway.PartError{Part: "shard 0 (pod a on x)", Reason: "the connection was closed"}
	for name, c := range map[string]struct {
		shard script
		want  string
	}{
		"protocol": {greet(func(h *hello) { h.Protocol++ }), "it speaks version 2 of the protocol, this csiglab 1"},
		"modules":  {greet(func(h *hello) { h.Build = "other" }), "other modules"},
		"identity": {greet(func(h *hello) { h.Identity = "build-2" }), "it is another csiglab, build-2, and this one is build-1"},
		"closed":   {func(*stream, net.Conn) {}, "the connection broke"},
		"garbage": {func(_ *stream, conn net.Conn) {
			conn.Write([]byte{0, 0, 0, 3, 1, 2, 3})
			io.Copy(io.Discard, conn)
		}, "does not keep to the protocol"},
		"length": {func(_ *stream, conn net.Conn) {
			conn.Write(binary.BigEndian.AppendUint32(nil, 1<<31))
			io.Copy(io.Discard, conn)
		}, "a message of 2147483648 bytes, at most"},
		"turn": {func(s *stream, _ net.Conn) {
			s.send(outcome(7))
			s.receive()
		}, "a message out of turn"},
		"end":     {well(outcome(8), nil), "part 1 at 8ps"},
		"records": {well(message{Records: &metrics.Batch{Node: 0}}, nil), "records of a node that it does not have"},
		"huge":    {well(message{Records: &metrics.Batch{Node: 1 << 20}}, nil), "records of a node that it does not have"},
		"file":    {well(message{File: &chunk{Output: true, Index: 5, Data: []byte("x")}}, nil), "a file that it has not been asked for"},
		"failure": {well(message{Failure: &fault{Failure: *backend.AsFailure(&backend.NodeError{Name: "h0", Reason: "died"})}}, nil), "node h0: died"},
		"part":    {well(message{Failure: &fault{Failure: *backend.AsFailure(bad)}}, nil), "shard 0 (pod a on x): the connection was closed"},
	} {
		t.Run(name, func(t *testing.T) {
			r, of := small(t)
			_, err := scripted(t.Context(), r, of, backend.Control{}, well(outcome(7), nil), c.shard)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "shard 1 (pod b on y)") && name != "end" {
				t.Errorf("error %v, want one of shard 1 with %q", err, c.want)
			}
		})
	}
}

// A shard that is silent is named, and none starts before all are ready.
func TestCoordinateSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, of := small(t)
		var going atomic.Bool
		var said atomic.Value
		first := func(s *stream, conn net.Conn) {
			s.limit = orderLimit
			s.send(message{Hello: &hello{Protocol: protocol, Build: modules.Build(), Identity: "build-1"}})
			go s.showLife()
			for {
				m, err := s.receive()
				if err != nil || m.Stop {
					return
				}
				if m.Go {
					going.Store(true)
				}
				if m.Order != nil {
					s.send(message{Ready: true})
				}
			}
		}
		second := func(s *stream, conn net.Conn) {
			s.limit = orderLimit
			s.send(message{Hello: &hello{Protocol: protocol, Build: modules.Build(), Identity: "build-1"}})
			for {
				if _, err := s.receive(); err != nil {
					return
				}
			}
		}
		began := time.Now()
		_, err := scripted(t.Context(), r, of, backend.Control{Waiting: func(text string) { said.Store(text) }}, first, second)
		if err == nil || !strings.Contains(err.Error(), "shard 1 (pod b on y): the connection broke: has sent nothing for 30s") {
			t.Errorf("error %v", err)
		}
		text, _ := said.Load().(string)
		if going.Load() || !strings.Contains(text, "waiting for shard 1") || time.Since(began) > time.Minute {
			t.Errorf("the other was started: %v; said %q; took %v", going.Load(), text, time.Since(began))
		}
		time.Sleep(2 * aliveEvery) // both sides see that the connection is closed
	})
}

// When the context ends, every shard is told to stop.
func TestCoordinateCancelled(t *testing.T) {
	r, of := small(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := make(chan int, 2)
	one := func(i int) script {
		return func(s *stream, _ net.Conn) {
			s.limit = orderLimit
			s.send(message{Hello: &hello{Protocol: protocol, Build: modules.Build(), Identity: "build-1"}})
			for {
				m, err := s.receive()
				switch {
				case err != nil:
					return
				case m.Stop:
					stopped <- i
					return
				case m.Order != nil:
					s.send(message{Ready: true})
				case m.Go:
					cancel(errors.New("enough"))
				}
			}
		}
	}
	if _, err := scripted(ctx, r, of, backend.Control{}, one(0), one(1)); err == nil || err.Error() != "enough" {
		t.Errorf("error %v, want the cause", err)
	}
	if a, b := <-stopped, <-stopped; a+b != 1 {
		t.Error("a shard was not told to stop")
	}
}

// A fault that another shard has caused gives way to that shard's own words.
func TestCoordinateCause(t *testing.T) {
	r, of := small(t)
	name := "shard 1 (pod b on y)"
	second := func(s *stream, conn net.Conn) {
		s.limit = orderLimit
		s.send(message{Hello: &hello{Protocol: protocol, Build: modules.Build(), Identity: "build-1"}})
		for {
			m, err := s.receive()
			switch {
			case err != nil:
				return
			case m.Order != nil:
				s.send(message{Ready: true})
			case m.Go:
				return // it dies
			}
		}
	}
	first := well(message{Failure: &fault{Failure: *backend.AsFailure(&gateway.PartError{Part: name, Reason: "the connection was closed"})}}, nil)
	_, err := scripted(t.Context(), r, of, backend.Control{}, first, second)
	var own *Error
	if !errors.As(err, &own) || own.Shard != name {
		t.Errorf("error %v, want that of %s itself", err, name)
	}
}

// Files of a shard arrive where the caller's run has them, and no others.
func TestFiles(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small+"capture: [h0-tor0]\n")
	if len(p.Captured) == 0 {
		t.Fatal("nothing is captured")
	}
	of := make([]int, len(p.Graph.Nodes))
	node := p.Captured[0].Node
	there, here := t.TempDir(), t.TempDir()
	text := strings.Repeat("frames ", chunkSize/3)
	if err := os.WriteFile(spoolName(there, node), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in := arrivals{run: &backend.Run{Plan: p}, folder: here, of: of}
	r := &backend.Run{Plan: p, Part: &backend.Part{Of: of}}
	if err := sendFiles(r, there, func(m message) error { return in.add(m.File) }); err != nil {
		t.Fatal(err)
	}
	if err := in.close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(here, filepath.Base(spoolName("", node))))
	if err != nil || string(got) != text {
		t.Errorf("%d bytes arrived, %v; want %d", len(got), err, len(text))
	}
	in.part = 1
	for _, c := range []chunk{{Index: node}, {Index: -1}, {Index: 1 << 30}, {Output: true}} {
		if err := in.add(&c); !errors.Is(err, errProtocol) {
			t.Errorf("%+v: error %v, want it to be refused", c, err)
		}
	}
}
