package variants

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/statistics"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/series"
)

// Difference compares a variant with the first one.
type Difference struct {
	Variant string `json:"variant"`
	// CSIG: the variant has CSIG and the first one has not; both have the same fabric,
	// traffic, packet sizes and ports, and the same CC, LB and AQM with the same parameters
	// but for those of CSIG.
	CSIG bool `json:"csig"`
	// OtherFlows: the two do not have the same transfers. Figures over all flows differ
	// for that reason too.
	OtherFlows bool `json:"otherFlows,omitempty"`
	// OtherFaults: the two do not have the same faults.
	OtherFaults bool `json:"otherFaults,omitempty"`
	// OtherCompleted: mean and p99 FCT are not among Quantities, because they are of the
	// flows that completed, and these are not the same in all runs of the two.
	OtherCompleted bool       `json:"otherCompleted,omitempty"`
	Quantities     []Quantity `json:"quantities"` // without those that a variant lacks
	Flows          Changes    `json:"flows"`
	// Queue is the port whose mean queue changed the most, of all ports; nil when none
	// changed by a packet and more than seeds differ.
	Queue *QueueChange `json:"queue,omitempty"`
}

// Same reports whether no quantity differs.
func (d *Difference) Same() bool {
	return !slices.ContainsFunc(d.Quantities, func(q Quantity) bool { return q.Outcome != Same })
}

// With returns the quantities with an outcome.
func (d *Difference) With(o Effect) []Quantity {
	var all []Quantity
	for _, q := range d.Quantities {
		if q.Outcome == o {
			all = append(all, q)
		}
	}
	return all
}

// Quantity is one figure of two variants.
type Quantity struct {
	Name   string  `json:"name"` // SlowestRate, BottleneckQueue or a metric
	Unit   string  `json:"unit"`
	Base   Side    `json:"base"` // of the first variant
	Value  Side    `json:"value"`
	Change float64 `json:"change"` // relative to the first variant; 0 when its figure is 0
	// Low and High enclose Change with 95 %, of the seeds in pairs; nil of fewer than intervalSeeds
	// seeds, or where a figure is 0: then Change is that of the medians.
	Low     *float64 `json:"low,omitempty"`
	High    *float64 `json:"high,omitempty"`
	Outcome Effect   `json:"outcome"`
}

// Names of quantities that are no metrics.
const (
	SlowestRate     = "slowest rate"     // of the flow that is the slowest in its run
	BottleneckQueue = "bottleneck queue" // mean data queue of the first port of Findings.Ports
)

// Side is the figure of one variant.
type Side struct {
	Median float64        `json:"median"` // over the seeds
	Seeds  reading.Spread `json:"seeds"`
}

// Effect is what a variant does to a quantity.
type Effect string

// Effects.
const (
	Better Effect = "better"
	Worse  Effect = "worse"
	Same   Effect = "same" // it differs by less than the seeds do, or hardly
)

// Bounds from which a difference counts (docs/how-to/reading-a-report.md).
const (
	leastChange = 0.01 // of the first variant's figure
	countNoise  = 2    // standard deviations of a count
)

// Changes are the transfers whose figures differ by more than the seeds do, in the
// order of the flows. They are among those that both variants have with one size.
type Changes struct {
	Common int          `json:"common"` // transfers that both variants have with one size
	Gained []FlowChange `json:"gained"` // rate in Gb/s
	Lost   []FlowChange `json:"lost"`
	Sooner []FlowChange `json:"sooner"` // completion time in µs
	Later  []FlowChange `json:"later"`
	// Even are the transfers that complete in both variants at about the same time. A
	// transfer that did not complete in each seed of both is in no list of times.
	Even []string `json:"even"`
}

// FlowChange is the median of a flow in the first variant and in another one.
type FlowChange struct {
	Flow  string  `json:"flow"`
	Base  float64 `json:"base"`
	Value float64 `json:"value"`
}

// QueueChange is how the mean queue of a port changed.
type QueueChange struct {
	reading.Place
	BaseBytes float64 `json:"baseBytes"`
	Bytes     float64 `json:"bytes"`
	// TargetUS is the queueing delay that both variants' CC steers to; 0 when it
	// steers to none, or to different ones.
	TargetUS float64 `json:"targetUs,omitempty"`
}

