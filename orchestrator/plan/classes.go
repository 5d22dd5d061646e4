package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// dataClasses is the data classes of a variant.
type dataClasses struct {
	list     []class.Class
	given    []experiment.Class // as list; that of class Default may be one that the file leaves out
	at       []int              // index in the experiment's list; -1
	marking  []algorithm.Choice // AQM by class
	switches dataplane.Classes
}

// newClasses returns the data classes of an experiment, nil if it needs none: there is one
// class, which may lose packets, and ports share no memory. base is the queues of one class.
func newClasses(g *topologies.Graph, classes []experiment.Class, base buffers) (*dataClasses, error) {
	links := base.links
	if len(classes) == 0 && links.Buffer.Shared == 0 {
		return nil, nil
	}
	c := &dataClasses{}
	order := len(classes)
	first := experiment.Class{Name: experiment.DefaultClass, Weight: 1}
	at := slices.IndexFunc(classes, func(c experiment.Class) bool { return c.Name == experiment.DefaultClass })
	if at >= 0 {
		first, order = classes[at], at
	}
	c.add(first, at, order)
	for i, given := range classes {
		if i != at {
			c.add(given, i, i)
		}
	}
	for k := range c.given {
		policy, err := c.aqm(g, k, base)
		if err != nil {
			return nil, err
		}
		c.marking = append(c.marking, policy)
	}
	c.switches = dataplane.Classes{List: c.list, AQM: c.marking, Quantum: links.MTU}
	if c.lossless() {
		c.switches.Watchdog = links.PFC.Deadlock
		if err := checkFlowControl(g, base.sizing); err != nil {
			return nil, err
		}
	}
	if b := links.Buffer; b.Shared != 0 {
		c.switches.Memory = &buffer.MemoryConfig{Shared: b.Shared, Reserved: cmp.Or(b.Reserved, links.MTU), Alpha: b.Alpha}
	}
	return c, nil
}

func (c *dataClasses) add(given experiment.Class, at, order int) {
	c.list = append(c.list, class.Class{
		Name: given.Name, DSCP: uint8(given.Codepoint()), Strict: given.Strict, Order: order, Weight: given.Weight, Lossless: given.Lossless,
	})
	c.given, c.at = append(c.given, given), append(c.at, at)
}

func (c *dataClasses) lossless() bool { return c != nil && class.Lossless(c.list) != 0 }

// of returns what the sizes of a class follow from: its own queue, thresholds and AQM.
func (c *dataClasses) of(k int, s sizing) sizing {
	given := &c.given[k]
	s.links.Queue = cmp.Or(given.Queue, s.links.Queue)
	if given.ECN != nil {
		s.links.ECN = *given.ECN
	}
	if given.AQM != nil {
		s.links.AQM = *given.AQM
	}
	return s
}

// aqm chooses the AQM policy of a class.
func (c *dataClasses) aqm(g *topologies.Graph, k int, base buffers) (algorithm.Choice, error) {
	given := &c.given[k]
	if given.Queue == 0 && given.ECN == nil && given.AQM == nil {
		return base.marking, nil
	}
	policy, err := c.of(k, base.sizing).newMarking(g, given.Lossless)
	if cause, ok := failure.WithoutPlace(err); ok {
		return policy, failure.At(fmt.Sprintf("classes[%d]", c.at[k]), cause)
	}
	return policy, err
}

// checkFlowControl refuses thresholds of flow control that make no sense at some rate.
func checkFlowControl(g *topologies.Graph, s sizing) error {
	for id := range g.Links {
		l := &g.Links[id]
		if in := s.ingress(l, l.Rate); in.XOn > in.XOff {
			return failure.At("links.pfc.xon", fmt.Errorf("%v lies above the XOFF of a port of %v, %v", in.XOn, l.Rate, in.XOff))
		}
	}
	return nil
}

// sizes returns the classes of a switch port at a rate of its link.
func (c *dataClasses) sizes(base sizing, l *topologies.Link, rate units.Rate, lastHop bool) []dataplane.ClassSizes {
	part := share{rate, l.Rate}
	var list []dataplane.ClassSizes
	for k := range c.list {
		s := c.of(k, base)
		limits, sizes := s.scaled(part, lastHop)
		p := dataplane.PortClass{Limits: limits, Queue: sizes.queue, ECN: sizes.thresholds}
		if c.switches.Memory != nil && s.links.Queue == 0 {
			p.Limits = buffer.Limits{Data: units.NoLimit}
			if s.links.TrimThreshold != 0 {
				p.Limits = buffer.Limits{Data: sizes.trimAt(part.links(s.links), lastHop), Hard: units.NoLimit}
			}
		}
		if c.list[k].Lossless {
			p.Limits, p.Ingress = buffer.Limits{}, s.ingress(l, rate)
		}
		list = append(list, dataplane.ClassSizes{PortClass: p, AQM: part.aqm(c.marking[k])})
	}
	return list
}

// transfers returns the class of each transfer: the last one that matches it. It refuses a class
// that matches no transfer, and names that no flow has.
func (c *dataClasses) transfers(e *experiment.Experiment, all *flows) ([]uint8, error) {
	of := make([]uint8, all.transfers)
	for k := range c.list {
		m := c.given[k].Match
		if m == nil {
			continue
		}
		at := fmt.Sprintf("classes[%d].match", c.at[k])
		listed, i, err := fitting(m.Flows, all.ruled())
		if err != nil {
			return nil, failure.At(fmt.Sprintf("%s.flows[%d]", at, i), err)
		}
		var items []string
		for i, name := range m.Groups {
			if _, _, err := fitting(e.Measure.Groups[name], all.ruled()); err != nil {
				return nil, failure.At(fmt.Sprintf("%s.groups[%d]", at, i), err)
			}
			items = append(items, e.Measure.Groups[name]...)
		}
		grouped, _, _ := fitting(items, all.ruled())
		ends, used := flowMatch{Src: m.Src, Dst: m.Dst, Hosts: m.Hosts, Jobs: m.Jobs}, false
		for i := range of {
			if (len(m.Flows) == 0 || listed[i]) && (len(items) == 0 || grouped[i]) && ends.flow(&all.list[i], true) {
				of[i], used = uint8(k), true
			}
		}
		if !used {
			return nil, failure.At(at, errors.New("no transfer fits all of it"))
		}
	}
	return of, nil
}
