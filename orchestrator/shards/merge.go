package shards

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/application"
	"github.com/csiglab/csiglab/orchestrator/backend"
)

// merge puts the outcomes of all parts together.
func merge(r *backend.Run, of []int, names []string, parts []*backend.Outcome) (*backend.Outcome, error) {
	all := &backend.Outcome{End: parts[0].End, Drained: true, Cut: &backend.Cut{}}
	if r.Wall != nil {
		all.Timing = &wall.Timing{RealTime: true}
	}
	if len(r.Plan.Programs) > 0 {
		all.Programs = make([]application.Ended, len(r.Plan.Programs))
	}
	for i, p := range parts {
		if p.End != all.End {
			return nil, fmt.Errorf("%s ended at %v, %s at %v", names[0], all.End, names[i], p.End)
		}
		all.Drained = all.Drained && p.Drained
		all.Setup, all.Wall, all.CPU = max(all.Setup, p.Setup), max(all.Wall, p.Wall), all.CPU+p.CPU
		all.Frames, all.Strays, all.Grants = all.Frames+p.Frames, all.Strays+p.Strays, all.Grants+p.Grants
		all.Ports = append(all.Ports, p.Ports...)
		all.Interfaces.TxPackets += p.Interfaces.TxPackets
		all.Interfaces.RxPackets += p.Interfaces.RxPackets
		all.Interfaces.Dropped += p.Interfaces.Dropped
		all.Counters = append(all.Counters, p.Counters...)
		all.Behind = max(all.Behind, p.Behind)
		all.Shaped = append(all.Shaped, p.Shaped...)
		if p.Timing != nil && all.Timing != nil {
			all.Timing.Merge(*p.Timing)
		}
		if len(p.Programs) > 0 && len(p.Programs) != len(all.Programs) {
			return nil, &Error{names[i], fmt.Errorf("%w: the ends of %d programs, want %d", errProtocol, len(p.Programs), len(all.Programs))}
		}
		for n := range p.Programs {
			if of[r.Plan.Programs[n].Host] == i {
				all.Programs[n] = p.Programs[n]
			}
		}
		if p.Cut != nil {
			addCut(all.Cut, p.Cut)
		}
	}
	return all, nil
}

// addCut adds what one part has counted. Each part counts one end of a cut link.
func addCut(all, part *backend.Cut) {
	all.Exchanges += part.Exchanges
	all.Bytes += part.Bytes
	all.RoundTrips = append(all.RoundTrips, part.RoundTrips...)
	for _, l := range part.Links {
		i := slices.IndexFunc(all.Links, func(o backend.CutLink) bool { return o.Link == l.Link && o.From == l.From && o.To == l.To })
		if i < 0 {
			all.Links = append(all.Links, l)
			continue
		}
		all.Links[i].Entered += l.Entered
		all.Links[i].Left += l.Left
		all.Links[i].Taken += l.Taken
		all.Links[i].Put += l.Put
	}
}
