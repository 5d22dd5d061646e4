package forward

import (
	"slices"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/wire"
)

// wcmp spreads data over the shortest paths by weights: WCMP (EuroSys 2014), with a weight
// for each egress port and rack of destination, by a hash of the 5-tuple.
var wcmp = Algorithm{
	Spec: algorithm.Spec{
		Name: "wcmp",
		Doc:  "shortest paths by weights, of each port and rack; a hash of the 5-tuple chooses. csig.collector may change the weights",
		Params: []algorithm.Param{
			{Name: "initial", Kind: algorithm.Enum, Values: []string{"rate", "equal"}, Default: "rate",
				Doc: "the weights that switches begin with: rate: in proportion to what the links behind a port carry to the rack, at the rates that they are built with; equal: as ecmp"},
		},
	},
	Build: func(s Switch, r *algorithm.Reader) Policy {
		w := &wcmpState{ecmp: s.ECMP}
		if s.Weights != nil {
			w.racks, w.weights = s.Weights.Racks, make([][]uint8, len(s.Weights.ByRack))
			w.sequence = make([]uint32, len(w.weights))
			for i, weights := range s.Weights.ByRack {
				w.weights[i] = slices.Clone(weights)
			}
		}
		return w
	},
}

// Weights are those that the ports of a switch begin with.
type Weights struct {
	Racks  []uint16  // rack of each host
	ByRack [][]uint8 // weight of each port towards a rack; nil: all alike
}

// Weighted is a Policy whose weights may change.
type Weighted interface {
	Policy
	// SetWeights sets the weights of ports towards a rack. It ignores what is older than
	// what it has.
	SetWeights(f *wire.WeightFields)
}

type wcmpState struct {
	ecmp     *ECMP
	racks    []uint16
	weights  [][]uint8
	sequence []uint32
}

// Forward implements Policy.
func (w *wcmpState) Forward(p *wire.Packet) (port int, ok bool) {
	host := p.DestinationHost()
	if !Free(p) || uint(host) >= uint(len(w.racks)) {
		return w.ecmp.Forward(p)
	}
	weights, ports := w.weights[w.racks[host]], w.ecmp.Ports(p)
	total := 0
	if len(weights) > 0 && len(ports) > 1 {
		for _, port := range ports {
			total += int(weights[port])
		}
	}
	if total == 0 {
		return w.ecmp.Forward(p)
	}
	at := among(p.Hash(w.ecmp.seed), total)
	for _, port := range ports {
		if at -= int(weights[port]); at < 0 {
			return int(port), true
		}
	}
	return w.ecmp.Forward(p)
}

// SetWeights implements Weighted.
func (w *wcmpState) SetWeights(f *wire.WeightFields) {
	if uint64(f.Rack) >= uint64(len(w.weights)) || f.Sequence <= w.sequence[f.Rack] {
		return
	}
	w.sequence[f.Rack] = f.Sequence
	weights := w.weights[f.Rack]
	for _, p := range f.Ports[:f.Count] {
		if int(p.Port) < len(weights) {
			weights[p.Port] = p.Weight
		}
	}
}
