package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section/variants"
	"github.com/csiglab/csiglab/reports/words"
)

// Further effects, of comparisons of two folders.
const (
	Changed      variants.Effect = "changed"      // the metric has no direction
	Inconclusive variants.Effect = "inconclusive" // the seeds do not tell
)

// Schema is the version of Comparison in JSON.
const Schema = 1

// Comparison compares the metrics of two run folders, or of two sweeps.
type Comparison struct {
	Schema     int      `json:"schema"` // the constant
	A          Measured `json:"a"`
	B          Measured `json:"b"`
	Confidence float64  `json:"confidence"` // of the intervals
	// Delta is the share of A's value within which a metric is the same.
	Delta float64 `json:"delta"`
	// Differs is what else differs between the folders, and in every case.
	Differs []Disparity      `json:"differs"`
	Cases   []CaseComparison `json:"cases"`
	// Overall are the metrics over all cases, of two cases and more with the same seeds.
	Overall []Overall `json:"overall,omitempty"`
	Notes   []string  `json:"notes,omitempty"`

	side string // see Design
}

// CaseComparison compares a case of A with one of B.
type CaseComparison struct {
	Name     string    `json:"name"` // of both, or that of A and of B
	Point    []Setting `json:"point,omitempty"`
	VariantA string    `json:"variantA"`
	VariantB string    `json:"variantB"`
	// Paired: the values of one seed are compared with each other, and Seeds are those that
	// both have. Otherwise all seeds of A are compared with all of B.
	Paired bool     `json:"paired"`
	Seeds  []uint64 `json:"seeds,omitempty"`
	SeedsA int      `json:"seedsA"` // how many there are
	SeedsB int      `json:"seedsB"`
	// Identical: both have the same seeds, and each has the same trace hash on both sides.
	Identical bool        `json:"identical"`
	Differs   []Disparity `json:"differs,omitempty"` // of this case alone
	Tested    int         `json:"tested"`            // metrics that share the confidence, of all sides: those that are not equal for every seed
	// Sides is how many sides have metrics that share the confidence, if there are several.
	Sides int `json:"sides,omitempty"`
	// Swapped: P comes from swapping the sides of the few seeds that there are (statistics.Flips), not
	// from a rank test with Holm's correction.
	Swapped bool               `json:"swapped,omitempty"`
	Metrics []MetricComparison `json:"metrics"`         // those that are worse first, then by Effect and size
	OnlyA   []string           `json:"onlyA,omitempty"` // metrics
	OnlyB   []string           `json:"onlyB,omitempty"`
	// LeftOut is how many metrics of single flows and ports were not compared.
	LeftOut int `json:"leftOut,omitempty"`
}

