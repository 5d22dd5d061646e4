package deadlock_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/deadlock"
	"github.com/csiglab/csiglab/topologies"
)

// ring returns the links of n switches in a ring: port 0 of switch i leads to port 1 of
// switch i+1.
func ring(n int) (links []topologies.Link) {
	for i := range n {
		links = append(links, topologies.Link{A: topologies.End{Node: i, Port: 0}, B: topologies.End{Node: (i + 1) % n, Port: 1}})
	}
	return links
}

// stall is a report of port 0 of a switch: bytes that came in through port 1, and at how
// many the peer may go on.
func stall(node int32, bytes, resume int64) *metrics.Stall {
	return &metrics.Stall{Node: node, Class: 2, Since: 100, At: 200, Held: []metrics.Held{{Port: 1, Bytes: bytes, Resume: resume}}}
}

// Ports that pause each other in a circle are a deadlock as soon as the last one reports.
func TestRing(t *testing.T) {
	for n := int32(2); n < 7; n++ {
		d := deadlock.New(ring(int(n)))
		for i := n - 1; i > 0; i-- {
			if c, found := d.Report(stall(i, 1000, 500)); found {
				t.Fatalf("%d switches: %+v before the circle closes", n, c)
			}
		}
		c, found := d.Report(stall(0, 1000, 500))
		if !found || len(c.Ports) != int(n) || c.Since != 100 || c.Found != 200 {
			t.Fatalf("%d switches: %v, %+v", n, found, c)
		}
		for i, p := range c.Ports {
			if p != (deadlock.Port{Node: int32(i), Class: 2}) {
				t.Errorf("port %d of the circle is %+v", i, p)
			}
		}
	}
}

// A circle is none when a link of it can move: a port that sends again, packets of other
// ports, too few bytes to keep the peer paused, another class.
func TestNoDeadlock(t *testing.T) {
	for name, change := range map[string]func(s *metrics.Stall){
		"over":        func(s *metrics.Stall) { s.Over = true },
		"other port":  func(s *metrics.Stall) { s.Held[0].Port = 2 },
		"few bytes":   func(s *metrics.Stall) { s.Held[0].Bytes = 500 },
		"other class": func(s *metrics.Stall) { s.Class = 3 },
		"nothing":     func(s *metrics.Stall) { s.Held = nil },
	} {
		d := deadlock.New(ring(3))
		s := stall(2, 1000, 500)
		change(s)
		for _, s := range []*metrics.Stall{s, stall(1, 1000, 500), stall(0, 1000, 500)} {
			if c, found := d.Report(s); found {
				t.Errorf("%s: %+v", name, c)
			}
		}
		// The switch reports again, and now it is one.
		if _, found := d.Report(stall(2, 1000, 500)); !found {
			t.Errorf("%s: no deadlock though the circle has closed", name)
		}
	}
}

// Two ports together may hold what keeps a peer paused, where neither does alone. A port
// that only waits for a circle is not named.
func TestHeldByTwoPorts(t *testing.T) {
	links := append(ring(2),
		topologies.Link{A: topologies.End{Node: 0, Port: 2}, B: topologies.End{Node: 1, Port: 2}}, // a second link
		topologies.Link{A: topologies.End{Node: 2, Port: 0}, B: topologies.End{Node: 0, Port: 3}}) // a switch outside
	d := deadlock.New(links)
	// Switch 1 holds packets from port 0 of switch 0 in its ports 0 and 2.
	if _, found := d.Report(&metrics.Stall{Node: 2, Port: 0, Class: 2, Held: []metrics.Held{{Port: 5, Bytes: 9, Resume: 1}}}); found {
		t.Fatal("found without a circle")
	}
	d.Report(stall(1, 400, 500))
	second := stall(1, 400, 500)
	second.Port = 2
	d.Report(second)
	first := stall(0, 900, 500)
	first.Held = append(first.Held, metrics.Held{Port: 2, Bytes: 900, Resume: 500}, metrics.Held{Port: 3, Bytes: 900, Resume: 500})
	c, found := d.Report(first)
	want := []deadlock.Port{{Node: 0, Class: 2}, {Node: 1, Class: 2}}
	if diff := cmp.Diff(want, c.Ports); !found || diff != "" {
		t.Errorf("found %v (-want +got)\n%s", found, diff)
	}
}

func ExampleDetector() {
	d := deadlock.New(ring(3))
	for i := range int32(3) {
		if c, found := d.Report(stall(i, 1000, 500)); found {
			fmt.Println(c.Text(func(node, port int) string { return fmt.Sprintf("s%d:%d", node, port) }, func(int) string { return "storage" }))
		}
	}
	// Output: the ports s0:0, s1:0, s2:0 wait for each other in a circle since 100ps: each is paused by the switch that the next one belongs to, in class storage
}
