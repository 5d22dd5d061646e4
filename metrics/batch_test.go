package metrics_test

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/tables"
	"github.com/csiglab/csiglab/units"
)

// full returns a batch of node 3 with one record in every list, whose numbers are
// not zero.
func full(t testing.TB) *metrics.Batch {
	t.Helper()
	b := &metrics.Batch{Node: 3, Dropped: 7}
	v := reflect.ValueOf(b).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Type() != reflect.TypeFor[[]metrics.Rows]() {
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			fill(f.Index(0))
		}
	}
	for _, table := range tables.All() {
		if table.Of(b).Len() == 0 { // Rows has them
			r := reflect.New(table.Record)
			fill(r.Elem())
			b.Emit(r.Interface().(metrics.Record))
		}
	}
	return b
}

// fill sets what a record consists of to ones, and its lists to one element.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "_" {
				fill(v.Field(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("one")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.Set(reflect.ValueOf(1).Convert(v.Type()))
	}
}

// Every list of a batch takes part in Emit, Each, Len, Reset and gob: a record that
// is added to the package without one of them would be lost on its way.
func TestBatchKnowsEveryList(t *testing.T) {
	b := full(t)
	lists := reflect.TypeOf(*b).NumField() - 3 + len(b.Rows) // without Node, Rows and Dropped
	if b.Len() != lists {
		t.Errorf("Len = %d, want the %d lists' one record each", b.Len(), lists)
	}
	again := metrics.Batch{Node: 3, Dropped: 7}
	b.Each(&again)
	if diff := cmp.Diff(*b, again); diff != "" {
		t.Errorf("Each and Emit (-want +got):\n%s", diff)
	}
	var wire bytes.Buffer
	var decoded metrics.Batch
	if err := gob.NewEncoder(&wire).Encode(b); err != nil {
		t.Fatal(err)
	}
	if err := gob.NewDecoder(&wire).Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*b, decoded); diff != "" {
		t.Errorf("gob (-want +got):\n%s", diff)
	}
	b.Reset()
	if b.Len() != 0 || b.Dropped != 0 || b.Node != 3 {
		t.Errorf("after Reset: %d records, %d dropped, node %d, want none, none, 3", b.Len(), b.Dropped, b.Node)
	}
	v := reflect.ValueOf(*b)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Cap() == 0 {
			t.Errorf("Reset gives the memory of %s away", v.Type().Field(i).Name)
		}
	}
}

// "The record is the caller's again when Emit returns": what a batch holds shares no
// memory with it, but for what nodes emit at the end.
func TestEmitCopies(t *testing.T) {
	from, want := full(t), full(t)
	got := metrics.Batch{Node: 3, Dropped: 7}
	from.Each(&got)
	v := reflect.ValueOf(from).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case []metrics.NodeTotals, []metrics.Trace, []metrics.PortMeasurement, []metrics.FlowMeasurement, []metrics.Rows, int32, int64:
		default:
			scramble(f.Index(0))
		}
	}
	for _, table := range tables.All() {
		scramble(table.Of(from).Index(0))
	}
	if diff := cmp.Diff(*want, got); diff != "" {
		t.Errorf("a record that its emitter uses again changes (-want +got):\n%s", diff)
	}
}

// scramble changes the elements of a record's lists.
func scramble(v reflect.Value) {
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice {
			f.Index(0).SetZero()
		}
	}
}

// consumed keeps batches.
type consumed struct{ batches []metrics.Batch }

func (c *consumed) Consume(b *metrics.Batch) {
	one := metrics.Batch{Node: b.Node, Dropped: b.Dropped}
	b.Each(&one)
	c.batches = append(c.batches, one)
}

