package runfolder

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/csiglab/csiglab/metrics"
)

const (
	// chunkRows is the number of rows of a table that a run in progress holds itself.
	chunkRows = 256
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
type table interface {
	tableName() string
	rowCount() int64
	// close ends the file; dropped is what droppedKey says.
	close(dropped int64) error
	// abandon closes the file, which is removed then, as it is.
	abandon()
}

// buffer is rows of one run that a table has not taken yet.
type buffer interface {
	// consume appends the rows of a batch, and gives full chunks to the table.
	consume(b *metrics.Batch, n *names) error
	// flush gives the rest to the table.
	flush() error
	// flushed reports whether the table has rows of the run.
	flushed() bool
}

// recordTable is an entry of recordTables.
type recordTable interface {
	tableName() string
	create(w *Writer) (table, error)
	// buffer returns a buffer in front of a table that create made.
	buffer(t table) buffer
}

// tableOf is a table with rows of type T.
type tableOf[T any] struct {
	name string
	// rows adds the rows of a batch. Names that the manifest does not have are in n
	// afterwards.
	rows func(b *metrics.Batch, add func(T), n *names)
}

func (k tableOf[T]) tableName() string { return k.name }

func (k tableOf[T]) create(w *Writer) (table, error) { return newTable[T](w, k.name) }

func (k tableOf[T]) buffer(t table) buffer { return newRowBuffer(k, t.(*tableFile[T])) }

// tableFile is a table with rows of type T.
type tableFile[T any] struct {
	name string
	file *os.File

	mu     sync.Mutex
	writer *parquet.GenericWriter[T]
	rows   int64
	group  int // rows of the open row group
	closed bool
}

// tableFileName returns the name of a table's file.
func tableFileName(name string) string { return name + ".parquet" }

// newTable creates the file of a table.
func newTable[T any](w *Writer, name string) (*tableFile[T], error) {
	f, err := w.create(tableFileName(name))
	if err != nil {
		return nil, err
	}
	return newTableOn[T](name, f), nil
}

// newTableOn returns a table that is written to f and owns it.
func newTableOn[T any](name string, f *os.File) *tableFile[T] {
	return &tableFile[T]{name: name, file: f, writer: parquet.NewGenericWriter[T](f, parquet.Compression(&zstd.Codec{}), parquet.PageBufferSize(pageBytes))}
}

func (t *tableFile[T]) tableName() string { return t.name }

func (t *tableFile[T]) rowCount() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows
}

// add appends rows, and writes the row group if it is full.
func (t *tableFile[T]) add(rows []T) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return ErrClosed
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := t.writer.Write(rows); err != nil {
		return t.wrap(err)
	}
	t.rows += int64(len(rows))
	if t.group += len(rows); t.group < groupRows {
		return nil
	}
	t.group = 0
	return t.wrap(t.writer.Flush())
}

func (t *tableFile[T]) close(dropped int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	if dropped > 0 {
		t.writer.SetKeyValueMetadata(droppedKey, strconv.FormatInt(dropped, 10))
	}
	return errors.Join(t.wrap(t.writer.Close()), t.file.Close())
}

func (t *tableFile[T]) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		t.file.Close() // it is removed
	}
}

func (t *tableFile[T]) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", t.file.Name(), err)
}

// rowBuffer is a buffer of rows of type T.
type rowBuffer[T any] struct {
	kind  tableOf[T]
	table *tableFile[T]
	rows  []T
	add   func(T) // appends to rows
	given bool    // the table has rows of the run
}

func newRowBuffer[T any](k tableOf[T], t *tableFile[T]) *rowBuffer[T] {
	b := &rowBuffer[T]{kind: k, table: t}
	b.add = func(row T) { b.rows = append(b.rows, row) }
	return b
}

func (b *rowBuffer[T]) consume(batch *metrics.Batch, n *names) error {
	b.kind.rows(batch, b.add, n)
	if n.err != nil {
		return n.err
	}
	if len(b.rows) < chunkRows {
		return nil
	}
	return b.flush()
}

func (b *rowBuffer[T]) flush() error {
	if len(b.rows) == 0 {
		return nil
	}
	b.given = true
	err := b.table.add(b.rows)
	clear(b.rows) // what rows point to
	b.rows = b.rows[:0]
	return err
}

func (b *rowBuffer[T]) flushed() bool { return b.given }
