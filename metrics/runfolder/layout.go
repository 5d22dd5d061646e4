package runfolder

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/tables"
	"github.com/csiglab/csiglab/units"
)

// layout is a table of records, as the tags of their type describe it (metrics.Table).
type layout struct {
	tables.Table
	name, doc string
	never     bool   // no record is ever dropped
	kind      string // the field that says which columns a record has; "": all have all
	columns   []*column
	schema    *parquet.Schema
	parts     map[string]*column // of subjects that columns need: one that has all records which need it
}

// column is a column of a table.
type column struct {
	name, options string // options of the Parquet package, with the comma before them
	unit, of, doc string
	condition     string // tag if
	typ           reflect.Type
	key           reflect.StructTag // of a map
	// values returns what gives the values of the records of a chunk, of which holds, if it is
	// not nil, says which have one; counts, those of a map.
	values func(k *chunk, holds func(i int) bool) giver
	counts func(k *chunk) []*[]metrics.Count
}

// runColumns are what each table begins with.
type runColumns struct {
	_ metrics.Column `column:"variant,dict" names:"Variant"`
	_ metrics.Column `column:"seed" names:"Seed"`
}

// giver writes the values of the first records of a chunk into a list.
type giver func(to []parquet.Value)

func (c *column) optional() bool { return strings.Contains(c.options, ",optional") }

// layouts returns the tables of records.
var layouts = sync.OnceValue(func() []*layout {
	var list []*layout
	for _, t := range tables.All() {
		list = append(list, newLayout(t))
	}
	return list
})

