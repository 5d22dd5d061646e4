package balance

import "github.com/csiglab/csiglab/nodes/clock"

// mixed re-uses EVs that came back clean, oldest first, and when there are none
// walks all EVs past the penalised ones (uet-htsim: mixed, which is reps_legacy
// over bitmap). Feedback goes to both halves.
type mixed struct {
	good fifo
	walk penaltyWalk
}

func newMixed(c Config) Balancer {
	return &mixed{walk: penaltyWalk{walk: newWalk(c), penalty: make([]uint8, c.Paths)}}
}

func (m *mixed) Next(clock.Time) uint16 {
	if ev, ok := m.good.pop(); ok {
		return ev
	}
	return m.walk.pick()
}

func (m *mixed) OnFeedback(_ clock.Time, f Feedback) {
	if f.Outcome == Good {
		m.good.push(f.EV)
	}
	m.walk.punish(f)
}

// Penalties of an EV (uet-htsim: bitmap).
const (
	penaltyMarked  = 1
	penaltyTrimmed = 4
	maxPenalty     = 15 // also for a timeout
)

// penaltyWalk walks the EVs, passing over those with a penalty. The first
// penalised EV that a pick meets has its penalty reduced by one; a pick that
// meets none without takes the last it saw. Clean ACKs do not forgive.
type penaltyWalk struct {
	walk    walk
	penalty []uint8
}

func (p *penaltyWalk) pick() uint16 {
	i := p.walk.step()
	for tries := 0; p.penalty[i] > 0 && tries < len(p.penalty); tries++ {
		if tries == 0 {
			p.penalty[i]--
		}
		i = p.walk.step()
	}
	return p.walk.upper | i
}

func (p *penaltyWalk) punish(f Feedback) {
	i := f.EV & (p.walk.lap - 1)
	switch f.Outcome {
	case Marked:
		p.penalty[i] = min(p.penalty[i]+penaltyMarked, maxPenalty)
	case Trimmed:
		p.penalty[i] = min(p.penalty[i]+penaltyTrimmed, maxPenalty)
	case Lost:
		p.penalty[i] = maxPenalty
	}
}

// fifo is a queue of EVs in a ring that grows by doubling.
type fifo struct {
	ring       []uint16 // length 0 or a power of two
	head, size int
}

func (q *fifo) push(ev uint16) {
	if q.size == len(q.ring) {
		grown := make([]uint16, max(16, 2*len(q.ring)))
		for i := range q.size {
			grown[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
		}
		q.ring, q.head = grown, 0
	}
	q.ring[(q.head+q.size)&(len(q.ring)-1)] = ev
	q.size++
}

func (q *fifo) pop() (uint16, bool) {
	if q.size == 0 {
		return 0, false
	}
	ev := q.ring[q.head]
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.size--
	return ev, true
}
