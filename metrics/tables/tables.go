// Package tables knows which types of records are rows of tables, by reflection, which machines
// do not use: the first field of such a type is a metrics.Table. Programs that send batches to
// each other, or write them to files, import it, so that package gob knows all lists of a batch.
package tables

import (
	"encoding/gob"
	"reflect"
	"sync"

	"github.com/csiglab/csiglab/metrics"
)

func init() {
	for _, list := range metrics.Added() {
		gob.RegisterName("metrics."+recordOf(list).Name(), list)
	}
}

// Table is a type of records that are rows of a table.
type Table struct {
	Record reflect.Type
	list   reflect.Type // of records
	field  int          // of metrics.Batch; negative: its Rows have them
}

// All returns all tables.
var All = sync.OnceValue(func() (all []Table) {
	batch := reflect.TypeFor[metrics.Batch]()
	for i := range batch.NumField() {
		if list := batch.Field(i).Type; list.Kind() == reflect.Slice && isRow(list.Elem()) {
			all = append(all, Table{list.Elem(), list, i})
		}
	}
	for _, list := range metrics.Added() {
		t := recordOf(list)
		all = append(all, Table{t, reflect.SliceOf(t), -1})
	}
	return all
})

// isRow reports whether records of a type are rows of a table.
func isRow(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Type == reflect.TypeFor[metrics.Table]()
}

// recordOf returns the type of the records of a list.
func recordOf(list metrics.Rows) reflect.Type { return reflect.TypeOf(list).Elem().Elem() }

// Of returns the records of the type in a batch: a slice, which stays the batch's.
func (t *Table) Of(b *metrics.Batch) reflect.Value {
	if t.field >= 0 {
		return reflect.ValueOf(b).Elem().Field(t.field)
	}
	for _, list := range b.Rows {
		if recordOf(list) == t.Record {
			return reflect.ValueOf(list).Elem().Convert(t.list)
		}
	}
	return reflect.Zero(t.list)
}
