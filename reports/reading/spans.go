package reading

import (
	"cmp"
	"slices"
)

// Span is a time, in microseconds.
type Span struct{ From, To float64 }

// Unite returns the moments that are in any of the spans: ascending, apart. It sorts the
// list and uses its memory.
func Unite(list []Span) []Span {
	slices.SortFunc(list, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	all := list[:0]
	for _, s := range list {
		switch n := len(all); {
		case s.To <= s.From:
		case n > 0 && s.From <= all[n-1].To:
			all[n-1].To = max(all[n-1].To, s.To)
		default:
			all = append(all, s)
		}
	}
	return all
}

// Lasting returns how long united spans are together.
func Lasting(list []Span) (sum float64) {
	for _, s := range list {
		sum += s.To - s.From
	}
	return sum
}

// Both returns the moments that are in two lists of united spans.
func Both(a, b []Span) (all []Span) {
	for i, k := 0, 0; i < len(a) && k < len(b); {
		if from, to := max(a[i].From, b[k].From), min(a[i].To, b[k].To); from < to {
			all = append(all, Span{from, to})
		}
		if a[i].To < b[k].To {
			i++
		} else {
			k++
		}
	}
	return all
}
