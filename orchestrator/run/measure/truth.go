package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// truths joins samples with the exact values that their packets met, when the run is over.
type truths struct {
	plan   *plan.Plan
	limit  int
	hops   []metrics.HopValue
	tagged []metrics.TaggedSample
	level  int // how many times half of the packets were left out

	rows      []metrics.Truth // in order of time
	unmatched int64           // samples without all of their hops
}

func newTruths(p *plan.Plan) *truths { return &truths{plan: p, limit: metrics.MaxHopValues} }

// Consume implements metrics.Consumer.
func (t *truths) Consume(b *metrics.Batch) {
	for i := range b.Hops {
		if h := &b.Hops[i]; metrics.TruthLevel(h.Flow, h.Packet) >= t.level {
			t.hops = append(t.hops, *h)
		}
	}
	for i := range b.Tagged {
		if s := &b.Tagged[i]; metrics.TruthLevel(s.Flow, s.Packet) >= t.level {
			t.tagged = append(t.tagged, *s)
		}
	}
	for len(t.hops) > t.limit {
		t.level++
		t.hops = slices.DeleteFunc(t.hops, func(h metrics.HopValue) bool { return metrics.TruthLevel(h.Flow, h.Packet) < t.level })
		t.tagged = slices.DeleteFunc(t.tagged, func(s metrics.TaggedSample) bool { return metrics.TruthLevel(s.Flow, s.Packet) < t.level })
	}
}

// transmission identifies a packet on its way.
type transmission struct {
	flow, packet uint32
	number       uint8
}

func (a transmission) compare(b transmission) int {
	return cmp.Or(cmp.Compare(a.flow, b.flow), cmp.Compare(a.packet, b.packet), cmp.Compare(a.number, b.number))
}

func ofHop(h *metrics.HopValue) transmission { return transmission{h.Flow, h.Packet, h.Transmission} }

// take joins what there is, and returns the rows.
func (t *truths) take() []metrics.Truth {
	slices.SortFunc(t.hops, func(a, b metrics.HopValue) int {
		return cmp.Or(ofHop(&a).compare(ofHop(&b)), cmp.Compare(a.Hop, b.Hop))
	})
	later := newPortValues(t.hops)
	for i := range t.tagged {
		s := &t.tagged[i]
		way := t.wayOf(s)
		if way == nil {
			t.unmatched++
			continue
		}
		t.rows = append(t.rows, t.join(s, way, later))
	}
	t.hops, t.tagged = nil, nil
	slices.SortFunc(t.rows, func(a, b metrics.Truth) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Flow, b.Flow), cmp.Compare(a.Packet, b.Packet), cmp.Compare(a.Hop, b.Hop))
	})
	return t.rows
}

// wayOf returns the values of the hops that a sample's packet crossed with the tag that
// was read, in order; nil if one of them is not there.
func (t *truths) wayOf(s *metrics.TaggedSample) []metrics.HopValue {
	of := transmission{s.Flow, s.Packet, s.Transmission}
	from, _ := slices.BinarySearchFunc(t.hops, of, func(h metrics.HopValue, of transmission) int { return ofHop(&h).compare(of) })
	to := from
	for to < len(t.hops) && ofHop(&t.hops[to]) == of && (s.Hop == 0 || t.hops[to].Hop <= s.Hop) {
		to++
	}
	way := t.hops[from:to]
	for i := len(way) - 1; i > 0; i-- {
		if before := &way[i-1]; before.Ends || before.Type != s.Type {
			way = way[i:] // of an earlier tag
			break
		} else if before.Hop+1 != way[i].Hop {
			return nil
		}
	}
	switch last := len(way) - 1; {
	case last < 0, way[last].Type != s.Type, s.Hop == 0 && !way[last].Last, s.Hop > 0 && way[last].Hop != s.Hop:
		return nil
	}
	return way
}

