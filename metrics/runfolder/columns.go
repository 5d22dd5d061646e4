package runfolder

import (
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// MetricsOf reads the metrics of single flows, ports, classes and groups, of all runs,
// whose column metric is one of some names, such as rate_gbps: with Subject, without
// Name. It decodes only the columns that it needs, and makes strings only of the rows
// that it yields: many times faster than Metrics for a few of many names. Errors are as
// those of Ports.
func (f *Folder) MetricsOf(metrics ...string) iter.Seq2[MetricRow, error] {
	return func(yield func(MetricRow, error) bool) {
		t, err := openTable[MetricRow](f, tableMetrics)
		if err != nil {
			yield(MetricRow{}, err)
			return
		}
		defer t.close()
		wanted := func(metric []byte) (string, bool) {
			i := slices.IndexFunc(metrics, func(name string) bool { return name == string(metric) })
			if i < 0 {
				return "", false
			}
			return metrics[i], true
		}
		for _, group := range t.data.RowGroups() {
			c, err := t.columns(group, "metric", "subject", "variant", "seed", "value")
			for err == nil {
				err = t.next(c)
				if err != nil {
					break
				}
				if len(c.left[0]) == 0 {
					f.read(len(c.buffers[0]))
				}
				metric, ok := wanted(c.values[0].ByteArray())
				if !ok || c.values[1].IsNull() {
					continue
				}
				subject := string(c.values[1].ByteArray())
				row := MetricRow{Variant: c.text(2), Seed: c.values[3].Uint64(), Metric: metric, Subject: &subject, Value: c.values[4].Double()}
				if !yield(row, nil) {
					c.close()
					return
				}
			}
			c.close()
			if !errors.Is(err, io.EOF) {
				yield(MetricRow{}, err)
				return
			}
		}
	}
}

// columnRows reads some flat columns of a row group, row by row.
type columnRows struct {
	readers []parquet.ColumnChunkValueReader
	buffers [][]parquet.Value
	left    [][]parquet.Value // of buffers, not yet read
	values  []parquet.Value   // of the row: one per column; valid until the next row
	texts   map[string]string // strings that rows share
}

// columns returns the rows of columns, by name, of a row group.
func (r *tableReader[T]) columns(group parquet.RowGroup, names ...string) (c *columnRows, err error) {
	c = &columnRows{values: make([]parquet.Value, len(names)), left: make([][]parquet.Value, len(names)), texts: map[string]string{}}
	defer r.recovered(&err)
	for _, name := range names {
		leaf, ok := group.Schema().Lookup(name)
		if !ok {
			return c, r.damaged("column %s is missing", name)
		}
		c.readers = append(c.readers, parquet.NewColumnChunkValueReader(group.ColumnChunks()[leaf.ColumnIndex]))
		c.buffers = append(c.buffers, make([]parquet.Value, batchRows))
	}
	return c, nil
}

// next reads the next row; the error is io.EOF after the last one.
func (r *tableReader[T]) next(c *columnRows) (err error) {
	for i := range c.left {
		if len(c.left[i]) == 0 {
			if err := r.fill(c, i); err != nil {
				if i > 0 && errors.Is(err, io.EOF) {
					return r.damaged("its columns differ in length")
				}
				return err
			}
		}
		c.values[i], c.left[i] = c.left[i][0], c.left[i][1:]
	}
	return nil
}

// fill reads further values of a column.
func (r *tableReader[T]) fill(c *columnRows, column int) (err error) {
	defer r.recovered(&err)
	n, err := c.readers[column].ReadValues(c.buffers[column])
	c.left[column] = c.buffers[column][:n]
	switch {
	case n > 0:
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.EOF
	}
	return r.damaged("%v", err)
}

// text returns the text of a column that has few different ones.
func (c *columnRows) text(column int) string {
	b := c.values[column].ByteArray()
	text, ok := c.texts[string(b)]
	if !ok {
		text = string(b)
		c.texts[text] = text
	}
	return text
}

func (c *columnRows) close() {
	for _, reader := range c.readers {
		reader.Close() // opened for reading
	}
}
