package csig

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Weights says how often each type of signal is wanted, in proportion to the
// others. The zero value wants nothing.
type Weights [Types]uint8

// Only returns the weights of someone who wants one type.
func Only(t Type) (w Weights) {
	w[t] = 1
	return w
}

// Any reports whether a type is wanted.
func (w Weights) Any() bool { return w != Weights{} }

// Multiplexer chooses the types of a flow's tags, so that several customers (congestion
// control, load balancing, telemetry) each get the types that they want. Every round of
// tags has the types in exact proportion to the weights, spread evenly. A round is the
// fewest tags that can have them so: 4 for weights 3 and 1, or 6 and 2. Within
// a round the number of tags of a type is off its share by two at most, and by one where
// at most two types are wanted or nothing is drawn. The zero value is ready; its rounds
// are all alike.
type Multiplexer struct {
	random *rand.Rand // nil: every round begins with the same type
	wanted Weights    // in this round
	left   int        // tags of the round that are still to come
	credit [Types]int32
}

// NewMultiplexer returns a multiplexer that begins every round at a drawn place of the
// sequence. So no type falls out where only some of the tags come back, at fixed
// distances: those of coalesced ACKs.
func NewMultiplexer(random *rand.Rand) Multiplexer { return Multiplexer{random: random} }

// Next returns the type of the next tag; w must want a type. A change of the
// weights takes effect at once.
func (m *Multiplexer) Next(w Weights) Type {
	if w != m.wanted {
		m.wanted, m.left = w, 0
		for t, n := range w {
			if n == 0 {
				m.credit[t] = 0
			}
		}
	}
	if m.left == 0 {
		m.left = w.round()
		if m.random != nil && m.left > 1 {
			for range m.random.IntN(m.left) {
				m.step()
			}
		}
	}
	m.left--
	return m.step()
}

// step returns the next type of the sequence, in which every type comes at even
// distances.
func (m *Multiplexer) step() Type {
	best, total := InvalidType, int32(0)
	for t, n := range m.wanted {
		if n == 0 {
			continue
		}
		total += int32(n)
		m.credit[t] += int32(n)
		if best == InvalidType || m.credit[t] > m.credit[best] {
			best = Type(t)
		}
	}
	m.credit[best] -= total
	return best
}

// round returns the number of tags of a round.
func (w Weights) round() int {
	sum, divisor := 0, 0
	for _, n := range w {
		sum += int(n)
		a, b := divisor, int(n)
		for b != 0 {
			a, b = b, a%b
		}
		divisor = a
	}
	return sum / divisor
}

// String lists the types wanted with their weights, such as abw:1 delay:3.
func (w Weights) String() string {
	var parts []string
	for t, n := range w {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%v:%d", Type(t), n))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, " ")
}

// Merge adds the weights of another customer. A sum beyond 255 stays there.
func (w Weights) Merge(other Weights) Weights {
	if !other.Any() {
		return w
	}
	for t, n := range other {
		w[t] = uint8(min(int(w[t])+int(n), 255))
	}
	return w
}
