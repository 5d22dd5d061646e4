package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/internal/checkout"
)

var (
	columns = Columns{Paths: []string{"links.mtu", "end", "a\n\"<b>"}, Metrics: []string{"end", "fct_us.p99", "m.#1", "seed"}}
	sample  = []Row{
		{Point: 0, Set: []string{"1500B", "", "é"}, Variant: "a", Seed: 1<<64 - 1, Outcome: Passed, TraceHash: "00ff", Metrics: map[string]float64{"fct_us.p99": 0.1, "seed": -1e300}},
		{Point: 1, Set: []string{"", "1ms", ""}, Variant: "b", Seed: 0, Outcome: Invalid, Reason: "killed\n\x00", Metrics: map[string]float64{}},
		{Point: 1, Set: []string{"", "1ms", ""}, Variant: "c", Seed: 2, Outcome: Failed, Metrics: map[string]float64{"end": 2, "m.#1": 5e-324}},
	}
)

func table(t testing.TB, c Columns, rows []Row) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, c)
	for _, r := range rows {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read returns the rows of a table.
func read(t testing.TB, data []byte) (c Columns, rows []Row, err error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), File)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	tab, err := Open(name)
	if err != nil {
		return c, nil, err
	}
	defer tab.Close()
	for row, err := range tab.Rows() {
		if err != nil {
			return tab.Columns, rows, err
		}
		rows = append(rows, row)
	}
	return tab.Columns, rows, nil
}

// What is written is read again, and equal rows give equal bytes.
func TestRoundTrip(t *testing.T) {
	data := table(t, columns, sample)
	c, rows, err := read(t, data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, sample); diff != "" {
		t.Errorf("got, want:\n%s", diff)
	}
	if diff := cmp.Diff(c, columns); diff != "" {
		t.Errorf("got, want:\n%s", diff)
	}
	if !bytes.Equal(data, table(t, columns, sample)) {
		t.Error("the same rows give other bytes")
	}
	if err := NewWriter(&bytes.Buffer{}, columns).Write(Row{}); err == nil {
		t.Error("a row without values for the paths is accepted")
	}
}

// The columns have the order, the names and the types that the package's comment says, for
// readers other than this one.
func TestColumns(t *testing.T) {
	data := table(t, columns, sample)
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, field := range f.Schema().Fields() {
		got = append(got, fmt.Sprintf("%s %v %v", field.Name(), field.Type(), field.Optional()))
	}
	want := []string{
		"point INT(32,true) false", "links.mtu STRING true", "end STRING true", "a\n\"<b> STRING true", "variant STRING false", "seed INT(64,false) false",
		"outcome STRING false", "reason STRING true", "trace_hash STRING true", "metric.end DOUBLE true", "fct_us.p99 DOUBLE true", "m.#1 DOUBLE true", "metric.seed DOUBLE true",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got, want:\n%s", diff)
	}
}

