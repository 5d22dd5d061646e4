package buffer_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/units"
)

// Choudhury and Hahne 1998: "T(t) = alpha (B - Q(t))": with S busy queues each one gets
// alpha B / (1 + alpha S), and B / (1 + alpha S) stays free.
func TestDynamicThreshold(t *testing.T) {
	for _, alpha := range []float64{0.5, 1, 2} {
		for _, queues := range []int{1, 2, 5} {
			m := buffer.NewMemory(buffer.MemoryConfig{Shared: 1_000_000, Alpha: alpha})
			lengths := make([]units.Size, queues)
			for full := false; !full; {
				full = true
				for i := range lengths {
					if m.Fits(lengths[i], 100) {
						m.Resize(lengths[i], lengths[i]+100)
						lengths[i] += 100
						full = false
					}
				}
			}
			want := units.Size(alpha * 1_000_000 / (1 + alpha*float64(queues)))
			for i, got := range lengths {
				if got < want-300 || got > want+300 {
					t.Errorf("alpha %v, %d queues: queue %d has %v, want %v", alpha, queues, i, got, want)
				}
			}
			for i := range lengths {
				m.Resize(lengths[i], 0)
			}
			if m.Used() != 0 || m.Peak() == 0 {
				t.Errorf("used %v, peak %v", m.Used(), m.Peak())
			}
		}
	}
}

// A queue has what is reserved for it when others have taken all that is shared.
func TestReserved(t *testing.T) {
	m := buffer.NewMemory(buffer.MemoryConfig{Shared: 1000, Reserved: 200, Alpha: 64})
	m.Resize(0, 1200)
	if m.Used() != 1000 || m.Fits(1200, 1) {
		t.Errorf("used %v of 1 kB", m.Used())
	}
	if !m.Fits(100, 100) || m.Fits(100, 101) {
		t.Error("want the reserved 200 B, and no more")
	}
}

// The parts of the headroom: the packet that passes XOFF; 2 us of link both ways and the
// times of a packet and of the pause frame, 332 ns and 5.12 ns, at 100 Gb/s, 29,214 B; the
// packet that the peer has begun.
func TestHeadroom(t *testing.T) {
	l := buffer.Link{Rate: 100 * units.Gbps, Delay: units.Microsecond, MTU: 4150, Pause: 64}
	if got := buffer.Headroom(l); got != 4150+29214+1+4150 {
		t.Errorf("headroom %v, want 37.515kB", got)
	}
	l.Overhead = 20
	if got := buffer.Headroom(l); got != 4150+29254+1+4150 {
		t.Errorf("headroom with 20 B a packet more on the line %v, want 37.555kB", got)
	}
}

// XOFF with the packet that passes the threshold, which has headroom; XON when the headroom
// is free and no more than XOn is left.
func TestIngress(t *testing.T) {
	g := buffer.Ingress{Limits: buffer.IngressLimits{XOff: 1000, XOn: 500, Headroom: 300}}
	admit := func(size units.Size, fits, paused bool) {
		t.Helper()
		if f, p := g.Admit(nil, size); f != fits || p != paused {
			t.Fatalf("Admit(%v) = %v, %v, want %v, %v", size, f, p, fits, paused)
		}
	}
	release := func(size units.Size, resumed bool) {
		t.Helper()
		if got := g.Release(nil, size); got != resumed {
			t.Fatalf("Release(%v) = %v with %v left", size, got, g.Held())
		}
	}
	admit(600, true, false)
	admit(400, true, false) // exactly XOFF
	admit(100, true, true)
	admit(200, true, false)
	admit(1, false, false)
	if g.Held() != 1300 || !g.Off() || g.MostHeadroom() != 300 {
		t.Fatalf("%v held, off %v, headroom %v", g.Held(), g.Off(), g.MostHeadroom())
	}
	release(300, false) // the headroom
	release(499, false)
	release(1, true)
	if g.Off() || g.Held() != 500 {
		t.Fatalf("%v held, off %v", g.Held(), g.Off())
	}
	release(500, false)
}

// With shared memory XOFF is the dynamic threshold: a class that others leave little gets
// paused earlier, and goes on as far below it as XOn is below XOff.
func TestIngressOfSharedMemory(t *testing.T) {
	m := buffer.NewMemory(buffer.MemoryConfig{Shared: 1000, Reserved: 100, Alpha: 1})
	g := buffer.Ingress{Limits: buffer.IngressLimits{XOff: 300, XOn: 200, Headroom: 300}}
	held := units.Size(0)
	for paused := false; !paused; held += 50 {
		var fits bool
		if fits, paused = g.Admit(m, 50); !fits {
			t.Fatal("no room")
		}
	}
	// Reserved 100, then half of the shared memory, then the packet that passed.
	if held != 100+500+50 || m.Used() != 500 || g.MostHeadroom() != 50 {
		t.Errorf("paused with %v, %v shared, %v headroom", held, m.Used(), g.MostHeadroom())
	}
	m.Resize(0, 100+400) // another queue takes 400 shared bytes
	if g.Release(m, 50) {
		t.Error("resumed with 500 shared bytes and a threshold of 100")
	}
	m.Resize(500, 0)
	released := units.Size(0)
	for !g.Release(m, 10) {
		released += 10
	}
	// shared <= 1000 - shared - 100: at 450.
	if released+10 != 50 {
		t.Errorf("resumed after %v, want 50 B", released+10)
	}
}

// Classes are served by their scheduler; what the peer has paused waits.
func TestClasses(t *testing.T) {
	list := []class.Class{{Name: "a", DSCP: 10, Weight: 1}, {Name: "b", DSCP: 20, Weight: 1}}
	q := buffer.NewClasses(list, 1000)
	for range 2 {
		q.Push(0, packet(1000))
		q.Push(1, packet(500))
	}
	if q.Len() != 4 || q.Bytes() != 3000 || q.BytesOf(1) != 1000 || q.Backlog() != 3 {
		t.Fatalf("%d packets, %v, %b", q.Len(), q.Bytes(), q.Backlog())
	}
	for i, want := range []struct {
		closed uint8
		class  int
	}{{1, 1}, {0, 1}, {3, -1}, {0, 0}, {0, 0}, {0, -1}} {
		p, k := q.Pop(want.closed)
		if k != want.class || (p == nil) != (k < 0) {
			t.Errorf("pop %d: class %d, want %d", i, k, want.class)
		}
	}
	q.Push(1, packet(7))
	if p := q.PopTail(1); p == nil || p.Size != 7 || q.Backlog() != 0 || q.PopTail(1) != nil {
		t.Errorf("tail %v, backlog %b", p, q.Backlog())
	}
}
