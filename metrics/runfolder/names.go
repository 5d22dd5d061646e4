package runfolder

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// names are what the rows of one run are called by.
type names struct {
	*lookup
	variant string
	seed    uint64
	window  units.Duration // of the records of windows; Absent: the telemetry interval
	// err is the first name that the manifest does not have.
	err error
}

// lookup is the tables of a manifest by number, as a variant has them. It does not
// change once it is made.
type lookup struct {
	formats  Variant // the variant with its formats alone
	signals  []string
	nodes    map[int32]string
	flows    map[int32]flowNames
	jobs     map[int32]*Job
	ports    map[portKey]portNames
	locators map[uint32]locatorNames
}

// portKey identifies a port within a variant.
type portKey struct{ Node, Port int32 }

type flowNames struct {
	*Flow
	src, dst string // hosts
}

type portNames struct {
	*Port
	peer string
}

// locatorNames is what the ports of a locator have in common; the rest is Absent or "".
type locatorNames struct {
	Format                                        string // of the tags that have the locator
	Shared, Node, Port                            int32
	NodeName, PortName, PeerName, Tier, Direction string
}

func newLookup(m *Manifest, variant string) *lookup {
	nodes, ports, flows, locators, jobs := m.NodesOf(variant), m.PortsOf(variant), m.FirstFlows(variant), m.locatorsOf(variant), m.JobsOf(variant)
	l := &lookup{
		formats: m.formatsOf(variant),
		signals: m.Signals, nodes: make(map[int32]string, len(nodes)),
		ports: make(map[portKey]portNames, len(ports)), locators: make(map[uint32]locatorNames, len(locators)),
		jobs: make(map[int32]*Job, len(jobs)),
	}
	for i := range jobs {
		l.jobs[jobs[i].Job] = &jobs[i]
	}
	for _, n := range nodes {
		l.nodes[n.Node] = n.Name
	}
	l.name(flows)
	byName := make(map[string]portNames, len(ports))
	for i := range ports {
		p := portNames{&ports[i], l.nodes[ports[i].Peer]}
		l.ports[portKey{p.Node, p.Port.Port}], byName[p.Name] = p, p
	}
	for i := range locators {
		l.locators[uint32(locators[i].Locator)] = l.common(locators[i].Ports, byName)
	}
	return l
}

// name makes the flows those given.
func (l *lookup) name(flows []Flow) {
	l.flows = make(map[int32]flowNames, len(flows))
	for i := range flows {
		f := &flows[i]
		l.flows[f.Flow] = flowNames{f, l.nodes[f.Src], l.nodes[f.Dst]}
	}
}

// withFlows returns the lookup of a run whose flows are not the variant's.
func (l *lookup) withFlows(flows []Flow) *lookup {
	own := *l
	own.name(flows)
	return &own
}

// common returns what the ports of a locator have in common.
func (l *lookup) common(ports []string, byName map[string]portNames) locatorNames {
	nothing := locatorNames{Shared: int32(len(ports)), Node: metrics.Absent, Port: metrics.Absent}
	c := nothing
	for i, name := range ports {
		p, ok := byName[name]
		if !ok {
			return nothing // not of this fabric
		}
		one := locatorNames{"", c.Shared, p.Node, p.Port.Port, l.nodes[p.Node], name, p.peer, p.Tier, p.Direction}
		if i == 0 {
			c = one
			continue
		}
		c.Node, c.Port = alike(c.Node, one.Node, metrics.Absent), alike(c.Port, one.Port, metrics.Absent)
		c.NodeName, c.PortName, c.PeerName = alike(c.NodeName, one.NodeName, ""), alike(c.PortName, one.PortName, ""), alike(c.PeerName, one.PeerName, "")
		c.Tier, c.Direction = alike(c.Tier, one.Tier, ""), alike(c.Direction, one.Direction, "")
	}
	return c
}

// alike returns what two values have in common: nothing if they differ.
func alike[T comparable](a, b, nothing T) T {
	if a != b {
		return nothing
	}
	return a
}

func (n *names) node(node int32) string {
	name, ok := n.nodes[node]
	if !ok {
		n.missing(fmt.Errorf("node %d is not in the manifest", node))
	}
	return name
}

// nodeText names a node in an error.
func (n *names) nodeText(node int32) string {
	if name, ok := n.nodes[node]; ok {
		return name
	}
	return fmt.Sprint(node)
}

// port returns the names of a port; of one that the manifest does not have, those of
// an empty Port.
func (n *names) port(node, port int32) portNames {
	p, ok := n.ports[portKey{node, port}]
	if !ok {
		n.missing(fmt.Errorf("node %s: port %d is not in the manifest", n.nodeText(node), port))
		p.Port = &Port{}
	}
	return p
}

// flow returns the names of a flow that a node has recorded; of one that the manifest
// does not have, those of an empty Flow.
func (n *names) flow(node, flow int32) flowNames {
	f, ok := n.flows[flow]
	if !ok {
		n.missing(fmt.Errorf("node %s: flow %d is not in the manifest", n.nodeText(node), flow))
		f.Flow = &Flow{}
	}
	return f
}

// signal returns the name of a type of signal.
func (n *names) signal(number uint8) string {
	if int(number) >= len(n.signals) {
		n.missing(fmt.Errorf("signal %d is not in the manifest", number))
		return ""
	}
	return n.signals[number]
}

// locator returns what is known of a locator. One without ports is in no table: locator
// 0, which no hop has written, and one of a damaged tag.
func (n *names) locator(locator uint32) locatorNames {
	l, ok := n.locators[locator]
	if !ok {
		l = n.common(nil, nil)
	}
	l.Format = n.formats.Format(locator)
	return l
}

func (n *names) missing(err error) {
	if n.err == nil {
		n.err = err
	}
}
