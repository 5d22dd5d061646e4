package capture

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/csiglab/csiglab/nodes/capture/spool"
)

// Merge writes the records of spools in order of time, those of one instant in
// the order of the spools.
func (w *Writer) Merge(spools []*spool.Reader) error {
	type head struct {
		place  int
		record *spool.Record
	}
	var heads []head // the first record of each spool that has one left, in order
	order := func(a, b head) int {
		return cmp.Or(cmp.Compare(a.record.At, b.record.At), cmp.Compare(a.place, b.place))
	}
	put := func(place int) error {
		record, err := spools[place].Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		h := head{place, record}
		at, _ := slices.BinarySearchFunc(heads, h, order)
		heads = slices.Insert(heads, at, h)
		return nil
	}
	for place := range spools {
		if err := put(place); err != nil {
			return err
		}
	}
	for len(heads) > 0 && w.err == nil {
		first := heads[0]
		heads = slices.Delete(heads, 0, 1)
		w.Write(*first.record)
		if err := put(first.place); err != nil {
			return err
		}
	}
	return w.err
}
