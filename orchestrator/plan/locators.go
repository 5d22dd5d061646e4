package plan

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Locator is a locator of a fabric and the switch ports that it stands for.
type Locator struct {
	Locator uint32   // as in records: with metrics.SecondFormat, if it is of that format
	Ports   []string // see PortName; in order of node and port
}

// Shared reports whether the locator stands for several ports, so that a tag with it
// does not say which of them wrote the signal.
func (l *Locator) Shared() bool { return len(l.Ports) > 1 }

// LocatorTable is the locators of a fabric.
type LocatorTable struct {
	Format   csig.Format // of a fabric of two formats; none elsewhere
	Scheme   csig.SchemeKind
	Ports    int       // switch ports, all of which have a locator
	Locators []Locator // ascending
	// Remedy is the setting with which no port shares its locator, such as
	// csig.locators: registry. It is empty if none shares one now.
	Remedy string
}

// SharedPorts returns how many ports share their locators with others, and how many
// locators these are.
func (t *LocatorTable) SharedPorts() (ports, locators int) {
	for i := range t.Locators {
		if l := &t.Locators[i]; l.Shared() {
			ports, locators = ports+len(l.Ports), locators+1
		}
	}
	return ports, locators
}

// FormatName returns the name of the format, "" in a fabric of one.
func (t *LocatorTable) FormatName() string {
	if t.Format == csig.FormatNone {
		return ""
	}
	return t.Format.String()
}

// PortName names a port of a node by the node and its peer, such as tor0-agg0 for the
// port of tor0 that leads to agg0. Where other links join the same two nodes it has the
// port's number, from 0: tor0:1-agg0.
func PortName(g *topologies.Graph, adjacency [][]topologies.Adjacent, node, port int) string {
	peer, links := adjacency[node][port].Peer.Node, 0
	for _, a := range adjacency[node] {
		if a.Peer.Node == peer {
			links++
		}
	}
	if links > 1 {
		return fmt.Sprintf("%s:%d-%s", g.Nodes[node].Name, port, g.Nodes[peer].Name)
	}
	return g.Nodes[node].Name + "-" + g.Nodes[peer].Name
}

// Port is a port of a fabric, and the direction of its link that begins there.
type Port struct {
	topologies.End
	Peer      topologies.End
	Link      int    // in Graph.Links
	Name      string // see PortName
	Tier      string // of the port's node: host, tor, agg, core or other
	Direction string // up or down
	Rate      units.Rate
}

// Ports returns all ports of a graph, those of hosts included, in order of the links: the
// port of the link's end A, then that of B.
func Ports(g *topologies.Graph) []Port {
	adjacency := g.Adjacency()
	ports := make([]Port, 0, 2*len(g.Links))
	for id, l := range g.Links {
		for _, ends := range [][2]topologies.End{{l.A, l.B}, {l.B, l.A}} {
			node := &g.Nodes[ends[0].Node]
			p := Port{
				End: ends[0], Peer: ends[1], Link: id, Rate: l.Rate,
				Name: PortName(g, adjacency, ends[0].Node, ends[0].Port),
				Tier: node.Tier.String(), Direction: direction(g, ends[0].Node, ends[1].Node).String(),
			}
			if node.Kind == topologies.Switch {
				p.Tier = locatorTier(node.Tier).String()
			}
			ports = append(ports, p)
		}
	}
	return ports
}

// locatorsKey returns the key of a format's locators.
func locatorsKey(second bool) string {
	if second {
		return "csig.second.locators"
	}
	return "csig.locators"
}

// newLabels gives each switch port its locator. second says that they are of the second
// format of two.
func newLabels(f *fabric, domain *csig.Domain, second bool) (*labels, error) {
	places := places(&f.wiring)
	directory, err := domain.Locators().Assign(places)
	if err != nil {
		return nil, failure.At(locatorsKey(second), err)
	}
	t := &LocatorTable{Scheme: domain.Config().Locators.Kind, Ports: len(places)}
	label := uint32(0)
	if second {
		label = metrics.SecondFormat
	}
	if second || domain.Second() != nil {
		t.Format = domain.Format()
	}
	ports := map[uint16][]string{}
	for i, locator := range directory.Locators {
		ports[locator] = append(ports[locator], f.portName(f.ports[i].End))
	}
	for locator, names := range ports {
		t.Locators = append(t.Locators, Locator{label | uint32(locator), names})
	}
	slices.SortFunc(t.Locators, func(a, b Locator) int { return int(a.Locator) - int(b.Locator) })
	if shared, _ := t.SharedPorts(); shared > 0 {
		t.Remedy = remedy(domain, places, second)
	}
	return &labels{domain.Format(), directory.Locators, t}, nil
}

