// Package aqm is what a switch port does about its data queue: policies that
// mark departing packets with ECN, one file each, the table that names them, and
// the choice of the packet to trim when the queue is full. It holds no packet.
// The dataplane asks the policy of a port about each departure.
package aqm

import (
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// Policy decides about the data packets of one port. It belongs to one goroutine.
type Policy interface {
	// Mark reports whether to mark a departing packet. Only packets whose senders
	// understand ECN are asked about.
	Mark(now units.Time, d Departure) bool
}

// Departure is a data packet whose transmission starts.
type Departure struct {
	Queue  units.Size     // data queue after the packet has left it
	Waited units.Duration // time that the packet was in the queue
}

// Thresholds are the two of links.ecn: what a policy takes unless it is given
// its own.
type Thresholds struct {
	Low, High units.Size
}

// Port is what a policy may know of its port at construction.
type Port struct {
	Rate  units.Rate // of the link
	Queue units.Size // limit of the data queue
	ECN   Thresholds
	// Random is the port's generator. It also tosses the coin of trimming: a policy
	// that decides without drawing leaves the other decisions of a run as they are.
	Random *rand.Rand
}

// Algorithm is an entry of the table.
type Algorithm struct {
	algorithm.Spec
	// Build returns the policy of a port. The reader's parameters are of their
	// kinds and checked; Build calls Fail for one whose value makes no sense on this
	// port.
	Build func(p Port, r *algorithm.Reader) Policy
}

// New returns a policy with the given parameters. An *algorithm.ParamError names
// the one whose value makes no sense.
func (a Algorithm) New(p Port, params algorithm.Values) (Policy, error) {
	return algorithm.Build(a.Spec, params, func(r *algorithm.Reader) Policy { return a.Build(p, r) })
}

// Resolve returns the parameters that New uses with the given ones, see
// algorithm.Resolve.
func (a Algorithm) Resolve(p Port, params algorithm.Values) (algorithm.Values, error) {
	return algorithm.Resolve(a.Spec, params, func(r *algorithm.Reader) { a.Build(p, r) })
}

// Table is every algorithm.
var Table = algorithm.Table[Algorithm]{
	linear,
	red,
	step,
	pie,
	none,
}

// TrimArriving tosses the coin of a full queue: true trims the arriving packet,
// false the one that was enqueued last (uet-htsim compositequeue).
func TrimArriving(r *rand.Rand) bool { return r.Uint64()&1 != 0 }
