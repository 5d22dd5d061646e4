package chakra

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/pipeline"
)

// memory is a file of a test.
type memory struct{ bytes.Buffer }

// Close implements io.Closer.
func (*memory) Close() error { return nil }

// written returns what Write makes, by rank.
func written(t *testing.T, s graph.Source) (data [][]byte, loss *graph.Loss) {
	t.Helper()
	all := make([]memory, s.Ranks())
	loss, err := Write(s, WriteOptions{}, func(rank int) (io.WriteCloser, error) { return &all[rank], nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		data = append(data, all[i].Bytes())
	}
	return data, loss
}

// TestWrittenPlaysTheSame: what is read of what was written takes as long as the source, to the
// picosecond, and each rank sends and computes the same.
func TestWrittenPlaysTheSame(t *testing.T) {
	sources := map[string]graph.Source{}
	add := func(name string) func(s graph.Source, err error) {
		return func(s graph.Source, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			sources[name] = s
		}
	}
	add("all-reduce")(collective.New(collective.Config{
		Call: collective.Call{Kind: collective.AllReduce, Algorithm: collective.Ring, Bytes: 100_003, Channels: 2, Chunk: 4096}, Ranks: 5, Iterations: 3, Gap: 1_234_567,
	}))
	add("tree")(collective.New(collective.Config{
		Call: collective.Call{Kind: collective.AllReduce, Algorithm: collective.Tree, Bytes: 100_003}, Ranks: 6, Iterations: 2, Gap: 3 * units.Microsecond,
	}))
	add("all-to-all")(collective.New(collective.Config{Call: collective.Call{Kind: collective.AllToAll, Bytes: 100_003}, Ranks: 4, Iterations: 2}))
	add("pipeline")(pipeline.New(pipeline.Config{
		Stages: 4, Microbatches: 6, Forward: 10 * units.Microsecond, Backward: 20*units.Microsecond + 1, Message: 65536, Steps: 2,
	}))
	for name, s := range sources {
		data, _ := written(t, s)
		again, loss, err := Read(files(".et", data...), Options{})
		if err != nil || !loss.Empty() {
			t.Errorf("%s: %v, lost %v", name, err, loss)
			continue
		}
		if err := graph.Check(again, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, link := range []graph.Link{{Latency: units.Microsecond}, {Rate: 50e9, Latency: 600 * units.Nanosecond}} {
			want, err := graph.Ideal(s, 0, link)
			if err != nil {
				t.Fatal(err)
			}
			got, err := graph.Ideal(again, 0, link)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got.End != want.End || want.End == 0 {
				t.Errorf("%s over %+v: it ends after %v, want %v", name, link, got.End, want.End)
			}
		}
		for rank := range s.Ranks() {
			got, want := sum(again, rank), sum(s, rank)
			want.all = got.all
			if got != want {
				t.Errorf("%s, rank %d: %+v, want %+v", name, rank, got, want)
			}
		}
	}
}

// TestWriteFixture writes what was read, and reads that: equal programs, but for the places of
// nodes that Write leaves out.
func TestWriteFixture(t *testing.T) {
	s, _, err := Open(checkout.Shared(t, ring), Options{})
	if err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(t.TempDir(), "again")
	loss, err := WriteFiles(prefix, s, WriteOptions{})
	if err != nil || !loss.Empty() {
		t.Fatalf("%v, lost %v", err, loss)
	}
	again, loss, err := Open(prefix, Options{})
	if err != nil || !loss.Empty() {
		t.Fatalf("%v, lost %v", err, loss)
	}
	if programs(again) != programs(s) {
		t.Error("the programs differ")
	}
	names, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil || len(names) != 8 || names[7].Name() != "again.7.et" {
		t.Errorf("files %v, %v", names, err)
	}
}

func TestWriteLosesAndRefuses(t *testing.T) {
	s := &graph.Static{Count: 1, All: 1, Of: map[int][]graph.Op{0: {
		{Kind: graph.Compute, Duration: units.Microsecond, NotBefore: 5, Tag: graph.Tag{Phase: graph.None, Collective: graph.None}},
		{Kind: graph.Compute, Duration: 1_600_000, Unit: 7, Tag: graph.Tag{Phase: graph.None, Collective: graph.None}},
	}}}
	data, loss := written(t, s)
	if got := len(loss.Items()); got != 3 {
		t.Errorf("lost:\n%s\nwant a start, a processor and a fraction", loss)
	}
	// duration_micros is 2: other tools see the rounded time.
	if _, micros := nodeCounts(t, data[0]); micros[typeComp] != 1+2 {
		t.Errorf("durations %v", micros)
	}
	_, err := Write(s, WriteOptions{MaxNodes: 1}, func(int) (io.WriteCloser, error) { return &memory{}, nil })
	if err == nil || !strings.Contains(err.Error(), "more than 1 operations") {
		t.Errorf("too many: %v", err)
	}
	refused := errors.New("refused")
	if _, err := Write(s, WriteOptions{}, func(int) (io.WriteCloser, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("got %v, want %v", err, refused)
	}
}

// check fails unless a source can be played, or written and read again to the same.
func check(t *testing.T, s graph.Source, all bool) {
	t.Helper()
	if err := graph.Check(s, 0); err != nil {
		t.Fatal(err)
	}
	if err := graph.CheckFences(s, 0); err != nil {
		t.Fatal(err)
	}
	if !all {
		return
	}
	data, _ := written(t, s)
	again, _, err := Read(files(".et", data...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for rank := range s.Ranks() {
		got, want := sum(again, rank), sum(s, rank)
		// Compute of 0 s is left out, and Write adds no marks of collectives.
		want.all, want.computes = got.all, got.computes
		if got != want {
			t.Fatalf("rank %d: written and read again %+v, want %+v", rank, got, want)
		}
	}
}
