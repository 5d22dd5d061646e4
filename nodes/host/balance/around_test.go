package balance

import (
	"math/rand/v2"
	"testing"
)

// TestAround holds that around is as many steps as there are indices.
func TestAround(t *testing.T) {
	for _, lap := range []int{1, 2, 8, 64} {
		one, all := newWalk(rand.New(rand.NewPCG(1, 2)), lap), newWalk(rand.New(rand.NewPCG(1, 2)), lap)
		for turn := range 3 * lap {
			var want uint16
			for range lap {
				want = one.step()
			}
			if got := all.around(); got != want || all.next != one.next || all.mask != one.mask {
				t.Fatalf("lap %d, turn %d: %d, next %d, mask %d; want %d, %d, %d", lap, turn, got, all.next, all.mask, want, one.next, one.mask)
			}
			one.step()
			all.step()
		}
	}
}

// TestPenaltyWalkIsTheRule compares picks with the rule as it is written, in random
// sequences of picks and feedback.
func TestPenaltyWalkIsTheRule(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 4))
	const paths = 8
	fast := penaltyWalk{walk: newWalk(rand.New(rand.NewPCG(5, 6)), paths), penalty: make([]uint8, paths), clean: paths}
	rule := penaltyWalk{walk: newWalk(rand.New(rand.NewPCG(5, 6)), paths), penalty: make([]uint8, paths)}
	pick := func(p *penaltyWalk) uint16 {
		i := p.walk.step()
		for tries := 0; p.penalty[i] > 0 && tries < len(p.penalty); tries++ {
			if tries == 0 {
				p.penalty[i]--
			}
			i = p.walk.step()
		}
		return p.walk.upper | i
	}
	full := 0
	for range 100_000 {
		if fast.clean == 0 {
			full++
		}
		if draw.IntN(5) < 2 {
			if got, want := fast.pick(), pick(&rule); got != want {
				t.Fatalf("picked %d, want %d", got, want)
			}
			continue
		}
		f := Feedback{EV: uint16(draw.IntN(paths)), Outcome: Outcome(draw.IntN(4))}
		fast.punish(&f)
		rule.punish(&f)
	}
	if full < 1000 {
		t.Errorf("every EV had a penalty %d times, want more", full)
	}
}
