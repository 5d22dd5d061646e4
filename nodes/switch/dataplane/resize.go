package dataplane

import (
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/units"
)

// PortSizes is what a port gets with another rate of its link, as in Port and Config. No
// limit of a queue is above the port's own.
type PortSizes struct {
	Buffer  buffer.Limits
	ECN     aqm.Thresholds
	AQM     algorithm.Values
	Classes []ClassSizes // as Config.Classes.List; nil without
}

// ClassSizes is PortSizes of a class.
type ClassSizes struct {
	PortClass
	AQM algorithm.Values
}

// sizesOf returns the sizes of a port: its own for 0, or those of Config.Resized[k-1].
func (s *Switch) sizesOf(port, k int) PortSizes {
	if k > 0 {
		return s.cfg.Resized[k-1]
	}
	own := &s.cfg.Ports[port]
	sizes := PortSizes{Buffer: own.Buffer, ECN: own.ECN, AQM: s.cfg.AQM.Params}
	for i := range own.Classes {
		sizes.Classes = append(sizes.Classes, ClassSizes{own.Classes[i], s.classes.cfg.AQM[i].Params})
	}
	return sizes
}

// Resize gives a port the limits of its queues, the thresholds and the parameters of AQM of
// Config.Resized[k-1], or its own for 0. What is queued beyond a limit stays. AQM policies
// begin anew. The headroom of lossless classes becomes no smaller: what it is for may be on
// its way.
func (s *Switch) Resize(now units.Time, egress, k int) {
	if s.resized == nil {
		if k == 0 {
			return
		}
		s.resized = make([]int, len(s.ports))
	}
	if s.resized[egress] == k {
		return
	}
	s.resized[egress] = k
	out, sizes := &s.ports[egress], s.sizesOf(egress, k)
	out.Buffer, out.ECN = sizes.Buffer, sizes.ECN
	out.buffer.SetLimits(sizes.Buffer)
	s.newPolicies(egress)
	for i := range sizes.Classes {
		c, to := &out.class[i], &sizes.Classes[i]
		c.Limits, c.Queue, c.ECN = to.Limits, to.Queue, to.ECN
		c.ingress.Limits.Headroom = max(c.ingress.Limits.Headroom, to.Ingress.Headroom)
	}
	s.newDepths(out)
}

// ResizeArrivals gives the lossless classes of a port the thresholds of pausing of
// Config.Resized[k-1], or their own for 0.
func (s *Switch) ResizeArrivals(ingress, k int) {
	in := &s.ports[ingress]
	for i, to := range s.sizesOf(ingress, k).Classes {
		limits := &in.class[i].ingress.Limits
		limits.XOff, limits.XOn = to.Ingress.XOff, to.Ingress.XOn
	}
}

// newPolicies gives a port fresh AQM policies for its sizes of now.
func (s *Switch) newPolicies(port int) {
	out, k := &s.ports[port], 0
	if s.resized != nil {
		k = s.resized[port]
	}
	sizes := s.sizesOf(port, k)
	policy, _ := aqm.Table.Lookup(s.cfg.AQM.Name)
	out.aqm = s.newPolicy(policy, sizes.AQM, out, sizes.Buffer.Data, sizes.ECN)
	for i := range sizes.Classes {
		c := &sizes.Classes[i]
		out.class[i].aqm = s.newPolicy(s.classes.policies[i], c.AQM, out, c.Queue, c.ECN)
	}
}

// newPolicy returns an AQM policy with parameters that have been checked.
func (s *Switch) newPolicy(a aqm.Algorithm, params algorithm.Values, out *port, queue units.Size, ecn aqm.Thresholds) aqm.Policy {
	p, err := a.New(aqm.Port{Rate: out.Rate, Queue: queue, ECN: ecn, Random: out.random}, params)
	if err != nil {
		panic("dataplane: " + err.Error())
	}
	return p
}

// newDepths has a port compare the depths of its queues with its sizes and its rate of now.
func (s *Switch) newDepths(out *port) {
	if s.domain == nil {
		return
	}
	out.depth = meter.NewDepth(s.cfg.CSIG.Depth, out.Buffer.Data, out.Rate, s.cfg.CSIG.Tau)
	if out.classPort != nil {
		for k := range out.class {
			out.class[k].depth = meter.NewDepth(s.cfg.CSIG.Depth, out.class[k].Queue, out.Rate, s.cfg.CSIG.Tau)
		}
	}
}
