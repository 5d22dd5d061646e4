package metrics

import "slices"

// Table is the first field of a type of records that are rows of a table of the run folder.
// Package runfolder makes the table of the type's tags, and docs/reference/telemetry.md is written from
// them. Tags of the Table are:
//
//	name    of the table; its file is this name with ".parquet"
//	schema  name of the schema in the file; without it, the type's
//	dropped never, of records that no buffer drops
//	of      the field that says which columns a record has
//	doc     what a row is; who emits it
//
// A column is a field with the tag column, in the order of the fields. What the manifest of
// the run knows of a record, and what another field holds, are columns of blank fields of type
// Column. Every table has the columns variant and seed before its own.
//
//	column  name, and options of the Parquet package: dict, optional
//	unit    of the values. Times are floating-point numbers with unit us, integers with ps
//	doc     what a value is. 'x' is code in the page
//	from    of a Column: the path of a field, such as Value.Low
//	names   of a Column: what the manifest says of the record, such as Flow.Name (runfolder's
//	        type subject has all that there is)
//	of      values of the Table's field of; other records have null here
//	if      path of a number of a Tag; where it is 0, or with "!" before it where it is not, null
//	as      int32, of a number that fits
//	times   what a value is multiplied by
//	over    what a value is divided by; the column has floating-point numbers
//
// A column that is optional has null where a number or a duration is Absent, a time is
// units.Never, a rate 0 and a text "".
type Table struct{}

// Column is a blank field of a record with a Table: a column besides those of its fields.
type Column struct{}

// Rows are the records of one type. Only this package implements it.
type Rows interface {
	count() int
	reset()
	grow(records int)
	like() Rows // an empty list with room for as many
	each(to Sink)
}

// rows are the records of type T.
type rows[T any, P record[T]] []T

type record[T any] interface {
	*T
	Record
}

func (l *rows[T, P]) count() int { return len(*l) }
func (l *rows[T, P]) reset()     { *l = (*l)[:0] }
func (l *rows[T, P]) grow(n int) { *l = slices.Grow(*l, n) }
func (l *rows[T, P]) like() Rows {
	list := make(rows[T, P], 0, len(*l))
	return &list
}
func (l *rows[T, P]) each(to Sink) {
	for i := range *l {
		to.Emit(P(&(*l)[i]))
	}
}

// added has an empty list of each type that table has added.
var added []Rows

// Added returns an empty list of each type of records that have a table and that nothing else
// reads: Batch.Rows has them, and no field of their own.
func Added() []Rows { return added }

// table adds such a type. It is called where the type is, when the package is initialised. The
// records reach their table by keep.
func table[T any, P record[T]]() Rows {
	list := new(rows[T, P])
	added = append(added, list)
	return list
}

// keep appends a copy of a record, whose type table has added, to a batch.
func keep[T any, P record[T]](b *Batch, r P) {
	all := b.Rows[:cap(b.Rows)] // with the memory of lists before Reset
	for i := range all {
		l, ok := all[i].(*rows[T, P])
		if !ok {
			continue
		}
		if n := len(b.Rows); i >= n {
			all[i], all[n] = all[n], all[i]
			b.Rows = all[:n+1]
			l.reset()
		}
		*l = append(*l, *r)
		return
	}
	b.Rows = append(b.Rows, &rows[T, P]{*r})
}