// remedy returns the setting with which each port has a locator of its own: other
// widths, which keep the meaning of locators, a registry, or the wide format, if tags have
// one format alone.
func remedy(domain *csig.Domain, ports []csig.Place, second bool) string {
	c, key, formats := domain.Config(), locatorsKey(second), []csig.Format{domain.Format(), csig.FormatWide}
	if second || c.Second != nil {
		formats = formats[:1]
	}
	for _, format := range formats {
		w := fittingWidths(ports, csig.LocatorBits(format, c.Dialect)) // none: the same as structured
		for _, s := range []struct {
			text     string
			locators csig.LocatorConfig
		}{
			{key + ": structured", csig.LocatorConfig{}},
			{fmt.Sprintf("%s: {scheme: structured, widths: {tier: %d, direction: %d, switch: %d, port: %d}}", key, w.Tier, w.Dir, w.Switch, w.Port), csig.LocatorConfig{Widths: w}},
			{key + ": registry", csig.LocatorConfig{Kind: csig.Registry}},
		} {
			d, err := csig.NewDomain(csig.Config{Format: format, Dialect: c.Dialect, Locators: s.locators})
			if err != nil {
				continue
			}
			directory, err := d.Locators().Assign(ports)
			if err != nil || directory.Shared() > 0 {
				continue
			}
			if format != c.Format {
				return fmt.Sprintf("csig.format: %v and %s", format, s.text)
			}
			return s.text
		}
	}
	return "" // more ports than a wide tag has locators
}

// fittingWidths returns the least widths of a structured locator in which no number of
// the ports is folded. The bits that are left go to the port. It returns no widths if
// the locator is too short.
func fittingWidths(ports []csig.Place, length int) csig.Widths {
	w := csig.Widths{Dir: 1}
	for _, p := range ports {
		w.Tier = max(w.Tier, bits.Len(uint(p.Tier)))
		w.Switch = max(w.Switch, bits.Len(uint(p.Switch)))
		w.Port = max(w.Port, bits.Len(uint(p.Port)))
	}
	rest := length - w.Tier - w.Dir - w.Switch - w.Port
	if rest < 0 {
		return csig.Widths{}
	}
	w.Port += rest
	return w
}

// locatorConfig returns the scheme of an experiment.
func locatorConfig(f *fabric, path string, l experiment.Locators) (c csig.LocatorConfig, err error) {
	c.Kind = l.Scheme
	if w := l.Widths; w != nil {
		c.Widths = csig.Widths{Tier: w.Tier, Dir: w.Direction, Switch: w.Switch, Port: w.Port}
	}
	if len(l.Labels) == 0 {
		return c, nil
	}
	names, places := f.switchNames(), places(&f.wiring)
	labelled, left := make([]bool, len(places)), len(places)
	for i, label := range l.Labels {
		at := fmt.Sprintf("%s.labels[%d]", path, i)
		node := f.graph.Hosts() + slices.Index(names, label.Switch)
		if node < f.graph.Hosts() {
			return c, failure.At(at+".switch", unknownSwitch(label.Switch, names))
		}
		index := f.first[node] + label.Port
		if ports := len(f.adjacency[node]); label.Port < 0 || label.Port >= ports || labelled[index] {
			return c, failure.At(at+".port", fmt.Errorf("%s has no port %d; ports go from 0 to %d", label.Switch, label.Port, ports-1))
		}
		c.Labels = append(c.Labels, csig.Label{Locator: uint16(label.Locator), Place: places[index]})
		labelled[index] = true
		left--
	}
	if i := slices.Index(labelled, false); i >= 0 {
		p := f.ports[i].End
		return c, failure.At(path+".labels", fmt.Errorf("%s has no label: port %d of %s; a registry with labels needs one for each of the %d switch ports, and %d are missing",
			f.portName(p), p.Port, f.graph.Nodes[p.Node].Name, len(places), left))
	}
	return c, nil
}

// unknownSwitch returns the error of a name that no switch has.
func unknownSwitch(name string, names []string) error {
	hint := spelling.Hint(spelling.Nearest(name, names))
	return fmt.Errorf("no switch is called %q; they go from %s to %s%s", name, names[0], names[len(names)-1], hint)
}
