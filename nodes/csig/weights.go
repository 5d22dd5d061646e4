package csig

import (
	"fmt"
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

// Multiplexer chooses the types of a flow's tags in turn, so that several customers
// (congestion control, load balancing, telemetry) each get the types that they want:
// the shares of the types follow the weights after any number of tags, to within
// one tag. The zero value is ready.
type Multiplexer struct{ credit [Types]int32 }

// Next returns the type of the next tag; w must want a type. A change of the
// weights takes effect at once.
func (m *Multiplexer) Next(w Weights) Type {
	best, total := InvalidType, int32(0)
	for t := range Types {
		if w[t] == 0 {
			m.credit[t] = 0
			continue
		}
		total += int32(w[t])
		m.credit[t] += int32(w[t])
		if best == InvalidType || m.credit[t] > m.credit[best] {
			best = t
		}
	}
	m.credit[best] -= total
	return best
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
	for t, n := range other {
		w[t] = uint8(min(int(w[t])+int(n), 255))
	}
	return w
}
