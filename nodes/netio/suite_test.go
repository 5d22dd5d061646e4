package netio_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/netio"
)

// ports is the number of ports of each Conn of a pair.
const ports = 2

// maxFrame is the longest frame that the suite sends.
const maxFrame = 4200

// patience is how long the suite waits for frames that must come.
const patience = 5 * time.Second

// suite is what every netio.Conn passes. It runs on pairs of Conns, port i of one joined with
// port i of the other. open registers what it needs to clean up with t.
func suite(t *testing.T, open func(t *testing.T) (a, b netio.Conn)) {
	t.Run("order and content", func(t *testing.T) {
		a, b := open(t)
		exchange(t, a, b)
		exchange(t, b, a)
	})
	t.Run("nothing arrives", func(t *testing.T) {
		a, _ := open(t)
		for _, wait := range []time.Duration{0, 20 * time.Millisecond} {
			start := time.Now()
			n, err := a.Receive(make([]netio.Frame, 4), wait)
			if n != 0 || err != nil {
				t.Errorf("Receive on a silent Conn = %d, %v, want 0, nil", n, err)
			}
			if took := time.Since(start); took < wait {
				t.Errorf("Receive returned after %v, want to wait %v", took, wait)
			}
		}
	})
	t.Run("drops are counted", func(t *testing.T) {
		a, b := open(t)
		const sent = 3 * netio.Slots
		for range sent {
			if err := a.Send([]netio.Message{{Header: frame(0, 0, 100)}}); err != nil {
				t.Fatal(err)
			}
		}
		got := len(collect(t, b, netio.Slots))
		for batch := make([]netio.Frame, 64); ; {
			n, err := b.Receive(batch, 50*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			got += n
		}
		drops, err := b.Drops()
		if err != nil {
			t.Fatal(err)
		}
		if drops == 0 || int64(got)+drops != sent {
			t.Errorf("received %d and dropped %d of %d frames", got, drops, sent)
		}
	})
	t.Run("closed", func(t *testing.T) {
		a, _ := open(t)
		if err := a.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if err := a.Close(); err != nil {
			t.Errorf("second Close = %v", err)
		}
	})
	t.Run("unknown port", func(t *testing.T) {
		a, _ := open(t) // before the defer, which a skip would run
		defer func() {
			if recover() == nil {
				t.Error("Send to a port that does not exist did not panic")
			}
		}()
		if err := a.Send([]netio.Message{{Port: ports, Header: frame(0, 0, 100)}}); errors.Is(err, nil) {
			t.Error("Send to a port that does not exist succeeded")
		}
	})
}

// frame returns a frame of n bytes that says where it belongs.
func frame(port, sequence, n int) []byte {
	b := make([]byte, n)
	copy(b, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5, byte(port), byte(sequence >> 8), byte(sequence)})
	for i := 17; i < n; i++ {
		b[i] = byte(i*7 + sequence)
	}
	return b
}

type arrived struct {
	port int
	data []byte
}

// collect receives at least n frames, in batches.
func collect(t *testing.T, c netio.Conn, n int) (frames []arrived) {
	t.Helper()
	batch := make([]netio.Frame, 7)
	for deadline := time.Now().Add(patience); len(frames) < n && time.Now().Before(deadline); {
		got, err := c.Receive(batch, patience)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range batch[:got] {
			frames = append(frames, arrived{f.Port, bytes.Clone(f.Data)})
		}
	}
	return frames
}

// exchange sends frames of all lengths on all ports, whole and in parts, in
// several batches, more in total than a Conn has slots.
func exchange(t *testing.T, from, to netio.Conn) {
	t.Helper()
	lengths := []int{60, 64, 82, 1000, 1514, maxFrame}
	sequence := make([]int, ports)
	next := make([]int, ports)
	for batch := range 40 {
		var messages []netio.Message
		for i := range 20 {
			port := (batch + i) % ports
			f := frame(port, sequence[port], lengths[sequence[port]%len(lengths)])
			sequence[port]++
			switch i % 3 {
			case 0:
				messages = append(messages, netio.Message{Port: port, Header: f})
			case 1:
				messages = append(messages, netio.Message{Port: port, Header: f[:20], Trailer: f[20:]})
			case 2:
				messages = append(messages, netio.Message{Port: port, Header: f[:20], Payload: f[20:50], Trailer: f[50:]})
			}
		}
		if err := from.Send(messages); err != nil {
			t.Fatal(err)
		}
		got := collect(t, to, len(messages))
		if len(got) != len(messages) {
			t.Fatalf("batch %d: %d of %d frames arrived", batch, len(got), len(messages))
		}
		for _, f := range got {
			want := frame(f.port, next[f.port], lengths[next[f.port]%len(lengths)])
			if !bytes.Equal(f.data, want) {
				t.Fatalf("port %d, frame %d: got %d B %x…, want %d B %x…", f.port, next[f.port], len(f.data), f.data[:20], len(want), want[:20])
			}
			next[f.port]++
		}
	}
	for port := range ports {
		if next[port] != sequence[port] {
			t.Errorf("port %d: %d frames arrived, want %d", port, next[port], sequence[port])
		}
	}
}
