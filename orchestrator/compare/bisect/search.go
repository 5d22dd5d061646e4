// Package bisect finds the first bad one of an ordered sequence of candidates, such as the
// commits of a branch or the values of a parameter. Search is the search alone, given a
// judge. Campaign is a judge that runs an experiment and compares a metric. Neither knows of
// repositories and programs' sources: Session does, which makes the candidates and keeps the
// search in a folder that another process can go on with.
package bisect

import (
	"context"
	"math/bits"
)

// Verdict on a candidate.
type Verdict int

// Verdicts.
const (
	// Skipped: nothing can be said of the candidate, for example because it does not build.
	Skipped Verdict = iota
	Good
	Bad
)

// String returns the verdict in a word.
func (v Verdict) String() string { return [...]string{"skipped", "good", "bad"}[v] }

// Judge returns the verdict on a candidate. Its error ends the search.
type Judge func(ctx context.Context, candidate int) (Verdict, error)

// Search looks for the first bad one of the candidates 0 to last, of which 0 is good and
// last is bad. It judges none of these two, and each of the others at most once. It returns
// the greatest candidate that is good and the smallest that is bad of those around the
// change: all candidates between them are skipped, and each of them may be the first bad
// one as well as bad itself. If no candidate is skipped, bad is good+1.
//
// The candidates should be good up to some place and bad from there on. If they change more
// often, Search finds one of the places where good ones turn bad. last is at least 1.
func Search(ctx context.Context, last int, judge Judge) (good, bad int, err error) {
	good, bad = 0, last
	skipped := map[int]bool{}
	row := 0 // of skipped candidates since the last one that was judged
	for {
		i, ok := next(good, bad, row, skipped)
		if !ok {
			return good, bad, nil
		}
		verdict, err := judge(ctx, i)
		if err != nil {
			return good, bad, err
		}
		switch verdict {
		case Good:
			good, row = i, 0
		case Bad:
			bad, row = i, 0
		default:
			skipped[i] = true
			row++
		}
	}
}

// next returns the candidate to judge, of those strictly between good and bad that were not
// skipped: the nearest to the middle. After candidates were skipped it tries other places,
// spread over the interval by the van der Corput sequence (1/2, 1/4, 3/4, 1/8, …): commits
// that do not build stand together, and the nearest one would not build either.
func next(good, bad, row int, skipped map[int]bool) (candidate int, ok bool) {
	sequence := uint64(row) + 1
	place := float64(bits.Reverse64(sequence)) / (1 << 64)
	wanted := good + int(place*float64(bad-good)+0.5)
	for distance := 0; distance < bad-good; distance++ {
		for _, i := range []int{wanted - distance, wanted + distance} {
			if i > good && i < bad && !skipped[i] {
				return i, true
			}
		}
	}
	return 0, false
}

// Steps returns how many candidates Search judges at most, besides those that it skips.
func Steps(last int) int { return bits.Len(uint(max(last-1, 0))) }
