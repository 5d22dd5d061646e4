package chakra

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
)

var update = flag.Bool("update", false, "write the traces of docs/examples")

// TestExample: the traces of orchestrator/experiment/library/chakra-ring are what Write makes of 100 us of compute and
// a ring all-reduce of 1 MiB at 8 ranks, twice.
func TestExample(t *testing.T) {
	s, err := collective.New(collective.Config{
		Call: collective.Call{Kind: collective.AllReduce, Algorithm: collective.Ring, Bytes: 1 << 20}, Ranks: 8, Iterations: 2, Gap: 100 * units.Microsecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	data, loss := written(t, s)
	if !loss.Empty() {
		t.Errorf("lost:\n%s", loss)
	}
	prefix := filepath.Join(checkout.Repository(t), "orchestrator", "experiment", "library", "chakra-ring", "ring")
	if *update {
		if err := os.MkdirAll(filepath.Dir(prefix), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := WriteFiles(prefix, s, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for rank := range data {
		got, err := os.ReadFile(fmt.Sprintf("%s.%d.et", prefix, rank))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, data[rank]) {
			t.Errorf("the trace of rank %d differs from what Write makes; see -update", rank)
		}
	}
}

// BenchmarkRead reads 8 ranks of some 14,000 nodes each.
func BenchmarkRead(b *testing.B) {
	s, err := collective.New(collective.Config{
		Call: collective.Call{Kind: collective.AllReduce, Algorithm: collective.Ring, Bytes: 1 << 20}, Ranks: 8, Iterations: 500, Gap: 100 * units.Microsecond,
	})
	if err != nil {
		b.Fatal(err)
	}
	all := make([]memory, 8)
	if _, err := Write(s, WriteOptions{}, func(rank int) (io.WriteCloser, error) { return &all[rank], nil }); err != nil {
		b.Fatal(err)
	}
	var data [][]byte
	size := 0
	for i := range all {
		data = append(data, all[i].Bytes())
		size += all[i].Len()
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Read(files(".et", data...), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
