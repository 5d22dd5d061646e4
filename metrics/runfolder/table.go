package runfolder

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/csiglab/csiglab/metrics"
)

const (
	// chunkRows is the number of rows of a table that a run in progress holds itself.
	chunkRows = 256
	// pieceRows is the number of rows after which the Parquet package looks whether a page is
	// full. Files have pages of the same sizes since the first csiglab.
	pieceRows = 64
	// groupRows is the number of rows of a row group, whose compressed pages the table
	// holds in memory until it is full. A chunk may exceed it; the last group has fewer.
	groupRows = 64 << 10
	// pageBytes is the size of a page of a column before its compression, which a chunk
	// may exceed. A page of more than 128 KiB would make each of the compressor's
	// encoders keep 8 MiB.
	pageBytes = 64 << 10
)

// droppedKey is the key of a table's metadata that says how many records of its runs
// were dropped; it is absent when none were.
const droppedKey = "csiglab.dropped_records"

// table is a Parquet file that is being written. Its footer comes last: a file
// without it is truncated. It may be used from several goroutines.
type table struct {
	*layout
	file *os.File

	mu     sync.Mutex
	writer *parquet.GenericWriter[any]
	rows   int64
	group  int // rows of the open row group
	closed bool
}

// tableFileName returns the name of a table's file.
func tableFileName(name string) string { return name + ".parquet" }

// newTable creates the file of a table.
func newTable(w *Writer, l *layout) (*table, error) {
	f, err := w.create(tableFileName(l.name))
	if err != nil {
		return nil, err
	}
	return newTableOn(l, f), nil
}

// newTableOn returns a table that is written to f and owns it.
func newTableOn(l *layout, f *os.File) *table {
	return &table{layout: l, file: f, writer: parquet.NewGenericWriter[any](f, l.schema, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.PageBufferSize(pageBytes))}
}

func (t *table) rowCount() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows
}

// add appends rows, and writes the row group if it is full.
func (t *table) add(rows int, values []cells) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return ErrClosed
	}
	columns := t.writer.ColumnWriters()
	for at := 0; at < rows; at += pieceRows {
		for i := range values {
			if _, err := columns[i].WriteRowValues(values[i].of(at, min(at+pieceRows, rows))); err != nil {
				return t.wrap(err)
			}
		}
	}
	t.rows += int64(rows)
	if t.group += rows; t.group < groupRows {
		return nil
	}
	t.group = 0
	return t.wrap(t.writer.Flush())
}

// close ends the file; dropped is what droppedKey says.
func (t *table) close(dropped int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	if dropped > 0 && !t.never {
		t.writer.SetKeyValueMetadata(droppedKey, strconv.FormatInt(dropped, 10))
	}
	return errors.Join(t.wrap(t.writer.Close()), t.file.Close())
}

// abandon closes the file, which is removed then, as it is.
func (t *table) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		t.file.Close() // it is removed
	}
}

func (t *table) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", t.file.Name(), err)
}

// cells are the values of a column of the Parquet file that its table has not taken yet.
type cells struct {
	values []parquet.Value
	starts []int // of rows in values; nil: each row has one
}

// of returns the values of some rows.
func (c *cells) of(from, to int) []parquet.Value {
	if c.starts == nil {
		return c.values[from:to]
	}
	if to == len(c.starts) {
		return c.values[c.starts[from]:]
	}
	return c.values[c.starts[from]:c.starts[to]]
}

// buffer is rows of one run that a table has not taken yet.
type buffer struct {
	table  *table
	chunk  *chunk // nil before the first row
	rows   int
	values []cells // by column of the file
	given  bool    // the table has rows of the run
}

// chunk is some records of a batch, of which rows are made.
type chunk struct {
	names    *names
	node     int32
	records  reflect.Value // a slice
	subjects []subject     // of the records
	find     []func(i int, s *subject)
	append   []func(rows int)
}

// open makes the chunk.
func (b *buffer) open(n *names) {
	l := b.table.layout
	k := &chunk{names: n, records: reflect.MakeSlice(reflect.SliceOf(l.Record), pieceRows, pieceRows), subjects: make([]subject, pieceRows)}
	for i := range k.subjects {
		k.subjects[i].Variant, k.subjects[i].Seed = n.variant, n.seed
	}
	k.find = l.finders(k)
	b.chunk, b.values = k, make([]cells, len(b.table.writer.ColumnWriters()))
	leaf := 0
	for _, c := range l.columns {
		if c.counts != nil {
			k.append = append(k.append, appendCounts(c.counts(k), b.values[leaf:leaf+2], leaf))
			leaf += 2
			continue
		}
		to, give := &b.values[leaf], l.valuesOf(c, k, leaf)
		k.append = append(k.append, func(rows int) {
			n := len(to.values)
			to.values = slices.Grow(to.values, rows)[:n+rows]
			give(to.values[n:])
		})
		leaf++
	}
}

// appendCounts returns what appends maps: the names, in their order, to the first column, which
// has number leaf, and the numbers to the second.
func appendCounts(of []*[]metrics.Count, to []cells, leaf int) func(rows int) {
	to[0].starts, to[1].starts = []int{}, []int{}
	var counts []metrics.Count
	return func(rows int) {
		for i := range rows {
			to[0].starts, to[1].starts = append(to[0].starts, len(to[0].values)), append(to[1].starts, len(to[1].values))
			counts = append(counts[:0], *of[i]...)
			slices.SortFunc(counts, func(a, b metrics.Count) int { return strings.Compare(a.Name, b.Name) })
			if len(counts) == 0 {
				to[0].values, to[1].values = append(to[0].values, parquet.NullValue().Level(0, 0, leaf)), append(to[1].values, parquet.NullValue().Level(0, 0, leaf+1))
			}
			for j, c := range counts {
				again := min(j, 1)
				to[0].values = append(to[0].values, textValue(c.Name).Level(again, 1, leaf))
				to[1].values = append(to[1].values, parquet.Int64Value(c.Packets).Level(again, 1, leaf+1))
			}
		}
	}
}

// consume appends the rows of a batch, and gives full chunks to the table. Names that the
// manifest does not have are in n afterwards.
func (b *buffer) consume(batch *metrics.Batch, n *names) error {
	list := b.table.Of(batch)
	if list.Len() > 0 && b.chunk == nil {
		b.open(n)
	}
	for at := 0; at < list.Len(); at += pieceRows {
		k := b.chunk
		k.node = batch.Node
		rows := reflect.Copy(k.records, list.Slice(at, list.Len()))
		for i := range rows {
			k.subjects[i].Window = n.window
			for _, find := range k.find {
				find(i, &k.subjects[i])
			}
		}
		for _, to := range k.append {
			to(rows)
		}
		b.rows += rows
	}
	if n.err != nil {
		return n.err
	}
	if b.rows < chunkRows {
		return nil
	}
	return b.flush()
}

// flush gives the rest to the table.
func (b *buffer) flush() error {
	if b.rows == 0 {
		return nil
	}
	b.given = true
	err := b.table.add(b.rows, b.values)
	for i := range b.values {
		c := &b.values[i]
		clear(c.values) // what they point to
		c.values, c.starts = c.values[:0], c.starts[:0]
	}
	b.rows = 0
	return err
}
