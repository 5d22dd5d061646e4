// Package balance holds the load balancers of the host's transport, one file
// each, and the table that names them. A balancer chooses the entropy value (EV)
// of each packet, which the switches' ECMP turns into a path, and learns from
// what comes back. The transport drives it.
package balance

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// Balancer chooses entropy values for one flow. It belongs to one goroutine.
type Balancer interface {
	// Next returns the EV of the next packet, below wire.EntropyRange.
	Next(now units.Time) uint16
	// OnFeedback reports the outcome of a packet. The feedback is the transport's and valid
	// until the call returns.
	OnFeedback(now units.Time, f *Feedback)
}

// Listener is a Balancer that wants CSIG samples with its feedback.
type Listener interface {
	Balancer
	// Wants returns the types of signal wanted in the next packets. It is asked
	// before each tag.
	Wants() csig.Weights
}

// Outcome is what became of a packet.
type Outcome uint8

// Outcomes.
const (
	Good    Outcome = iota // acknowledged, not marked
	Marked                 // acknowledged, marked CE
	Trimmed                // refused by a NACK, or a trimmed probe
	Lost                   // timed out, or returned by a switch
)

// Feedback is the outcome of a packet that was sent with an EV.
type Feedback struct {
	EV      uint16
	Outcome Outcome
	Sampled bool // Sample and LastHop are valid
	LastHop bool // the sample's locator names a port that leads to a host
	Dated   bool // Age is valid
	// Returned says of a lost packet that a switch returned it, because a port on the path of
	// EV is down: the one that Locator names.
	Returned bool
	Locator  uint16
	// Age is how long ago the packet was sent: the RTT of an acknowledged one. It is not
	// known where it is not clear which transmission came back.
	Age units.Duration
	// Acked is the wire bytes that an ACK reports as newly received. An ACK may stand for
	// several packets; its EV and outcome are those of the one that triggered it.
	Acked    units.Size
	Inflight units.Size // of the flow, afterwards
	// Sample is what the packet's tag brought back, of a type that a Listener wants. A
	// trimmed packet's has DoNotUpdate: its value may be forced, its locator names the
	// hop that trimmed.
	Sample csig.Sample
}

// Flow is what a balancer may know of its flow at construction.
type Flow struct {
	ID         uint32
	Random     *rand.Rand     // the flow's own; a balancer draws from no other
	NetworkRTT units.Duration // round trip of a full packet and its ACK over the longest idle path
	MTU        units.Size     // wire size of a full data packet
	Trim       bool           // switches trim instead of dropping
	Interval   units.Duration // over which available bandwidth is measured; 0 without CSIG
}

// MaxPaths is the largest number of EVs.
const MaxPaths = 4096

// paths is the parameter of balancers that choose among several EVs.
var paths = algorithm.Param{
	Name: "paths", Kind: algorithm.Int, Default: "64", // as the reference simulator
	Doc: "entropy values (EVs) to choose from, a power of two up to 4096",
	Check: func(text string) error {
		if n, err := strconv.Atoi(text); err != nil || n < 1 || n > MaxPaths || n&(n-1) != 0 {
			return fmt.Errorf("%s is not a power of two from 1 to %d", text, MaxPaths)
		}
		return nil
	},
}

// Algorithm is an entry of the table.
type Algorithm struct {
	algorithm.Spec
	// OnePath says that the flow keeps to one path at a time.
	OnePath bool
	// Even says that the flow sends as much on each path, whatever comes back.
	Even bool
	// Build returns a balancer of a flow. The reader's parameters are of their kinds and
	// checked.
	Build func(f Flow, r *algorithm.Reader) Balancer
}

// New returns a balancer with the given parameters. An *algorithm.ParamError
// names the one whose value makes no sense.
func (a Algorithm) New(f Flow, params algorithm.Values) (Balancer, error) {
	return algorithm.Build(a.Spec, params, func(r *algorithm.Reader) Balancer { return a.Build(f, r) })
}

// Maker returns a function that returns what New returns, a new balancer at each call, for
// many flows that are alike. The errors are New's with the flow like.
func (a Algorithm) Maker(like Flow, params algorithm.Values) (func(Flow) Balancer, error) {
	like.Random = rand.New(rand.NewPCG(0, 0)) // of the balancer that is built to check the parameters
	r, err := algorithm.Maker(a.Spec, params, func(r *algorithm.Reader) Balancer { return a.Build(like, r) })
	if err != nil {
		return nil, err
	}
	return func(f Flow) Balancer { return a.Build(f, r) }, nil
}

// Resolve returns the parameters that New uses with the given ones, see
// algorithm.Resolve.
func (a Algorithm) Resolve(f Flow, params algorithm.Values) (algorithm.Values, error) {
	return algorithm.Resolve(a.Spec, params, func(r *algorithm.Reader) { a.Build(f, r) })
}

// Table is every algorithm.
var Table = algorithm.Table[Algorithm]{
	ecmp,
	single,
	oblivious,
	bitmap,
	reps,
	mixed,
	flowlet,
	plb,
	csigWeighted,
}