// differences compares each other variant with the first one.
func (s *Section) differences() []Difference {
	all := []Difference{}
	base := &s.r.Manifest.Variants[0]
	for i := range s.r.Manifest.Variants[1:] {
		v := &s.r.Manifest.Variants[i+1]
		d := Difference{Variant: v.Name, Quantities: []Quantity{},
			CSIG:           base.CSIG == reading.NoCSIG && v.CSIG != reading.NoCSIG && s.alike(base, v),
			OtherFlows:     !slices.Equal(s.r.Manifest.FlowsOf(base.Name), s.r.Manifest.FlowsOf(v.Name)),
			OtherFaults:    s.otherFaults(base.Name, v.Name),
			OtherCompleted: s.otherCompleted(i + 1)}
		add := func(name, unit string, higher bool, a, b []float64) {
			if len(a) > 0 && len(b) > 0 {
				d.Quantities = append(d.Quantities, quantity(name, unit, higher, a, b))
			}
		}
		for _, name := range []string{"fct_us.mean", "fct_us.p99"} {
			if d.OtherCompleted {
				break
			}
			add(name, "µs", false, s.metric(base.Name, name), s.metric(v.Name, name))
		}
		if s.r.Sharing != nil {
			add(SlowestRate, "Gb/s", true, s.slowest(base.Name), s.slowest(v.Name))
		}
		if len(s.r.Limits) > 0 {
			a, b := s.queues(base.Name, s.r.Limits[0].PortID), s.queues(v.Name, s.r.Limits[0].PortID)
			// Where no packet waits there is no queue to compare.
			if packet := float64(base.MTU); len(a) > 0 && len(b) > 0 && (runfolder.Median(a) >= packet || runfolder.Median(b) >= packet) {
				add(BottleneckQueue, "B", false, a, b)
			}
		}
		for _, name := range []string{"trims", "drops", "packets.retransmitted"} {
			a, b := s.metric(base.Name, name), s.metric(v.Name, name)
			if len(a) > 0 && len(b) > 0 && slices.Max(a)+slices.Max(b) > 0 {
				add(name, "packets", false, a, b)
			}
		}
		// Counts alone do not say how flows fare. Where times are left out, the comparison
		// says so.
		fares := slices.ContainsFunc(d.Quantities, func(q Quantity) bool { return q.Name == SlowestRate || strings.HasPrefix(q.Name, "fct_us.") })
		if !fares && !d.OtherCompleted || len(d.Quantities) == 0 {
			continue
		}
		d.Flows = s.changes(i + 1)
		d.Queue = s.deepened(base, v)
		all = append(all, d)
	}
	return all
}

// alike reports whether two variants have the same fabric, traffic, packet sizes and
// ports, and the same CC, LB, AQM and routing with the same parameters. The parameters of CC
// whose names begin with csig may differ.
func (s *Section) alike(a, b *runfolder.Variant) bool {
	if a.CC != b.CC || a.LB != b.LB || a.AQM != b.AQM || a.Routing != b.Routing || a.MTU != b.MTU || a.Header != b.Header || a.Overhead != b.Overhead {
		return false
	}
	if a.Parameters != nil && b.Parameters != nil {
		same := func(f, g runfolder.FlowClass) bool {
			f.CCParameters, g.CCParameters = withoutCSIG(f.CCParameters), withoutCSIG(g.CCParameters)
			return reflect.DeepEqual(f, g)
		}
		if !reflect.DeepEqual(a.Parameters.Ports, b.Parameters.Ports) || !slices.EqualFunc(a.Parameters.Flows, b.Parameters.Flows, same) {
			return false
		}
	}
	m := s.r.Manifest
	return slices.Equal(m.PortsOf(a.Name), m.PortsOf(b.Name)) && slices.Equal(m.FlowsOf(a.Name), m.FlowsOf(b.Name))
}

// withoutCSIG returns the parameters whose names do not begin with csig.
func withoutCSIG(parameters map[string]string) map[string]string {
	rest := maps.Clone(parameters)
	maps.DeleteFunc(rest, func(name, _ string) bool { return strings.HasPrefix(name, "csig") })
	return rest
}

