package shift

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Parts implements section.Section: one part, whose first figure is of the shift that it speaks
// of.
func (s *Section) Parts() []section.Part {
	told := -1
	var order []int
	for i := range s.Shifts {
		if len(s.Shifts[i].Places) == 0 {
			continue
		}
		if told < 0 || s.weight(i) > s.weight(told) {
			told = i
		}
		order = append(order, i)
	}
	if told < 0 {
		return nil
	}
	p := section.Part{ID: "shift", Title: "Where the bottleneck was", Blocks: []section.Block{s.table(), s.figure(&s.Shifts[told])}}
	var more []section.Block
	for _, i := range order {
		if i != told && len(more) < phrases.MaxOfAKind-1 {
			more = append(more, s.figure(&s.Shifts[i]))
		}
	}
	if len(more) > 0 {
		more[len(more)-1].(*chart.Figure).Caption += phrases.LeftOut(len(order), 1+len(more))
		p.Blocks = append(p.Blocks, section.Fold{Title: "More comparisons", Blocks: more})
	}
	t := &s.Shifts[told]
	before, after := t.sides()
	if t.sure(&s.r.Facts) {
		p.Level = section.Telling
	}
	p.Says = t.text(&s.r.Facts, before, after)
	return []section.Part{p}
}

// weight says how much a shift has to say.
func (s *Section) weight(i int) int {
	t := &s.Shifts[i]
	switch {
	case t.sure(&s.r.Facts):
		return 2
	case t.has(false) && t.has(true):
		return 1
	}
	return 0
}

// sure reports whether the bottleneck moved in most of the seeds, to where it was much less
// before.
func (s *Shift) sure(f *reading.Facts) bool {
	if !s.has(false) || !s.has(true) || !s.Moved || 2*s.Agree <= s.Seeds {
		return false
	}
	_, before, then := s.where(f, true)
	return then-before >= MovedShare
}

// sides names the two sides.
func (s *Shift) sides() (before, after string) {
	if s.Fault != "" {
		return "the time before", "the time after"
	}
	return words.Clipped(s.Before.Variant), words.Clipped(s.After.Variant)
}

// figure draws where the bottleneck was on two sides.
func (s *Section) figure(t *Shift) *chart.Figure {
	before, after := t.sides()
	f := &chart.Figure{ID: "shift-" + words.ID(t.After.Variant), Columns: 2, Title: "Where the bottleneck was: " + before + " and " + after}
	if t.Fault != "" {
		f.ID += "-fault"
		f.Title = "Where the bottleneck was before and after the fault" + phrases.In(&s.r.Facts, words.Clipped(t.After.Variant))
	}
	what := "of the telemetry windows in which a port had at most a quarter of its line left"
	if t.Basis == BasisSamples {
		f.ID += "-" + words.ID(t.Signal)
		what = "of the CSIG samples of heavily loaded ports, by the port that they name"
	}
	f.Caption = fmt.Sprintf("Bars are shares %s: %s of %s in %s, %s of %s in %s.", what, words.Number(float64(t.Before.Heavy)), words.Number(float64(t.Before.All)), before, words.Number(float64(t.After.Heavy)), words.Number(float64(t.After.All)), after)
	if t.Fault != "" {
		f.Caption += " The fault: " + words.Clipped(t.Fault) + "."
	}
	f.Caption += " " + t.text(&s.r.Facts, before, after)
	sides := []chart.Side{{Name: before, Paint: chart.Action(0)}, {Name: after, Paint: chart.Rest}}
	for _, side := range sides {
		f.Legend = append(f.Legend, chart.FillKey(side.Name, side.Paint))
	}
	add := func(title, subtitle string, rows []chart.PairRow) {
		if len(rows) > 0 {
			f.Panels = append(f.Panels, chart.Panel{Title: title, Subtitle: subtitle, Chart: &chart.Pairs{Name: title, X: chart.Scaling{Name: "Share", Unit: "%"}, Sides: sides, Rows: rows}})
		}
	}
	var tiers, places []chart.PairRow
	for _, tier := range t.Tiers {
		tiers = append(tiers, row(cmp.Or(phrases.Tier(tier.Tier, tier.Direction), "ports"), tier.Before, tier.After))
	}
	for _, place := range t.Places {
		places = append(places, row(phrases.Shared(&s.r.Facts, place.Ports), place.Before, place.After))
	}
	add("By tier", "↑ away from the hosts, ↓ towards them", tiers)
	add("By port", "Those with the greatest shares", places)
	return f
}

// row is a pair of bars.
func row(name string, sides ...Share) chart.PairRow {
	r := chart.PairRow{Name: name}
	for _, s := range sides {
		bar := chart.Spread{Value: 100 * s.Share, Low: 100 * s.Share, High: 100 * s.Share, Text: words.Percent(s.Share)}
		if s.Seeds.Count > 1 {
			bar.Low, bar.High = 100*s.Seeds.Min, 100*s.Seeds.Max
		}
		r.Values = append(r.Values, bar)
	}
	return r
}

