package dilation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/units"
)

// The dilation follows lateness and the smallest delay, or CPU and the load,
// whichever asks for more.
func TestDilation(t *testing.T) {
	p := backendtest.ShortThreeFlow(t)
	if got := p.SmallestDelay(); got != 332*units.Nanosecond { // 4150 B at 100 Gb/s; links have 1 us
		t.Errorf("smallest delay %v, want 332ns", got)
	}
	idle := func(late time.Duration) *calibration {
		return &calibration{Calibration: wall.Calibration{Loads: []wall.Load{{Share: 0.1, Lateness: late}}, FrameHop: time.Nanosecond}}
	}
	if got := idle(83*time.Microsecond).dilation(p, estimate.Of(p, nil)); got != 5000 { // 83 us / (5 % of 332 ns)
		t.Errorf("dilation for 83us of lateness is %v, want 5000", got)
	}
	if got := idle(84*time.Microsecond).dilation(p, estimate.Of(p, nil)); got != 5100 { // 5060, rounded up to two digits
		t.Errorf("dilation for 84us of lateness is %v, want 5100", got)
	}
	busy := idle(time.Nanosecond)
	busy.FrameHop = 20 * time.Microsecond
	once := busy.dilation(p, estimate.Of(p, nil))
	busy.FrameHop *= 10
	if ten := busy.dilation(p, estimate.Of(p, nil)); once < 2 || ten < 9*once || ten > 11*once {
		t.Errorf("dilation for 20us of CPU per frame-hop is %v, for 200us %v, want ten times as much", once, ten)
	}
	if got := idle(1).dilation(p, estimate.Of(p, nil)); got != 1 {
		t.Errorf("dilation of a perfect machine is %v, want 1", got)
	}
	// Timers that are late under load only ask for less load: the dilation is where
	// the two meet.
	busy.Loads = []wall.Load{{Share: 0.1, Lateness: 10 * time.Microsecond}, {Share: 0.5, Lateness: 410 * time.Microsecond}}
	d := busy.dilation(p, estimate.Of(p, nil))
	share := busy.load(p, estimate.Of(p, nil)) / d
	if late, allowed := busy.lateness(share), 0.05*0.332e-6*d; share > 0.5 || late.Seconds() > allowed || d < 1.1*10*once {
		t.Errorf("dilation %v is a load of %.2f, under which timers are %v late, allowed %.3g s", d, share, late, allowed)
	}
	if late := busy.lateness(busy.load(p, estimate.Of(p, nil)) / (d * 0.9)); late.Seconds() <= 0.05*0.332e-6*d*0.9 {
		t.Errorf("dilation %v is not the least", d)
	}
	for share, want := range map[float64]time.Duration{0: 10, 0.1: 10, 0.2: 110, 0.5: 410, 0.9: 410} {
		if got := busy.lateness(share); (got - want*time.Microsecond).Abs() > time.Microsecond {
			t.Errorf("lateness under a load of %v is %v, want %dus", share, got, want)
		}
	}
}

// A dilation that no machine keeps is said to be too small before the run, one that auto would
// choose is not. Programs that may fill their links are no reason: they need not.
func TestUnkeptDilation(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // no calibration
	const budget = 0.25
	p := backendtest.ShortThreeFlow(t) // 100 Gb/s
	e := estimate.Of(p, nil)
	text := Unkept(p, e, 1, budget)
	for _, want := range []string{"the run will be INVALID", "332ns times 1", "wall.budget.lateness is 0.25", "dilation auto takes about"} {
		if !strings.Contains(text, want) {
			t.Errorf("dilation 1: %q lacks %q", text, want)
		}
	}
	if text := Unkept(p, e, measured.dilation(p, e), budget); text != "" {
		t.Errorf("the dilation of auto: %q", text)
	}
	if clock, texts, err := Choose(t.Context(), 1, []*plan.Plan{p}, budget); err != nil || clock.Dilation != 1 || len(texts) != 1 ||
		!strings.Contains(texts[0], "wall clock: dilation 1, as given") || !strings.Contains(texts[0], "will be INVALID") {
		t.Errorf("run and up say %q, %v", texts, err)
	}
}

// A user of programs is told what they see of a fabric that is slowed down, which link asks for that,
// and that their packets may be too many for a given dilation.
func TestForPrograms(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // no calibration
	fabric := func(uplinks, rate string) *plan.Plan {
		return backendtest.Compile(t, strings.NewReplacer("UPLINKS", uplinks, "RATE", rate).Replace(`
schema: 1
name: programs
topology:
  fat_tree:
    hosts: 4
    pod: 4
    tiers:
      - {down: 4, up: UPLINKS, rate: 20Mbps, delay: 2ms}
      - {down: 1, rate: RATE, delay: 2ms}
clock: wall
applications: {hosts: [0, 1, 2, 3]}
`))
	}
	for _, c := range []struct {
		uplinks, rate string
		dilation      float64
		chosen        bool
		want          []string
	}{
		{"1", "20Mbps", 1, false, nil},
		{"1", "20Mbps", 4, true, []string{"programs see the fabric 4 times slower: a link of 20Mbps as one of 5Mbps, and a round trip of "}},
		{"2", "400Gbps", 14000, true, []string{"a link of 400Gbps as one of 29Mbps, ", "link tor0-agg0 and 1 other alone ask for this dilation, by rate: "}},
		{"4", "400Gbps", 14000, true, []string{"a link of 400Gbps as one of 29Mbps, "}}, // half of the links
		{"1", "400Gbps", 14000, true, []string{"a link of 400Gbps as one of 29Mbps, and a round trip of ", " alone asks for this dilation, by rate: with 20Mbps, as the fastest of the rest, "}},
	} {
		p := fabric(c.uplinks, c.rate)
		texts := forPrograms(p, estimate.Of(p, nil), c.dilation, c.chosen)
		if len(texts) != len(c.want) {
			t.Errorf("%+v: got %q", c, texts)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(texts[i], want) {
				t.Errorf("%+v: %q lacks %q", c, texts[i], want)
			}
		}
	}
	p := backendtest.Compile(t, `
schema: 1
name: programs
topology: {dumbbell: {left: 8, right: 8, rate: 10Gbps, delay: 2ms}}
clock: wall
applications: {hosts: [0, 1, 2, 3]}
`)
	text := strings.Join(forPrograms(p, estimate.Of(p, nil), 1, false), "\n")
	least := fmt.Sprintf("dilation %v holds", measured.dilation(p, estimate.Of(p, nil)))
	if !strings.Contains(text, "if programs fill their links, the run will be INVALID: ") || !strings.Contains(text, least) {
		t.Errorf("got %q, want %q", text, least)
	}
}
