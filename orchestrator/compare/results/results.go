// Package results writes and reads results.parquet, the table of a sweep: a row for each
// trial, which is a run of one variant with one seed at one point. The columns are, in this
// order:
//
//	point       from 0
//	…           a column for each path that points change, by its name: YAML as text, null
//	            where the point leaves the path alone
//	variant
//	seed
//	outcome     see Outcome
//	reason      why the numbers do not count; null if they do
//	trace_hash  null if the run has none
//	…           a column for each metric, by its name: null where the run lacks it
//
// A table that would have more columns than Parquet files can, as its runs have metrics of
// very many flows or ports, is a long one: behind trace_hash it has two columns, metric and
// value, and it has a row for each metric of each trial, by name. A trial without metrics has
// one row, with null in both.
//
// Equal rows give equal bytes. The file's metadata holds a digest of the whole file, which
// readers other than this package ignore. The package knows nothing of how trials are run.
package results

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// File is the name of the table in the folder of a sweep.
const File = "results.parquet"

// Outcomes of a trial.
const (
	Passed  = "pass"    // all expectations held
	Failed  = "fail"    // an expectation failed; the numbers count
	Wrong   = "wrong"   // the experiment is wrong; there are no numbers
	Invalid = "invalid" // the run is invalid or did not end; there are no numbers
)

// Row is a trial.
type Row struct {
	Point     int
	Set       []string // the values of Columns.Paths; "": the point leaves the path alone
	Variant   string
	Seed      uint64
	Outcome   string
	Reason    string
	TraceHash string
	Metrics   map[string]float64 // those that Columns.Metrics lacks are left out
}

// Columns are the columns that depend on the sweep.
type Columns struct {
	Paths   []string // that points change
	Metrics []string
}

// fixed are the columns of every sweep; those from afterPaths on stand behind the paths.
var fixed = []string{"point", "variant", "seed", "outcome", "reason", "trace_hash"}

const afterPaths = 1

// metricPrefix is put before the name of a metric that another column has already.
const metricPrefix = "metric."

// layoutKey is the key of the table's metadata that says what the columns are, as JSON.
const layoutKey = "csiglab.sweep"

// layout is the value of layoutKey.
type layout struct {
	Schema  int      `json:"schema"`
	Paths   []string `json:"paths"`
	Metrics []string `json:"metrics,omitempty"` // of a long table
}

// Versions of the table. Readers take both.
const (
	withoutDigest = 1
	schemaVersion = 2
)

// mostColumns is how many columns the Parquet package can write.
const mostColumns = parquet.MaxColumnIndex + 1

// Long reports whether the table is a long one.
func (c *Columns) Long() bool { return len(fixed)+len(c.Paths)+len(c.Metrics) > mostColumns }

// names returns the names of all columns, in order.
func (c *Columns) names() []string {
	list := slices.Concat(fixed[:afterPaths], c.Paths, fixed[afterPaths:])
	if c.Long() {
		return append(list, "metric", "value")
	}
	for _, name := range c.Metrics {
		if slices.Contains(fixed, name) || slices.Contains(c.Paths, name) {
			name = metricPrefix + name
		}
		list = append(list, name)
	}
	return list
}

// Sizes of what a writer holds in memory: values of a row group, bytes of a page.
const (
	groupValues = 1 << 19
	pageBytes   = 16 << 10
)

// Writer writes a table.
type Writer struct {
	columns Columns
	parquet *parquet.GenericWriter[any]
	sealer  *sealer
	row     parquet.Row
	group   int // rows of the open row group
}