// text says in sentences whether the bottleneck moved.
func (s *Shift) text(f *reading.Facts, before, after string) string {
	switch {
	case s.has(true) && !s.has(false):
		to, _, last := s.where(f, true)
		return fmt.Sprintf("No port was heavily loaded in %s; in %s the bottleneck was mostly %s (%s).", before, after, to, words.Percent(last))
	case s.has(false) && !s.has(true):
		from, share, _ := s.where(f, false)
		return fmt.Sprintf("In %s the bottleneck was mostly %s (%s); no port was heavily loaded in %s.", before, from, words.Percent(share), after)
	case !s.has(true):
		return "No port was heavily loaded."
	}
	from, share, then := s.where(f, false)
	to, earlier, last := s.where(f, true)
	var text string
	switch {
	case from == to:
		text = fmt.Sprintf("The bottleneck stayed at %s (%s in %s, %s in %s).", from, words.Percent(share), before, words.Percent(then), after)
	case !s.Moved:
		tier := &s.Tiers[s.FromTier]
		text = fmt.Sprintf("The bottleneck stayed at %s (%s in %s, %s in %s).", tier.name(), words.Percent(tier.Before.Share), before, words.Percent(tier.After.Share), after)
	case s.sure(f):
		text = fmt.Sprintf("The bottleneck moved from %s (%s in %s) to %s (%s in %s, up from %s).", from, words.Percent(share), before, to, words.Percent(last), after, words.Percent(earlier))
	default:
		text = fmt.Sprintf("The bottleneck was mostly at %s in %s (%s), and at %s in %s (%s).", from, before, words.Percent(share), to, after, words.Percent(last))
	}
	if s.Seeds > 1 {
		text += fmt.Sprintf(" %d of %d seeds say the same.", s.Agree, s.Seeds)
	}
	return text
}

// has reports whether a side has a heavily loaded port.
func (s *Shift) has(after bool) bool {
	place, tier := s.From, s.FromTier
	if after {
		place, tier = s.To, s.ToTier
	}
	return place >= 0 && place < len(s.Places) && tier >= 0 && tier < len(s.Tiers)
}

// where names the bottleneck of one side, with its shares of both: its place or, if that has
// too little of its side, its tier.
func (s *Shift) where(f *reading.Facts, after bool) (name string, before, then float64) {
	at, in := s.From, s.FromTier
	if after {
		at, in = s.To, s.ToTier
	}
	place, tier := &s.Places[at], &s.Tiers[in]
	share := place.Before.Share
	if after {
		share = place.After.Share
	}
	if share >= MovedShare {
		return phrases.Shared(f, place.Ports), place.Before.Share, place.After.Share
	}
	return tier.name(), tier.Before.Share, tier.After.Share
}

func (t *Tier) name() string {
	if t.Tier == "" {
		return "ports"
	}
	return "ports of tier " + phrases.Class(t.Tier, t.Direction)
}

// table says where the bottleneck was, in one variant and another, and before and after faults.
func (s *Section) table() *section.Table {
	t := &section.Table{Label: "Where the bottleneck was", Columns: phrases.Columns("before", "after", "of heavily loaded", "mostly before", "mostly after", "#seeds that agree")}
	for i := range s.Shifts {
		one := &s.Shifts[i]
		before, after := one.Before.Variant, one.After.Variant
		if one.Fault != "" {
			before, after = before+" before "+one.Fault, "afterwards"
		}
		basis := "windows of switch ports"
		if one.Basis == BasisSamples {
			basis = "samples of " + one.Signal
		}
		t.Rows = append(t.Rows, section.Row{Variant: one.After.Variant, Cells: phrases.Cells(before, after, basis, one.prevalent(one.FromTier, one.From, false), one.prevalent(one.ToTier, one.To, true), fmt.Sprintf("%d of %d", one.Agree, one.Seeds))})
	}
	phrases.Bound(t, "comparisons", "the JSON form of this report")
	return t
}

// prevalent names the tier where most of a side is and, if it is a place, the port.
func (s *Shift) prevalent(tier, place int, after bool) string {
	if tier < 0 || tier >= len(s.Tiers) {
		return words.None
	}
	share := func(before, then Share) float64 {
		if after {
			return then.Share
		}
		return before.Share
	}
	at := &s.Tiers[tier]
	text := fmt.Sprintf("%s (%s)", phrases.Class(at.Tier, at.Direction), words.Percent(share(at.Before, at.After)))
	if place < 0 || place >= len(s.Places) {
		return text
	}
	p := &s.Places[place]
	if v := share(p.Before, p.After); v >= MovedShare {
		text += fmt.Sprintf("; %s (%s)", strings.Join(p.Ports[:min(len(p.Ports), 3)], ", "), words.Percent(v))
		if more := len(p.Ports) - 3; more > 0 {
			text += fmt.Sprintf(" or one of %d others", more)
		}
	}
	return text
}
