package runfolder

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// decoder reads the rows of a table column by column into a batch of rows. It does what the
// Parquet package's reader of structures does, twice as fast: it takes whole pages of
// values, makes the text of each entry of a dictionary once, and calls no function per row but
// those of its columns. Fields of rows are text, numbers, bool, pointers to these (nil: null),
// and map[string]int64.
type decoder[T any] struct {
	rows    []T
	columns []filler
	groups  []parquet.RowGroup
	left    int64 // rows of the open group
	open    bool
}

// filler reads one field of rows.
type filler interface {
	// start goes to the beginning of a row group. It reports whether the group has the column.
	start(group parquet.RowGroup) bool
	// fill reads the field of the first rows of the batch.
	fill(rows int) error
	close()
}

// errShort is the error of a column that has fewer values than its row group has rows.
var errShort = errors.New("its columns differ in length")

// newDecoder returns a decoder of the rows of a file.
func newDecoder[T any](file *parquet.File, batch int) (*decoder[T], error) {
	d := &decoder[T]{rows: make([]T, batch), groups: file.RowGroups()}
	rows := reflect.ValueOf(d.rows)
	for i := range rows.Type().Elem().NumField() {
		field := rows.Type().Elem().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("parquet"), ",")
		c := fillerOf(rows, i, name)
		if c == nil {
			return nil, fmt.Errorf("column %s: fields of type %s are not read", name, field.Type)
		}
		d.columns = append(d.columns, c)
	}
	return d, nil
}

// fillerOf returns what reads a field of rows; nil if the type of the field is not known.
func fillerOf(rows reflect.Value, field int, name string) filler {
	t := rows.Type().Elem().Field(field).Type
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	at := place{rows, []int{field}, name, pointer}
	switch t {
	case reflect.TypeFor[string]():
		return valuesOf(at, texts, parquet.Value.String)
	case reflect.TypeFor[int32]():
		return valuesOf(at, numbers32, parquet.Value.Int32)
	case reflect.TypeFor[int64]():
		return valuesOf(at, numbers64, parquet.Value.Int64)
	case reflect.TypeFor[uint64]():
		return valuesOf(at, unsigned64, parquet.Value.Uint64)
	case reflect.TypeFor[float64]():
		return valuesOf(at, reals, parquet.Value.Double)
	case reflect.TypeFor[bool]():
		return valuesOf(at, bits, parquet.Value.Boolean)
	case reflect.TypeFor[map[string]int64]():
		return newCounts(at)
	}
	return nil
}

// place is a field of rows, and its column.
type place struct {
	rows    reflect.Value
	field   []int
	column  string
	pointer bool
}

// next fills the batch from its start and returns the rows that it has read; io.EOF after the
// last one. The rows do not share memory with those of the batch before.
func (d *decoder[T]) next() ([]T, error) {
	for d.left == 0 {
		if d.open {
			d.groups = d.groups[1:]
		}
		if d.open = len(d.groups) > 0; !d.open {
			return nil, io.EOF
		}
		d.left = d.groups[0].NumRows()
		for _, c := range d.columns {
			c.start(d.groups[0])
		}
	}
	clear(d.rows)
	n := int(min(int64(len(d.rows)), d.left))
	d.left -= int64(n)
	for _, c := range d.columns {
		if err := c.fill(n); err != nil {
			return nil, err
		}
	}
	return d.rows[:n], nil
}

func (d *decoder[T]) close() {
	for _, c := range d.columns {
		c.close()
	}
}

// leaf reads the pages of one column of a row group.
type leaf struct {
	path    []string
	maxDef  byte // definition level of a value that is not null
	pages   parquet.Pages
	page    parquet.Page
	def     []byte // by entry; nil: none is null
	rep     []byte
	entries int // of the page
	at      int // the next entry
	value   int // the next value that is not null
}

