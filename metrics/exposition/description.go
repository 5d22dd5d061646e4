package exposition

import (
	"strconv"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Common has the values of CommonLabels. The zero value's labels are empty.
type Common struct{ Run, Variant, Seed, Stretch string }

// values returns the values in the order of CommonLabels.
func (c Common) values() []string { return []string{c.Run, c.Variant, c.Seed, c.Stretch} }

// Description says what the numbers in records stand for, as far as the records need it
// that a Set gets. It is plain data.
type Description struct {
	Common
	Info     *RunDescription // nil: RunInfo, RunDilated and RunDelay are left out, as another node exposes them
	Window   units.Duration  // of telemetry, positive
	Signals  []string        // names of the types of CSIG signal, by their number in tags
	Ports    []PortDescription
	Flows    []FlowDescription
	Jobs     []metrics.JobInfo
	Locators []LocatorDescription
}

// RunDescription is what RunInfo, RunDilated and RunDelay say.
type RunDescription struct {
	Experiment, Runtime, Clock, CC, LB, AQM, CSIG string
	Number                                        int     // place of the variant in the experiment, from 1
	Dilation                                      float64 // 0: the run is not in real time
	SmallestDelay                                 units.Duration
}

// labels returns the values of RunInfo's labels.
func (r *RunDescription) labels() []string {
	return []string{r.Experiment, r.Runtime, r.Clock, r.CC, r.LB, r.AQM, r.CSIG, strconv.Itoa(r.Number)}
}

// PortDescription describes an egress port of a node.
type PortDescription struct {
	Node, Port      int32
	NodeName        string
	Name            string // such as tor0-agg0
	Tier, Direction string
	Peer            string // node that it leads to
	Rate            units.Rate
}

// FlowDescription names the series of a flow. Flows with the same labels share them.
type FlowDescription struct {
	Flow                int32
	Job, Name           string // Name is empty in a run with more than MostFlows flows
	Source, Destination string // racks
}

// LocatorDescription says what a locator stands for.
type LocatorDescription struct {
	Locator uint32
	Port    string // or locator-9 where several ports share it
	Tier    string // of these ports; "" if they are of several
}

// Sample is one value of one series at one moment. Its lists must not be changed.
type Sample struct {
	Family *Family
	Labels []string // values of Family.Labels, in their order
	Part   Part
	Bucket int // of PartBucket: index in Family.Buckets, their number for +Inf
	Value  float64
}

// Part says which series of a histogram a Sample is of.
type Part uint8

// Parts.
const (
	Whole      Part = iota // not of a histogram
	PartBucket             // NAME_bucket: observations up to a bound, cumulated
	PartSum                // NAME_sum
	PartCount              // NAME_count
)

var suffixes = [...]string{"", "_bucket", "_sum", "_count"}

// Name returns the name of the Sample's series.
func (s *Sample) Name() string { return s.Family.Name + suffixes[s.Part] }

// Bound returns the value of the label le of a PartBucket, such as "0.5" or "+Inf".
func (s *Sample) Bound() string {
	return string(s.appendBound(nil))
}

func (s *Sample) appendBound(b []byte) []byte {
	if s.Bucket == len(s.Family.Buckets) {
		return append(b, "+Inf"...)
	}
	return AppendNumber(b, s.Family.Buckets[s.Bucket])
}
