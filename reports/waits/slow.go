package waits

import (
	"cmp"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// MaxBlame is how many slow collectives or transfers of a variant reports list.
const MaxBlame = 20

// maxSlow is how many instances of collectives of a job have their critical paths walked:
// more than reports list, as the time lost is known afterwards.
const maxSlow = 2 * MaxBlame

func compareSlow(a, b **Path) int {
	return cmp.Or(cmp.Compare((*b).US(), (*a).US()), cmp.Compare((*a).Step, (*b).Step), cmp.Compare((*a).FromUS, (*b).FromUS), cmp.Compare((*a).Group, (*b).Group))
}

// addSlow adds an instance to the slowest ones of its collective.
func (j *Job) addSlow(p *Path) {
	list := j.slow[p.Collective]
	if len(list) == maxSlow && compareSlow(&list[maxSlow-1], &p) <= 0 {
		return
	}
	own := *p
	j.slow[p.Collective] = reading.First(append(list, &own), maxSlow, compareSlow)
}

// choose sets Slow: the slowest instance of each collective, and of the others those that took
// the longest beyond the fastest instance.
func (j *Job) choose() {
	var all, others []*Path
	for _, name := range slices.Sorted(maps.Keys(j.slow)) {
		list := j.slow[name]
		all, others = append(all, list[0]), append(others, list[1:]...)
	}
	beyond := func(p *Path) float64 { return p.US() - j.Fastest[p.Collective] }
	all = reading.First(all, maxSlow, compareSlow)
	j.Slow = append(all, reading.First(others, maxSlow-len(all), func(a, b **Path) int {
		return cmp.Or(cmp.Compare(beyond(*b), beyond(*a)), compareSlow(a, b))
	})...)
	j.slow = nil
}

// Transfer is a transfer of a run without jobs that may have lost much time. Its path has one
// piece.
type Transfer struct {
	Name     string
	Open     bool    // it did not complete: it ends with the run
	Slowdown float64 // 0: not known
	Whole    []Piece

	lostUS float64 // estimate
}

// transfers are the slowest ones of a run, the worst first, at most MaxBlame.
type transfers struct {
	reading   *reading.Reading
	run       reading.RunID
	slowdowns map[string]float64
	stuck     bool // a check says that transfers did not complete which should have
	slow      []Transfer
}

func newTransfers(r *reading.Reading, run reading.RunID) *transfers {
	t := &transfers{reading: r, run: run, slowdowns: r.Metrics.Slowdowns[run]}
	for _, other := range r.Manifest.Runs {
		if other.Variant == run.Variant && other.Seed == run.Seed {
			t.stuck = slices.ContainsFunc(other.Checks, func(c runfolder.Check) bool { return c.Name == "completion" && !c.OK })
		}
	}
	return t
}

// compare orders transfers: those that did not complete come first if they should have, and
// otherwise last.
func (t *transfers) compare(a, b *Transfer) int {
	if a.Open != b.Open {
		if a.Open == t.stuck {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.lostUS, a.lostUS), cmp.Compare(a.Name, b.Name))
}

// endUS returns when the run ends. It is called for rows of transfers, which a pass reads after
// those of ports and flows: these say so if the summary does not.
func (t *transfers) endUS() float64 {
	if stop, ok := t.reading.Totals.Stops[t.run]; ok {
		return stop
	}
	return t.reading.Totals.Ends[t.run]
}

// add takes a transfer.
func (t *transfers) add(row *runfolder.PhaseRow) {
	_, size, ok := t.reading.Transfer(row)
	if !ok || row.StartUS == nil {
		return
	}
	one := Transfer{Name: row.FlowName, Open: row.SenderDoneUS == nil, Slowdown: t.slowdowns[row.FlowName]}
	share, to := 1.0, 0.0 // share of the payload that arrived
	if one.Open {
		share, to = min(1, float64(row.PayloadBytes)/float64(size)), t.endUS()
	} else {
		to = *row.SenderDoneUS
	}
	one.lostUS = to - *row.StartUS
	if one.Slowdown > 0 {
		one.lostUS -= one.lostUS / one.Slowdown
	}
	if !(to > *row.StartUS) || len(t.slow) == MaxBlame && t.compare(&t.slow[MaxBlame-1], &one) <= 0 {
		return
	}
	one.Whole = []Piece{{
		Kind: KindTransfer, Rank: -1, Peer: -1, Host: row.SrcName, PeerHost: row.DstName, Flow: row.FlowName, Bytes: int64(float64(size) * share),
		FromUS: *row.StartUS, ToUS: to, FlowNumber: row.Flow, send: true,
	}}
	t.slow = reading.First(append(t.slow, one), MaxBlame, t.compare)
}
