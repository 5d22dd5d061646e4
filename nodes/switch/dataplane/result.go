package dataplane

import (
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// Profile returns that of the switch's CSIG domain.
func (s *Switch) Profile() uint32 { return s.domain.Profile() }

// Result closes all windows and returns what was measured.
func (s *Switch) Result(end units.Time) metrics.NodeResult {
	r := metrics.NodeResult{Node: int32(s.cfg.Node), Name: s.cfg.Name}
	for i := range s.ports {
		p := &s.ports[i]
		p.record.Close(end, int64(p.buffer.Len()), int64(p.buffer.Bytes()))
		r.Ports = append(r.Ports, p.record.Totals)
		r.PortWindows = append(r.PortWindows, p.record.Windows...)
	}
	for i, n := range s.drops {
		r.Drops = append(r.Drops, metrics.Count{Name: dropNames[i], Packets: n})
	}
	for i, n := range s.tags {
		r.Tags = append(r.Tags, metrics.Count{Name: tagName(i), Packets: n})
	}
	flows := make([]uint32, 0, len(s.samples))
	for flow := range s.samples {
		flows = append(flows, flow)
	}
	slices.Sort(flows)
	for _, flow := range flows {
		r.SignalWindows = append(r.SignalWindows, s.samples[flow].Windows...)
	}
	return r
}

func tagName(i int) string {
	switch i {
	case tagPassed:
		return "passed"
	case tagStripped:
		return "stripped"
	case tagTerminated:
		return "terminated"
	case tagRefused:
		return "refused"
	}
	return csig.Outcome(i).String()
}