func (l *leaf) start(group parquet.RowGroup) bool {
	l.close()
	column, ok := group.Schema().Lookup(l.path...)
	if !ok {
		return false
	}
	l.maxDef = byte(column.MaxDefinitionLevel)
	l.pages = group.ColumnChunks()[column.ColumnIndex].Pages()
	return true
}

// load reads the next page that has entries.
func (l *leaf) load() error {
	for {
		parquet.Release(l.page)
		l.page = nil
		page, err := l.pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return errShort
		}
		if err != nil {
			return err
		}
		l.page, l.at, l.value = page, 0, 0
		l.entries, l.def, l.rep = int(page.NumValues()), nil, nil
		if l.maxDef > 0 {
			l.def = page.DefinitionLevels()
		}
		l.rep = page.RepetitionLevels()
		if l.def != nil && len(l.def) != l.entries || l.rep != nil && len(l.rep) != l.entries {
			return errShort
		}
		if l.entries > 0 {
			return nil
		}
	}
}

func (l *leaf) close() {
	if l.page != nil {
		parquet.Release(l.page)
		l.page = nil
	}
	if l.pages != nil {
		l.pages.Close() // opened for reading
		l.pages = nil
	}
	l.entries, l.at = 0, 0
}

// values reads a column whose values are of type V.
type values[V any] struct {
	leaf
	// decode returns how the values of a page are found by their number; a page without a
	// dictionary.
	decode func(parquet.Page) func(i int) V
	// entry returns the value of an entry of a dictionary.
	entry func(parquet.Value) V

	get        func(i int) V // of the page
	dictionary parquet.Dictionary
	known      []V
	isKnown    []bool
}

// load reads the next page.
func (c *values[V]) load() error {
	if err := c.leaf.load(); err != nil {
		return err
	}
	d := c.page.Dictionary()
	if d == nil {
		c.get = c.decode(c.page)
		return nil
	}
	if d != c.dictionary {
		c.dictionary, c.known, c.isKnown = d, make([]V, d.Len()), make([]bool, d.Len())
	}
	data := c.page.Data()
	indexes := data.Int32()
	c.get = func(i int) V {
		k := indexes[i]
		if !c.isKnown[k] {
			c.known[k], c.isKnown[k] = c.entry(d.Index(k)), true
		}
		return c.known[k]
	}
	return nil
}

// each calls set with the values of the next rows that are not null.
func (c *values[V]) each(rows int, set func(row int, v V)) error {
	if c.pages == nil { // a column of later versions
		return nil
	}
	for row := 0; row < rows; {
		if c.at == c.entries {
			if err := c.load(); err != nil {
				return err
			}
		}
		n := min(rows-row, c.entries-c.at)
		if c.def == nil {
			for i := range n {
				set(row+i, c.get(c.value+i))
			}
			c.value += n
		} else {
			for i, level := range c.def[c.at : c.at+n] {
				if level == c.maxDef {
					set(row+i, c.get(c.value))
					c.value++
				}
			}
		}
		row, c.at = row+n, c.at+n
	}
	return nil
}

// plain fills a field that is a value.
type plain[V any] struct {
	values[V]
	to  []*V // the field, by row of the batch
	set func(int, V)
}

func valuesOf[V any](at place, decode func(parquet.Page) func(int) V, entry func(parquet.Value) V) filler {
	column := values[V]{leaf: leaf{path: []string{at.column}}, decode: decode, entry: entry}
	if at.pointer {
		return newPointers(column, fields[*V](at.rows, at.field))
	}
	c := &plain[V]{values: column, to: fields[V](at.rows, at.field)}
	c.set = func(row int, v V) { *c.to[row] = v }
	return c
}

func (c *plain[V]) fill(rows int) error { return c.each(rows, c.set) }

// pointers fills a field that is a pointer to a value.
type pointers[V any] struct {
	values[V]
	to   []**V
	slab []V // of the batch
	set  func(int, V)
}

