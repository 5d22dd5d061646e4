package runfolder

import (
	"iter"
	"slices"

	"github.com/csiglab/csiglab/metrics"
)

// Formats returns the locators of the first format of tags, and those of the second.
func (t *LocatorTable) Formats() (first, second []Locator) {
	i := slices.IndexFunc(t.Locators, func(l Locator) bool { return l.Locator >= metrics.SecondFormat })
	if i < 0 {
		return t.Locators, nil
	}
	return t.Locators[:i], t.Locators[i:]
}

// Format returns the format of the tags that have a locator of records.
func (v *Variant) Format(locator uint32) string {
	if locator >= metrics.SecondFormat {
		return v.Second
	}
	return v.CSIG
}

// formatsOf returns a variant with the formats of its tags alone.
func (m *Manifest) formatsOf(variant string) (formats Variant) {
	for _, v := range m.Variants {
		if v.Name == variant {
			formats.CSIG, formats.Second = v.CSIG, v.Second
		}
	}
	return formats
}

// samePlaces returns, for the locators of the second format that stand for the same ports as
// one of the first, that one; nil without a second format.
func (t *LocatorTable) samePlaces() map[int32]int32 {
	first, second := t.Formats()
	if second == nil {
		return nil
	}
	same := map[int32]int32{metrics.SecondFormat: 0}
	for _, l := range second {
		if i := slices.IndexFunc(first, func(o Locator) bool { return slices.Equal(o.Ports, l.Ports) }); i >= 0 {
			same[l.Locator] = first[i].Locator
		}
	}
	return same
}

// Signals reads the windows of all CSIG samples; see Ports. A locator of the second format
// is replaced by the one of the first that stands for the same ports, if there is one, so
// that samples of both formats name the same port.
func (f *Folder) Signals() iter.Seq2[SignalRow, error] {
	same := map[string]map[int32]int32{}
	for _, v := range f.Manifest.Variants {
		if v.Second != "" && v.Locators != nil {
			same[v.Name] = v.Locators.samePlaces()
		}
	}
	rows := readWindows[SignalRow](f, tableSignals)
	if len(same) == 0 {
		return rows
	}
	return func(yield func(SignalRow, error) bool) {
		for r, err := range rows {
			if first, ok := same[r.Variant][r.Locator]; ok {
				r.Locator = first
			}
			if !yield(r, err) {
				return
			}
		}
	}
}
