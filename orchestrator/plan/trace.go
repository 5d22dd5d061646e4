package plan

import (
	"errors"
	"fmt"
	"path"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/failure"
)

// newTraced returns the map for the events to record, to which trace adds the flows once
// all of them have names. It is nil if the experiment traces nothing.
func newTraced(t *experiment.Trace) metrics.Traced {
	if t == nil || len(t.Flows) == 0 {
		return nil
	}
	return metrics.Traced{}
}

// trace chooses the flows of the plan that are traced. It refuses an item that no flow
// fits, and events that no chosen flow has.
func (s *Shape) trace(p *Plan) error {
	t := s.experiment.Trace
	if p.Traced == nil {
		return nil
	}
	kinds, err := metrics.ParseEventKinds(t.Events)
	if err != nil {
		return failure.At("trace.events", err)
	}
	transfers := false
	for i, item := range t.Flows {
		fits, err := flowFilter(item, p.Flows)
		if err != nil {
			return failure.At(fmt.Sprintf("trace.flows[%d]", i), err)
		}
		for k := range p.Flows {
			if fits(&p.Flows[k]) {
				p.Traced[p.Flows[k].Flow] = kinds
				transfers = transfers || k < p.Transfers
			}
		}
	}
	if only, _ := metrics.ParseEventKinds([]string{metrics.EventAck.String()}); kinds == only && !transfers {
		return failure.At("trace.events", errors.New("flows of raw frames have no ACKs; want sample, send or both"))
	}
	return nil
}

// flowFilter returns the test of an item of trace.flows: a name, a pattern, a number of a
// flow or a range of them. An item that no flow fits is an error.
func flowFilter(item string, flows []metrics.FlowInfo) (fits func(*metrics.FlowInfo) bool, err error) {
	first, last, numbers, err := experiment.ParseFlowNumbers(item)
	switch {
	case err != nil:
		return nil, err
	case numbers && last >= len(flows):
		return nil, fmt.Errorf("there is no flow %d; flows go from 0 to %d", max(first, len(flows)), len(flows)-1)
	case numbers:
		return func(f *metrics.FlowInfo) bool { return int(f.Flow) >= first && int(f.Flow) <= last }, nil
	}
	found := false
	fits = func(f *metrics.FlowInfo) bool {
		ok, _ := path.Match(item, f.Name) // the decoder has checked the pattern
		return ok
	}
	for i := range flows {
		found = found || fits(&flows[i])
	}
	if !found {
		return nil, unknownFlow(item, flows)
	}
	return fits, nil
}

const (
	// acksPerData is about how many ACKs a data packet causes, with the ACKs that
	// packets ask for at the end of a window.
	acksPerData = 0.8
	// manyEvents is how many rows of events.parquet deserve a note.
	manyEvents = 10_000_000
	// eventBytes is about what a row of events.parquet takes on disk.
	eventBytes = 9
)

// TracedEvents returns about how many events of a run will be recorded. What programs do
// is not known.
func (p *Plan) TracedEvents() int64 {
	var events float64
	add := func(flow int32, frames int64, acks bool) {
		kinds, n := p.Traced[flow], float64(frames)
		if kinds.Has(metrics.EventSend) {
			events += n
		}
		if kinds.Has(metrics.EventAck) && acks {
			events += n * acksPerData
		}
		if kinds.Has(metrics.EventSample) && p.CSIG != nil {
			events += n * acksPerData
		}
	}
	if len(p.Traced) == 0 {
		return 0
	}
	for _, f := range p.Flows[:p.Transfers] {
		add(f.Flow, f.Packets, true)
	}
	for _, pair := range p.Pairs {
		for _, stream := range p.Streams() {
			if stream.Source == int(pair.Source) && stream.Destination == int(pair.Destination) {
				add(pair.Flow, stream.Frames, false)
			}
		}
	}
	return int64(events)
}

// untracedNote is of runs without trace hash.
const untracedNote = "no trace hash: telemetry.trace_hash is none, so that nothing tells whether two runs are the same packet by packet"

// traceNotes says how large the table of events will be, if it is large.
func (s *Shape) traceNotes(p *Plan) []string {
	seeds := len(s.experiment.Seeds)
	rows := p.TracedEvents() * int64(seeds)
	if rows <= manyEvents {
		return nil
	}
	return []string{fmt.Sprintf("trace: about %d million rows in events.parquet, and about %.1f GB; trace fewer flows or events, or run fewer seeds (%d here)",
		rows/1_000_000, float64(rows)*eventBytes/1e9, seeds)}
}