// otherCompleted reports whether some transfer completed in a run of the first variant
// or of another one, and did not complete in another run of the two.
func (s *Section) otherCompleted(variant int) bool {
	return slices.ContainsFunc(s.r.Completion, func(f reading.Completion) bool {
		a, b := &f.Variants[0], &f.Variants[variant]
		return a.Seeds.Count+b.Seeds.Count > 0 && a.Open+b.Open > 0
	})
}

// quantity compares the figures of the seeds of two variants. Higher says that more
// is better.
func quantity(name, unit string, higher bool, base, value []float64) Quantity {
	q := Quantity{Name: name, Unit: unit, Outcome: Same,
		Base: Side{runfolder.Median(base), reading.SpreadOf(base)}, Value: Side{runfolder.Median(value), reading.SpreadOf(value)}}
	if q.Base.Median != 0 {
		q.Change = q.Value.Median/q.Base.Median - 1
	}
	if e, ok := interval(base, value); ok {
		q.Change, q.Low, q.High = e.Effect, &e.Low, &e.High
	}
	if differ(base, value, unit == "packets") {
		q.Outcome = Worse
		if (q.Value.Median > q.Base.Median) == higher {
			q.Outcome = Better
		}
	}
	return q
}

// intervalSeeds are the seeds from which on an interval of 95 % exists.
const intervalSeeds = 6

// interval returns the change of which the seeds come in pairs, as csiglab compare has it, if there
// are enough seeds for its interval and no figure is 0.
func interval(base, value []float64) (e statistics.Estimate, ok bool) {
	if len(base) != len(value) || len(base) < intervalSeeds || slices.Min(base) <= 0 || slices.Min(value) <= 0 {
		return e, false
	}
	pairs := make([]statistics.Pair, len(base))
	for i := range pairs {
		pairs[i] = statistics.Pair{Baseline: base[i], Candidate: value[i]}
	}
	e = statistics.Compare(pairs, statistics.Plan{}).Estimate
	return e, !math.IsInf(e.Low, 0) && !math.IsInf(e.High, 0)
}

// differ reports whether two variants differ by more than their seeds do: the ranges
// over the seeds do not overlap, and the medians differ by leastChange. The difference
// of counts, in the mean of the seeds, must also exceed the noise of counting.
func differ(base, value []float64, count bool) bool {
	a, b := runfolder.Median(base), runfolder.Median(value)
	if slices.Max(base) >= slices.Min(value) && slices.Max(value) >= slices.Min(base) {
		return false
	}
	if count && withinNoise(base, value) {
		return false
	}
	return math.Abs(b-a) > leastChange*math.Abs(a)
}

// withinNoise reports whether the means of two lists of counts differ by no more than
// countNoise standard deviations, if each count is a Poisson variable.
func withinNoise(base, value []float64) bool {
	meanOf := func(counts []float64) (mean, variance float64) {
		for _, count := range counts {
			mean += count / float64(len(counts))
		}
		return mean, mean / float64(len(counts))
	}
	a, varianceA := meanOf(base)
	b, varianceB := meanOf(value)
	return math.Abs(b-a) <= countNoise*math.Sqrt(varianceA+varianceB)
}

// metric returns a metric of the seeds of a variant.
func (s *Section) metric(variant, name string) []float64 {
	var values []float64
	for _, r := range s.r.Summary.Variants[variant].Runs {
		if v, ok := r.Metrics[name]; ok {
			values = append(values, v)
		}
	}
	return values
}

// slowest returns the rate of the slowest transfer of each seed.
func (s *Section) slowest(variant string) []float64 {
	var values []float64
	flows := s.r.Manifest.FlowsOf(variant)
	for _, seed := range s.r.Totals.Seeds[variant] {
		least, rates := math.Inf(1), s.r.Rates[reading.RunID{Variant: variant, Seed: seed}]
		for _, f := range flows {
			if rate, ok := rates[f.Name]; ok && !reading.OfPrograms(f) {
				least = min(least, rate)
			}
		}
		if !math.IsInf(least, 1) {
			values = append(values, least)
		}
	}
	return values
}