func TestBatcherHandsOnAtItsLimit(t *testing.T) {
	var got consumed
	b := metrics.NewBatcher(4, 3, &got)
	for i := range 7 {
		b.Emit(&metrics.FlowWindow{Flow: int32(i)})
	}
	if n := len(got.batches); n != 2 {
		t.Fatalf("%d batches of 7 records at a limit of 3, want 2", n)
	}
	b.Flush()
	b.Flush() // nothing is left
	var flows []int32
	for i, one := range got.batches {
		if one.Node != 4 || one.Len() != []int{3, 3, 1}[i] {
			t.Errorf("batch %d: node %d, %d records", i, one.Node, one.Len())
		}
		for _, w := range one.Flows {
			flows = append(flows, w.Flow)
		}
	}
	if diff := cmp.Diff([]int32{0, 1, 2, 3, 4, 5, 6}, flows); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// The windows that close cost no allocation once the batch has its memory.
func TestWindowsDoNotAllocate(t *testing.T) {
	const interval = units.Microsecond
	b := metrics.NewBatcher(0, 16, metrics.Consumers{metrics.NewCollector(1)})
	port := metrics.NewPortRecorder(metrics.PortConfig{Records: interval, Sink: b})
	flow := metrics.NewFlowRecorder(0, interval, b)
	cc := metrics.NewCCRecorder(0, interval, actions, b)
	signals := metrics.NewSignalRecorder(0, interval, b)
	now := units.Time(0)
	window := func() {
		now = now.Add(interval)
		port.Transmit(now, now, 100, true)
		flow.Receive(now, 100, 100)
		cc.Ack(now, metrics.Answer{Action: 1, Delay: 5, Cwnd: 5, Pacing: 5, BaseRTT: 5})
		signals.Sample(now, 2, 1, metrics.Reading{Point: 5})
		signals.Sample(now, 2, 2, metrics.Reading{Point: 5})
	}
	for range 100 {
		window()
	}
	// Many windows together: less than one allocation per window counts as none.
	if allocs := testing.AllocsPerRun(20, func() {
		for range 100 {
			window()
		}
	}); allocs != 0 {
		t.Errorf("the windows of 100 intervals cost %v allocations", allocs)
	}
}

func TestCollector(t *testing.T) {
	c := metrics.NewCollector(3)
	c.Consume(&metrics.Batch{Node: 1, Ports: []metrics.PortWindow{{}}, Dropped: 2})
	c.Consume(&metrics.Batch{Node: 1, Dropped: 3, Totals: []metrics.NodeTotals{{
		Node: 1, Name: "tor0", Ports: []metrics.PortTotals{{Port: 2, TxPackets: 9}, {Port: 0}},
	}}})
	c.Consume(&metrics.Batch{Node: 1, Traces: []metrics.Trace{{
		Hash: [32]byte{1}, Events: 5, Received: []metrics.Ingress{{Packets: 1, Bytes: 100}, {Packets: 3, Bytes: 300}, {Packets: 2, Bytes: 500}},
	}}})
	want := []metrics.NodeTotals{{}, {
		Node: 1, Name: "tor0", TraceHash: [32]byte{1}, Events: 5,
		Ports: []metrics.PortTotals{{Port: 2, TxPackets: 9, RxPackets: 2, RxBytes: 500}, {Port: 0, RxPackets: 1, RxBytes: 100}},
	}, {Node: 2}}
	if diff := cmp.Diff(want, c.Totals()); diff != "" || c.Dropped() != 5 {
		t.Errorf("%d dropped, totals (-want +got):\n%s", c.Dropped(), diff)
	}
}

func ExampleBatch() {
	var records metrics.Batch
	flow := metrics.NewFlowRecorder(7, 100*units.Microsecond, &records)
	flow.Receive(0, 4150, 4086)
	flow.Close()
	for _, w := range records.Flows {
		fmt.Println(w.Flow, w.Packets, w.PayloadBytes)
	}
	// Output: 7 1 4086
}

func ExampleNewBatcher() {
	totals := metrics.NewCollector(1)
	sink := metrics.NewBatcher(0, 256, totals)
	sink.Emit(&metrics.FlowWindow{Flow: 1})
	sink.Emit(&metrics.NodeTotals{Name: "h0"})
	sink.Flush()
	fmt.Println(totals.Totals()[0].Name)
	// Output: h0
}

func ExampleNewCollector() {
	c := metrics.NewCollector(1)
	c.Consume(&metrics.Batch{Totals: []metrics.NodeTotals{{Name: "h0"}}})
	fmt.Println(c.Totals()[0].Name)
	// Output: h0
}
