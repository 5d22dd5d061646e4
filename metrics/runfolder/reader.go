package runfolder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"

	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/internal/cause"
)

// batchRows is the number of rows that a reader holds in memory at a time.
const batchRows = 512

// readTable returns the rows of a table.
func readTable[T any](f *Folder, name string) iter.Seq2[T, error] {
	return readRows(f, name, func([]T) {})
}

// readWindows returns the rows of a table of windows. Those that are as long as the telemetry
// interval get their length here.
func readWindows[T any, R interface {
	*T
	length() *float64
}](f *Folder, name string) iter.Seq2[T, error] {
	return readRows(f, name, func(rows []T) {
		for i := range rows {
			if us := R(&rows[i]).length(); !(*us > f.Manifest.IntervalUS) { // null, or of a damaged table
				*us = f.Manifest.IntervalUS
			}
		}
	})
}

// readRows returns the rows of a table after complete has had them.
func readRows[T any](f *Folder, name string, complete func(rows []T)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		r, err := openTable[T](f, name)
		if err != nil {
			yield(none, err)
			return
		}
		defer r.close()
		for {
			rows, err := r.read()
			f.read(len(rows))
			complete(rows)
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(none, err)
				return
			}
		}
	}
}

// tableReader reads the Parquet file of one table. The Parquet package panics
// on some damaged pages; tableReader returns these panics as errors.
type tableReader[T any] struct {
	path string
	file *os.File
	data *parquet.File
	rows *decoder[T]
	want int64 // rows that the manifest promises
	have int64 // rows read
}

// openTable opens a table and checks its columns, its number of rows and its digest. The
// caller closes the file.
func openTable[T any](f *Folder, name string) (r *tableReader[T], err error) {
	path, file, err := f.openFile(name)
	if err != nil {
		return nil, err
	}
	r = &tableReader[T]{path: path, file: file, want: f.Manifest.Tables[name]}
	if err = r.open(); err == nil && !f.checked {
		err = f.checkTable(name, path, file)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// checkTables compares all tables with their digests.
func (f *Folder) checkTables() error {
	for _, t := range layouts() {
		path, file, err := f.openFile(t.name)
		if err == nil {
			err = f.checkTable(t.name, path, file)
			file.Close() // opened for reading
		}
		if err != nil {
			return err
		}
	}
	f.checked = true
	return nil
}

// checkTable compares the file of a table with its digest.
func (f *Folder) checkTable(name, path string, file *os.File) error {
	if err := f.Manifest.checkFile(tableFileName(name), io.NewSectionReader(file, 0, math.MaxInt64)); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// openFile opens the file of a table, which the caller closes.
func (f *Folder) openFile(name string) (path string, file *os.File, err error) {
	path = filepath.Join(f.Dir, tableFileName(name))
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return path, nil, fmt.Errorf("read %s: %w: not a regular file", path, ErrDamaged)
	}
	file, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // see own.Input
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, fmt.Errorf("read %s: %w: %w", path, ErrDamaged, cause.Of(err))
	}
	if err != nil {
		return path, nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
	}
	return path, file, nil
}

func (r *tableReader[T]) open() (err error) {
	defer r.recovered(&err)
	info, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("read table: %w", err)
	}
	p, err := parquet.OpenFile(r.file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return r.damaged("%v", err)
	}
	older := map[string]bool{} // columns that tables of an older csiglab lack
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		older[name] = f.Tag.Get("older") == "null"
	}
	for _, column := range parquet.SchemaOf(new(T)).Columns() {
		if _, ok := p.Schema().Lookup(column...); !ok && !older[column[0]] {
			return r.damaged("column %s is missing", strings.Join(column, "."))
		}
	}
	if p.NumRows() != r.want {
		return r.damaged("it has %d rows, the manifest says %d", p.NumRows(), r.want)
	}
	r.data = p
	if r.rows, err = newDecoder[T](p, batchRows); err != nil {
		return r.damaged("%v", err)
	}
	return nil
}

// read returns the next rows, until the next call. The error is io.EOF after the last row.
func (r *tableReader[T]) read() (rows []T, err error) {
	defer r.recovered(&err)
	rows, err = r.rows.next()
	r.have += int64(len(rows))
	switch {
	case errors.Is(err, io.EOF) && r.have != r.want:
		return nil, r.damaged("it ends after %d of %d rows", r.have, r.want)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, r.damaged("%v", err)
	}
	return rows, err
}

// close releases the table, which need not be read to its end.
func (r *tableReader[T]) close() {
	defer r.file.Close()
	var err error // not needed: the rows have been read
	defer r.recovered(&err)
	r.rows.close()
}

// recovered turns a panic of the Parquet package into an error.
func (r *tableReader[T]) recovered(err *error) {
	if p := recover(); p != nil {
		*err = r.damaged("%v", p)
	}
}

func (r *tableReader[T]) damaged(format string, args ...any) error {
	return fmt.Errorf("read %s: %w: %s", r.path, ErrDamaged, fmt.Sprintf(format, args...))
}
