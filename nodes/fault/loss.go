package fault

import (
	"math"
	"math/rand/v2"
)

// lossy decides which packets of a link a fault drops: each with the same probability,
// or in bursts by the model of Gilbert ("Capacity of a burst-noise channel", Bell System
// Technical Journal 39, 1960) as Elliott has it (1963), with no loss in the good state
// and nothing but loss in the bad one:
//
//	         enter
//	good ───────────▶ bad       share = enter / (enter + leave), burst = 1 / leave
//	     ◀───────────
//	         leave
type lossy struct {
	random *rand.Rand
	fault  int32 // number in the run
	burst  bool
	bad    bool
	// Probabilities, of 2^64. Without bursts enter is that of a loss.
	enter, leave uint64
}

// minBurst returns the least mean length of bursts with which a share of the packets can
// be lost: after a burst of the least length at least one packet arrives, which leaves
// share/(1-share) packets for a burst, and no burst is shorter than a packet.
func minBurst(share float64) float64 { return max(1, float64(share/(1-share))) }

// newLossy returns the decisions of a fault, with the share and the mean length of bursts
// of a Change. It begins in a state drawn with the share, so that the share holds from the
// first packet on.
func newLossy(fault int32, share, burst float64, random *rand.Rand) *lossy {
	l := &lossy{random: random, fault: fault, burst: burst > 0}
	if !l.burst {
		l.enter = probability(share)
		return l
	}
	leave := 1 / burst
	l.leave = probability(leave)
	l.enter = probability(float64(leave*share) / (1 - share))
	l.bad = random.Uint64() < probability(share)
	return l
}

// drops reports whether the next packet is dropped.
func (l *lossy) drops() bool {
	if !l.burst {
		return l.enter == math.MaxUint64 || l.random.Uint64() < l.enter
	}
	dropped := l.bad
	if l.bad {
		l.bad = l.random.Uint64() >= l.leave
	} else {
		l.bad = l.random.Uint64() < l.enter
	}
	return dropped
}

// probability returns a probability as a share of 2^64.
func probability(p float64) uint64 {
	if p >= 1 {
		return math.MaxUint64
	}
	return uint64(p * (1 << 64))
}
