package simai

import "github.com/csiglab/csiglab/internal/lines"

// layout finds out the parallelism from the sizes of groups and stages.
func (r *csvReader) layout() (Layout, error) {
	l := Layout{PP: len(r.sections), EP: 1}
	stage := r.sections[0].ranks
	tp, dp := r.sizes[TP].ranks, r.sizes[DP].ranks
	if err := r.sized(stage > 0 || r.options.Ranks > 0 || r.sizes[World].ranks > 0); err != nil {
		return l, err
	}
	if stage == 0 {
		// A file without ranks: what its groups need, or what the option says.
		stage = max(tp, 1) * max(dp, 1, r.sizes[EP].ranks*max(1, r.sizes[DPEP].ranks))
		if n := r.sizes[World].ranks; n > 0 && tp*dp == 0 {
			stage = n
		}
		if n := r.options.Ranks; n > 0 {
			stage = n
		}
	}
	switch {
	case tp == 0 && dp == 0:
		tp, dp = 1, stage
	case tp == 0:
		tp = stage / dp
	case dp == 0:
		dp = stage / tp
	}
	at := r.sections[0].at
	if tp < 1 || dp < 1 || dp > maxRanks/tp || tp*dp != stage {
		return l, r.Errorf(at, "%d ranks are not tensor parallelism %d times data parallelism %d", stage, tp, dp)
	}
	l.TP, l.DP = tp, dp
	if n := r.sizes[EP]; n.ranks > 0 {
		if dp%n.ranks != 0 {
			return l, r.Errorf(n.at, "expert parallelism %d does not divide data parallelism %d", n.ranks, dp)
		}
		l.EP = n.ranks
	} else if n := r.sizes[DPEP]; n.ranks > 0 {
		if dp%n.ranks != 0 {
			return l, r.Errorf(n.at, "%d replicas of the experts do not divide data parallelism %d", n.ranks, dp)
		}
		l.EP = dp / n.ranks
	}
	if err := l.check(); err != nil {
		return l, r.Errorf(at, "%v", err)
	}
	if n := r.options.Ranks; n > 0 && n != l.Ranks() {
		return l, r.Errorf(at, "the file is written for %d ranks, not for %d", l.Ranks(), n)
	}
	for kind := TP; kind <= World; kind++ {
		if n, ok := r.sizes[kind]; ok {
			if span, _ := l.span(kind); span != n.ranks {
				return l, r.Errorf(n.at, "a group %s of %d ranks; with tensor parallelism %d, data parallelism %d and %d stages it has %d", kind, n.ranks, l.TP, l.DP, l.PP, span)
			}
		}
	}
	return l, nil
}

// sized refuses groups whose size neither the file says nor follows from others. ranks says
// whether the number of ranks is known.
func (r *csvReader) sized(ranks bool) error {
	open := func(kind GroupKind) (lines.Pos, bool) {
		at, ok := r.unsized[kind]
		return at, ok && r.sizes[kind].ranks == 0
	}
	const column = "column comm_group_size is missing or has None in all of its rows"
	for _, kind := range []GroupKind{TP, DP, World} {
		product := kind == World && r.sizes[TP].ranks > 0 && r.sizes[DP].ranks > 0
		if at, ok := open(kind); ok && !ranks && !product {
			return r.Errorf(at, "the file does not say how many ranks group %v has: %s; say how many ranks there are (--ranks, or ranks of a job)", kind, column)
		}
	}
	at, tp := open(TP)
	if _, dp := open(DP); tp && dp {
		return r.Errorf(at, "the file says of neither group tp nor group dp how many ranks it has: %s; write it there", column)
	}
	for _, pair := range [][2]GroupKind{{EP, DPEP}, {DPEP, EP}} {
		if at, ok := open(pair[0]); ok && r.sizes[pair[1]].ranks == 0 {
			return r.Errorf(at, "the file does not say how many ranks group %v has: %s; write it there", pair[0], column)
		}
	}
	return nil
}
