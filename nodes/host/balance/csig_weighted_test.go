package balance

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// weighted drives a csig-weighted balancer.
type weighted struct {
	*csigState
	t   *testing.T
	now units.Time
}

func newWeighted(t *testing.T, values algorithm.Values) *weighted {
	t.Helper()
	return &weighted{with(t, csigWeighted, testFlow(), values).(*csigState), t, units.Time(units.Second)}
}

// nqd is a sample of queue depth, in percent, that says where the bottleneck is.
func nqd(percent int, lastHop bool) Feedback {
	return Feedback{Outcome: Good, Sampled: true, LastHop: lastHop, Sample: csig.Sample{Type: csig.NQD, Point: uint64(percent) * 10_000, Locator: 9}}
}

// on gives feedback to path i.
func (w *weighted) on(i int, f Feedback) {
	f.EV = w.walk.upper | uint16(i)
	w.OnFeedback(w.now, &f)
}

// all gives feedback to every path.
func (w *weighted) all(f Feedback) {
	for i := range w.states {
		w.on(i, f)
	}
}

// send returns how often each path is used by n packets at one time.
func (w *weighted) send(n int) []int {
	counts := make([]int, len(w.states))
	for range n {
		counts[w.Next(w.now)&uint16(len(counts)-1)]++
	}
	return counts
}

// chiSquare returns the statistic of counts that are expected to be alike.
func chiSquare(counts []int) (sum float64) {
	total := 0
	for _, n := range counts {
		total += n
	}
	want := float64(total) / float64(len(counts))
	for _, n := range counts {
		sum += (float64(n) - want) * (float64(n) - want) / want
	}
	return sum
}

// picks are the ways to pick an EV.
var picks = []string{"round-robin", "two-choice"}

// docs/reference/references.md#csig-weighted: "equal values give the distribution of oblivious". 103.4
// is the 99.9th percentile of chi-square with 63 degrees of freedom.
func TestEqualValuesAreOblivious(t *testing.T) {
	for _, pick := range picks {
		for _, percent := range []int{-1, 0, 50, 100} { // -1: no samples
			w := newWeighted(t, algorithm.Values{"pick": pick})
			if percent >= 0 {
				w.all(nqd(percent, false))
			}
			if x := chiSquare(w.send(64 * 500)); x > 103.4 {
				t.Errorf("%s, every path at %d %%: chi-square %.1f, want at most 103.4", pick, percent, x)
			}
		}
	}
	// Of the packets that do not explore, each lap has every EV once.
	w := newWeighted(t, nil)
	w.all(nqd(50, false))
	var lap []int
	for len(lap) < 4*64 {
		explores := w.owed+w.explored >= wholeShare
		if ev := int(w.Next(w.now) & 63); !explores {
			lap = append(lap, ev)
		}
	}
	for i := 0; i < len(lap); i += 64 {
		sorted := slices.Sorted(slices.Values(lap[i : i+64]))
		if len(slices.Compact(sorted)) != 64 {
			t.Errorf("lap %d does not have every EV once: %v", i/64, lap[i:i+64])
		}
	}
}

// docs/reference/references.md#csig-weighted: "a path whose queue is full gets what explores alone".
func TestFullPathIsExploredAlone(t *testing.T) {
	const packets = 64 * 3200
	for _, pick := range picks {
		for _, explore := range []float64{1. / 32, 1. / 8, 0.6, 0.75} {
			w := newWeighted(t, algorithm.Values{"pick": pick, "explore": strconv.FormatFloat(explore, 'g', -1, 64)})
			w.all(nqd(20, false))
			w.on(5, nqd(100, false))
			floor := packets * explore / 64
			// Two draws are both of path 5 in 1 of 64² cases.
			if pick == "two-choice" {
				floor += packets * (1 - explore) / 64 / 64
			}
			counts := w.send(packets)
			if got := float64(counts[5]); math.Abs(got-floor) > 0.25*floor {
				t.Errorf("%s, explore %v: a path at 100 %% has %v of %d packets, want about %.0f", pick, explore, got, packets, floor)
			}
			if rest := slices.Delete(counts, 5, 6); pick == "round-robin" && chiSquare(rest) > 103.4 {
				t.Errorf("%s: the others have %v", pick, rest)
			}
		}
	}
}

// docs/reference/references.md#csig-weighted: "with the bottleneck at the last hop no weight changes":
// the very EVs are those of a flow that gets no such samples.
func TestLastHopMovesNothing(t *testing.T) {
	values := func(w *weighted) {
		for i := range w.states {
			w.on(i, nqd(i%4*25, false))
		}
	}
	for name, before := range map[string]func(*weighted){"nothing known": func(*weighted) {}, "weights known": values} {
		for _, pick := range picks {
			still, told := newWeighted(t, algorithm.Values{"pick": pick}), newWeighted(t, algorithm.Values{"pick": pick})
			before(still)
			before(told)
			for i := range 64 * 20 {
				want, got := still.Next(still.now), told.Next(told.now)
				if want != got {
					t.Fatalf("%s, %s: packet %d takes EV %d, without samples of the last hop %d", name, pick, i, got, want)
				}
				f := nqd(80+i%20, true)
				f.EV = got
				told.OnFeedback(told.now, &f)
			}
		}
	}
	// With the rule off they count as others do.
	w := newWeighted(t, algorithm.Values{"last_hop": "move"})
	w.all(nqd(0, false))
	w.on(3, nqd(100, true))
	if counts := w.send(6400); counts[3] > 10 {
		t.Errorf("rule off: a path with 100 %% at the last hop has %d of 6400 packets", counts[3])
	}
}