func newPointers[V any](column values[V], to []**V) filler {
	c := &pointers[V]{values: column, to: to}
	c.set = func(row int, v V) {
		if c.slab == nil {
			c.slab = make([]V, len(c.to))
		}
		c.slab[row] = v
		*c.to[row] = &c.slab[row]
	}
	return c
}

func (c *pointers[V]) fill(rows int) error {
	c.slab = nil // rows of the batch before may be kept
	return c.each(rows, c.set)
}

// fields returns pointers to a field of all rows, whose type is V or made of it.
func fields[V any](rows reflect.Value, index []int) []*V {
	list := make([]*V, rows.Len())
	for i := range list {
		list[i] = rows.Index(i).FieldByIndex(index).Addr().Convert(reflect.TypeFor[*V]()).Interface().(*V)
	}
	return list
}

// counts fills a field that is a map from text to numbers.
type counts struct {
	keys   values[string]
	values values[int64]
	to     []*map[string]int64
}

func newCounts(at place) filler {
	return &counts{
		keys:   values[string]{leaf: leaf{path: []string{at.column, "key_value", "key"}}, decode: texts, entry: parquet.Value.String},
		values: values[int64]{leaf: leaf{path: []string{at.column, "key_value", "value"}}, decode: numbers64, entry: parquet.Value.Int64},
		to:     fields[map[string]int64](at.rows, at.field),
	}
}

func (c *counts) start(group parquet.RowGroup) bool {
	return c.keys.start(group) && c.values.start(group)
}

func (c *counts) close() {
	c.keys.close()
	c.values.close()
}

func (c *counts) fill(rows int) error {
	if c.keys.pages == nil || c.values.pages == nil {
		return nil
	}
	for row := range rows {
		m := map[string]int64{}
		for first := true; ; first = false {
			key, more, err := entryOf(&c.keys, first)
			if err != nil {
				return err
			}
			value, alike, err := entryOf(&c.values, first)
			if err != nil {
				return err
			}
			if more != alike || (key == nil) != (value == nil) {
				return errShort
			}
			if !more {
				break
			}
			if key != nil {
				m[*key] = *value
			}
		}
		*c.to[row] = m
	}
	return nil
}

// entryOf returns the next entry of a row of a repeated column: its first one, or one that
// repeats. more is false when the row has no other; the entry is nil when the row is empty.
func entryOf[V any](c *values[V], first bool) (v *V, more bool, err error) {
	if c.at == c.entries {
		if err := c.load(); err != nil {
			if !first && errors.Is(err, errShort) {
				return nil, false, nil // of the row group's last row
			}
			return nil, false, err
		}
	}
	if again := c.rep != nil && c.rep[c.at] > 0; again == first {
		if first {
			return nil, false, errShort
		}
		return nil, false, nil
	}
	at := c.at
	c.at++
	if c.def != nil && c.def[at] != c.maxDef {
		return nil, true, nil
	}
	one := c.get(c.value)
	c.value++
	return &one, true, nil
}

// How the values of a page without a dictionary are found.

func numbers32(p parquet.Page) func(int) int32 {
	data := p.Data()
	list := data.Int32()
	return func(i int) int32 { return list[i] }
}

func numbers64(p parquet.Page) func(int) int64 {
	data := p.Data()
	list := data.Int64()
	return func(i int) int64 { return list[i] }
}

func unsigned64(p parquet.Page) func(int) uint64 {
	data := p.Data()
	list := data.Int64()
	return func(i int) uint64 { return uint64(list[i]) }
}

func reals(p parquet.Page) func(int) float64 {
	data := p.Data()
	list := data.Double()
	return func(i int) float64 { return list[i] }
}

func bits(p parquet.Page) func(int) bool {
	data := p.Data()
	list := data.Boolean()
	return func(i int) bool { return list[i/8]>>(i%8)&1 != 0 }
}

func texts(p parquet.Page) func(int) string {
	data := p.Data()
	bytes, offsets := data.ByteArray()
	return func(i int) string { return string(bytes[offsets[i]:offsets[i+1]]) }
}
