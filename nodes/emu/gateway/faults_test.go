package gateway_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
)

// pairText is two racks with a host each.
const pairText = `
schema: 1
name: pair-test
topology:
  fat_tree:
    hosts: 2
    pod: 2
    tiers:
      - {down: 1, up: 1, rate: 100Gbps, delay: 1us}
      - {down: 2, rate: 100Gbps, delay: 1us}
links: {queue: 30kB}
workload: {transfers: [0 -> 1 3MB]}
hosts:
  cc: {name: nscc}
seeds: [1]
`

// newPair returns two racks in two parts, part 0 with the sending host.
func newPair(t *testing.T, change func(*emu.Fabric)) *lab {
	t.Helper()
	p := backendtest.Compile(t, pairText)
	threads(t, len(p.Nodes))
	of := make([]int, len(p.Nodes))
	for i, n := range backendtest.Fabric(p).Graph.Nodes {
		if strings.HasSuffix(n.Name, "1") {
			of[i] = 1
		}
	}
	if of[0] == of[1] || !slices.Contains(of, 1) {
		t.Fatalf("the hosts are in parts %v", of)
	}
	return newLab(t, p, of, change)
}

// relay puts a relay into the stream from a part to another. edit is given each message
// of that way with its kind, counted from 1 by kind, and returns what goes on; nil closes.
func (l *lab) relay(from, to int, edit func(kind byte, number int, message []byte) []byte) {
	inner, outer := tcp(l.t)
	far, near := tcp(l.t)
	l.gates[from].Peers[to], l.gates[to].Peers[from] = inner, near
	go func() {
		defer outer.Close()
		io.Copy(outer, far) //nolint:errcheck // ends with the connection
	}()
	go func() {
		defer far.Close()
		defer outer.Close()
		seen := make(map[byte]int)
		for {
			head := make([]byte, 5)
			if _, err := io.ReadFull(outer, head); err != nil {
				return
			}
			message := append(head, make([]byte, binary.BigEndian.Uint32(head)-1)...)
			if _, err := io.ReadFull(outer, message[5:]); err != nil {
				return
			}
			kind := head[4]
			seen[kind]++
			if message = edit(kind, seen[kind], message); message == nil {
				return
			}
			if _, err := far.Write(message); err != nil {
				return
			}
		}
	}()
}

// Kinds of messages.
const (
	kindExchange = 1
	kindAlive    = 2
	kindOver     = 4
)

