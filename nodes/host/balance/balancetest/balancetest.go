// Package balancetest is the suite that every load balancer of the table passes.
package balancetest

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/algorithm/algorithmtest"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// seed starts every random stream of the suite.
const seed = 20252

// Flow returns a flow of a fabric of 100 Gb/s and three tiers. Its number is the seed, and
// its generator starts from it.
func Flow(seed uint64) balance.Flow {
	return balance.Flow{
		ID: uint32(seed), Random: rand.New(rand.NewPCG(seed, 0)), NetworkRTT: 14 * units.Microsecond, MTU: 4150 * units.Byte,
		Trim: true, Interval: 128 * units.Microsecond,
	}
}

// Run runs the suite on an algorithm. Its parameters are tried at their
// defaults and, one at a time, at every value of the enumerated and boolean
// ones. A parameter paths bounds the EVs of a flow, and is tried at several
// numbers with each of these.
func Run(t *testing.T, a balance.Algorithm) {
	t.Logf("seed %d", seed)
	if !algorithmtest.Declared(t, a.Spec) {
		return
	}
	numbers := []int{0} // has no parameter paths
	if _, ok := a.Param("paths"); ok {
		numbers = []int{1, 2, 64, balance.MaxPaths}
	}
	for _, values := range algorithmtest.Choices(a.Spec) {
		for _, paths := range numbers {
			if paths > 0 {
				values["paths"] = strconv.Itoa(paths)
			}
			t.Run(fmt.Sprint(values), func(t *testing.T) {
				checkStreams(t, a, values, paths)
				checkAllocations(t, a, build(t, a, values, seed))
			})
		}
	}
	t.Run("parameters", func(t *testing.T) {
		algorithmtest.Parameters(t, a.Spec, func(v algorithm.Values) (bool, error) {
			b, err := a.New(Flow(seed), v)
			return b != nil, err
		})
	})
}

func build(t *testing.T, a balance.Algorithm, values algorithm.Values, seed uint64) balance.Balancer {
	t.Helper()
	return algorithmtest.Build(t, a.Spec, values, func() (balance.Balancer, error) { return a.New(Flow(seed), values) })
}

// checkStreams checks that EVs follow from the flow, its seed and the feedback alone, that
// two flows have different ones, and that there are no more than paths.
func checkStreams(t *testing.T, a balance.Algorithm, values algorithm.Values, paths int) {
	t.Helper()
	n := 3*paths + 1000
	evs := stream(t, build(t, a, values, seed), n)
	if diff := cmp.Diff(evs, stream(t, build(t, a, values, seed), n)); diff != "" {
		t.Errorf("the same seed gave other EVs; a balancer draws from the generator that Build gets, and from no other:\n%s", diff)
	}
	if slices.Equal(evs, stream(t, build(t, a, values, seed+1), n)) {
		t.Errorf("two flows have the same EVs, %v…: flows that start at the same EV collide; begin at one that Build draws from the flow's generator", evs[:8])
	}
	if paths == 0 {
		return
	}
	// No more paths than asked for: EVs of a flow differ in their lower bits only.
	for _, ev := range evs {
		if ev&^uint16(paths-1) != evs[0]&^uint16(paths-1) {
			t.Fatalf("with the parameter paths of %d, a flow has the EVs %d and %d: they may differ in the lowest %d bits alone", paths, evs[0], ev, bits.Len(uint(paths))-1)
		}
	}
}

func checkAllocations(t *testing.T, a balance.Algorithm, b balance.Balancer) {
	t.Helper()
	stream(t, b, 1000) // what grows has grown
	random, now := rand.New(rand.NewPCG(seed, 10)), units.Time(0)
	told := new(balance.Feedback)
	algorithmtest.Allocations(t, a.Spec, "packet", func() {
		now = now.Add(units.Microsecond)
		*told = feedback(random, b, b.Next(now))
		b.OnFeedback(now, told)
	})
}

// feedback returns a random outcome of a packet, with a sample of each type that the
// balancer wants now and then.
func feedback(random *rand.Rand, b balance.Balancer, ev uint16) balance.Feedback {
	f := balance.Feedback{
		EV: ev, Outcome: balance.Outcome(random.IntN(4)), Dated: random.IntN(2) == 0,
		Age: units.Duration(random.Int64N(int64(100 * units.Microsecond))),
	}
	f.Inflight = units.Size(random.IntN(3)) * 4150
	if f.Outcome < balance.Trimmed {
		f.Acked = units.Size(random.IntN(5)) * 4150
	}
	l, ok := b.(balance.Listener)
	if !ok || random.IntN(4) == 0 || f.Outcome == balance.Lost {
		return f
	}
	for t, weight := range l.Wants() {
		if weight == 0 {
			continue
		}
		low := random.Uint64N(1_000_001)
		f.Sampled, f.LastHop = true, random.IntN(2) == 0
		f.Sample = csig.Sample{
			Type: csig.Type(t), Low: low, High: low + 1, Point: low, Locator: uint16(random.IntN(64)),
			DoNotUpdate: f.Outcome == balance.Trimmed,
		}
	}
	return f
}

// stream drives a balancer with random feedback and returns its EVs. Feedback
// names EVs that were sent and, now and then, one that was not.
func stream(t *testing.T, b balance.Balancer, n int) []uint16 {
	t.Helper()
	random, now := rand.New(rand.NewPCG(seed, 9)), units.Time(0)
	evs := make([]uint16, n)
	for i := range evs {
		now = now.Add(units.Duration(random.Int64N(int64(10 * units.Microsecond))))
		evs[i] = b.Next(now)
		if evs[i] >= wire.EntropyRange {
			t.Fatalf("Next returns the EV %d; EVs lie below wire.EntropyRange, %d", evs[i], wire.EntropyRange)
		}
		if random.IntN(2) == 0 {
			f := feedback(random, b, evs[random.IntN(i+1)])
			b.OnFeedback(now, &f)
		}
	}
	return evs
}