// queues returns the mean queue of a port in each seed.
func (s *Section) queues(variant string, id reading.PortID) []float64 {
	var values []float64
	for _, seed := range s.r.Totals.Seeds[variant] {
		r := reading.RunID{Variant: variant, Seed: seed}
		if span := s.r.Totals.Measured(r); span > 0 {
			queue := 0.0
			if sums := s.r.Totals.Ports[r][id]; sums != nil {
				queue = sums.QueueByteNS / 1000 / span
			}
			values = append(values, queue)
		}
	}
	return values
}

// changes lists the transfers of a variant that fare otherwise than in the first one.
func (s *Section) changes(variant int) Changes {
	all := Changes{Gained: []FlowChange{}, Lost: []FlowChange{}, Sooner: []FlowChange{}, Later: []FlowChange{}, Even: []string{}}
	base, other := s.r.Manifest.Variants[0].Name, s.r.Manifest.Variants[variant].Name
	of := func(variant, flow string) []float64 {
		var values []float64
		for _, seed := range s.r.Totals.Seeds[variant] {
			if rate, ok := s.r.Rates[reading.RunID{Variant: variant, Seed: seed}][flow]; ok {
				values = append(values, rate)
			}
		}
		return values
	}
	sizes := map[string]int64{}
	for _, f := range s.r.Manifest.FlowsOf(base) {
		sizes[f.Name] = f.Size
	}
	common := map[string]bool{}
	for _, f := range s.r.Manifest.FlowsOf(other) {
		size, ok := sizes[f.Name]
		common[f.Name] = ok && size == f.Size
	}
	for i := range s.r.Completion {
		f := &s.r.Completion[i]
		if !common[f.Flow] {
			continue
		}
		all.Common++
		if a, b := of(base, f.Flow), of(other, f.Flow); s.r.Sharing != nil && len(a) > 0 && len(b) > 0 && differ(a, b, false) {
			change := FlowChange{f.Flow, runfolder.Median(a), runfolder.Median(b)}
			if change.Value > change.Base {
				all.Gained = append(all.Gained, change)
			} else {
				all.Lost = append(all.Lost, change)
			}
		}
		a, b := &f.Variants[0], &f.Variants[variant]
		if a.Seeds.Count < len(s.r.Totals.Seeds[base]) || b.Seeds.Count < len(s.r.Totals.Seeds[other]) || a.MedianUS == nil || b.MedianUS == nil {
			continue
		}
		if a.Seeds.Max >= b.Seeds.Min && b.Seeds.Max >= a.Seeds.Min || math.Abs(*b.MedianUS-*a.MedianUS) <= leastChange**a.MedianUS {
			all.Even = append(all.Even, f.Flow)
			continue
		}
		change := FlowChange{f.Flow, *a.MedianUS, *b.MedianUS}
		if change.Value < change.Base {
			all.Sooner = append(all.Sooner, change)
		} else {
			all.Later = append(all.Later, change)
		}
	}
	return all
}

// deepened returns the port whose mean queue changed the most.
func (s *Section) deepened(base, v *runfolder.Variant) *QueueChange {
	var most *QueueChange
	for i := range s.r.Ports {
		p := &s.r.Ports[i]
		a, inBase := p.In(base.Name)
		b, inOther := p.In(v.Name)
		change := b.MeanQueueBytes - a.MeanQueueBytes
		overlap := a.MeanQueueSeeds.Max >= b.MeanQueueSeeds.Min && b.MeanQueueSeeds.Max >= a.MeanQueueSeeds.Min
		if !inBase || !inOther || overlap || math.Abs(change) < float64(base.MTU) {
			continue
		}
		if most == nil || math.Abs(change) > math.Abs(most.Bytes-most.BaseBytes) {
			most = &QueueChange{Place: p.Place, BaseBytes: a.MeanQueueBytes, Bytes: b.MeanQueueBytes}
		}
	}
	if most != nil {
		if target := delayTarget(base); target == delayTarget(v) {
			most.TargetUS = target
		}
	}
	return most
}

// delayTarget returns the queueing delay in microseconds that a variant's CC steers
// to: the level of the chart of delays. It is 0 when there is none.
func delayTarget(v *runfolder.Variant) float64 {
	for _, level := range series.LevelsOf(v, "delays") {
		return level.Value
	}
	return 0
}
