package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/internal/cause"
)

// ErrDamaged is wrapped by the errors about files that are no such table or are damaged.
var ErrDamaged = errors.New("this is not a whole table of a sweep")

// Table is a table to be read, by one goroutine.
type Table struct {
	Columns
	name string
	file *os.File
	data *parquet.File
}

// Open opens a table. The error wraps fs.ErrNotExist if there is none, and ErrDamaged if it
// is not a whole one. The caller closes it.
func Open(name string) (*Table, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not wait for a writer of a pipe
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, cause.Of(err))
	}
	t := &Table{name: name, file: file}
	if err := t.open(); err != nil {
		file.Close() // opened for reading
		return nil, err
	}
	return t, nil
}

func (t *Table) damaged(format string, args ...any) error {
	return fmt.Errorf("read %s: %w: "+format, append([]any{t.name, ErrDamaged}, args...)...)
}

// recovered turns a panic of the Parquet package, which some damaged files cause, into an
// error.
func (t *Table) recovered(err *error) {
	if p := recover(); p != nil {
		*err = t.damaged("%v", p)
	}
}

func (t *Table) open() (err error) {
	defer t.recovered(&err)
	info, err := t.file.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", t.name, cause.Of(err))
	}
	if !info.Mode().IsRegular() {
		return t.damaged("not a regular file")
	}
	if t.data, err = parquet.OpenFile(t.file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true)); err != nil {
		return t.damaged("%v", err)
	}
	text, ok := t.data.Lookup(layoutKey)
	var l layout
	if err := json.Unmarshal([]byte(text), &l); !ok || err != nil {
		return t.damaged("it has no %s", layoutKey)
	}
	switch l.Schema {
	case withoutDigest:
	case schemaVersion:
		if err := t.checkDigest(info.Size()); err != nil {
			return err
		}
	default:
		return t.damaged("it is of schema %d, and this csiglab reads %d and %d", l.Schema, withoutDigest, schemaVersion)
	}
	t.Paths, t.Metrics = l.Paths, l.Metrics
	long := t.Long()
	if !long {
		t.Metrics = nil // they are columns
	}
	var names []string
	for _, column := range t.data.Schema().Columns() {
		names = append(names, strings.Join(column, "."))
	}
	columns := names[min(len(names), len(fixed)+len(l.Paths)):]
	if long {
		columns = nil // metric and value
	}
	for _, name := range columns {
		if bare, ok := strings.CutPrefix(name, metricPrefix); ok && (slices.Contains(fixed, bare) || slices.Contains(l.Paths, bare)) {
			name = bare
		}
		t.Metrics = append(t.Metrics, name)
	}
	if want := t.names(); !slices.Equal(names, want) {
		return t.damaged("it has other columns than it says")
	}
	for i, field := range t.data.Schema().Fields() {
		kind := parquet.ByteArray
		switch metric := i >= len(fixed)+len(l.Paths); {
		case long && i == len(fixed)+len(l.Paths): // metric
		case i == 0:
			kind = parquet.Int32
		case i == len(l.Paths)+2:
			kind = parquet.Int64
		case metric:
			kind = parquet.Double
		}
		if !field.Leaf() || field.Type().Kind() != kind || field.Repeated() {
			return t.damaged("column %s is of another type", field.Name())
		}
	}
	return nil
}

// batch is the number of rows that are read at once.
const batch = 64

// Rows yields the rows in their order, by point, variant and seed. After an error there are
// no more.
func (t *Table) Rows() iter.Seq2[Row, error] {
	if t.Long() {
		return t.trials()
	}
	return t.fileRows()
}

// trials yields the rows of a long table, those of a trial as one.
func (t *Table) trials() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var last *Row
		for row, err := range t.fileRows() {
			if err != nil {
				yield(row, err)
				return
			}
			if last != nil && last.Point == row.Point && last.Variant == row.Variant && last.Seed == row.Seed {
				maps.Copy(last.Metrics, row.Metrics)
				continue
			}
			if last != nil && !yield(*last, nil) {
				return
			}
			last = &row
		}
		if last != nil {
			yield(*last, nil)
		}
	}
}

// fileRows yields the rows of the file.
func (t *Table) fileRows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, group := range t.data.RowGroups() {
			if !t.rowsOf(group, yield) {
				return
			}
		}
	}
}

// rowsOf yields the rows of a group, and reports whether to go on.
func (t *Table) rowsOf(group parquet.RowGroup, yield func(Row, error) bool) bool {
	rows := group.Rows()
	defer rows.Close() // of a file that is read
	buffer := make([]parquet.Row, batch)
	for {
		list, err := t.read(rows, buffer)
		for _, row := range list {
			if !yield(row, nil) {
				return false
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			yield(Row{}, err)
			return false
		}
	}
}

func (t *Table) read(rows parquet.Rows, buffer []parquet.Row) (list []Row, err error) {
	defer t.recovered(&err)
	n, err := rows.ReadRows(buffer)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, t.damaged("%v", err)
	}
	for _, values := range buffer[:n] {
		row, wrong := t.row(values)
		if wrong != nil {
			return list, wrong
		}
		list = append(list, row)
	}
	return list, err
}

// row returns the row of values.
func (t *Table) row(values parquet.Row) (r Row, err error) {
	r = Row{Set: make([]string, len(t.Paths)), Metrics: map[string]float64{}}
	metrics := t.Metrics
	long := t.Long()
	if long {
		metrics = []string{"", ""} // the name, and the value
	}
	if len(values) != len(fixed)+len(t.Paths)+len(metrics) {
		return r, t.damaged("a row has %d values", len(values))
	}
	for _, v := range values {
		i := v.Column()
		switch k := i - len(t.Paths); {
		case v.IsNull():
		case i == 0:
			r.Point = int(v.Int32())
		case k <= 0:
			r.Set[i-1] = string(v.ByteArray())
		case k == 1:
			r.Variant = string(v.ByteArray())
		case k == 2:
			r.Seed = uint64(v.Int64())
		case k == 3:
			r.Outcome = string(v.ByteArray())
		case k == 4:
			r.Reason = string(v.ByteArray())
		case k == 5:
			r.TraceHash = string(v.ByteArray())
		case k == len(fixed) && long:
			metrics[1] = string(v.ByteArray())
		default:
			if x := v.Double(); !math.IsNaN(x) && !math.IsInf(x, 0) {
				r.Metrics[metrics[k-len(fixed)]] = x
			}
		}
	}
	return r, nil
}

// Close closes the file.
func (t *Table) Close() error { return t.file.Close() }