// newLayout reads the tags of a table. A tag that makes no sense is a programming error, and
// panics.
func newLayout(t tables.Table) *layout {
	about := t.Record.Field(0).Tag
	l := &layout{Table: t, name: about.Get("name"), doc: about.Get("doc"), never: about.Get("dropped") == "never", kind: about.Get("of"), parts: map[string]*column{}}
	records := func(k *chunk) reflect.Value { return k.records }
	for _, f := range slices.Concat(fieldsOf(reflect.TypeFor[runColumns]()), fieldsOf(t.Record)) {
		tag, ok := f.Tag.Lookup("column")
		if !ok {
			continue
		}
		c := &column{unit: f.Tag.Get("unit"), of: f.Tag.Get("of"), doc: f.Tag.Get("doc"), condition: f.Tag.Get("if")}
		c.name, _, _ = strings.Cut(tag, ",")
		c.options = strings.TrimPrefix(tag, c.name)
		if path, named := f.Tag.Lookup("names"); named {
			l.namedColumn(c, path, f.Tag)
		} else if path, other := f.Tag.Lookup("from"); other {
			l.fieldColumn(c, l.field(path), f.Tag, records)
		} else {
			l.fieldColumn(c, f, f.Tag, records)
		}
		if (c.of != "" || c.condition != "") && !c.optional() {
			panic(fmt.Sprintf("runfolder: column %s of %s is not in every record, and not optional", c.name, l.name))
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

// fieldsOf returns the fields of a type, without those of fields that are embedded.
func fieldsOf(t reflect.Type) (list []reflect.StructField) {
	for i := range t.NumField() {
		list = append(list, t.Field(i))
	}
	return list
}

// field returns the field at a path of names, with its index in records.
func (l *layout) field(path string) reflect.StructField { return fieldOf(l.Record, path) }

// path returns the index of a field of records.
func (l *layout) path(name string) []int { return l.field(name).Index }

// fieldColumn completes a column with the values of a field of a chunk's records or subjects.
func (l *layout) fieldColumn(c *column, f reflect.StructField, tag reflect.StructTag, in func(*chunk) reflect.Value) {
	switch f.Type.Kind() {
	case reflect.String:
		c.typ, c.values = reflect.TypeFor[string](), fieldValues(f, in, textValue)
	case reflect.Bool:
		c.typ, c.values = reflect.TypeFor[bool](), fieldValues(f, in, parquet.BooleanValue)
	case reflect.Float64:
		c.typ, c.values = reflect.TypeFor[float64](), fieldValues(f, in, parquet.DoubleValue)
	case reflect.Slice:
		c.typ, c.key = reflect.TypeFor[map[string]int64](), `parquet-key:",dict"`
		c.counts = func(k *chunk) []*[]metrics.Count { return fields[[]metrics.Count](in(k), f.Index) }
	case reflect.Int32:
		c.values = integerValues[int32](c, f, tag, in)
	case reflect.Int64:
		c.values = integerValues[int64](c, f, tag, in)
	case reflect.Uint8:
		c.values = integerValues[uint8](c, f, tag, in)
	case reflect.Uint16:
		c.values = integerValues[uint16](c, f, tag, in)
	case reflect.Uint32:
		c.values = integerValues[uint32](c, f, tag, in)
	case reflect.Uint64:
		c.typ, c.values = f.Type, fieldValues(f, in, func(v uint64) parquet.Value { return parquet.Int64Value(int64(v)) })
	default:
		panic(fmt.Sprintf("runfolder: table %s, column %s: values of type %s are not written", l.name, c.name, f.Type))
	}
}

// fieldValues returns what gives the values of a field.
func fieldValues[V any](f reflect.StructField, in func(*chunk) reflect.Value, value func(V) parquet.Value) func(*chunk, func(int) bool) giver {
	return func(k *chunk, _ func(int) bool) giver {
		list := fields[V](in(k), f.Index)
		return func(to []parquet.Value) {
			for i := range to {
				to[i] = value(*list[i])
			}
		}
	}
}

type integer interface {
	int32 | int64 | uint8 | uint16 | uint32
}

// integerValues returns what gives the values of a field of integers, and sets their type.
func integerValues[V integer](c *column, f reflect.StructField, tag reflect.StructTag, in func(*chunk) reflect.Value) func(*chunk, func(int) bool) giver {
	if _, named := reflect.Zero(f.Type).Interface().(fmt.Stringer); named && f.Type.Kind() == reflect.Uint8 {
		c.typ = reflect.TypeFor[string]()
		return func(k *chunk, holds func(int) bool) giver {
			var known [256]parquet.Value
			return fieldValues(f, in, func(v V) parquet.Value {
				if known[v].IsNull() {
					known[v] = textValue(nameOf(f.Type, uint64(v)))
				}
				return known[v]
			})(k, holds)
		}
	}
	whole := func(factor string) int64 {
		n, err := strconv.ParseInt(cmp.Or(factor, "1"), 10, 64)
		if err != nil {
			panic(fmt.Sprintf("runfolder: column %s: %v", c.name, err))
		}
		return n
	}
	times, over := whole(tag.Get("times")), float64(whole(tag.Get("over")))
	timed := f.Type == reflect.TypeFor[units.Time]() || f.Type == reflect.TypeFor[units.Duration]()
	var value func(v V) parquet.Value
	switch kind := f.Type.Kind(); {
	case timed && c.unit == "us":
		c.typ, value = reflect.TypeFor[float64](), func(v V) parquet.Value { return parquet.DoubleValue(units.Duration(v).Microseconds()) }
	case over != 1:
		c.typ, value = reflect.TypeFor[float64](), func(v V) parquet.Value { return parquet.DoubleValue(float64(v) / over) }
	case kind == reflect.Int64 || kind == reflect.Uint32 && tag.Get("as") != "int32":
		c.typ, value = reflect.TypeFor[int64](), func(v V) parquet.Value { return parquet.Int64Value(times * int64(v)) }
	default:
		c.typ, value = reflect.TypeFor[int32](), func(v V) parquet.Value { return parquet.Int32Value(int32(v)) }
	}
	null := int64(metrics.Absent)
	switch f.Type {
	case reflect.TypeFor[units.Time]():
		null = int64(units.Never)
	case reflect.TypeFor[units.Rate]():
		null = 0
	}
	if !c.optional() {
		return fieldValues(f, in, value)
	}
	return fieldValues(f, in, func(v V) parquet.Value {
		if int64(v) == null {
			return parquet.NullValue()
		}
		return value(v)
	})
}

// nameOf returns the name of a value of an enumeration.
func nameOf(t reflect.Type, value uint64) string {
	v := reflect.New(t).Elem()
	v.SetUint(value)
	return v.Interface().(fmt.Stringer).String()
}

// need adds a part of subjects that a column needs.
func (l *layout) need(part string, c *column) {
	if have := l.parts[part]; have == nil {
		l.parts[part] = c
	} else if have.of != c.of || have.condition != c.condition {
		l.parts[part] = &column{}
	}
}

// holds returns what says which records have a column; nil: all have.
func (l *layout) holds(c *column, k *chunk) func(i int) bool {
	if c.of != "" {
		kind := l.field(l.kind)
		number, has := fields[uint8](k.records, kind.Index), [256]*bool{}
		return func(i int) bool {
			v := *number[i]
			if has[v] == nil {
				is := slices.Contains(strings.Split(c.of, ", "), nameOf(kind.Type, uint64(v)))
				has[v] = &is
			}
			return *has[v]
		}
	}
	if path, not := strings.CutPrefix(c.condition, "!"); path != "" {
		number := fields[int16](k.records, l.path(path))
		return func(i int) bool { return (*number[i] == 0) == not }
	}
	return nil
}

// valuesOf returns what gives the values of a column that is no map, whose number in the file
// is leaf.
func (l *layout) valuesOf(c *column, k *chunk, leaf int) giver {
	holds := l.holds(c, k)
	give := c.values(k, holds)
	if !c.optional() {
		return give
	}
	null, text := parquet.NullValue().Level(0, 0, leaf), c.typ.Kind() == reflect.String
	return func(to []parquet.Value) {
		give(to)
		for i, v := range to {
			if v.IsNull() || holds != nil && !holds(i) || text && len(v.ByteArray()) == 0 {
				to[i] = null
			} else {
				to[i] = v.Level(0, 1, leaf)
			}
		}
	}
}

// textValue returns a value that shares the memory of a text. The writer copies it.
func textValue(text string) parquet.Value {
	return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(text), len(text)))
}
