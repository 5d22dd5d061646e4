package runfolder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// micros returns a moment in microseconds.
func micros(n int) units.Time { return units.Time(n) * units.Time(units.Microsecond) }

// Operations and instances come back with the names of job, host, phase, collective and
// flow; what they do not have is null.
func TestOperationsRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	w := must(Create(dir, manifest()))(t)
	in, none := metrics.Tag{Step: 1, Phase: 1, Collective: 1, Group: 4}, int64(metrics.Absent)
	b := &metrics.Batch{Node: 1, Operations: []metrics.Operation{
		{Rank: 1, Op: 7, Kind: metrics.OperationSend, Tag: in, Peer: 0, Flow: 1, Channel: 2, Message: 3, Bytes: 4, Ready: micros(1), Start: micros(2), End: micros(3), After: 6},
		{Rank: 0, Op: 0, Kind: metrics.OperationRecv, Tag: metrics.Tag{Step: 2}, Peer: 1, Flow: metrics.Absent, Bytes: 1, End: micros(9), After: none},
		{Rank: 0, Op: 9, Kind: metrics.OperationSpan, Tag: metrics.Tag{Step: 1}, Peer: metrics.Absent, Flow: metrics.Absent, End: micros(9), After: 0},
	}, Instances: []metrics.Instance{
		{Tag: in, Repeat: 1, Ranks: 2, Begin: micros(1), LastBegin: micros(2), End: micros(3), Late: 1, Last: 0},
		{Tag: metrics.Tag{Step: 1}, Ranks: 2, End: micros(3), Last: 1, ComputeMean: units.Microsecond, ComputeMax: 2 * units.Microsecond, Slow: 1, ExposedMax: 3 * units.Microsecond},
	}}
	if err := addRun(w, "base", 5, RunData{}, b); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(summary()); err != nil {
		t.Fatal(err)
	}
	f := must(Open(dir))(t)
	one := OperationRow{Variant: "base", Seed: 5, JobName: "train"}
	send, recv, span := one, one, one
	send.Rank, send.HostName, send.Op, send.Kind, send.Step, send.Phase, send.Collective, send.Group = 1, "tor0", 7, "send", 1, "forward", "grads", to[int32](4)
	send.Peer, send.Flow, send.FlowName, send.Channel, send.Message, send.Bytes = to[int32](0), to[int32](1), "1-0", to[int32](2), to[int64](3), 4
	send.ReadyUS, send.StartUS, send.EndUS, send.After = 1, 2, 3, to[int64](6)
	recv.HostName, recv.Kind, recv.Step, recv.Peer, recv.Channel, recv.Message, recv.Bytes, recv.EndUS = "host0", "recv", 2, to[int32](1), to[int32](0), to[int64](0), 1, 9
	span.HostName, span.Op, span.Kind, span.Step, span.EndUS, span.After = "host0", 9, "span", 1, 9, to[int64](0)
	if d := cmp.Diff(must(collect(f.Operations()))(t), []OperationRow{send, recv, span}); d != "" {
		t.Errorf("operations (-got +want):\n%s", d)
	}
	want := []InstanceRow{
		{Variant: "base", Seed: 5, JobName: "train", Step: 1, Collective: "grads", Group: to[int32](4), Repeat: 1, Ranks: 2, BeginUS: 1, LastBeginUS: 2, EndUS: 3, Late: 1, LateHost: "tor0", LastHost: "host0"},
		{Variant: "base", Seed: 5, JobName: "train", Step: 1, Ranks: 2, EndUS: 3, LateHost: "host0", Last: 1, LastHost: "tor0", ComputeMeanUS: 1, ComputeMaxUS: 2, Slow: 1, SlowHost: "tor0", ExposedMaxUS: 3},
	}
	if d := cmp.Diff(must(collect(f.Instances()))(t), want); d != "" {
		t.Errorf("instances (-got +want):\n%s", d)
	}
}

// Of ten steps the table keeps those that the manifest says, the first two and the last,
// and the run says how many rows are left out.
func TestOperationsThatAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		first          int
		messages       bool
		rows, leftOut  int64
		steps, sending []int32
	}{
		"all":           {10, true, 20, 0, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"none":          {0, true, 0, 20, nil, nil},
		"two":           {2, true, 6, 14, []int32{1, 2, 10}, []int32{1, 2, 10}},
		"one, computes": {1, false, 2, 18, []int32{1, 10}, nil},
	} {
		dir := filepath.Join(t.TempDir(), "r")
		m := manifest()
		m.Jobs[0].FirstSteps, m.Jobs[0].Messages = c.first, c.messages
		w := must(Create(dir, m))(t)
		b := &metrics.Batch{Node: 1}
		for step := range int32(10) {
			tag := metrics.Tag{Step: step + 1}
			b.Operations = append(b.Operations,
				metrics.Operation{Kind: metrics.OperationSend, Tag: tag, Flow: metrics.Absent},
				metrics.Operation{Kind: metrics.OperationCompute, Tag: tag, Flow: metrics.Absent})
		}
		if err := addRun(w, "base", 1, RunData{}, b); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(summary()); err != nil {
			t.Fatal(err)
		}
		f := must(Open(dir))(t)
		if got := f.Manifest.Runs[0].OperationsLeftOut; got != c.leftOut || f.Manifest.Tables[tableOperations] != c.rows {
			t.Errorf("%s: %d rows and %d left out, want %d and %d", name, f.Manifest.Tables[tableOperations], got, c.rows, c.leftOut)
		}
		var steps, sending []int32
		for _, row := range must(collect(f.Operations()))(t) {
			if row.Kind == "send" {
				sending = append(sending, row.Step)
			} else {
				steps = append(steps, row.Step)
			}
		}
		if cmp.Diff(steps, c.steps) != "" || cmp.Diff(sending, c.sending) != "" {
			t.Errorf("%s: computes of steps %v and sends of %v, want %v and %v", name, steps, sending, c.steps, c.sending)
		}
	}
}