// NewWriter returns a writer of a table with such columns. The names of the metrics are
// sorted and differ. The caller closes it, and w after that.
func NewWriter(w io.Writer, c Columns) *Writer {
	root := ordered{fields: []parquet.Field{}}
	for i, name := range c.names() {
		var node parquet.Node
		switch {
		case name == "point" && i == 0:
			node = parquet.Int(32)
		case i <= len(c.Paths):
			node = parquet.Optional(parquet.String())
		case i == len(c.Paths)+2: // seed
			node = parquet.Uint(64)
		case i < len(c.Paths)+4: // variant, outcome
			node = parquet.String()
		case i < len(c.Paths)+len(fixed), i == len(c.Paths)+len(fixed) && c.Long():
			node = parquet.Optional(parquet.String())
		default:
			node = parquet.Optional(parquet.Leaf(parquet.DoubleType))
		}
		root.fields = append(root.fields, &field{node, name})
	}
	l := layout{Schema: schemaVersion, Paths: append([]string{}, c.Paths...)}
	if c.Long() {
		l.Metrics = c.Metrics
	}
	meta, err := json.Marshal(l)
	if err != nil {
		panic("results: " + err.Error()) // texts
	}
	s := &sealer{w: w, sum: sha256.New()}
	return &Writer{columns: c, sealer: s, parquet: parquet.NewGenericWriter[any](s, parquet.NewSchema("results", root),
		parquet.Compression(&zstd.Codec{}), parquet.PageBufferSize(pageBytes), parquet.CreatedBy("csiglab", "", ""),
		parquet.KeyValueMetadata(layoutKey, string(meta)), parquet.KeyValueMetadata(digestKey, noDigest))}
}

// Write appends a row, or those of a trial in a long table.
func (w *Writer) Write(r Row) error {
	if !w.columns.Long() {
		return w.write(r, "")
	}
	some := false
	for _, name := range w.columns.Metrics {
		if _, ok := r.Metrics[name]; !ok {
			continue
		}
		some = true
		if err := w.write(r, name); err != nil {
			return err
		}
	}
	if some {
		return nil
	}
	return w.write(r, "")
}

// write appends a row of the file. metric is the one that it has in a long table; "" for none.
func (w *Writer) write(r Row, metric string) error {
	w.row = w.row[:0]
	add := func(v parquet.Value, optional, there bool) {
		column, defined := len(w.row), 0
		switch {
		case optional && there:
			defined = 1
		case optional:
			v = parquet.NullValue()
		}
		w.row = append(w.row, v.Level(0, defined, column))
	}
	text := func(s string, optional bool) { add(parquet.ByteArrayValue([]byte(s)), optional, s != "") }
	if len(r.Set) != len(w.columns.Paths) {
		return fmt.Errorf("%d values for %d paths", len(r.Set), len(w.columns.Paths))
	}
	add(parquet.Int32Value(int32(r.Point)), false, true)
	for _, value := range r.Set {
		text(value, true)
	}
	text(r.Variant, false)
	add(parquet.Int64Value(int64(r.Seed)), false, true)
	text(r.Outcome, false)
	text(r.Reason, true)
	text(r.TraceHash, true)
	metrics := w.columns.Metrics
	if w.columns.Long() {
		text(metric, true)
		metrics = []string{metric}
	}
	for _, name := range metrics {
		value, ok := r.Metrics[name]
		add(parquet.DoubleValue(value), true, ok)
	}
	if _, err := w.parquet.WriteRows([]parquet.Row{w.row}); err != nil {
		return err
	}
	if w.group++; w.group*len(w.row) < groupValues {
		return nil
	}
	w.group = 0
	return w.parquet.Flush()
}

// Close writes the end of the table. It does not close the file.
func (w *Writer) Close() error {
	if err := w.parquet.Close(); err != nil {
		return err
	}
	return w.sealer.close()
}

// ordered is a group whose fields have an order; those of parquet.Group are sorted.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o ordered) Fields() []parquet.Field { return o.fields }
func (o ordered) GoType() reflect.Type    { return reflect.TypeFor[struct{}]() }

// field is a column.
type field struct {
	parquet.Node
	name string
}

func (f *field) Name() string                      { return f.name }
func (f *field) Value(reflect.Value) reflect.Value { panic("results: rows are written as values") }
