package process

import (
	"encoding/gob"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/stream"
)

// flows keeps the flows of windows, and counts what was dropped.
type flows struct {
	ids     []int32
	dropped int64
}

func (f *flows) Consume(b *metrics.Batch) {
	for _, w := range b.Flows {
		f.ids = append(f.ids, w.Flow)
	}
	f.dropped += b.Dropped
}

// Records cross the file as they come, and the report after them.
func TestRecordsComeBeforeTheReport(t *testing.T) {
	const records = 10_000
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		defer w.Close()
		s := &sender{encoder: gob.NewEncoder(w)}
		b := stream.NewBuffer(3, stream.Block, s)
		for i := range records {
			b.Emit(&metrics.FlowWindow{Flow: int32(i)})
		}
		b.Close()
		if err := errors.Join(s.err, s.encoder.Encode(message{Report: &Report{Sent: 7}})); err != nil {
			t.Error(err)
		}
	}()
	var got flows
	report, err := ReadReport(r, &got)
	if err != nil || report.Sent != 7 || got.dropped != 0 {
		t.Fatalf("report %+v, %v, %d records dropped", report, err, got.dropped)
	}
	want := make([]int32, records)
	for i := range want {
		want[i] = int32(i)
	}
	if diff := cmp.Diff(want, got.ids); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// Under clock wall a node whose reader is slow goes on: what finds no room in the bounded
// buffer is dropped, and its number crosses the file. The totals are not among it.
func TestDroppedRecordsAreCountedAcrossTheFile(t *testing.T) {
	const records = 200_000 // the buffer has room for 65,536, the pipe for 64 KiB
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	emitted := make(chan struct{})
	go func() {
		defer w.Close()
		s := &sender{encoder: gob.NewEncoder(w)}
		b := stream.NewBuffer(3, stream.Drop, s)
		for i := range records {
			b.Emit(&metrics.FlowWindow{Flow: int32(i)})
		}
		close(emitted)
		b.Finish()
		b.Emit(&metrics.NodeTotals{Name: "h3"})
		b.Close()
		if err := errors.Join(s.err, s.encoder.Encode(message{Report: &Report{Sent: 7}})); err != nil {
			t.Error(err)
		}
	}()
	<-emitted // nothing has been read
	var got flows
	totals := metrics.NewCollector(4)
	report, err := ReadReport(r, metrics.Consumers{&got, totals})
	if err != nil || report.Sent != 7 {
		t.Fatalf("report %+v, %v", report, err)
	}
	if got.dropped == 0 || int(got.dropped)+len(got.ids) != records || totals.Dropped() != got.dropped {
		t.Errorf("%d records arrived and %d were dropped of %d; the collector has counted %d", len(got.ids), got.dropped, records, totals.Dropped())
	}
	if name := totals.Totals()[3].Name; name != "h3" {
		t.Errorf("totals of %q, want those of h3", name)
	}
}

// A process that ends without a report leaves its records and io.EOF.
func TestRecordsWithoutAReport(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		(&sender{encoder: gob.NewEncoder(w)}).Consume(&metrics.Batch{Flows: []metrics.FlowWindow{{Flow: 5}}})
		w.Close()
	}()
	var got flows
	if report, err := ReadReport(r, &got); !errors.Is(err, io.EOF) || report != nil || len(got.ids) != 1 {
		t.Errorf("report %v, %v, after %d records, want io.EOF after 1", report, err, len(got.ids))
	}
}

// A node whose reader is gone goes on to its end: nothing blocks.
func TestSenderWithoutAReader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	s := &sender{encoder: gob.NewEncoder(w)}
	b := stream.NewBuffer(0, stream.Block, s)
	for range 100_000 {
		b.Emit(&metrics.FlowWindow{})
	}
	b.Close()
	if s.err == nil {
		t.Error("no error without a reader")
	}
}