// TestFaults: whatever goes wrong between parts ends the run of every part in short time,
// with an error that names the part, and the link where one is at fault.
func TestFaults(t *testing.T) {
	// at applies an edit to one exchange.
	at := func(which int, edit func([]byte) []byte) func(byte, int, []byte) []byte {
		return func(kind byte, number int, m []byte) []byte {
			if kind != kindExchange || number != which {
				return m
			}
			return edit(m)
		}
	}
	const part0 = "shard 0: "
	for _, test := range []struct {
		name   string
		spoil  func(*lab)
		change func(*emu.Fabric)
		want   [2]string // by part: the error begins like this; empty: any
	}{
		{name: "replayed", spoil: func(l *lab) {
			l.relay(0, 1, at(3, func(m []byte) []byte { return append(m, m...) }))
		}, want: [2]string{"shard 1: has given up: shard 0: exchange 3 was sent again", "shard 0: exchange 3 was sent again after exchange 3"}},
		{name: "skipped", spoil: func(l *lab) {
			l.relay(0, 1, at(3, func(m []byte) []byte { return m[:0] }))
		}, want: [2]string{"shard 1: has given up: ", part0 + "exchange 4 was sent after exchange 2: those between are missing"}},
		{name: "closed", spoil: func(l *lab) {
			l.relay(0, 1, at(3, func(m []byte) []byte { return nil }))
		}, want: [2]string{"shard 1: link tor1-agg0: the connection was closed", part0 + "link tor1-agg0: the connection was closed"}},
		{name: "closed within a message", spoil: func(l *lab) {
			l.relay(0, 1, at(3, func(m []byte) []byte { m[3]++; return m }))
		}, want: [2]string{"", part0}},
		{name: "silent", spoil: func(l *lab) {
			l.gates[0].Silence, l.gates[1].Silence = 4*time.Second, time.Millisecond // 1.6 s at least
			l.relay(0, 1, func(_ byte, _ int, m []byte) []byte { return m[:0] })
		}, want: [2]string{"", part0 + "link tor1-agg0: has sent nothing for 1.6s"}},
		{name: "unknown message", spoil: func(l *lab) {
			l.relay(0, 1, at(2, func(m []byte) []byte { m[4] = 99; return m }))
		}, want: [2]string{"", part0 + "a message of kind 99, which is unknown"}},
		{name: "message too long", spoil: func(l *lab) {
			l.relay(0, 1, at(2, func(m []byte) []byte { m[0] = 0x7f; return m }))
		}, want: [2]string{"", part0 + "a message of kind 1 has "}},
		{name: "over too early", spoil: func(l *lab) {
			l.relay(0, 1, at(2, func(m []byte) []byte { return []byte{0, 0, 0, 1, kindOver} }))
		}, want: [2]string{"", part0 + "says that the run is over, and it is not"}},
		{name: "bytes after the frames", spoil: func(l *lab) {
			l.relay(0, 1, at(2, func(m []byte) []byte {
				m = append(m, 1, 2, 3)
				binary.BigEndian.PutUint32(m, uint32(len(m)-4))
				return m
			}))
		}, want: [2]string{"", part0 + "exchange 2 has 3 bytes more than it should"}},
		{name: "oversized frame", spoil: func(l *lab) { l.gates[1].MaxFrame = 1000 },
			want: [2]string{"", part0 + "link tor1-agg0: frame 1: has 4"}},
		{name: "frames of another run", spoil: func(l *lab) { l.gates[1].Run++ },
			want: [2]string{"", part0 + "link tor1-agg0: frame 1 is not of this link and run"}},
		{name: "lost before the stub", change: func(f *emu.Fabric) {
			for id := range f.Graph.Links {
				if f.Graph.LinkName(id) == "tor1-agg0" {
					f.Inject = []emu.Injection{{Link: id, Reverse: true, Number: 5}}
				}
			}
		}, want: [2]string{"link tor1-agg0: frame 5 from agg0 to tor1 did not arrive at the stub of shard 0 within 300ms", part0 + "has given up: link tor1-agg0: frame 5 from"}},
		{name: "no room at the stub", spoil: func(l *lab) { l.stubs[0].Keep(1) },
			want: [2]string{"link tor1-agg0: frame ", part0 + "has given up: link tor1-agg0: frame "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newPair(t, test.change)
			if test.spoil != nil {
				test.spoil(l)
			}
			l.start(0, 1)
			begin := time.Now()
			_, _, errs := l.run(t.Context())
			for part, err := range errs {
				if err == nil {
					t.Errorf("part %d: no error", part)
					continue
				}
				if !strings.HasPrefix(err.Error(), test.want[part]) {
					t.Errorf("part %d: got %q, want %q", part, err, test.want[part])
				}
				var lost *gateway.PartError
				var link *emu.LinkError
				if !errors.As(err, &lost) && !errors.As(err, &link) {
					t.Errorf("part %d: the error is a %T", part, err)
				}
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestCanceled: a part whose context ends returns its cause, and the other learns of it.
func TestCanceled(t *testing.T) {
	l := newPair(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	killed := errors.New("node h0 was killed")
	l.relay(1, 0, func(kind byte, number int, m []byte) []byte {
		if kind == kindExchange && number == 3 {
			cancel(killed)
		}
		return m
	})
	l.start(0, 1)
	other := make(chan error, 1)
	go func() {
		_, _, err := gateway.Run(t.Context(), l.gates[1])
		other <- err
	}()
	_, _, err := gateway.Run(ctx, l.gates[0])
	if !errors.Is(err, killed) {
		t.Errorf("got %v, want %v", err, killed)
	}
	if got, want := (<-other).Error(), "shard 0: has given up: node h0 was killed"; got != want {
		t.Errorf("the other part: got %q, want %q", got, want)
	}
}

// TestAlive: parts whose nodes take long to start hear of each other meanwhile.
func TestAlive(t *testing.T) {
	l := newPair(t, nil)
	for i := range l.gates {
		l.gates[i].Silence = 1500 * time.Millisecond
	}
	heard := make(chan struct{})
	l.relay(0, 1, func(kind byte, number int, m []byte) []byte {
		if kind == kindAlive && number == 2 {
			close(heard)
		}
		return m
	})
	wait := make(chan func() error, 1)
	go func() {
		<-heard // two seconds: longer than the silence that is allowed
		wait <- l.start(0, 1)
	}()
	_, _, errs := l.run(t.Context())
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if err := (<-wait)(); err != nil {
		t.Fatal(err)
	}
}

// TestPipe: a gateway needs no more of a stream than net.Conn says.
func TestPipe(t *testing.T) {
	l := newPair(t, nil)
	l.gates[0].Peers[1], l.gates[1].Peers[0] = net.Pipe()
	wait := l.start(0, 1)
	_, _, errs := l.run(t.Context())
	if err := errors.Join(append(errs, wait())...); err != nil {
		t.Fatal(err)
	}
}
