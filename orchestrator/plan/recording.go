package plan

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/units"
)

// Recording is what a run measures, records and captures.
type Recording struct {
	Measure  metrics.Span
	Interval units.Duration // of telemetry
	Untraced bool           // the run has no trace hash
	Traced   metrics.Traced // events to record, by flow; nil: none
	Truth    metrics.TruthChoice
	Captured []capture.Port
	// Actions are those of the congestion control, Constants its figures that follow
	// from the configuration alone, such as target_qdelay_us; both become metrics.
	Actions   []congestion.Action
	Constants []congestion.Constant
}

func newRecording(s *Shape, all *flows) (Recording, error) {
	e := s.experiment
	cc, _ := congestion.Table.Lookup(e.Hosts.CC.Name) // checkAlgorithms has found it
	traced, err := newTraced(e.Trace, all)
	return Recording{
		Measure: metrics.Span{From: units.Time(e.Measure.From), To: cmp.Or(units.Time(e.Measure.To), units.Never)}, Interval: s.interval,
		Untraced: e.Telemetry.Untraced(), Traced: traced, Truth: metrics.TruthChoice(e.Telemetry.Truth), Captured: s.captured,
		Actions: cc.Actions, Constants: cc.ConstantsOf(s.buffers.path(s.fabric.rate(0)), e.Hosts.CC.Params),
	}, err
}

// newTraced chooses the flows that are traced; nil: none. It refuses an item that no flow
// fits, and events that no chosen flow has.
func newTraced(t *experiment.Trace, all *flows) (metrics.Traced, error) {
	if t == nil || len(t.Flows) == 0 {
		return nil, nil
	}
	kinds, err := metrics.ParseEventKinds(t.Events)
	if err != nil {
		return nil, failure.At("trace.events", err)
	}
	traced, transfers := metrics.Traced{}, false
	chosen, at, err := fitting(t.Flows, all.list)
	if err != nil {
		return nil, failure.At(fmt.Sprintf("trace.flows[%d]", at), err)
	}
	for i, is := range chosen {
		if is {
			traced[int32(i)] = kinds
			transfers = transfers || i < all.transfers
		}
	}
	if only, _ := metrics.ParseEventKinds([]string{metrics.EventAck.String()}); kinds == only && !transfers {
		return nil, failure.At("trace.events", errors.New("flows of raw frames have no ACKs; want sample, send or both"))
	}
	return traced, nil
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
func traceNotes(p *Plan, seeds int) []string {
	rows := p.TracedEvents() * int64(seeds)
	if rows <= manyEvents {
		return nil
	}
	return []string{fmt.Sprintf("trace: about %d million rows in events.parquet, and about %.1f GB; trace fewer flows or events, or run fewer seeds (%d here)",
		rows/1_000_000, float64(rows)*eventBytes/1e9, seeds)}
}
