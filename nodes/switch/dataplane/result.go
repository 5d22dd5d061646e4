package dataplane

import (
	"maps"
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// Profile returns that of the switch's CSIG domain.
func (s *Switch) Profile() uint32 { return s.domain.Profile() }

// Close closes all windows and emits the totals.
func (s *Switch) Close(end units.Time) {
	t := metrics.NodeTotals{Node: int32(s.cfg.Node), Name: s.cfg.Name, Made: s.made, Postcards: s.postcards, Taken: s.taken}
	for i := range s.ports {
		p := &s.ports[i]
		packets, bytes := p.buffer.Len(), p.buffer.Bytes()
		if p.classPort != nil {
			packets, bytes = packets+p.queues.Len(), bytes+p.queues.Bytes()
			p.record.Totals.PausesReceived, p.record.Totals.PausesSent = p.pfc.frames, p.pfc.sends
		}
		p.record.Close(end, int64(packets), int64(bytes))
		t.Ports = append(t.Ports, p.record.Totals)
	}
	for i, n := range s.drops {
		t.Drops = append(t.Drops, metrics.Count{Name: dropNames[i], Packets: n})
	}
	for i, n := range s.tags {
		t.Tags = append(t.Tags, metrics.Count{Name: tagName(i), Packets: n})
	}
	for _, flow := range slices.Sorted(maps.Keys(s.samples)) {
		s.samples[flow].windows.Close()
	}
	if s.classes != nil {
		t.Memory = s.closeClasses(end)
	}
	s.sink.Emit(&t)
}

// TagNames returns the names of what switches do to tags, in the order of the counts of
// metrics.NodeTotals.
func TagNames() []string {
	names := make([]string, tagOutcomes)
	for i := range names {
		names[i] = tagName(i)
	}
	return names
}

func tagName(i int) string {
	if i < int(csig.Outcomes) {
		return csig.Outcome(i).String()
	}
	return tagNames[i]
}