// A record of a job or a rank that the manifest does not have is an error that names it.
func TestUnknownJob(t *testing.T) {
	for want, o := range map[string]metrics.Operation{
		"job 3 is not in the manifest":              {Job: 3},
		"job train: rank 2 is not in the manifest":  {Rank: 2},
		"job train: rank -1 is not in the manifest": {Rank: -1},
	} {
		w := must(Create(filepath.Join(t.TempDir(), "r"), manifest()))(t)
		err := addRun(w, "base", 1, RunData{}, &metrics.Batch{Node: 1, Operations: []metrics.Operation{o}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err := w.Abort("test"); err != nil {
			t.Error(err)
		}
	}
}

// A sample of a connection has the step, phase, collective and group of the message that
// it is about, "so that a CSIG sample can be joined to the collective that it hurt" (issue
// 13). Samples of other flows have none.
func TestRecordsOfConnections(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	m := manifest()
	m.Flows[1].Messages = 3 // of job 0
	w := must(Create(dir, m))(t)
	tag := metrics.Tag{Step: 2, Phase: 1, Collective: 1, Group: 5}
	if err := addRun(w, "base", 1, RunData{}, &metrics.Batch{
		Node:    1,
		Signals: []metrics.SignalWindow{{Flow: 1, Tag: tag}, {Flow: 0, Tag: tag}, {Flow: 1}, {Flow: 1, Tag: metrics.Tag{Step: 1}}},
		CC:      []metrics.CCWindow{{Flow: 1, Tag: tag}},
		Events:  []metrics.Event{{Flow: 1, Tag: tag}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(summary()); err != nil {
		t.Fatal(err)
	}
	f := must(Open(dir))(t)
	type about struct {
		Job, Step         *int32
		Phase, Collective string
		Group             *int32
	}
	grads := about{to[int32](0), to[int32](2), "forward", "grads", to[int32](5)}
	want := []about{grads, {}, {}, {Job: to[int32](0), Step: to[int32](1)}, grads, grads}
	var got []about
	for _, r := range must(collect(f.Signals()))(t) {
		got = append(got, about{r.Job, r.Step, r.Phase, r.Collective, r.Group})
	}
	for _, r := range must(collect(f.CC()))(t) {
		got = append(got, about{r.Job, r.Step, r.Phase, r.Collective, r.Group})
	}
	for _, r := range must(collect(f.Events()))(t) {
		got = append(got, about{r.Job, r.Step, r.Phase, r.Collective, r.Group})
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("signals, cc, events (-got +want):\n%s", d)
	}
}

// A table without a column that csiglab writes is refused.
func TestTableWithoutColumn(t *testing.T) {
	type older struct {
		Variant string  `parquet:"variant,dict"`
		Seed    uint64  `parquet:"seed"`
		StartUS float64 `parquet:"start_us"`
	}
	dir := t.TempDir()
	if err := parquet.WriteFile(filepath.Join(dir, "cc.parquet"), []older{{Variant: "base"}}); err != nil {
		t.Fatal(err)
	}
	f := &Folder{Dir: dir, Manifest: Manifest{Schema: Schema, Tables: map[string]int64{"cc": 1}}}
	if _, err := collect(f.CC()); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "column flow is missing") {
		t.Errorf("got %v", err)
	}
}

// A text that a row does not have is null. The Parquet package's writer of structures wrote ""
// where of 64 rows the first n lack it, as many have it, and the others lack it again.
func TestTextsThatAreNull(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	m := manifest()
	m.Jobs[0].FirstSteps, m.Jobs[0].Messages = 1, true
	w := must(Create(dir, m))(t)
	b := &metrics.Batch{Node: 1}
	for i := range 4 * 64 {
		o := metrics.Operation{Kind: metrics.OperationSend, Tag: metrics.Tag{Step: 1}, Flow: 1}
		if i%64 < 5 || i%64 >= 10 {
			o = metrics.Operation{Kind: metrics.OperationCompute, Tag: metrics.Tag{Step: 1}, Peer: metrics.Absent, Flow: metrics.Absent}
		}
		b.Operations = append(b.Operations, o)
	}
	if err := addRun(w, "base", 5, RunData{}, b); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(summary()); err != nil {
		t.Fatal(err)
	}
	file := must(os.Open(filepath.Join(dir, "operations.parquet")))(t)
	defer file.Close() // opened for reading
	data := must(parquet.OpenFile(file, must(file.Stat())(t).Size()))(t)
	leaf, _ := data.Schema().Lookup("flow_name")
	row := 0
	for _, group := range data.RowGroups() {
		values := parquet.NewColumnChunkValueReader(group.ColumnChunks()[leaf.ColumnIndex])
		for list := make([]parquet.Value, 512); ; {
			n, err := values.ReadValues(list)
			for _, v := range list[:n] {
				if want := b.Operations[row].Flow == metrics.Absent; v.IsNull() != want {
					t.Fatalf("row %d: flow_name is null: %v, want %v", row, v.IsNull(), want)
				}
				row++
			}
			if err != nil {
				break
			}
		}
	}
	if row != len(b.Operations) {
		t.Errorf("%d rows, want %d", row, len(b.Operations))
	}
}