// MetricComparison compares one metric.
type MetricComparison struct {
	Name   string        `json:"name"`
	Unit   string        `json:"unit,omitempty"`
	Better string        `json:"better,omitempty"` // lower or higher; "": neither
	A      variants.Side `json:"a"`
	B      variants.Side `json:"b"`
	// Effect is by how much B is greater: a share of A's value, or, with Absolute, a
	// difference in the metric's unit. Low and High enclose it with the confidence of the
	// comparison; nil: the seeds give no bound.
	Absolute bool     `json:"absolute"`
	Effect   float64  `json:"effect"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	// P is of "A and B are alike", corrected for all metrics that share the confidence.
	P       float64         `json:"p"`
	Outcome variants.Effect `json:"outcome"`
	Reason  string          `json:"reason,omitempty"` // where the numbers do not say it
	ValuesA []float64       `json:"valuesA"`          // by seed
	ValuesB []float64       `json:"valuesB"`          // in pairs with ValuesA, if the case is Paired

	moves []float64 // of a Paired case: by how much each of its seeds moves the metric, see statistics.Flips
}

// Design is how two folders are compared. The zero value compares all metrics of whole runs.
type Design struct {
	Meaning    meaning.Of               // of metrics
	Confidence float64                  // such as 0.95
	Delta      float64                  // see Comparison
	VariantA   string                   // "": all that both have
	VariantB   string                   //
	Only       func(metric string) bool // nil: all
	Single     bool                     // also those of single flows and ports
	Named      []string                 // metrics of single flows and ports that are wanted all the same
	Together   bool                     // the metrics of all cases share the confidence; otherwise those of each

	side string // what sentences call B; "": B
}

// Folders compares two folders. It returns an *Error if there is nothing to compare.
func Folders(a, b *Measured, d Design) (*Comparison, error) {
	c, pairs, err := d.measure(a, b)
	if err != nil {
		return nil, err
	}
	if d.Together {
		d.judgeTogether(c.Cases)
	} else {
		for i := range c.Cases {
			d.judge([]*CaseComparison{&c.Cases[i]})
		}
	}
	c.end(pairs, &d)
	return c, nil
}

// measure compares two folders without a judgement. pairs are the cases of both.
func (d *Design) measure(a, b *Measured) (c *Comparison, pairs [][2]*Case, err error) {
	if pairs, err = pairCases(a, b, d); err != nil {
		return nil, nil, err
	}
	c = &Comparison{Schema: Schema, A: *a, B: *b, Confidence: d.Confidence, Delta: d.Delta, Differs: disparities(a.facts, b.facts), Cases: []CaseComparison{}, side: d.side}
	for _, p := range pairs {
		c.Cases = append(c.Cases, d.compare(p[0], p[1]))
	}
	return c, pairs, nil
}

// end orders the metrics, whose outcomes are known, and says what concerns all cases.
func (c *Comparison) end(pairs [][2]*Case, d *Design) {
	a, b := &c.A, &c.B
	for i := range c.Cases {
		slices.SortStableFunc(c.Cases[i].Metrics, func(a, b MetricComparison) int { return telling(&a, &b) })
	}
	c.hoist()
	c.Overall = c.overall()
	if kinds := slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.LeftOut, b.LeftOut)))); len(kinds) > 0 {
		c.Notes = append(c.Notes, "metrics of single "+strings.Join(kinds, ", ")+" are too many for a summary and are not compared; they are in metrics.parquet")
	}
	left := 0
	for i := range c.Cases {
		left = max(left, c.Cases[i].LeftOut)
	}
	if left > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%d metrics of single flows and ports are left out; --single compares them too", left))
	}
	unpaired := func(of, other *Measured, side string) {
		rest := 0
		for i := range of.Cases {
			if !slices.ContainsFunc(pairs, func(p [2]*Case) bool { return p[0] == &of.Cases[i] || p[1] == &of.Cases[i] }) {
				rest++
			}
		}
		if rest > 0 && d.VariantA == "" && d.VariantB == "" {
			what := "variants"
			if of.Sweep {
				what = "points and variants"
			}
			c.Notes = append(c.Notes, fmt.Sprintf("%d of %d %s of %s have no counterpart in %s", rest, len(of.Cases), what, side, other.Folder))
		}
	}
	unpaired(a, b, "A")
	unpaired(b, a, c.named())
}

// named is what sentences call B.
func (c *Comparison) named() string { return cmp.Or(c.side, "B") }

// hoist moves what differs in every case to the folders' list.
func (c *Comparison) hoist() {
	if len(c.Cases) == 0 {
		return
	}
	for _, d := range slices.Clone(c.Cases[0].Differs) {
		if slices.ContainsFunc(c.Cases, func(o CaseComparison) bool { return !slices.Contains(o.Differs, d) }) {
			continue
		}
		c.Differs = append(c.Differs, d)
		for i := range c.Cases {
			own := &c.Cases[i]
			own.Differs = slices.DeleteFunc(own.Differs, func(o Disparity) bool { return o == d })
		}
	}
}

// pairCases returns which case of a is compared with which one of b.
func pairCases(a, b *Measured, d *Design) ([][2]*Case, error) {
	for _, side := range []struct {
		of      *Measured
		variant string
	}{{a, d.VariantA}, {b, d.VariantB}} {
		if len(side.of.Cases) == 0 {
			return nil, misuse("%s has no variant", side.of.Folder)
		}
		if side.variant != "" && !slices.Contains(side.of.names(), side.variant) {
			return nil, misuse("%s has no variant %q; known: %s", side.of.Folder, side.variant, strings.Join(side.of.names(), " "))
		}
	}
	named := func(of *Measured, variant, other string) string {
		if list := of.names(); variant == "" && other != "" && !slices.Contains(list, other) && len(list) == 1 {
			return list[0]
		}
		return cmp.Or(variant, other)
	}
	va, vb := named(a, d.VariantA, d.VariantB), named(b, d.VariantB, d.VariantA)
	if la, lb := a.names(), b.names(); va == "" && vb == "" && len(la) == 1 && len(lb) == 1 {
		va, vb = la[0], lb[0]
	}
	var pairs [][2]*Case
	type key struct{ point, variant string }
	index := map[key]*Case{}
	for i := range b.Cases {
		index[key{b.Cases[i].pointName(), b.Cases[i].Variant}] = &b.Cases[i]
	}
	for i := range a.Cases {
		one := &a.Cases[i]
		want := one.Variant
		if va != "" {
			if one.Variant != va {
				continue
			}
			want = vb
		}
		if other := index[key{one.pointName(), want}]; other != nil {
			pairs = append(pairs, [2]*Case{one, other})
		}
	}
	switch {
	case len(pairs) > 0:
		return pairs, nil
	case a.Sweep || b.Sweep:
		return nil, misuse("%s and %s have no point and variant in common", a.Folder, b.Folder)
	case va != "":
		return nil, misuse("%s has no variant %q; known: %s; name one: %s:VARIANT", b.Folder, vb, strings.Join(b.names(), " "), b.Folder)
	}
	return nil, misuse("no variant is in both: %s has %s, and %s has %s; name two: %s:%s %s:%s", a.Folder, strings.Join(a.names(), " "), b.Folder, strings.Join(b.names(), " "),
		a.Folder, a.names()[0], b.Folder, b.names()[0])
}

// names returns the names of the variants, each once.
func (m *Measured) names() (names []string) {
	for i := range m.Cases {
		if !slices.Contains(names, m.Cases[i].Variant) {
			names = append(names, m.Cases[i].Variant)
		}
	}
	return names
}

// compare compares two cases.
func (d *Design) compare(a, b *Case) CaseComparison {
	c := CaseComparison{Name: a.Name(), Point: a.Point, VariantA: a.Variant, VariantB: b.Variant, SeedsA: len(a.Seeds), SeedsB: len(b.Seeds),
		Differs: disparities(a.facts, b.facts), Metrics: []MetricComparison{}}
	if a.Variant != b.Variant {
		c.Name = strings.TrimSpace(fmt.Sprintf("%s %s and %s", a.pointName(), a.Variant, b.Variant))
	}
	c.pair(a, b)
	names := map[string][2]int{} // how many seeds of both have a metric
	for i, side := range []*Case{a, b} {
		for _, s := range side.Seeds {
			for name := range s.Metrics {
				n := names[name]
				n[i]++
				names[name] = n
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n := names[name]
		switch {
		case d.Only != nil && !d.Only(name), d.Only == nil && d.Meaning(name).Machine:
		case !d.Single && !slices.Contains(d.Named, name) && (a.ofOne[name] || b.ofOne[name]):
			c.LeftOut++
		case n[1] == 0:
			c.OnlyA = append(c.OnlyA, name)
		case n[0] == 0:
			c.OnlyB = append(c.OnlyB, name)
		default:
			if m, ok := d.metric(name, a, b, c.Paired, c.Seeds); ok {
				c.Metrics = append(c.Metrics, m)
			}
		}
	}
	return c
}

// pair finds the seeds that both have. Where they are less than half of those of the side
// that has fewer, most values would be thrown away: then all are compared unpaired.
func (c *CaseComparison) pair(a, b *Case) {
	hashes := map[uint64]string{}
	for _, s := range a.Seeds {
		hashes[s.Seed] = s.TraceHash
	}
	equal := 0
	for _, s := range b.Seeds {
		if hash, ok := hashes[s.Seed]; ok {
			c.Seeds = append(c.Seeds, s.Seed)
			if hash != "" && hash == s.TraceHash {
				equal++
			}
		}
	}
	c.Identical = equal > 0 && equal == len(a.Seeds) && equal == len(b.Seeds)
	if c.Paired = len(c.Seeds) > 0 && 2*len(c.Seeds) >= min(len(a.Seeds), len(b.Seeds)); !c.Paired {
		c.Seeds = nil
	}
}

// values returns the values of a metric by seed, of so many seeds or of all.
func (c *Case) values(metric string, seeds []uint64, all bool) map[uint64]float64 {
	values := map[uint64]float64{}
	for _, s := range c.Seeds {
		if v, ok := s.Metrics[metric]; ok && (all || slices.Contains(seeds, s.Seed)) && !math.IsNaN(v) && !math.IsInf(v, 0) {
			values[s.Seed] = v
		}
	}
	return values
}

// metric estimates by how much a metric differs. It reports whether there are values.
func (d *Design) metric(name string, a, b *Case, paired bool, seeds []uint64) (MetricComparison, bool) {
	of := d.Meaning(name)
	m := MetricComparison{Name: name, Unit: of.Unit, Better: of.Better.String()}
	va, vb := a.values(name, seeds, !paired), b.values(name, seeds, !paired)
	for _, seed := range slices.Sorted(maps.Keys(va)) {
		if _, both := vb[seed]; both || !paired {
			m.ValuesA = append(m.ValuesA, va[seed])
		}
	}
	for _, seed := range slices.Sorted(maps.Keys(vb)) {
		if _, both := va[seed]; both || !paired {
			m.ValuesB = append(m.ValuesB, vb[seed])
		}
	}
	if len(m.ValuesA) == 0 || len(m.ValuesB) == 0 {
		return m, false
	}
	m.A, m.B = variants.Side{Median: runfolder.Median(m.ValuesA), Seeds: reading.SpreadOf(m.ValuesA)}, variants.Side{Median: runfolder.Median(m.ValuesB), Seeds: reading.SpreadOf(m.ValuesB)}
	// Seeds that lack a metric are often the bad ones, such as those in which a flow does not
	// end. Where one side lacks more of them, those that are left say nothing of the two.
	if why := d.lopsided(va, vb, a, b, paired, seeds); why != "" {
		d.estimate(&m, paired)
		m.Outcome, m.Reason = Inconclusive, why
		return m, true
	}
	if paired && len(m.ValuesA) < len(seeds) {
		m.Reason = fmt.Sprintf("%d of %d seeds have it on both sides", len(m.ValuesA), len(seeds))
	}
	d.estimate(&m, paired)
	m.setMoves(va, vb, seeds)
	return m, true
}

// setMoves sets the moves of a metric with the values of both sides by seed: logarithms of ratios,
// or differences where a value is none of a ratio.
func (m *MetricComparison) setMoves(va, vb map[uint64]float64, seeds []uint64) {
	ratios := !m.Absolute && slices.Min(m.ValuesA) > 0 && slices.Min(m.ValuesB) > 0
	m.moves = make([]float64, len(seeds))
	for i, seed := range seeds {
		a, inA := va[seed]
		b, inB := vb[seed]
		switch {
		case !inA || !inB:
		case ratios:
			m.moves[i] = math.Log(b / a)
		default:
			m.moves[i] = b - a
		}
	}
}

// lopsided returns why the seeds that have a metric on either side cannot be compared: in
// pairs, a seed has it on one side alone; otherwise, the shares of seeds that have it differ.
func (d *Design) lopsided(va, vb map[uint64]float64, a, b *Case, paired bool, seeds []uint64) string {
	ofA, ofB := len(a.Seeds), len(b.Seeds)
	if !paired {
		if len(va)*ofB == len(vb)*ofA {
			return ""
		}
	} else {
		ofA, ofB = len(seeds), len(seeds)
		if !slices.ContainsFunc(seeds, func(seed uint64) bool {
			_, inA := va[seed]
			_, inB := vb[seed]
			return inA != inB
		}) {
			return ""
		}
	}
	return fmt.Sprintf("A has it with %d of %d seeds, %s with %d of %d: the others may be the worst", len(va), ofA, cmp.Or(d.side, "B"), len(vb), ofB)
}

// equal reports whether all values of both sides are pairwise equal, or, unpaired, all equal.
func (m *MetricComparison) equal(paired bool) bool {
	if paired {
		return slices.Equal(m.ValuesA, m.ValuesB)
	}
	return m.A.Seeds.Min == m.A.Seeds.Max && m.B.Seeds.Min == m.B.Seeds.Max && m.A.Median == m.B.Median
}

// estimate fills in the effect, its interval and the uncorrected P.
func (d *Design) estimate(m *MetricComparison, paired bool) {
	if m.equal(paired) {
		zero := 0.0
		m.Low, m.High, m.P, m.Outcome, m.Reason = &zero, &zero, 1, variants.Same, joined(m.Reason, "equal for every seed")
		return
	}
	plan := statistics.Plan{Delta: d.Delta, Confidence: d.Confidence}
	c := m.by(plan, paired)
	// Growth from nothing has no size as a share of it.
	if m.Absolute = m.A.Seeds.Min == 0 && m.A.Seeds.Max == 0 || statistics.Finite(c.Effect) == nil; m.Absolute {
		plan.Absolute, plan.Delta = true, 0
		c = m.by(plan, paired)
	}
	if statistics.Finite(c.Effect) == nil {
		m.P, m.Outcome, m.Reason = 1, Inconclusive, joined(m.Reason, "the difference is beyond all numbers")
		return
	}
	m.Effect, m.Low, m.High, m.P, m.Reason = c.Effect, statistics.Finite(c.Low), statistics.Finite(c.High), c.P, joined(m.Reason, c.Reason)
	if c.Within {
		m.Outcome = variants.Same
	}
	m.Reason = joined(m.Reason, m.beside(paired))
}

// beside says why the medians of both sides suggest another effect than the estimate, if they
// visibly do. The medians may be of different seeds.
func (m *MetricComparison) beside(paired bool) string {
	if m.Absolute || !paired || m.A.Median <= 0 || m.B.Median <= 0 {
		return ""
	}
	shown := m.B.Median/m.A.Median - 1
	if shown*m.Effect >= 0 && math.Abs(shown-m.Effect) < besideLeast {
		return ""
	}
	return fmt.Sprintf("the medians alone differ by %s; the difference is the median of those of each seed", words.Change(shown))
}

// besideLeast is from which distance on, as a share of A, the effect of the medians is said
// beside the estimate.
const besideLeast = 0.01

func (m *MetricComparison) by(plan statistics.Plan, paired bool) statistics.Comparison {
	if !paired {
		return statistics.Unpaired(m.ValuesA, m.ValuesB, plan)
	}
	pairs := make([]statistics.Pair, len(m.ValuesA))
	for i := range pairs {
		pairs[i] = statistics.Pair{Baseline: m.ValuesA[i], Candidate: m.ValuesB[i]}
	}
	return statistics.Compare(pairs, plan)
}

func joined(a, b string) string { return strings.Trim(a+"; "+b, "; ") }

// Effects of comparisons of two folders, in the order in which readers see them.
var Effects = []variants.Effect{variants.Worse, variants.Better, Changed, Inconclusive, variants.Same}

// telling orders metrics by their outcome, those with a direction first, then by how large
// the difference is at least, then by how large it seems. Growth from nothing counts as
// growth by all of it.
func telling(a, b *MetricComparison) int {
	least := func(m *MetricComparison) float64 { // what the interval leaves of the effect, as a share
		switch {
		case m.Low == nil || m.High == nil || (*m.Low > 0) != (*m.High > 0):
			return 0
		case m.Absolute:
			return 1
		}
		return min(math.Abs(*m.Low), math.Abs(*m.High))
	}
	size := func(m *MetricComparison) float64 {
		if m.Absolute {
			return 1
		}
		return math.Abs(m.Effect)
	}
	direction := func(m *MetricComparison) int {
		if m.Better == "" {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(slices.Index(Effects, a.Outcome), slices.Index(Effects, b.Outcome)),
		cmp.Compare(direction(a), direction(b)), cmp.Compare(least(b), least(a)), cmp.Compare(size(b), size(a)))
}

// With returns the metrics of a case with an outcome.
func (c *CaseComparison) With(o variants.Effect) (all []*MetricComparison) {
	for i := range c.Metrics {
		if c.Metrics[i].Outcome == o {
			all = append(all, &c.Metrics[i])
		}
	}
	return all
}

// FewestSeeds returns with how many seeds of both sides a difference in one of so many
// metrics can be found by a rank test.
func (c *Comparison) FewestSeeds(metrics int) int { return fewestSeeds(c.Confidence, metrics) }

func fewestSeeds(confidence float64, metrics int) int {
	_, fewest := statistics.Plan{Confidence: confidence, FalseFail: (1 - confidence) / 2 / float64(max(metrics, 1))}.Fewest()
	return fewest
}