// A table of more metrics than Parquet files have columns is a long one: it is read as
// others are, and another reader finds the names and types that the package's comment says.
func TestLongTable(t *testing.T) {
	checkout.SkipSlowRace(t)
	c := Columns{Paths: []string{"x"}}
	for i := range mostColumns {
		c.Metrics = append(c.Metrics, fmt.Sprintf("m%05d", i))
	}
	all := map[string]float64{}
	for i, name := range c.Metrics {
		all[name] = float64(i)
	}
	want := []Row{
		{Point: 0, Set: []string{"1"}, Variant: "a", Seed: 1, Outcome: Passed, TraceHash: "00ff", Metrics: map[string]float64{"m00000": 0.5, "m65000": 1e300}},
		{Point: 0, Set: []string{"1"}, Variant: "a", Seed: 2, Outcome: Invalid, Reason: "killed", Metrics: map[string]float64{}},
		{Point: 1, Set: []string{""}, Variant: "a", Seed: 1, Outcome: Passed, Metrics: all},
		{Point: 2, Set: []string{"2"}, Variant: "a", Seed: 1, Outcome: Failed, Metrics: map[string]float64{"m00000": 2}},
	}
	data := table(t, c, want)
	got, rows, err := read(t, data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, want); diff != "" {
		t.Errorf("got, want:\n%.2000s", diff)
	}
	if !cmp.Equal(got, c) {
		t.Errorf("columns: %d paths, %d metrics", len(got.Paths), len(got.Metrics))
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	fields := f.Schema().Fields()
	last := ""
	for _, field := range fields[len(fields)-3:] {
		last += fmt.Sprintf("%s %v %v, ", field.Name(), field.Type(), field.Optional())
	}
	if want := "trace_hash STRING true, metric STRING true, value DOUBLE true, "; last != want || f.NumRows() != int64(len(all))+4 {
		t.Errorf("%d rows, columns %q, want %d and %q", f.NumRows(), last, len(all)+4, want)
	}
}

// A table of many rows and columns has several row groups, and its writer little memory.
func TestManyRows(t *testing.T) {
	checkout.SkipSlowRace(t)
	c := Columns{Paths: []string{"x"}}
	for i := range 500 {
		c.Metrics = append(c.Metrics, fmt.Sprintf("m%03d", i))
	}
	name := filepath.Join(t.TempDir(), File)
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := NewWriter(file, c)
	row := Row{Set: []string{"1"}, Metrics: map[string]float64{}}
	for i := range 2500 {
		row.Point = i
		for k, name := range c.Metrics {
			row.Metrics[name] = float64(i*1000 + k)
		}
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 48<<20 {
		t.Errorf("the writer holds %d MB", held>>20)
	}
	if err := errors.Join(w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	tab, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	if n := len(tab.data.RowGroups()); n < 2 {
		t.Errorf("%d row groups", n)
	}
	next := 0
	for r, err := range tab.Rows() {
		if err != nil || r.Point != next || r.Metrics["m499"] != float64(next*1000+499) {
			t.Fatalf("row %d: %+v, %v", next, r.Point, err)
		}
		next++
	}
	if next != 2500 {
		t.Errorf("%d rows", next)
	}
}

// The digest finds its place also beside columns whose names look like it.
func TestPlaceOfDigest(t *testing.T) {
	c := Columns{Paths: []string{digestKey, noDigest, string(place(noDigest))}, Metrics: []string{"csiglab", "csiglab.sha256 " + noDigest}}
	want := []Row{{Set: []string{noDigest, digestKey, "x"}, Variant: "a", Seed: 1, Outcome: Passed, Metrics: map[string]float64{"csiglab": 1}}}
	if got, rows, err := read(t, table(t, c, want)); err != nil || !cmp.Equal(got, c) || !cmp.Equal(rows, want) {
		t.Errorf("%q, %v, %v", got, rows, err)
	}
}

// Files that are no whole table are refused or end with an error, without a panic.
func TestDamaged(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), File)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	data := table(t, columns, sample)
	var other bytes.Buffer
	plain := parquet.NewGenericWriter[struct{ A int }](&other)
	if err := plain.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"empty": nil, "text": []byte(strings.Repeat("x", 100)), "cut": data[:len(data)/2], "another table": other.Bytes(),
		"another schema": bytes.Replace(data, []byte(`{"schema":2`), []byte(`{"schema":7`), 1),
		"other paths":    bytes.Replace(data, []byte(`"links.mtu"`), []byte(`"links.mtx"`), 1)} {
		if _, _, err := read(t, text); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	old := bytes.Replace(data, []byte(`{"schema":2`), []byte(`{"schema":1`), 1)
	if _, rows, err := read(t, old); err != nil || len(rows) == 0 {
		t.Errorf("a table of the schema that had no digest: %d rows, %v", len(rows), err)
	}
	for bit := 0; bit < 8*len(data); bit += 7 {
		bad := bytes.Clone(data)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, _, err := read(t, bad); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), File) {
			t.Fatalf("bit %d: %v", bit, err)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		bad := bytes.Clone(data)
		for range 1 + r.IntN(4) {
			bad[r.IntN(len(bad))] = byte(r.Uint32())
		}
		read(t, bad) // must not panic
	}
}

func ExampleWriter() {
	var file bytes.Buffer
	w := NewWriter(&file, Columns{Paths: []string{"links.mtu"}, Metrics: []string{"fct_us.p99"}})
	err := w.Write(Row{Point: 0, Set: []string{"1500B"}, Variant: "run", Seed: 1, Outcome: Passed, Metrics: map[string]float64{"fct_us.p99": 213.5}})
	fmt.Println(err, w.Close())
	// Output: <nil> <nil>
}
