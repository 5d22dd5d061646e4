package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
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
// class, which may lose packets, and ports share no memory.
func newClasses(g *topologies.Graph, e *experiment.Experiment, s sizing, marking algorithm.Choice) (*dataClasses, error) {
	if len(e.Classes) == 0 && e.Links.Buffer.Shared == 0 {
		return nil, nil
	}
	c := &dataClasses{}
	order := len(e.Classes)
	first := experiment.Class{Name: experiment.DefaultClass, Weight: 1}
	at := slices.IndexFunc(e.Classes, func(c experiment.Class) bool { return c.Name == experiment.DefaultClass })
	if at >= 0 {
		first, order = e.Classes[at], at
	}
	c.add(first, at, order)
	for i, given := range e.Classes {
		if i != at {
			c.add(given, i, i)
		}
	}
	for k := range c.given {
		policy, err := c.aqm(g, e.Links, s, k, marking)
		if err != nil {
			return nil, err
		}
		c.marking = append(c.marking, policy)
	}
	c.switches = dataplane.Classes{List: c.list, AQM: c.marking, Quantum: e.Links.MTU}
	if c.lossless() {
		c.switches.Watchdog = e.Links.PFC.Deadlock
		if err := checkFlowControl(g, e.Links, s); err != nil {
			return nil, err
		}
	}
	if b := e.Links.Buffer; b.Shared != 0 {
		reserved := b.Reserved
		if reserved == 0 {
			reserved = e.Links.MTU
		}
		c.switches.Memory = &buffer.MemoryConfig{Shared: b.Shared, Reserved: reserved, Alpha: b.Alpha}
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

// links returns the links as a class sees them: with its own queue, thresholds and AQM.
func (c *dataClasses) links(l experiment.Links, k int) experiment.Links {
	given := &c.given[k]
	if given.Queue != 0 {
		l.Queue = given.Queue
	}
	if given.ECN != nil {
		l.ECN = *given.ECN
	}
	if given.AQM != nil {
		l.AQM = *given.AQM
	}
	return l
}

// aqm chooses the AQM policy of a class.
func (c *dataClasses) aqm(g *topologies.Graph, l experiment.Links, s sizing, k int, marking algorithm.Choice) (algorithm.Choice, error) {
	given := &c.given[k]
	if given.Queue == 0 && given.ECN == nil && given.AQM == nil {
		return marking, nil
	}
	s.links = c.links(l, k)
	policy, err := newMarking(g, endless(s.links, given.Lossless), s)
	if cause, ok := failure.WithoutPlace(err); ok {
		return policy, failure.At(fmt.Sprintf("classes[%d]", c.at[k]), cause)
	}
	return policy, err
}

// endless returns links whose queues have no end if they are those of a lossless class.
func endless(l experiment.Links, lossless bool) experiment.Links {
	if lossless {
		l.Queue, l.TrimThreshold = 0, 0
	}
	return l
}

// checkFlowControl refuses thresholds of flow control that make no sense at some rate.
func checkFlowControl(g *topologies.Graph, l experiment.Links, s sizing) error {
	for id := range g.Links {
		if in := s.ingress(&g.Links[id], g.Links[id].Rate, l.PFC); in.XOn > in.XOff {
			return failure.At("links.pfc.xon", fmt.Errorf("%v lies above the XOFF of a port of %v, %v", in.XOn, g.Links[id].Rate, in.XOff))
		}
	}
	return nil
}

// port returns the classes of a switch port at a rate of its link.
func (c *dataClasses) port(e *experiment.Experiment, s sizing, l *topologies.Link, rate units.Rate, lastHop bool) []dataplane.ClassSizes {
	part := share{rate, l.Rate}
	var list []dataplane.ClassSizes
	for k := range c.list {
		links := c.links(e.Links, k)
		s.links = links
		own := s.port(l.Rate)
		s.links = part.links(links)
		sizes := s.port(rate)
		p := dataplane.PortClass{
			Limits: part.limits(own.limits(links, lastHop), sizes.limits(s.links, lastHop), links.MTU), Queue: sizes.queue, ECN: sizes.thresholds,
		}
		if c.switches.Memory != nil && s.links.Queue == 0 {
			p.Limits = buffer.Limits{Data: units.NoLimit}
			if s.links.TrimThreshold != 0 {
				p.Limits = buffer.Limits{Data: sizes.trimAt(s.links, lastHop), Hard: units.NoLimit}
			}
		}
		if c.list[k].Lossless {
			p.Limits, p.Ingress = buffer.Limits{}, s.ingress(l, rate, e.Links.PFC)
		}
		list = append(list, dataplane.ClassSizes{PortClass: p, AQM: part.aqm(c.marking[k])})
	}
	return list
}

// assignClasses gives the hosts the classes, and each transfer its own. It refuses a class
// that matches no transfer, and names that no flow has.
func (s *Shape) assignClasses(p *Plan, hosts []host.Config) error {
	c := s.data
	if c == nil {
		return nil
	}
	p.Classes = c.list
	p.Format.PFC = c.lossless()
	for h := range hosts {
		hosts[h].Classes = c.list
	}
	of, err := c.transfers(s.experiment, p)
	if err != nil {
		return err
	}
	for h := range hosts {
		for i := range hosts[h].Sends {
			hosts[h].Sends[i].Class = of[hosts[h].Sends[i].ID]
		}
	}
	return nil
}

// transfers returns the class of each transfer: the last one that matches it.
func (c *dataClasses) transfers(e *experiment.Experiment, p *Plan) ([]uint8, error) {
	of := make([]uint8, p.Transfers)
	for k := range c.list {
		m := c.given[k].Match
		if m == nil {
			continue
		}
		at := fmt.Sprintf("classes[%d].match", c.at[k])
		fits, err := classFilter(e, m, at, p.Flows)
		if err != nil {
			return nil, err
		}
		used := false
		for i := range of {
			if fits(&p.Flows[i]) {
				of[i], used = uint8(k), true
			}
		}
		if !used {
			return nil, failure.At(at, errors.New("no transfer fits all of it"))
		}
	}
	return of, nil
}

// classFilter returns the test of a match. A name that no flow has is an error.
func classFilter(e *experiment.Experiment, m *experiment.ClassMatch, at string, flows []metrics.FlowInfo) (func(*metrics.FlowInfo) bool, error) {
	var lists [][]func(*metrics.FlowInfo) bool // of flows and groups
	var tests []func(*metrics.FlowInfo) bool
	for i, item := range m.Flows {
		fits, err := flowFilter(item, flows)
		if err != nil {
			return nil, failure.At(fmt.Sprintf("%s.flows[%d]", at, i), err)
		}
		tests = append(tests, fits)
	}
	if len(tests) > 0 {
		lists = append(lists, tests)
	}
	tests = nil
	for i, name := range m.Groups {
		for _, item := range e.Measure.Groups[name] {
			fits, err := flowFilter(item, flows)
			if err != nil {
				return nil, failure.At(fmt.Sprintf("%s.groups[%d]", at, i), err)
			}
			tests = append(tests, fits)
		}
	}
	if len(tests) > 0 {
		lists = append(lists, tests)
	}
	in := func(list []int, n int32) bool { return len(list) == 0 || slices.Contains(list, int(n)) }
	return func(f *metrics.FlowInfo) bool {
		for _, tests := range lists {
			if !slices.ContainsFunc(tests, func(fits func(*metrics.FlowInfo) bool) bool { return fits(f) }) {
				return false
			}
		}
		return in(m.Src, f.Src) && in(m.Dst, f.Dst) && in(m.Hosts, f.Src) && in(m.Hosts, f.Dst) && in(m.Jobs, f.Job)
	}, nil
}