// join returns a sample beside the truth of its way.
func (t *truths) join(s *metrics.TaggedSample, way []metrics.HopValue, later *portValues) metrics.Truth {
	least := csig.Type(s.Type).Min()
	worse := func(a, b int64) bool { return a < b == least && a != b }
	worst, use := &way[0], later.at(&way[0], s)
	for i := range way[1:] {
		h := &way[1+i]
		if worse(h.Value, worst.Value) {
			worst = h
		}
		if v := later.at(h, s); use == metrics.Absent || v == metrics.Absent {
			use = metrics.Absent
		} else if worse(v, use) {
			use = v
		}
	}
	row := metrics.Truth{
		TaggedSample: *s, Worst: worst.Value, Node: worst.Node, Port: worst.Port, Left: worst.At, Hops: int32(len(way)), Updates: worst.Updates, Inside: s.Encloses(worst.Value), AtUse: use,
	}
	port := &t.plan.Switch(int(worst.Node)).Ports[worst.Port]
	label := uint32(port.Locator)
	if s.Locator >= metrics.SecondFormat {
		label = metrics.SecondFormat | uint32(port.Second.Locator)
	}
	switch {
	case s.Locator%metrics.SecondFormat == 0:
		row.Named = metrics.NamedNone
	case s.Locator != label:
		row.Named = metrics.NamedOther
	}
	return row
}

// portValues finds the values of ports by time.
type portValues struct {
	hops  []metrics.HopValue
	order []int32 // of hops by port, type and time
}

func newPortValues(hops []metrics.HopValue) *portValues {
	v := &portValues{hops: hops, order: make([]int32, len(hops))}
	for i := range v.order {
		v.order[i] = int32(i)
	}
	slices.SortFunc(v.order, func(a, b int32) int { return comparePlaces(&hops[a], &hops[b]) })
	return v
}

func comparePlaces(a, b *metrics.HopValue) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Type, b.Type), cmp.Compare(a.At, b.At))
}

// at returns the value that the last packet at a hop's port met before a sample was read;
// Absent if there is none after the hop's own packet.
func (v *portValues) at(h *metrics.HopValue, s *metrics.TaggedSample) int64 {
	of := *h
	of.At = s.At + 1
	i, _ := slices.BinarySearchFunc(v.order, &of, func(i int32, of *metrics.HopValue) int { return comparePlaces(&v.hops[i], of) })
	if last := &v.hops[v.order[i-1]]; last.At > h.At {
		return last.Value
	}
	return metrics.Absent
}

// truthMetrics are of the samples beside the truth, formatMetrics of those whose tags have one
// of two formats.
var (
	truthMetrics = Group{Title: "Signal truth", Entries: truthEntries("", "", nil, needCSIG, needTruth),
		Doc: "With [`telemetry.truth`](telemetry.md#signal-truth) samples are compared with the exact values of the hops of their packets. Errors are without their sign, in the unit of the signal."}
	formatMetrics = Group{Title: "Signal truth by format", Of: "tags of two formats", Entries: truthEntries(".<format>", ", of tags of one format", named(csig.FormatNone.Names()[1:]...), needCSIG, needTruth, needSecond),
		Doc: "Where tags have [two formats](../explanation/csig.md#two-formats), each of these also has the metrics of either format, with its name at the end: `csig_abw_gbps.error_p50.wide`, `truth_missed.delay.compact`."}

	needTruth  = &need{"telemetry.truth", func(p *plan.Plan) bool { return p.Truth != 0 }, "its telemetry.truth is none"}
	needSecond = &need{"tags of two formats", func(p *plan.Plan) bool { return p.Second != nil }, "its tags have one format"}
)

// The entries of truthEntries.
const (
	truthSamples = iota
	truthMissed
	truthOutside
	truthError
	truthStale
	truthPercent
	truthSilent
)

// truthEntries returns the entries of some samples, whose names end with a word if ending is not nil.
func truthEntries(form, doc string, ending *words, needs ...*need) []*Entry {
	const noTruth = "no sample of it that was chosen came in the measuring window"
	percentiles := namesOf(truthStatistics)
	entries := []*Entry{
		truthSamples: {Form: "truth_samples.<signal>", Packets: true, Words: []*words{typeNames}, Unit: "samples", Absent: noTruth, Doc: "samples compared"},
		truthMissed: {Form: "truth_missed.<signal>", Packets: true, Words: []*words{typeNames}, Better: meaning.Lower, Share: true, Absent: noTruth,
			Doc: "of the samples, those that name another port than the worst hop"},
		truthOutside: {Form: "truth_outside.<signal>", Packets: true, Words: []*words{typeNames}, Better: meaning.Lower, Share: true, Absent: noTruth,
			Doc: "of the samples, those whose truth is not in the interval that the code stands for"},
		truthError: {Form: "csig_<signal>.error_<statistic>", Packets: true, Words: []*words{quantityNames, percentiles}, Absent: noSamples, Doc: "the decoded value less the truth"},
		truthStale: {Form: "csig_<signal>.stale_<statistic>", Packets: true, Words: []*words{quantityNames, percentiles}, Absent: noSamples,
			Doc: "the decoded value less the truth at the time when the sample was read, of samples for which this is known"},
		truthPercent: {Form: "csig_error_percent.<statistic>.<signal>", Packets: true, Words: []*words{percentiles, typeNames}, Better: meaning.Lower, Absent: noSamples,
			Doc: "the error over the truth, of samples whose truth is not 0"},
		truthSilent: {Form: "truth_silent.<signal>", Packets: true, Words: []*words{typeNames}, Better: meaning.Lower, Share: true, Absent: noTruth,
			Doc: "of the samples, those whose worst hop does not write into tags, because its switch does not speak CSIG, or by a rule of `csig.ports`"},
	}
	for _, m := range entries {
		m.Form, m.Doc, m.Needs = m.Form+form, m.Doc+doc, needs
		if ending != nil {
			m.Words = append(m.Words, ending)
		}
	}
	return entries
}