// A sample of the last hop bounds what the rest of the path is: a weight that says worse
// rises to it, and a path of which nothing is known is as good as the best.
func TestLastHopRaises(t *testing.T) {
	w := newWeighted(t, algorithm.Values{"gamma": "1"})
	w.all(nqd(75, false))
	w.on(1, nqd(25, true))
	w.compare()
	if got := w.share(&w.states[1]) / w.share(&w.states[0]); got != 3 {
		t.Errorf("a path raised from 75 %% to 25 %% is worth %v of one at 75 %%, want 3", got)
	}
	w.on(1, nqd(90, true))
	if got := w.states[1].weight; got != 0.75 {
		t.Errorf("weight %v after a worse sample of the last hop, want 0.75", got)
	}
	w = newWeighted(t, nil)
	for i := range 32 {
		w.on(i, nqd(90, false))
	}
	w.on(0, nqd(10, false))
	w.on(40, nqd(90, true))
	w.compare()
	if best, rest := w.share(&w.states[40]), w.share(&w.states[41]); best != 1 || rest > 0.1 {
		t.Errorf("the path whose bottleneck is the last hop is worth %v, an unknown one %v; want 1 and the median", best, rest)
	}
}

// Ack-clocked: an EV that an ACK brings back is used again as often as its share says,
// oldest first; without one it is round robin. A trim brings nothing back.
func TestAckClocked(t *testing.T) {
	w := newWeighted(t, algorithm.Values{"pick": "ack-clocked", "gamma": "1"})
	w.explored, w.owed = 0, 0 // nothing explores
	w.all(nqd(0, false))
	ack := func(i, percent int) {
		f := nqd(percent, false)
		f.Acked = 4150
		w.on(i, f)
	}
	got := func(n int) (evs []int) {
		for range n {
			evs = append(evs, int(w.Next(w.now)&63))
		}
		return evs
	}
	ack(9, 0)
	ack(4, 0)
	w.on(5, Feedback{Outcome: Trimmed})
	if evs, want := got(2), []int{9, 4}; !slices.Equal(evs, want) {
		t.Errorf("EVs %v, want %v, which came back", evs, want)
	}
	walked := w.walk.next
	got(1)
	if w.walk.next == walked {
		t.Error("without EVs that came back there is no round robin")
	}
	count := 0
	for range 400 {
		ack(7, 75) // a quarter of the best
		ack(8, 0)
		for w.returned.Len() > 0 {
			if got(1)[0] == 7 {
				count++
			}
		}
	}
	if count < 99 || count > 101 {
		t.Errorf("an EV of a quarter of the weight came back 400 times and was used %d times, want 100", count)
	}
	for range 1000 {
		ack(8, 0)
	}
	if n := w.returned.Len(); n != 64 {
		t.Errorf("%d EVs wait, want no more than there are, 64", n)
	}
}

// Weights: (1 - nQD)^gamma, or the lower edge of the available bandwidth.
func TestWeights(t *testing.T) {
	share := func(values algorithm.Values, first, second Feedback) float64 {
		values["paths"] = "2"
		w := newWeighted(t, values)
		w.on(0, first)
		w.on(1, second)
		counts := w.send(32 * 3100)
		explored := 3100 / 2
		return float64(counts[1]-explored) / float64(counts[0]-explored)
	}
	abw := func(low uint64) Feedback {
		return Feedback{Sampled: true, Sample: csig.Sample{Type: csig.ABW, Low: low, Point: 9 * low}}
	}
	for _, test := range []struct {
		name          string
		values        algorithm.Values
		first, second Feedback
		want          float64
	}{
		{"gamma 2", algorithm.Values{}, nqd(0, false), nqd(50, false), 0.25},
		{"gamma 1", algorithm.Values{"gamma": "1"}, nqd(20, false), nqd(60, false), 0.5},
		{"gamma 4", algorithm.Values{"gamma": "4"}, nqd(0, false), nqd(50, false), 0.0625},
		{"abw", algorithm.Values{"weight": "abw"}, abw(12e9), abw(3e9), 0.25},
	} {
		if got := share(test.values, test.first, test.second); math.Abs(got-test.want) > 0.02*test.want {
			t.Errorf("%s: the second path has %.4f of the first, want %v", test.name, got, test.want)
		}
	}
	for text, want := range map[string]csig.Type{"nqd": csig.NQD, "abw": csig.ABW} {
		w := newWeighted(t, algorithm.Values{"weight": text})
		if w.Wants() != csig.Only(want) {
			t.Errorf("weight %s wants %v", text, w.Wants())
		}
	}
}

