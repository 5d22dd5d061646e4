package topologies

import (
	"fmt"

	"github.com/csiglab/csiglab/units"
)

// NoPod is the Pod of a node outside of pods.
const NoPod = -1

// builder makes a graph: first the hosts, then the switches, then the links.
type builder struct {
	graph *Graph
	ports []int // by node: how many are taken
	tiers [TierCore + 1]int
}

// newBuilder returns a builder with the hosts h0, h1, … outside of pods.
func newBuilder(name string, hosts, switches int) *builder {
	b := &builder{graph: &Graph{Name: name, Nodes: make([]Node, 0, hosts+switches)}, ports: make([]int, hosts+switches)}
	b.graph.addTier(Host, TierHost, hosts, 0, 0)
	return b
}

// addSwitch adds a switch and returns its number as a node.
func (b *builder) addSwitch(name string, tier Tier, pod int, delay units.Duration) int {
	b.graph.Nodes = append(b.graph.Nodes, Node{Name: name, Kind: Switch, Tier: tier, Pod: pod, Index: b.tiers[tier], Delay: delay})
	b.tiers[tier]++
	return len(b.graph.Nodes) - 1
}

// connect adds a link between the next free ports of two nodes, the first of which is the
// one nearer to the hosts.
func (b *builder) connect(low, high int, rate units.Rate, delay units.Duration) {
	b.graph.Links = append(b.graph.Links, Link{A: End{low, b.ports[low]}, B: End{high, b.ports[high]}, Rate: rate, Delay: delay})
	b.ports[low]++
	b.ports[high]++
}

// count is a parameter that counts something.
type count struct {
	name  string
	value int
}

// counts returns an error that wraps ErrInvalid unless each parameter is between 1 and
// MaxRadix.
func counts(fabric string, list ...count) error {
	for _, c := range list {
		if c.value < 1 || c.value > MaxRadix {
			return fmt.Errorf("%w: %s: %s is %d, want 1 to %d", ErrInvalid, fabric, c.name, c.value, MaxRadix)
		}
	}
	return nil
}

// checkLinks returns an error that wraps ErrInvalid unless the rates and delays of hosts'
// links are positive and those of other links positive or 0, for the same.
func checkLinks(fabric string, rate, other units.Rate, delay, otherDelay, switchDelay units.Duration) error {
	switch {
	case rate <= 0 || rate > MaxRate || other < 0 || other > MaxRate:
		return fmt.Errorf("%w: %s: rates %v and %v must be positive and at most %v", ErrInvalid, fabric, rate, other, MaxRate)
	case delay <= 0 || delay > MaxDelay || otherDelay < 0 || otherDelay > MaxDelay || switchDelay < 0 || switchDelay > MaxDelay:
		return fmt.Errorf("%w: %s: delays %v, %v and %v: those of links must be positive, all at most %v", ErrInvalid, fabric, delay, otherDelay, switchDelay, MaxDelay)
	}
	return nil
}

// PortsError says that a switch has fewer ports than the fabric needs. It wraps
// ErrInvalid.
type PortsError struct {
	Switch      string
	Needed, Has int
}

// Error names the switch and both numbers.
func (e *PortsError) Error() string {
	return fmt.Sprintf("switch %s needs %d ports and has %d", e.Switch, e.Needed, e.Has)
}

// Unwrap makes a PortsError an ErrInvalid.
func (e *PortsError) Unwrap() error { return ErrInvalid }

// KeyError says what is wrong with the value of a key of a spec. It wraps ErrInvalid.
type KeyError struct {
	Key string // as in the tag yaml
	Of  string // the fabric
	Msg string
}

// Error names the fabric.
func (e *KeyError) Error() string { return fmt.Sprintf("%v: %s: %s", ErrInvalid, e.Of, e.Msg) }

// Unwrap makes a KeyError an ErrInvalid.
func (e *KeyError) Unwrap() error { return ErrInvalid }

// checkPorts returns a *PortsError if a switch has too few ports; has 0 is no limit.
func checkPorts(name string, needed, has int) error {
	if has > 0 && needed > has {
		return &PortsError{name, needed, has}
	}
	return nil
}
