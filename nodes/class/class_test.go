package class_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

const quantum = 4150

func weighted(weights ...int) []class.Class {
	list := make([]class.Class, len(weights))
	for i, w := range weights {
		list[i] = class.Class{Name: fmt.Sprint("c", i), DSCP: uint8(13 + i), Weight: w}
	}
	return list
}

// Shreedhar and Varghese, SIGCOMM 1995, theorem 2: at any time, for flows that always have
// packets, the bytes sent differ from the shares of the weights by less than a quantum of
// each and a packet, whatever the sizes of the packets.
func TestSharesByWeight(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	list := weighted(1, 2, 5)
	s := class.NewScheduler(list, quantum)
	size := func() units.Size { return units.Size(64 + r.IntN(quantum-63)) }
	heads := class.Heads{size(), 64, quantum}
	var sent [3]units.Size
	for step := range 20000 {
		k := s.Next(&heads)
		sent[k] += heads[k]
		if k == 0 {
			heads[0] = size()
		}
		for i := range list {
			for j := range list {
				a, b := float64(sent[i])/float64(list[i].Weight), float64(sent[j])/float64(list[j].Weight)
				if a-b > 2*quantum+1 {
					t.Fatalf("seed %d, step %d: class %d has had %v, class %d %v", seed, step, i, sent[i], j, sent[j])
				}
			}
		}
	}
}

// "The remainder from the previous quantum is added to the quantum for the next round", and
// a queue that empties loses it.
func TestDeficit(t *testing.T) {
	s := class.NewScheduler(weighted(1, 1), 1000)
	heads := class.Heads{600, 600}
	var order []int
	for range 6 {
		order = append(order, s.Next(&heads))
	}
	// 1000 lets one packet of 600 out, 400 + 1000 two.
	if got := fmt.Sprint(order); got != "[0 1 0 0 1 1]" {
		t.Errorf("order %s, want [0 1 0 0 1 1]", got)
	}
	s = class.NewScheduler(weighted(1, 1), 1000)
	s.Next(&heads)
	if s.Deficit(0) != 400 {
		t.Errorf("deficit %v, want 400", s.Deficit(0))
	}
	heads[0] = 0
	s.Next(&heads)
	if s.Deficit(0) != 0 {
		t.Errorf("a class without packets keeps %v", s.Deficit(0))
	}
}

// Strict classes go first, in their order; the rest has what they leave. A packet longer
// than the quantum waits for more turns, and leaves.
func TestStrictFirst(t *testing.T) {
	list := weighted(1, 0, 0)
	list[1].Strict, list[1].Order = true, 2
	list[2].Strict, list[2].Order = true, 1
	s := class.NewScheduler(list, 100)
	for _, tc := range []struct {
		heads class.Heads
		want  int
	}{
		{class.Heads{64, 64, 64}, 2}, {class.Heads{64, 64}, 1}, {class.Heads{9000}, 0}, {class.Heads{}, -1},
	} {
		if got := s.Next(&tc.heads); got != tc.want {
			t.Errorf("Next(%v) = %d, want %d", tc.heads, got, tc.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for want, list := range map[string][]class.Class{
		"":                    weighted(1, 2),
		"0 classes":           nil,
		"DSCP 46 is none":     {{Name: "a", DSCP: wire.DSCPControl, Weight: 1}},
		"DSCP 7 is that of a": {{Name: "a", DSCP: 7, Weight: 1}, {Name: "b", DSCP: 7, Weight: 1}},
		"a weight of 0":       weighted(0),
		"8 classes":           weighted(1, 1, 1, 1, 1, 1, 1, 1),
	} {
		err := class.Check(list)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(strings.ReplaceAll(err.Error(), "class a", "a"), want) {
			t.Errorf("%v: %v, want %q", list, err, want)
		}
	}
	if m := class.NewMap(weighted(1, 1)); m[14] != 1 || m[13] != 0 || m[0] != class.Default {
		t.Errorf("map %v", m)
	}
	if set := class.Lossless([]class.Class{{}, {Lossless: true}}); set != 2 {
		t.Errorf("lossless %b, want 10", set)
	}
}

// IEEE 802.1Q §36.1.3: a timer counts quanta of 512 bit times; a frame with 0 ends the
// pause; each frame starts the timer anew; what a frame does not name it leaves alone.
func TestGate(t *testing.T) {
	g := class.NewGate(100 * units.Gbps)
	const q = units.Time(5120) // 512 bits at 100 Gb/s in ps
	frame := func(k int, quanta uint16) (f wire.PauseFields) {
		f.Vector, f.Timers[k] = 1<<k, quanta
		return f
	}
	g.Receive(100, frame(2, 10))
	g.Receive(100, frame(3, 20))
	if g.Closed() != 0b1100 || g.Next() != 100+10*q {
		t.Fatalf("closed %b until %d", g.Closed(), g.Next())
	}
	g.Receive(100+5*q, frame(2, 10)) // longer
	if g.Expire(100+10*q) || g.Next() != 100+15*q {
		t.Fatalf("closed %b until %d", g.Closed(), g.Next())
	}
	if !g.Expire(100+15*q) || g.Closed() != 0b1000 || g.Paused(100+99*q, 2) != units.Duration(15*q) {
		t.Fatalf("closed %b, paused for %v", g.Closed(), g.Paused(100+99*q, 2))
	}
	if !g.Receive(100+16*q, frame(3, 0)) || g.Closed() != 0 || g.Next() != units.Never || g.Frames(3) != 2 {
		t.Fatalf("closed %b until %d, %d frames", g.Closed(), g.Next(), g.Frames(3))
	}
	if g.Receive(100+17*q, frame(3, 0)) {
		t.Error("an open class was opened")
	}
}

func ExampleScheduler_Next() {
	s := class.NewScheduler(weighted(1, 3), 1000)
	heads := class.Heads{1000, 1000}
	for range 8 {
		fmt.Print(s.Next(&heads), " ")
	}
	// Output: 0 1 1 1 0 1 1 1
}
