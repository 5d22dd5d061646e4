// Package congestiontest is the suite that every congestion controller of the
// table passes.
package congestiontest

import (
	"fmt"
	"math"
	"math/rand/v2"
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
// (docs/reference/references.md#network-constants), and a slow network that drops.
var Paths = map[string]congestion.Path{
	"3-tier 100G": {LinkRate: 100 * units.Gbps, NetworkRTT: 14_022_720, HostRTT: 2_337_120, HopRTT: 2_337_120, SlowestRate: 100 * units.Gbps, MTU: 4150, Header: 64, Trim: true},
	"2-tier 800G": {LinkRate: 800 * units.Gbps, NetworkRTT: 8_168_560, HostRTT: 2_042_140, HopRTT: 2_042_140, SlowestRate: 800 * units.Gbps, MTU: 4150, Header: 64, Trim: true},
	"1G drops":    {LinkRate: units.Gbps, NetworkRTT: 200 * units.Microsecond, HostRTT: 50 * units.Microsecond, HopRTT: 50 * units.Microsecond, SlowestRate: units.Gbps, MTU: 1500, Header: 64},
}

// Limit returns the largest window that a controller may request on a path. Nil is no
// limit.
type Limit func(congestion.Path) units.Size

// RunTable runs the suite on every algorithm of a table. limits has the largest window of
// each, by name; place names the file that has them.
func RunTable(t *testing.T, table algorithm.Table[congestion.Algorithm], limits map[string]Limit, place string) {
	for _, a := range table {
		t.Run(a.Name, func(t *testing.T) {
			limit, ok := limits[a.Name]
			if !ok {
				t.Errorf("no limit of its window is known here: add a line to limits in %s, such as\n\t%q: func(p congestion.Path) units.Size { return p.LinkRate.Volume(p.NetworkRTT) },\n"+
					"which is one BDP; the suite then checks that the window never exceeds it", place, a.Name)
			}
			Run(t, a, limit)
		})
	}
}

// seed starts every random stream of the suite.
const seed = 20251

// Run runs the suite on an algorithm. Its parameters are tried at their
// defaults and, one at a time, at every value of the enumerated and boolean ones.
func Run(t *testing.T, a congestion.Algorithm, limit Limit) {
	t.Logf("seed %d", seed)
	if !algorithmtest.Declared(t, a.Spec) {
		return
	}
	for name, path := range Paths {
		most := units.Size(math.MaxInt64)
		if limit != nil {
			most = limit(path)
		}
		for _, values := range algorithmtest.Choices(a.Spec) {
			t.Run(fmt.Sprintf("%s/%v", name, values), func(t *testing.T) {
				for stream := range uint64(4) {
					walk(t, a, values, path, most, seed+stream)
				}
				checkDeterminism(t, a, path, values)
				algorithmtest.Allocations(t, a.Spec, "event", events(build(t, a, path, values), path))
			})
		}
	}
	t.Run("parameters", func(t *testing.T) { checkParameters(t, a) })
	t.Run("records", func(t *testing.T) { checkRecords(t, a) })
}

func build(t *testing.T, a congestion.Algorithm, path congestion.Path, values algorithm.Values) congestion.Controller {
	t.Helper()
	return algorithmtest.Build(t, a.Spec, values, func() (congestion.Controller, error) { return a.New(path, values) })
}

// walk feeds a random stream of events and checks the output after each.
func walk(t *testing.T, a congestion.Algorithm, values algorithm.Values, path congestion.Path, limit units.Size, seed uint64) {
	t.Helper()
	c := build(t, a, path, values)
	out := c.Output()
	if out == nil {
		t.Fatal("Output returns nil: return the address of an Output that the controller holds")
	}
	least := units.Size(0)
	if w, ok := a.WindowsOf(path, values); ok {
		least, limit = w.Min, min(limit, w.Max)
	}
	check := func(step int) {
		t.Helper()
		if wrong := a.Misuse(path, out, congestion.Windows{Min: least, Max: limit}); wrong != "" {
			when := fmt.Sprintf("seed %d, after event %d", seed, step)
			if step < 0 {
				when = "before the first event"
			}
			t.Fatalf("%s: %s", when, wrong)
		}
		if c.Output() != out {
			t.Fatalf("seed %d, event %d: Output returns another pointer than before: return the address of one Output that the controller holds, and change what is in it", seed, step)
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
			t.Fatalf("seed %d, event %d: the same events gave different outputs; a controller draws nothing at random, reads no clock and shares nothing with another flow:\n%s", seed, step, diff)
		}
	}
}

// events returns a function that gives a controller the next event.
func events(c congestion.Controller, path congestion.Path) func() {
	s := newStream(path, seed)
	return func() { s.next(c) }
}

func checkParameters(t *testing.T, a congestion.Algorithm) {
	path := Paths["3-tier 100G"]
	algorithmtest.Parameters(t, a.Spec, func(v algorithm.Values) (bool, error) {
		c, err := a.New(path, v)
		return c != nil, err
	})
}

// checkRecords checks what the algorithm declares for records and reports.
func checkRecords(t *testing.T, a congestion.Algorithm) {
	for _, path := range Paths {
		for _, lack := range a.RecordLacks(path) {
			t.Error(lack)
		}
	}
}

// stream is a random sequence of events: some of them plausible, some extreme.
type stream struct {
	random *rand.Rand
	path   congestion.Path
	types  []csig.Type // of samples
	now    units.Time
	ack    congestion.Ack
	nack   congestion.Nack
	out    congestion.Timeout
	send   congestion.Send
	phase  congestion.Phase
	begun  bool
}

func newStream(path congestion.Path, seed uint64) *stream {
	return &stream{random: rand.New(rand.NewPCG(seed, 1)), path: path, types: csig.KnownTypes()}
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
	if s.optional(c, inflight) {
		return
	}
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

			HasHostDelay: r.IntN(10) > 0,
			HostDelay:    units.Duration(r.Int64N(int64(s.path.NetworkRTT))),
			Hops:         uint8(r.IntN(32)),
		}
		s.ack.AckedPackets = int(s.ack.Acked / s.path.MTU)
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

// phaseSize is the size of the stream's phases.
const phaseSize = units.MB

// optional gives the controller the events that it listens to beside those of every
// controller, and reports whether that was the next event: a timer that is due, or one in
// four events by chance.
func (s *stream) optional(c congestion.Controller, inflight units.Size) bool {
	timed, isTimed := c.(congestion.Timed)
	if isTimed && c.Output().Timer <= s.now {
		timed.OnTimer(s.now)
		return true
	}
	listener, listens := c.(congestion.SendListener)
	phases, hasPhases := c.(congestion.PhaseListener)
	cnp, hasCNP := c.(congestion.CNPListener)
	if !listens && !hasPhases && !hasCNP {
		return false
	}
	switch kind := s.random.IntN(40); {
	case kind < 8 && listens:
		s.send = congestion.Send{Size: s.path.MTU, Inflight: inflight + s.path.MTU, Again: s.random.IntN(10) == 0}
		listener.OnSend(s.now, &s.send)
	case kind < 9 && hasPhases:
		s.begun = !s.begun
		s.phase = congestion.Phase{Begin: s.begun, Total: phaseSize}
		if !s.begun {
			s.phase.Sent = phaseSize
		}
		phases.OnPhase(s.now, &s.phase)
	case kind == 9 && hasCNP:
		cnp.OnCNP(s.now)
	default:
		return false
	}
	return true
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
	t := s.types[r.IntN(len(s.types))]
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
