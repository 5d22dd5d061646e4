package runfolder

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// layout is a table of records, as the tags of their type describe it (metrics.Table).
type layout struct {
	metrics.RecordTable
	name, doc  string
	never      bool   // no record is ever dropped
	kind       string // the field that says which columns a record has; "": all have all
	columns    []*column
	schema     *parquet.Schema
	parts      map[string]bool // of subjects that columns need
	attributes []attribute     // all that there are
}

// column is a column of a table.
type column struct {
	name, options   string // options of the Parquet package, with the comma before them
	unit, of, doc   string
	from, condition string // tags from and if
	typ             reflect.Type
	key             reflect.StructTag // of a map
	// values returns what gives the values of records of a chunk; counts, that of a map.
	values func(k *chunk) func(i int) parquet.Value
	counts func(k *chunk) []*[]metrics.Count
}

func (c *column) optional() bool { return strings.Contains(c.options, ",optional") }

// layouts returns the tables of records.
var layouts = sync.OnceValue(func() []*layout {
	tables, known := metrics.Tables(), attributes()
	list := make([]*layout, len(tables))
	for i, t := range tables {
		list[i] = newLayout(t, known)
	}
	return list
})

// newLayout reads the tags of a table. A tag that makes no sense is a programming error, and
// panics.
func newLayout(t metrics.RecordTable, known []attribute) *layout {
	about := t.Record.Field(0).Tag
	l := &layout{RecordTable: t, name: about.Get("name"), doc: about.Get("doc"), never: about.Get("dropped") == "never", kind: about.Get("of"), parts: map[string]bool{}, attributes: known}
	l.columns = []*column{l.ofRun("variant,dict", func(n *names) parquet.Value { return textValue(n.variant) }, reflect.TypeFor[string]()),
		l.ofRun("seed", func(n *names) parquet.Value { return parquet.Int64Value(int64(n.seed)) }, reflect.TypeFor[uint64]())}
	for i := range t.Record.NumField() {
		f := t.Record.Field(i)
		tag, ok := f.Tag.Lookup("column")
		if !ok {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		c := &column{name: name, unit: f.Tag.Get("unit"), of: f.Tag.Get("of"), doc: f.Tag.Get("doc"), from: f.Tag.Get("from"), condition: f.Tag.Get("if")}
		if options != "" {
			c.options = "," + options
		}
		switch {
		case c.from == "":
			l.fieldColumn(c, f, f.Tag)
		case strings.ToUpper(c.from[:1]) == c.from[:1]:
			l.fieldColumn(c, l.field(c.from), f.Tag)
		default:
			l.attributeColumn(c)
		}
		l.columns = append(l.columns, c)
	}
	rows := make([]reflect.StructField, len(l.columns))
	for i, c := range l.columns {
		rows[i] = reflect.StructField{Name: fmt.Sprint("Column", i), Type: c.typ, Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s%s" %s`, c.name, c.options, c.key))}
	}
	name := cmp.Or(about.Get("schema"), t.Record.Name())
	l.schema = parquet.NewSchema(name, parquet.SchemaOf(reflect.New(reflect.StructOf(rows)).Interface()))
	return l
}

// ofRun returns a column that all rows of a run have in common.
func (l *layout) ofRun(tag string, value func(*names) parquet.Value, typ reflect.Type) *column {
	c := &column{typ: typ}
	c.name, _, _ = strings.Cut(tag, ",")
	c.options = strings.TrimPrefix(tag, c.name)
	c.values = func(k *chunk) func(int) parquet.Value {
		v := value(k.names)
		return func(int) parquet.Value { return v }
	}
	return c
}

// field returns the field at a path of names, with its index in records.
func (l *layout) field(path string) (f reflect.StructField) {
	f.Type = l.Record
	for name := range strings.SplitSeq(path, ".") {
		next, ok := f.Type.FieldByName(name)
		if !ok {
			panic(fmt.Sprintf("runfolder: table %s: no field %s", l.name, path))
		}
		next.Index = append(slices.Clone(f.Index), next.Index...)
		f = next
	}
	return f
}

// path returns the index of a field of records.
func (l *layout) path(name string) []int { return l.field(name).Index }

// fieldColumn completes a column with the values of a field.
func (l *layout) fieldColumn(c *column, f reflect.StructField, tag reflect.StructTag) {
	switch f.Type.Kind() {
	case reflect.String:
		c.typ, c.values = reflect.TypeFor[string](), fieldValues(f.Index, textValue)
	case reflect.Bool:
		c.typ, c.values = reflect.TypeFor[bool](), fieldValues(f.Index, parquet.BooleanValue)
	case reflect.Float64:
		c.typ, c.values = reflect.TypeFor[float64](), fieldValues(f.Index, parquet.DoubleValue)
	case reflect.Slice:
		c.typ, c.key = reflect.TypeFor[map[string]int64](), `parquet-key:",dict"`
		c.counts = func(k *chunk) []*[]metrics.Count { return fields[[]metrics.Count](k.records, f.Index) }
	default:
		var value func(int64) parquet.Value
		c.typ, value = integerColumn(c, f.Type, tag)
		if value == nil {
			c.values = func(k *chunk) func(int) parquet.Value { return enumeration(f.Type, integers(k.records, f)) }
			break
		}
		c.values = func(k *chunk) func(int) parquet.Value {
			of := integers(k.records, f)
			return func(i int) parquet.Value { return value(of(i)) }
		}
	}
}

// fieldValues returns what gives the values of a field.
func fieldValues[V any](index []int, value func(V) parquet.Value) func(k *chunk) func(int) parquet.Value {
	return func(k *chunk) func(int) parquet.Value {
		list := fields[V](k.records, index)
		return func(i int) parquet.Value { return value(*list[i]) }
	}
}

// integerColumn returns the type of the values of a column of integers, and how they are made;
// nil of an enumeration, whose values are names.
func integerColumn(c *column, field reflect.Type, tag reflect.StructTag) (reflect.Type, func(int64) parquet.Value) {
	null := func(int64) bool { return false }
	if c.optional() {
		switch field {
		case reflect.TypeFor[units.Time]():
			null = func(v int64) bool { return units.Time(v) == units.Never }
		case reflect.TypeFor[units.Rate]():
			null = func(v int64) bool { return v == 0 }
		default:
			null = func(v int64) bool { return v == metrics.Absent }
		}
	}
	var value func(int64) parquet.Value
	var typ reflect.Type
	whole := func(factor string) int64 {
		n, err := strconv.ParseInt(cmp.Or(factor, "1"), 10, 64)
		if err != nil {
			panic(fmt.Sprintf("runfolder: column %s: %v", c.name, err))
		}
		return n
	}
	times, over := whole(tag.Get("times")), float64(whole(tag.Get("over")))
	_, named := reflect.Zero(field).Interface().(fmt.Stringer)
	switch kind := field.Kind(); {
	case field == reflect.TypeFor[units.Time]() && c.unit == "us", field == reflect.TypeFor[units.Duration]() && c.unit == "us":
		typ, value = reflect.TypeFor[float64](), func(v int64) parquet.Value { return parquet.DoubleValue(units.Duration(v).Microseconds()) }
	case named && kind == reflect.Uint8:
		return reflect.TypeFor[string](), nil
	case over != 1:
		typ, value = reflect.TypeFor[float64](), func(v int64) parquet.Value { return parquet.DoubleValue(float64(v) / over) }
	case kind == reflect.Int64 || kind == reflect.Uint32 && tag.Get("as") != "int32":
		typ, value = reflect.TypeFor[int64](), func(v int64) parquet.Value { return parquet.Int64Value(times * v) }
	default:
		typ, value = reflect.TypeFor[int32](), func(v int64) parquet.Value { return parquet.Int32Value(int32(v)) }
	}
	return typ, func(v int64) parquet.Value {
		if null(v) {
			return parquet.NullValue()
		}
		return value(v)
	}
}

// enumeration returns what gives the names of the values of an enumeration.
func enumeration(t reflect.Type, of func(i int) int64) func(i int) parquet.Value {
	var known [256]parquet.Value
	return func(i int) parquet.Value {
		v := of(i)
		if known[v].IsNull() {
			known[v] = textValue(nameOf(t, v))
		}
		return known[v]
	}
}

// nameOf returns the name of a value of an enumeration.
func nameOf(t reflect.Type, value int64) string {
	v := reflect.New(t).Elem()
	v.SetUint(uint64(value))
	return v.Interface().(fmt.Stringer).String()
}

// integers returns what gives the integers of a field.
func integers(records reflect.Value, f reflect.StructField) func(i int) int64 {
	switch f.Type.Kind() {
	case reflect.Int16:
		return integersOf[int16](records, f.Index)
	case reflect.Int32:
		return integersOf[int32](records, f.Index)
	case reflect.Int64:
		return integersOf[int64](records, f.Index)
	case reflect.Uint8:
		return integersOf[uint8](records, f.Index)
	case reflect.Uint16:
		return integersOf[uint16](records, f.Index)
	case reflect.Uint32:
		return integersOf[uint32](records, f.Index)
	}
	panic(fmt.Sprintf("runfolder: field %s: values of type %s are not written", f.Name, f.Type))
}

func integersOf[V int16 | int32 | int64 | uint8 | uint16 | uint32](records reflect.Value, index []int) func(i int) int64 {
	list := fields[V](records, index)
	return func(i int) int64 { return int64(*list[i]) }
}

// valuesOf returns what gives the values of a column that is no map.
func (l *layout) valuesOf(c *column, k *chunk) func(i int) parquet.Value {
	of := c.values(k)
	if c.of != "" {
		kind := l.field(l.kind)
		number, has := integers(k.records, kind), [256]*bool{}
		of = only(of, func(i int) bool {
			v := number(i)
			if has[v] == nil {
				is := slices.Contains(strings.Split(c.of, ", "), nameOf(kind.Type, v))
				has[v] = &is
			}
			return *has[v]
		})
	}
	if path, not := strings.CutPrefix(c.condition, "!"); path != "" {
		number := integers(k.records, l.field(path))
		of = only(of, func(i int) bool { return (number(i) == 0) == not })
	}
	if c.optional() && c.typ.Kind() == reflect.String {
		text := of
		of = func(i int) parquet.Value {
			if v := text(i); len(v.ByteArray()) > 0 {
				return v
			}
			return parquet.NullValue()
		}
	}
	return of
}

// only returns what gives null where a condition does not hold.
func only(of func(int) parquet.Value, holds func(int) bool) func(i int) parquet.Value {
	return func(i int) parquet.Value {
		if !holds(i) {
			return parquet.NullValue()
		}
		return of(i)
	}
}
