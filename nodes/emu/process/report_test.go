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
