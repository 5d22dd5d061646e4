package analysis

import (
	"cmp"
	"slices"
)

// span is a time, in microseconds.
type span struct{ from, to float64 }

// unite returns the moments that are in any of the spans: ascending, apart. It sorts the
// list and uses its memory.
func unite(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	all := list[:0]
	for _, s := range list {
		switch n := len(all); {
		case s.to <= s.from:
		case n > 0 && s.from <= all[n-1].to:
			all[n-1].to = max(all[n-1].to, s.to)
		default:
			all = append(all, s)
		}
	}
	return all
}

// lasting returns how long united spans are together.
func lasting(list []span) (sum float64) {
	for _, s := range list {
		sum += s.to - s.from
	}
	return sum
}

// both returns the moments that are in two lists of united spans.
func both(a, b []span) (all []span) {
	for i, k := 0, 0; i < len(a) && k < len(b); {
		if from, to := max(a[i].from, b[k].from), min(a[i].to, b[k].to); from < to {
			all = append(all, span{from, to})
		}
		if a[i].to < b[k].to {
			i++
		} else {
			k++
		}
	}
	return all
}
