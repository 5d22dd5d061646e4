package reading

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// NoCSIG is Variant.CSIG of a variant without CSIG.
const NoCSIG = "none"

// Variant is one variant and its metrics.
type Variant struct {
	Name       string                `json:"name"`
	CC         string                `json:"cc"`
	LB         string                `json:"lb"`
	AQM        string                `json:"aqm"`
	Routing    string                `json:"routing,omitempty"`   // "": ecmp
	CSIG       string                `json:"csig"`                // format, or "none"
	Flow       bool                  `json:"flow,omitempty"`      // it has no packets (fidelity: flow)
	MTU        int64                 `json:"mtu"`                 // wire bytes of a full data packet
	Header     int64                 `json:"header"`              // wire bytes charged for headers
	Actions    []runfolder.Action    `json:"actions,omitempty"`   // of CC, in the order of charts
	Constants  []runfolder.Constant  `json:"constants,omitempty"` // of CC
	Parameters *runfolder.Parameters `json:"parameters,omitempty"`
	TraceHash  string                `json:"traceHash,omitempty"`
	Seeds      int                   `json:"seeds"`   // that the variant ran with
	Shown      uint64                `json:"shown"`   // the seed that charts show: its rates are nearest to the medians
	Metrics    []Metric              `json:"metrics"` // by name
}

// Median returns the median of a metric over the seeds. It reports whether there
// is one.
func (v *Variant) Median(metric string) (float64, bool) {
	i, ok := slices.BinarySearchFunc(v.Metrics, metric, func(m Metric, name string) int { return cmp.Compare(m.Name, name) })
	if !ok || v.Metrics[i].Median == nil {
		return 0, false
	}
	return *v.Metrics[i].Median, true
}

// Metric is one metric of one variant.
type Metric struct {
	Name   string   `json:"name"`
	Unit   string   `json:"unit,omitempty"`
	OfFlow bool     `json:"ofFlow,omitempty"` // the metric is of one flow or port, not of the whole run
	Median *float64 `json:"median,omitempty"` // nil unless every seed has a value
	Seeds  Spread   `json:"seeds"`
}

// VariantsOf returns the variants of a folder with their metrics, in the order of the experiment,
// and the seeds that charts show.
func VariantsOf(m *runfolder.Manifest, s *runfolder.Summary, shown map[string]uint64, of meaning.Of) []Variant {
	subjects := map[string]bool{}
	for _, v := range m.Variants {
		for _, f := range m.FlowsOf(v.Name) {
			subjects[f.Name] = true
		}
		for _, p := range m.PortsOf(v.Name) {
			subjects[p.Name] = p.Name != ""
		}
	}
	var all []Variant
	for _, v := range m.Variants {
		summary := s.Variants[v.Name]
		all = append(all, Variant{
			Name: v.Name, CC: v.CC, LB: v.LB, AQM: v.AQM, Routing: v.Routing, CSIG: v.CSIG, Flow: v.Flow, MTU: v.MTU, Header: v.Header, Actions: v.Actions, Constants: v.Constants, Parameters: v.Parameters,
			TraceHash: summary.TraceHash, Seeds: len(summary.Runs), Shown: shown[v.Name], Metrics: metricsOf(summary, subjects, of),
		})
	}
	return all
}

func metricsOf(s runfolder.VariantSummary, subjects map[string]bool, of meaning.Of) []Metric {
	names := map[string]bool{}
	for name := range s.Metrics {
		names[name] = true
	}
	for _, r := range s.Runs {
		for name := range r.Metrics {
			names[name] = true
		}
	}
	metrics := make([]Metric, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		ofOne := strings.HasPrefix(name, "bottleneck_share.") || isOfOne(name, subjects)
		metric := Metric{Name: name, Unit: of(name).Unit, OfFlow: ofOne, Seeds: spreadOverSeeds(s, name)}
		if median, ok := s.Metrics[name]; ok {
			metric.Median = &median
		}
		metrics = append(metrics, metric)
	}
	return metrics
}

// isOfOne reports whether parts of a metric's name are that of a flow or port, which may
// have dots itself.
func isOfOne(metric string, subjects map[string]bool) bool {
	const most = 16 // parts
	parts := strings.SplitN(metric, ".", most)
	for from := 1; from < len(parts); from++ {
		for to := from + 1; to <= len(parts); to++ {
			if subjects[strings.Join(parts[from:to], ".")] {
				return true
			}
		}
	}
	return false
}

// spreadOverSeeds returns the range of a metric over the runs of a variant.
func spreadOverSeeds(v runfolder.VariantSummary, metric string) Spread {
	var values []float64
	for _, r := range v.Runs {
		if x, ok := r.Metrics[metric]; ok {
			values = append(values, x)
		}
	}
	return SpreadOf(values)
}
