// Package congestiontest is the suite that every congestion controller of the
// table passes.
package congestiontest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/algorithm/algorithmtest"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/units"
)

// Paths are what the suite builds controllers for, by name: the 3-tier fat tree
// at 100 Gbps and the 2-tier one at 800 Gbps of the reference's check values
// (docs/references.md#network-constants), and a slow network that drops.
var Paths = map[string]congestion.Path{
	"3-tier 100G": {LinkRate: 100 * units.Gbps, NetworkRTT: 14_022_720, MTU: 4150, Header: 64, Trim: true},
	"2-tier 800G": {LinkRate: 800 * units.Gbps, NetworkRTT: 8_168_560, MTU: 4150, Header: 64, Trim: true},
	"1G drops":    {LinkRate: units.Gbps, NetworkRTT: 200 * units.Microsecond, MTU: 1500, Header: 64},
}

// Limit returns the largest window that a controller may request on a path.
type Limit func(congestion.Path) units.Size

// seed starts every random stream of the suite.
const seed = 20251

// Run runs the suite on an algorithm. Its parameters are tried at their
// defaults and, one at a time, at every value of the enumerated and boolean ones.
func Run(t *testing.T, a congestion.Algorithm, limit Limit) {
	t.Logf("seed %d", seed)
	for name, path := range Paths {
		for _, values := range algorithmtest.Choices(a.Spec) {
			t.Run(fmt.Sprintf("%s/%v", name, values), func(t *testing.T) {
				for stream := range uint64(4) {
					walk(t, a, values, path, limit(path), seed+stream)
				}
				checkDeterminism(t, a, path, values)
				checkAllocations(t, build(t, a, path, values), path)
			})
		}
	}
	t.Run("parameters", func(t *testing.T) { checkParameters(t, a) })
	t.Run("records", func(t *testing.T) { checkRecords(t, a) })
}

func build(t *testing.T, a congestion.Algorithm, path congestion.Path, values algorithm.Values) congestion.Controller {
	t.Helper()
	c, err := a.New(path, values)
	if err != nil {
		t.Fatalf("%s with %v: %v", a.Name, values, err)
	}
	return c
}

// walk feeds a random stream of events and checks the output after each.
func walk(t *testing.T, a congestion.Algorithm, values algorithm.Values, path congestion.Path, limit units.Size, seed uint64) {
	t.Helper()
	c, actions := build(t, a, path, values), max(len(a.Actions), 1)
	out, least := c.Output(), path.MTU
	if w, ok := a.WindowsOf(path, values); ok {
		least, limit = max(least, w.Min), min(limit, w.Max)
	}
	check := func(step int) {
		t.Helper()
		switch {
		case c.Output() != out:
			t.Fatalf("seed %d, event %d: the output pointer moved", seed, step)
		case out.Window < least || out.Window > limit:
			t.Fatalf("seed %d, event %d: window %v, want %v to %v", seed, step, out.Window, least, limit)
		case out.PacingRate < 0 || int(out.Action) >= actions || out.Delay < 0 || out.BaseRTT <= 0:
			t.Fatalf("seed %d, event %d: output %+v makes no sense", seed, step, *out)
		}
	}
	check(-1)
	s := newStream(path, seed)
	for step := range 5000 {
		s.next(c)
		check(step)
	}
}

func checkDeterminism(t *testing.T, a congestion.Algorithm, path congestion.Path, values algorithm.Values) {
	t.Helper()
	one, two := build(t, a, path, values), build(t, a, path, values)
	first, second := newStream(path, seed), newStream(path, seed)
	for step := range 2000 {
		first.next(one)
		second.next(two)
		if diff := cmp.Diff(*one.Output(), *two.Output()); diff != "" {
			t.Fatalf("seed %d, event %d: the same events gave different outputs:\n%s", seed, step, diff)
		}
	}
}

func checkAllocations(t *testing.T, c congestion.Controller, path congestion.Path) {
	t.Helper()
	s := newStream(path, seed)
	if n := testing.AllocsPerRun(1000, func() { s.next(c) }); n != 0 {
		t.Errorf("%v allocations per event, want 0", n)
	}
}

func checkParameters(t *testing.T, a congestion.Algorithm) {
	path := Paths["3-tier 100G"]
	algorithmtest.Parameters(t, a.Spec, func(v algorithm.Values) (bool, error) {
		c, err := a.New(path, v)
		return c != nil, err
	})
}