// truthSum is what the metrics of one type are made of.
type truthSum struct {
	missed, outside, silent int
	errors, stale, relative []float64 // relative: of truths that are not 0
}

// measure adds, by type, how far the samples of the measuring window are from the truth, of
// all samples and, where tags have two formats, of those of each format.
func (t *truths) measure(e *emitter) {
	t.measureOf(func(*metrics.Truth) bool { return true }, func(entry int, value float64, words ...string) {
		e.set(truthMetrics.Entries[entry], value, words...)
	})
	if t.plan.Second == nil {
		return
	}
	for _, table := range t.plan.LocatorTables() {
		second := table == t.plan.Second
		t.measureOf(func(r *metrics.Truth) bool { return r.Locator >= metrics.SecondFormat == second }, func(entry int, value float64, words ...string) {
			e.set(formatMetrics.Entries[entry], value, append(words, table.FormatName())...)
		})
	}
}

// measureOf emits the metrics of some samples.
func (t *truths) measureOf(has func(*metrics.Truth) bool, set func(entry int, value float64, words ...string)) {
	var sums [csig.Types]truthSum
	for i := range t.rows {
		if r := &t.rows[i]; t.plan.Measure.Contains(r.At) && has(r) {
			sums[r.Type].add(r)
		}
	}
	for k := range sums {
		s := &sums[k]
		if len(s.errors) == 0 {
			continue
		}
		of, signal := quantityOf(csig.Type(k)), csig.Type(k).String()
		n := float64(len(s.errors))
		set(truthSamples, n, signal)
		set(truthMissed, float64(s.missed)/n, signal)
		set(truthOutside, float64(s.outside)/n, signal)
		set(truthSilent, float64(s.silent)/n, signal)
		statistics := func(entry int, values []float64, factor float64, words func(statistic string) []string) {
			slices.Sort(values)
			emitAll(func(value float64, statistic ...string) { set(entry, value*factor, words(statistic[0])...) }, truthStatistics, values)
		}
		ofQuantity := func(statistic string) []string { return []string{of.name, statistic} }
		statistics(truthError, s.errors, 1/of.unit, ofQuantity)
		statistics(truthStale, s.stale, 1/of.unit, ofQuantity)
		statistics(truthPercent, s.relative, 100, func(statistic string) []string { return []string{statistic, signal} })
	}
}

func (s *truthSum) add(r *metrics.Truth) {
	off := math.Abs(float64(r.Value.Point) - float64(r.Worst)/1000)
	s.errors = append(s.errors, off)
	if r.Worst != 0 {
		s.relative = append(s.relative, off*1000/float64(r.Worst))
	}
	if r.AtUse != metrics.Absent {
		s.stale = append(s.stale, math.Abs(float64(r.Value.Point)-float64(r.AtUse)/1000))
	}
	if r.Named == metrics.NamedOther {
		s.missed++
	}
	if !r.Inside {
		s.outside++
	}
	if !r.Updates {
		s.silent++
	}
}

// truthNotes says what the table of truths lacks.
func truthNotes(_ *Run, records *Records) (notes []string) {
	t := records.truths
	var lacks []string
	if t.level > 0 {
		lacks = append(lacks, fmt.Sprintf("it has one of %d of the packets that telemetry.truth chooses, because hops gave more than %d values", 1<<t.level, t.limit))
	}
	if t.unmatched > 0 {
		lacks = append(lacks, fmt.Sprintf("%d samples are left out, because the values of some of their hops were not recorded", t.unmatched))
	}
	if len(lacks) == 0 {
		return nil
	}
	return []string{"truth.parquet: " + strings.Join(lacks, "; ")}
}
