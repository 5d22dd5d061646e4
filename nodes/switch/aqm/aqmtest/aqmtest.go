// Package aqmtest is the suite that every AQM policy of the table passes.
package aqmtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/algorithm/algorithmtest"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/units"
)

// seed starts every random stream of the suite.
const seed = 20253

// Random returns a generator that starts from seed.
func Random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// Ports are what the suite builds policies for, by name: a port of the reference
// simulator's 3-tier fat tree at 100 Gbps with its thresholds of 0.2 and 0.8 BDP,
// and a slow one with a deep queue and one threshold.
func Ports() map[string]aqm.Port {
	return map[string]aqm.Port{
		"100G trims": {Rate: 100 * units.Gbps, Queue: 178_450, ECN: aqm.Thresholds{Low: 37_350, High: 145_250}},
		"1G drops":   {Rate: units.Gbps, Queue: units.MB, ECN: aqm.Thresholds{Low: 30_000, High: 30_000}},
	}
}

// Run runs the suite on an algorithm. Its parameters are tried at their
// defaults and, one at a time, at every value of the enumerated and boolean
// ones.
func Run(t *testing.T, a aqm.Algorithm) {
	t.Logf("seed %d", seed)
	if !algorithmtest.Declared(t, a.Spec) {
		return
	}
	for name, port := range Ports() {
		for _, values := range algorithmtest.Choices(a.Spec) {
			t.Run(fmt.Sprintf("%s/%v", name, values), func(t *testing.T) {
				checkIdle(t, a, port, values)
				checkDeterminism(t, a, port, values)
				checkAllocations(t, a, port, values)
			})
		}
	}
	t.Run("parameters", func(t *testing.T) {
		algorithmtest.Parameters(t, a.Spec, func(v algorithm.Values) (bool, error) {
			p, err := a.New(Ports()["100G trims"], v)
			return p != nil, err
		})
	})
}

func build(t *testing.T, a aqm.Algorithm, port aqm.Port, values algorithm.Values) aqm.Policy {
	t.Helper()
	port.Random = Random(seed)
	return algorithmtest.Build(t, a.Spec, values, func() (aqm.Policy, error) { return a.New(port, values) })
}

// checkIdle checks that a port without a queue marks nothing.
func checkIdle(t *testing.T, a aqm.Algorithm, port aqm.Port, values algorithm.Values) {
	t.Helper()
	p := build(t, a, port, values)
	now := units.Time(0)
	for i := range 1000 {
		if now = now.Add(units.Microsecond); p.Mark(now, aqm.Departure{}) {
			t.Fatalf("Mark marks departure %d from an idle port, where nothing is queued and nothing has waited", i)
		}
	}
}

// checkDeterminism checks that marks follow from the seed and the departures
// alone, also beside another policy of the same algorithm.
func checkDeterminism(t *testing.T, a aqm.Algorithm, port aqm.Port, values algorithm.Values) {
	t.Helper()
	alone := marks(newStream(port), build(t, a, port, values))
	one, two := build(t, a, port, values), build(t, a, port, values)
	first, second := newStream(port), newStream(port)
	var both [2][]bool
	for range alone {
		both[0] = append(both[0], first.next(one))
		both[1] = append(both[1], second.next(two))
	}
	for _, beside := range both {
		if !slices.Equal(alone, beside) {
			t.Errorf("seed %d: the same departures gave other marks: a policy draws from Port.Random alone, and shares nothing with another port", seed)
		}
	}
}

func checkAllocations(t *testing.T, a aqm.Algorithm, port aqm.Port, values algorithm.Values) {
	t.Helper()
	p, s := build(t, a, port, values), newStream(port)
	algorithmtest.Allocations(t, a.Spec, "departure", func() { s.next(p) })
}

func marks(s *stream, p aqm.Policy) []bool {
	marks := make([]bool, 5000)
	for i := range marks {
		marks[i] = s.next(p)
	}
	return marks
}

// stream is a random sequence of departures from a queue that grows and shrinks.
type stream struct {
	random *rand.Rand
	port   aqm.Port
	now    units.Time
	queue  units.Size
}

func newStream(port aqm.Port) *stream {
	return &stream{random: rand.New(rand.NewPCG(seed, 1)), port: port}
}

func (s *stream) next(p aqm.Policy) bool {
	packet := 64 + s.random.Int64N(4087)
	s.queue = min(max(s.queue+units.Size(s.random.Int64N(3*packet)-packet*3/2), 0), s.port.Queue)
	s.now = s.now.Add(s.port.Rate.Serialisation(units.Size(packet)))
	return p.Mark(s.now, aqm.Departure{Queue: s.queue, Waited: s.port.Rate.Serialisation(s.queue)})
}
