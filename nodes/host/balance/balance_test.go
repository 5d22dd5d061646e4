package balance

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// seed starts every random stream of these tests.
const seed = 20252

// testFlow returns a flow of a fabric of 100 Gb/s and three tiers.
func testFlow() Flow {
	return Flow{
		ID: 7, Random: rand.New(rand.NewPCG(seed, 0)), NetworkRTT: 14 * units.Microsecond, MTU: 4150 * units.Byte, Trim: true,
		Interval: 128 * units.Microsecond,
	}
}

// build returns a balancer over a number of paths.
func build(t *testing.T, a Algorithm, paths int) Balancer {
	t.Helper()
	b, err := a.New(testFlow(), algorithm.Values{"paths": strconv.Itoa(paths)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// lap returns the lower bits of the next paths EVs.
func lap(b Balancer, paths int) []int {
	evs := make([]int, paths)
	for i := range evs {
		evs[i] = int(b.Next(0)) & (paths - 1)
	}
	return evs
}

func TestSingleKeepsItsEV(t *testing.T) {
	b := build(t, single, 64)
	first := b.Next(0)
	for _, o := range []Outcome{Good, Marked, Trimmed, Lost} {
		b.OnFeedback(0, &Feedback{EV: first, Outcome: o})
		if got := b.Next(0); got != first {
			t.Errorf("EV %d after outcome %d, want %d", got, o, first)
		}
	}
}

// docs/reference/references.md#load-balancing: a lap of oblivious has each EV once, under a new
// mask each time; so has one of mixed as long as nothing comes back.
func TestLapVisitsEveryEVOnce(t *testing.T) {
	for _, a := range []Algorithm{oblivious, bitmap, mixed} {
		for _, paths := range []int{1, 2, 64, MaxPaths} {
			b := build(t, a, paths)
			masks := map[int]bool{}
			for n := range 8 {
				evs := lap(b, paths)
				mask := evs[0]
				masks[mask] = true
				for i, ev := range evs {
					if ev != i^mask {
						t.Fatalf("%s, %d paths, lap %d: EV %d is %d, want %d", a.Name, paths, n, i, ev, i^mask)
					}
				}
			}
			if paths >= 64 && len(masks) < 4 {
				t.Errorf("%s, %d paths: %d masks in 8 laps", a.Name, paths, len(masks))
			}
		}
	}
}

func TestObliviousDoesNotListen(t *testing.T) {
	deaf, told := build(t, oblivious, 64), build(t, oblivious, 64)
	for i := range 200 {
		want, got := deaf.Next(0), told.Next(0)
		if got != want {
			t.Fatalf("EV %d is %d with feedback, %d without", i, got, want)
		}
		told.OnFeedback(0, &Feedback{EV: got, Outcome: Outcome(i % 4)})
	}
}

// penaltiesOf returns the walk of bitmap and of mixed.
func penaltiesOf(b Balancer) *penaltyWalk {
	if m, ok := b.(*mixedState); ok {
		return &m.walk
	}
	return &b.(*bitmapState).walk
}

// Bitmap walks past a penalised EV, and clean ACKs do not shorten the way: what came back
// clean is not sent before its turn.
func TestBitmapWalks(t *testing.T) {
	b := build(t, bitmap, 4)
	w := penaltiesOf(b)
	mask := int(w.walk.mask)
	b.OnFeedback(0, &Feedback{EV: w.walk.upper | uint16(0^mask), Outcome: Marked})
	b.OnFeedback(0, &Feedback{EV: w.walk.upper | uint16(3^mask), Outcome: Good})
	for i, want := range []int{1, 2, 3} {
		if got := int(b.Next(0)) & 3; got != want^mask {
			t.Errorf("pick %d is EV %d, want %d", i, got, want^mask)
		}
	}
	if w.penalty[mask] != 0 {
		t.Errorf("penalty %d after one pass, want 0", w.penalty[mask])
	}
}

// Penalties of docs/reference/references.md#load-balancing, bitmap.
func TestPenalties(t *testing.T) {
	for _, test := range []struct {
		outcomes []Outcome
		want     uint8
	}{
		{nil, 0},
		{[]Outcome{Good, Good}, 0},
		{[]Outcome{Marked}, 1},
		{[]Outcome{Marked, Good}, 1}, // a clean ACK does not forgive
		{[]Outcome{Trimmed}, 4},
		{[]Outcome{Marked, Trimmed, Marked}, 6},
		{[]Outcome{Trimmed, Trimmed, Trimmed, Marked, Marked}, 14},
		{[]Outcome{Trimmed, Trimmed, Trimmed, Trimmed}, 15},
		{[]Outcome{Lost}, 15},
		{[]Outcome{Lost, Marked}, 15},
		{[]Outcome{Lost, Lost}, 15},
	} {
		for _, a := range []Algorithm{bitmap, mixed} {
			b := build(t, a, 8)
			w := penaltiesOf(b)
			for _, o := range test.outcomes {
				b.OnFeedback(0, &Feedback{EV: w.walk.upper | 5, Outcome: o})
			}
			want := make([]uint8, 8)
			want[5] = test.want
			if diff := cmp.Diff(want, w.penalty); diff != "" {
				t.Errorf("%s, outcomes %v: penalties (-want +got)\n%s", a.Name, test.outcomes, diff)
			}
		}
	}
}

// docs/reference/references.md#load-balancing, bitmap: a walk takes 1 off the first penalised EV
// that it meets, and gives up after N.
func TestPenaltyWalk(t *testing.T) {
	for _, test := range []struct {
		name      string
		penalties []uint8 // in the order of the walk
		picks     []int   // positions in the walk, each EV's first
		after     []uint8
	}{
		{"none penalised", []uint8{0, 0, 0, 0}, []int{0, 1, 2, 3}, []uint8{0, 0, 0, 0}},
		{"the first is passed over", []uint8{2, 0, 0, 0}, []int{1}, []uint8{1, 0, 0, 0}},
		{"only the first of two is reduced", []uint8{2, 3, 0, 0}, []int{2}, []uint8{1, 3, 0, 0}},
		{"each pick reduces one", []uint8{0, 1, 0, 4}, []int{0, 2}, []uint8{0, 0, 0, 4}},
	} {
		m := build(t, mixed, len(test.penalties)).(*mixedState)
		mask := int(m.walk.walk.mask)
		for i, n := range test.penalties {
			m.walk.penalty[i^mask] = n
		}
		for n, position := range test.picks {
			if got := int(m.Next(0)) & (len(test.penalties) - 1); got != position^mask {
				t.Errorf("%s: pick %d is EV %d, want %d", test.name, n, got, position^mask)
			}
		}
		for i, want := range test.after {
			if got := m.walk.penalty[i^mask]; got != want {
				t.Errorf("%s: penalty of position %d is %d, want %d", test.name, i, got, want)
			}
		}
	}
	// With every EV penalised a pick gives up after passing over N, which is a
	// lap, takes the next, and has reduced one of them.
	m := build(t, mixed, 4).(*mixedState)
	for i := range m.walk.penalty {
		m.walk.penalty[i] = maxPenalty
	}
	for picks := 1; picks <= 3; picks++ {
		m.Next(0)
		sum := 0
		for _, n := range m.walk.penalty {
			sum += int(n)
		}
		if want := 4*maxPenalty - picks; sum != want {
			t.Errorf("all penalised: penalties sum to %d after %d picks, want %d", sum, picks, want)
		}
		if got := int(m.walk.walk.next); got != picks {
			t.Errorf("all penalised: the walk is at position %d after %d picks, want %d", got, picks, picks)
		}
	}
}

// docs/reference/references.md#load-balancing, mixed: good EVs first, in the order in which they
// came back, then the bitmap's walk; both get all feedback.
func TestMixedReusesGoodEVsFirst(t *testing.T) {
	m := build(t, mixed, 64).(*mixedState)
	m.OnFeedback(0, &Feedback{EV: 9, Outcome: Good})
	m.OnFeedback(0, &Feedback{EV: 8, Outcome: Marked})
	m.OnFeedback(0, &Feedback{EV: 7, Outcome: Good})
	m.OnFeedback(0, &Feedback{EV: 9, Outcome: Good})
	m.OnFeedback(0, &Feedback{EV: 9, Outcome: Trimmed}) // does not take it from the queue
	walked := m.walk.walk.next
	for i, want := range []uint16{9, 7, 9} {
		if got := m.Next(0); got != want {
			t.Errorf("pick %d is EV %d, want %d", i, got, want)
		}
	}
	if m.walk.walk.next != walked {
		t.Error("the walk went on while good EVs were left")
	}
	if m.Next(0); m.walk.walk.next == walked {
		t.Error("without good EVs the walk did not go on")
	}
}

func TestPaths(t *testing.T) {
	for text, want := range map[string]int{"1": 1, "2": 2, "64": 64, "4096": MaxPaths} {
		if b, err := mixed.New(testFlow(), algorithm.Values{"paths": text}); err != nil || len(b.(*mixedState).walk.penalty) != want {
			t.Errorf("paths %q: %v, want %d", text, err, want)
		}
	}
	// The number of EVs of the reference simulator.
	if b, err := mixed.New(testFlow(), nil); err != nil || len(b.(*mixedState).walk.penalty) != 64 {
		t.Errorf("no parameters: %v, want 64 paths", err)
	}
	for _, text := range []string{"", "0", "-64", "3", "63", "8192", "64.0", "many"} {
		if _, err := mixed.New(testFlow(), algorithm.Values{"paths": text}); err == nil || !strings.Contains(err.Error(), "paths") {
			t.Errorf("paths %q: error %v, want one that names paths", text, err)
		}
	}
	if _, err := mixed.New(testFlow(), algorithm.Values{"path": "64"}); err == nil || !strings.Contains(err.Error(), `"path"`) {
		t.Errorf("unknown parameter: error %v, want one that names it", err)
	}
}