// "At least 1 of 32 packets explores all EVs alike": as many as explore says, also where that
// is no unit fraction.
func TestExploration(t *testing.T) {
	for text, want := range map[string]int{"0.03125": 1000, "0.25": 8000, "0.3": 9600, "0.4": 12800, "0.5": 16000, "0.6": 19200, "0.96": 30720, "1": 32000} {
		w := newWeighted(t, algorithm.Values{"explore": text})
		w.all(Feedback{Outcome: Trimmed})
		w.on(9, nqd(0, false)) // the only path worth something
		counts := w.send(32000)
		others := slices.Delete(counts, 9, 10)
		explored := 0
		for _, n := range others {
			explored += n
		}
		if got := float64(explored) * 64 / 63; math.Abs(got-float64(want)) > 0.01*float64(want) || chiSquare(others) > 103.4 {
			t.Errorf("explore %s: %.0f of 32000 packets explore, want %d, alike: %v", text, got, want, others)
		}
	}
	for _, text := range []string{"0.03", "0", "1.1", "-1"} {
		if _, err := csigWeighted.New(testFlow(), algorithm.Values{"explore": text}); err == nil {
			t.Errorf("explore %s is taken", text)
		}
	}
}

// A sample that is too old does not count, and an EV without one has the median of those
// known; auto is twice the network RTT or the interval, whichever is longer.
func TestAgeing(t *testing.T) {
	w := newWeighted(t, algorithm.Values{"gamma": "1"})
	if w.maxAge != 256*units.Microsecond {
		t.Errorf("max_age auto is %v, want 256us", w.maxAge)
	}
	w.on(0, nqd(90, false))
	w.now = w.now.Add(100 * units.Microsecond)
	w.on(1, nqd(20, false))
	w.on(2, nqd(40, false))
	w.on(3, nqd(60, false))
	shares := func() (of []float64) {
		w.picks = 1
		w.Next(w.now)
		for i := range 5 {
			of = append(of, math.Round(w.share(&w.states[i])*1000))
		}
		return of
	}
	// Known: 0.1, 0.4, 0.6, 0.8; the upper one of two medians.
	if got, want := shares(), []float64{125, 1000, 750, 500, 750}; !slices.Equal(got, want) {
		t.Errorf("shares in thousandths %v, want %v", got, want)
	}
	w.now = w.now.Add(157 * units.Microsecond)
	if got, want := shares(), []float64{750, 1000, 750, 500, 750}; !slices.Equal(got, want) {
		t.Errorf("shares after the first sample's time %v, want %v", got, want)
	}
	w.now = w.now.Add(100 * units.Microsecond)
	if got, want := shares(), []float64{1000, 1000, 1000, 1000, 1000}; !slices.Equal(got, want) {
		t.Errorf("shares after everybody's time %v, want %v", got, want)
	}
}

// "D set: in the core as a NACK, at the last hop as a clean path", by the tag's locator.
func TestTrimmedTag(t *testing.T) {
	for _, test := range []struct {
		name     string
		lastHop  bool
		outcome  Outcome
		lastRule string
		want     float64 // weight, of 0.8² before
	}{
		{"core", false, Trimmed, "keep", 0},
		{"core, whatever the outcome", false, Good, "keep", 0},
		{"last hop", true, Good, "keep", 0.64},
		{"last hop, whatever the outcome", true, Trimmed, "keep", 0.64},
		{"last hop, rule off", true, Trimmed, "move", 0},
	} {
		w := newWeighted(t, algorithm.Values{"last_hop": test.lastRule})
		w.on(2, nqd(20, false))
		f := nqd(100, test.lastHop)
		f.Outcome, f.Sample.DoNotUpdate = test.outcome, true
		w.on(2, f)
		if got := w.states[2].weight; math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: weight %v, want %v", test.name, got, test.want)
		}
	}
	w := newWeighted(t, nil) // without a tag the outcome decides
	w.on(2, Feedback{Outcome: Trimmed})
	if p := w.states[2]; p.weight != 0 || p.at != w.now {
		t.Errorf("trimmed without a tag: %+v, want weight 0", p)
	}
}

// After a timeout the EV is not used, not even to explore, for 10 ms or until a sample
// comes. Where all are gone all are used.
func TestLostPath(t *testing.T) {
	w := newWeighted(t, nil)
	w.on(2, Feedback{Outcome: Lost})
	if counts := w.send(64 * 100); counts[2] != 0 {
		t.Errorf("%d packets on a path whose packet timed out", counts[2])
	}
	w.now = w.now.Add(lostFor)
	if counts := w.send(64 * 100); counts[2] < 90 {
		t.Errorf("%d packets of 6400 after 10 ms, want as many as on others", counts[2])
	}
	w.on(2, Feedback{Outcome: Lost})
	w.on(2, nqd(0, false))
	if counts := w.send(64 * 100); counts[2] < 90 {
		t.Errorf("%d packets of 6400 after a sample, want as many as on others", counts[2])
	}
	w.all(Feedback{Outcome: Lost})
	if x := chiSquare(w.send(6400)); x > 103.4 {
		t.Errorf("all paths gone: chi-square %.1f", x)
	}
}