// name is the form of what becomes a part of a metric's name.
var name = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// checkRecords checks what the algorithm declares for records and reports.
func checkRecords(t *testing.T, a congestion.Algorithm) {
	seen := map[string]bool{}
	for _, action := range a.Actions {
		if !name.MatchString(action.Name) || seen[action.Name] {
			t.Errorf("action %q is there twice, or no name such as fair_increase", action.Name)
		}
		seen[action.Name] = true
		if action.Label == "" || action.Short == "" {
			t.Errorf("action %s has no label for legends, or none for bars", action.Name)
		}
	}
	for _, path := range Paths {
		for _, c := range a.ConstantsOf(path, nil) {
			switch {
			case !name.MatchString(c.Name) || c.Label == "":
				t.Errorf("constant %q has no name such as target_qdelay_us, or no label", c.Name)
			case math.IsNaN(c.Value) || math.IsInf(c.Value, 0):
				t.Errorf("constant %s is %v", c.Name, c.Value)
			case c.Chart != "" && c.Short == "":
				t.Errorf("constant %s has no name for the chart %s", c.Name, c.Chart)
			}
		}
	}
}

// stream is a random sequence of events: some of them plausible, some extreme.
type stream struct {
	random *rand.Rand
	path   congestion.Path
	now    units.Time
	ack    congestion.Ack
	nack   congestion.Nack
	out    congestion.Timeout
}

func newStream(path congestion.Path, seed uint64) *stream {
	return &stream{random: rand.New(rand.NewPCG(seed, 1)), path: path}
}

// next gives the controller one event.
func (s *stream) next(c congestion.Controller) {
	r := s.random
	switch r.IntN(20) {
	case 0: // the same instant
	case 1:
		s.now = s.now.Add(units.Duration(r.Int64N(int64(units.Millisecond))))
	default:
		s.now = s.now.Add(units.Duration(r.Int64N(int64(s.path.NetworkRTT / 8))))
	}
	inflight := units.Size(r.Int64N(64)) * s.path.MTU
	switch kind := r.IntN(100); {
	case kind < 85:
		s.ack = congestion.Ack{
			Acked:    units.Size(r.Int64N(8)) * s.path.MTU,
			Inflight: inflight,
			RTT:      s.rtt(),
			HasRTT:   r.IntN(10) > 0,
			ECN:      r.IntN(3) == 0,
			EV:       uint16(r.IntN(64)),
			Penalty:  255,
			CSIG:     s.signal(),
		}
		if r.IntN(50) == 0 {
			s.ack.Penalty = uint8(r.IntN(256))
		}
		if r.IntN(200) == 0 {
			s.ack.Acked = units.Size(r.Int64N(int64(units.GB)))
		}
		c.OnAck(s.now, &s.ack)
	case kind < 97:
		s.nack = congestion.Nack{
			Size:     s.path.MTU,
			Inflight: inflight,
			RTT:      s.rtt(),
			HasRTT:   r.IntN(10) > 0,
			LastHop:  r.IntN(2) == 0,
			CSIG:     s.signal(),
		}
		c.OnNack(s.now, &s.nack)
	default:
		s.out = congestion.Timeout{Size: s.path.MTU, Inflight: inflight}
		c.OnTimeout(s.now, &s.out)
	}
}

func (s *stream) rtt() units.Duration {
	base := int64(s.path.NetworkRTT)
	switch s.random.IntN(100) {
	case 0:
		return units.Duration(1 + s.random.Int64N(base))
	case 1:
		return units.Duration(1 + s.random.Int64N(1000*base))
	}
	return units.Duration(base*9/10 + s.random.Int64N(2*base))
}

// signal returns a sample of any type, also of one that the controller does not want.
func (s *stream) signal() (all congestion.Signals) {
	r := s.random
	if r.IntN(4) == 0 {
		return all
	}
	point := uint64(r.Int64N(int64(2 * s.path.NetworkRTT / units.Nanosecond)))
	t := csig.Type(r.IntN(int(csig.Types)))
	locator := uint16(r.IntN(4))
	all[t] = congestion.Signal{
		Valid: true,
		Fresh: r.IntN(3) > 0,
		EV:    uint16(r.IntN(64)),
		Age:   s.path.NetworkRTT,
		Sample: csig.Sample{
			Format: csig.FormatCompact, Type: t,
			Low: point, High: point, Point: point, Locator: locator, Untouched: locator == 0,
			DoNotUpdate: r.IntN(8) == 0, Saturated: r.IntN(16) == 0,
		},
		Unloaded: units.Duration(r.Int64N(int64(s.path.NetworkRTT))),
	}
	return all
}
