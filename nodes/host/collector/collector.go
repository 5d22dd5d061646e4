// Package collector is what a fabric's collector does with the postcards that switches
// send to it (wire.Postcard): it keeps the available bandwidth that they report, by
// locator, and sets by it the weights of switches with the routing policy wcmp. It is a
// machine without packets and without a timer of its own: a host drives it when a postcard
// comes in.
package collector

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Config is plain data.
type Config struct {
	// Period is the least time between two settings of weights.
	Period units.Duration
	// Gain is how far a setting goes: a port whose way has as much available as the best
	// one, where the mean is 0, gets this share more.
	Gain   float64
	Routes []Route // whose weights are set; nil: the collector only counts
	// Second has the locators of Routes by those of the domain's second format, as
	// csig.Domain.Label gives them.
	Second map[uint32]uint16
}

// Route is the ways from a switch to the hosts of a rack.
type Route struct {
	Node uint32 // the switch
	Rack uint32
	Host uint32 // address to which Weights for the switch go
	Ways []Way  // at most wire.MostWeights
}

// Way is an egress port of the switch, its weight at the beginning and the locators of the
// ports that packets cross from there to the rack: the best of them counts of each hop.
type Way struct {
	Port   uint8
	Weight uint8
	Hops   [][]uint16
}

// Constants of the loop. Ours.
const (
	fullWeight = 240 // of the best way
	leastShare = 24  // the least weight is 1/leastShare of that, so that samples go on to come
	periods    = 4   // for which a reading counts
)

// Collector is the machine.
type Collector struct {
	cfg      Config
	readings []reading   // by locator
	weights  [][]float64 // by route and way
	sequence uint32
	due      units.Time
	cards    int64
	set      []wire.WeightFields
	to       []uint32
}

// reading is what postcards said of a port.
type reading struct {
	sum, count uint64 // of the period that goes on
	value      float64
	at         units.Time // of the last period with a postcard; 0: none
}

// New returns the collector of a host.
func New(cfg Config) (*Collector, error) {
	c := &Collector{cfg: cfg, weights: make([][]float64, len(cfg.Routes)), due: units.Time(cfg.Period)}
	most := 0
	for i, r := range cfg.Routes {
		if len(r.Ways) > wire.MostWeights {
			return nil, fmt.Errorf("collector: %d ways from switch %d to rack %d; want at most %d", len(r.Ways), r.Node, r.Rack, wire.MostWeights)
		}
		for _, w := range r.Ways {
			c.weights[i] = append(c.weights[i], float64(w.Weight))
			for _, hop := range w.Hops {
				for _, locator := range hop {
					most = max(most, int(locator)+1)
				}
			}
		}
	}
	c.readings = make([]reading, most)
	return c, nil
}

// Cards returns how many postcards came.
func (c *Collector) Cards() int64 { return c.cards }

// Receive takes the sample of a postcard, whose locator domains label as given. It reports
// whether weights are due.
func (c *Collector) Receive(now units.Time, s csig.Sample, label uint32) bool {
	c.cards++
	if first, ok := c.cfg.Second[label]; ok {
		label = uint32(first)
	}
	if s.Type == csig.ABW && int(label) < len(c.readings) {
		r := &c.readings[label]
		r.sum += s.Point
		r.count++
	}
	return len(c.cfg.Routes) > 0 && now >= c.due
}

// Settings returns the weights that change, and the addresses to send them to. The slices
// are valid until the next call.
func (c *Collector) Settings(now units.Time) ([]wire.WeightFields, []uint32) {
	c.due = now.Add(c.cfg.Period)
	for i := range c.readings {
		if r := &c.readings[i]; r.count > 0 {
			r.value, r.at = float64(r.sum)/float64(r.count), now
			r.sum, r.count = 0, 0
		}
	}
	c.sequence++
	c.set, c.to = c.set[:0], c.to[:0]
	for i := range c.cfg.Routes {
		if f := c.settle(now, i); f.Count > 0 {
			c.set, c.to = append(c.set, f), append(c.to, c.cfg.Routes[i].Host)
		}
	}
	return c.set, c.to
}

// settle moves the weights of a route towards ways with more available bandwidth than the
// mean. A way of which no postcard speaks keeps its weight: the absence of a sample is not
// room.
func (c *Collector) settle(now units.Time, i int) (f wire.WeightFields) {
	route, weights := &c.cfg.Routes[i], c.weights[i]
	var values [wire.MostWeights]float64
	var sum, total, best float64
	for k := range route.Ways {
		values[k] = c.available(now, &route.Ways[k])
		if values[k] >= 0 {
			sum += float64(values[k] * weights[k])
			total += weights[k]
			best = max(best, values[k])
		}
	}
	if best <= 0 {
		return f
	}
	mean, top := sum/total, 0.0
	for k := range weights {
		if values[k] >= 0 {
			weights[k] *= 1 + float64(c.cfg.Gain*(values[k]-mean))/best
		}
		top = max(top, weights[k])
	}
	f = wire.WeightFields{Node: route.Node, Rack: route.Rack, Sequence: c.sequence, Count: len(weights)}
	for k := range weights {
		weights[k] = max(float64(weights[k]*fullWeight)/top, fullWeight/leastShare)
		f.Ports[k] = wire.PortWeight{Port: route.Ways[k].Port, Weight: uint8(weights[k] + 0.5)}
	}
	return f
}

// available returns the least of the hops of a way, and of each hop the best port; -1 if
// nothing recent is known of any of them.
func (c *Collector) available(now units.Time, w *Way) float64 {
	least := -1.0
	for _, hop := range w.Hops {
		best := -1.0
		for _, locator := range hop {
			if r := &c.readings[locator]; r.at > 0 && now.Sub(r.at) <= periods*c.cfg.Period {
				best = max(best, r.value)
			}
		}
		if best >= 0 && (least < 0 || best < least) {
			least = best
		}
	}
	return least
}
