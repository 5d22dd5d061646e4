package wall_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

func fabric(p *plan.Plan) emu.Fabric {
	f := backendtest.Fabric(p)
	f.Run = 99
	return f
}

// pace runs the plan in real time, which is synctest's, over links in memory.
func pace(t *testing.T, p *plan.Plan, f emu.Fabric, dilation float64, lag func(node int) time.Duration) (results []backendtest.Result, timing wall.Timing, at wall.Progress) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		nodes, links, _, records := backendtest.InMemory(t, p, f)
		var err error
		if timing, at, err = wall.PaceAsleep(wall.Clock{Dilation: dilation}, f.End, nodes, links, lag); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			n.Finish(at.Last)
		}
		results = records.Results()
	})
	return results, timing, at
}

func punctual(int) time.Duration { return 0 }

// As long as sleeps end less late than the wire has time for a frame, which is
// the link's delay and the smallest frame's serialisation, dilated, real time
// changes nothing: the nodes see what they see in virtual time.
func TestWallIsVirtualWhenInTime(t *testing.T) {
	const dilation = 3000
	slack := time.Duration(1005 * dilation) // 1 us and 64 B at 100 Gb/s
	p := backendtest.Compile(t, backendtest.Small)
	want := backendtest.Virtual(t, p, nil)
	for _, lateBy := range []time.Duration{0, slack / 10, slack / 2} {
		t.Run(fmt.Sprint(lateBy), func(t *testing.T) {
			random := make([]*rand.Rand, len(p.Graph.Nodes)) // a goroutine's own
			for i := range random {
				random[i] = rand.New(rand.NewPCG(uint64(i), uint64(lateBy)))
			}
			lag := func(node int) time.Duration { return time.Duration(random[node].Int64N(int64(lateBy) + 1)) }
			got, timing, at := pace(t, p, fabric(p), dilation, lag)
			backendtest.Same(t, got, want)
			if timing.Displaced != 0 || timing.Received != at.Sent || at.Sent == 0 {
				t.Errorf("%d packets displaced, %d frames received of %d", timing.Displaced, timing.Received, at.Sent)
			}
			if p99 := timing.Lateness.Quantile(0.99); p99 > lateBy || lateBy > 0 && p99 < lateBy/4 {
				t.Errorf("lateness p99 is %v when sleeps end up to %v late", p99, lateBy)
			}
			for _, port := range timing.Ports {
				if rate := port.Rate(dilation); port.Packets > 100 && (rate < 0.9 || rate > 1.1) {
					t.Errorf("node %d port %d sent at %.3f of its rate", port.Node, port.Port, rate)
				}
			}
		})
	}
}

// Sleeps that end later than the wire has time for displace packets, and the
// record says so.
func TestWallRecordsWhatCameTooLate(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	got, timing, _ := pace(t, p, fabric(p), 1, func(int) time.Duration { return 100 * time.Microsecond })
	if timing.Displaced == 0 || timing.DisplacedMax < units.Microsecond {
		t.Errorf("%d packets displaced by up to %v, want many by more than the link's delay", timing.Displaced, timing.DisplacedMax)
	}
	if p50 := timing.Lateness.Quantile(0.5); p50 < 30*time.Microsecond {
		t.Errorf("lateness p50 is %v when sleeps end 100us late", p50)
	}
	want := backendtest.Virtual(t, p, nil)
	if slices.EqualFunc(got, want, func(a, b backendtest.Result) bool { return a.TraceHash == b.TraceHash }) {
		t.Error("the traces are those of virtual time all the same")
	}
	slow := false
	for _, port := range timing.Ports {
		slow = slow || port.Packets > 100 && port.Rate(1) < 0.9
	}
	if !slow {
		t.Errorf("every port kept its rate: %+v", timing.Ports)
	}
}

// A frame that is lost is counted, and the run ends nevertheless.
func TestWallCountsLostFrames(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	f := fabric(p)
	for link := range 3 {
		f.Inject = append(f.Inject, emu.Injection{Link: link, Number: 5})
	}
	_, timing, at := pace(t, p, f, 3000, punctual)
	if at.Next != units.Never {
		t.Errorf("the run ended when something was due at %v", at.Next)
	}
	if lost := at.Sent - timing.Received; lost != int64(len(f.Inject)) || timing.Sent != at.Sent {
		t.Errorf("%d frames sent, %d seen by the supervisor, %d received; want %d lost", timing.Sent, at.Sent, timing.Received, len(f.Inject))
	}
}

// A run that is cut off ends there.
func TestWallEnd(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small)
	f := fabric(p)
	f.End = units.Time(40 * units.Microsecond)
	p.End = f.End
	got, _, at := pace(t, p, f, 3000, punctual)
	if at.Last >= f.End || at.Next < f.End {
		t.Errorf("the last event is at %v, the next due at %v, the end was %v", at.Last, at.Next, f.End)
	}
	want := backendtest.Virtual(t, p, nil)
	for i := range want {
		if got[i].TraceHash != want[i].TraceHash {
			t.Errorf("node %s: other trace than in virtual time", want[i].Name)
		}
	}
}

// Quantiles against a sorted slice: never below, and above by an eighth at most.
func TestLateness(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var whole, part wall.Lateness
	var all []time.Duration
	for i := range 5000 {
		d := time.Duration(r.Int64N(1 << r.IntN(40)))
		all = append(all, d)
		if i%3 == 0 {
			part.Add(d)
		} else {
			whole.Add(d)
		}
	}
	whole.Merge(part)
	slices.Sort(all)
	for _, q := range []float64{0.001, 0.1, 0.5, 0.9, 0.99, 1} {
		want := all[max(0, int(q*float64(len(all))+0.999999)-1)]
		if got := whole.Quantile(q); got < want || got > want+want/8+1 {
			t.Errorf("quantile %v is %v, want %v and at most an eighth more", q, got, want)
		}
	}
	if whole.Max != all[len(all)-1] || whole.Events != 5000 {
		t.Errorf("%d events, max %v, want 5000, %v", whole.Events, whole.Max, all[len(all)-1])
	}
	var none wall.Lateness
	if got := none.Quantile(0.99); got != 0 {
		t.Errorf("quantile of nothing is %v, want 0", got)
	}
	none.Add(-time.Second)
	if got := none.Quantile(1); got != 0 {
		t.Errorf("an early event was %v late, want 0", got)
	}
}

func ExampleClock() {
	w := wall.Clock{Dilation: 4000}
	fmt.Println(w.At(units.Time(units.Microsecond)), w.Model(4*time.Millisecond) == units.Time(units.Microsecond))
	// Output: 4ms true
}
