package forward

import (
	"math/bits"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// ugal is UGAL-L: the first router of a packet compares the minimal path with one over a
// random group by what it knows itself, the queues of its own two ports
// (docs/reference/references.md#dragonflies). BookSim's variant has the weights 1 and 2, and 30 packets
// as threshold.
var ugal = Algorithm{
	Spec: algorithm.Spec{
		Name: "ugal",
		Doc:  "Dragonfly (UGAL-L): minimal, or over a random group where the queue of the minimal path is longer by more than the detour",
		Params: []algorithm.Param{
			per, via,
			{Name: "threshold", Kind: algorithm.Size, Default: "20kB", Check: algorithm.NotNegative(units.ParseSize),
				Doc: "minimal if q_min·H_min <= q_non·H_non + threshold"},
			{Name: "weights", Kind: algorithm.Enum, Values: []string{"hops", "booksim"}, Default: "hops",
				Doc: "H_min and H_non: hops: links of the two paths; booksim: 1 and 2"},
		},
	},
	NeedsGroups: true,
	Build: func(s Switch, r *algorithm.Reader) Policy {
		u := &ugalState{detours: newDetours(s, r), threshold: r.Size("threshold"), fixed: r.Text("weights") == "booksim"}
		if u.byFlow {
			u.flows = make([]choice, flowChoices)
		}
		return u
	},
}

// flowChoices is how many flows a router remembers, a power of two. Two that share a place
// take turns with it, and each decides anew when its turn comes.
const flowChoices = 1 << 10

type ugalState struct {
	detours
	threshold units.Size
	fixed     bool // weights 1 and 2
	flows     []choice
}

// choice is what a router decided for a flow.
type choice struct {
	flow    uint64 // its hash; 0: none
	minimal bool
}

// Forward implements Policy.
func (u *ugalState) Forward(p *wire.Packet) (port int, ok bool) {
	if !u.first(p) {
		return u.onward(p)
	}
	minimal, ok := u.detours.minimal(p)
	if !ok {
		return 0, false
	}
	at, to, ok := u.random(p)
	if !ok {
		return minimal, true
	}
	non, ok := u.along(p, u.towards(at))
	if !ok || u.chooses(p, at, to, minimal, non) {
		return minimal, true
	}
	p.SetVia(at.way)
	return non, true
}

// chooses reports whether a packet goes minimally.
func (u *ugalState) chooses(p *wire.Packet, at place, to int32, minimal, non int) bool {
	if u.flows == nil {
		return u.compare(at, to, minimal, non)
	}
	hash := p.Hash(u.ECMP.seed) | 1
	c := &u.flows[bits.Reverse64(hash)%flowChoices]
	if c.flow != hash {
		c.flow, c.minimal = hash, u.compare(at, to, minimal, non)
	}
	return c.minimal
}

// compare reports whether the minimal path is the better one by the queues of its first
// port and of that of the other path.
func (u *ugalState) compare(at place, to int32, minimal, non int) bool {
	shortHops, longHops := 1, 2
	if !u.fixed {
		shortHops = u.Groups.Hops(u.Router, to)
		if longHops = u.Groups.HopsVia(u.Router, at.group, to); at.router >= 0 {
			longHops = u.Groups.Hops(u.Router, at.router) + u.Groups.Hops(at.router, to)
		}
	}
	return u.Queued(minimal)*units.Size(shortHops) <= u.Queued(non)*units.Size(longHops)+u.threshold
}
