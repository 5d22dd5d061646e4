package runfolder

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"math"
	"slices"
)

// Summary is the outcome of an experiment; it is summary.json and what
// `csiglab run --json` prints. It holds neither NaN nor infinities: a metric
// without a finite value is absent.
type Summary struct {
	Schema       int                       `json:"schema"`
	Name         string                    `json:"name"`
	Valid        bool                      `json:"valid"`
	Reasons      []string                  `json:"reasons"` // why it is not valid
	Variants     map[string]VariantSummary `json:"variants"`
	Expectations []Expectation             `json:"expectations"`
	NoTraceHash  bool                      `json:"noTraceHash,omitempty"` // the runs have no trace hashes
	// NotEvaluated are the expectations of an incomplete folder.
	NotEvaluated []string `json:"notEvaluated,omitempty"`
	// Details is nil if the runs' Metrics are all metrics.
	Details *Details `json:"details,omitempty"`
}

// Details says where the metrics are that a summary lacks because there are too many.
type Details struct {
	File    string   `json:"file"`    // of the run folder, which has all metrics
	Metrics int64    `json:"metrics"` // of all runs, that the summary lacks
	Of      []string `json:"of"`      // as Manifest.Details
}

// VariantSummary is the outcome of one variant.
type VariantSummary struct {
	Metrics   map[string]float64 `json:"metrics"`             // medians over the runs
	TraceHash string             `json:"traceHash,omitempty"` // SHA-256 of the runs' hashes in the order of Runs
	Runs      []RunSummary       `json:"runs"`                // by seed, ascending
}

// Metric returns a metric of one run; ok is false if the summary has no such run, or not this
// metric of it.
func (s *Summary) Metric(variant string, seed uint64, name string) (v float64, ok bool) {
	for _, r := range s.Variants[variant].Runs {
		if r.Seed == seed {
			v, ok = r.Metrics[name]
			break
		}
	}
	return v, ok
}

// RunSummary is the outcome of one seed.
type RunSummary struct {
	Seed      uint64             `json:"seed"`
	Metrics   map[string]float64 `json:"metrics"`
	TraceHash string             `json:"traceHash,omitempty"`
	// Failed are the names of the checks that failed, such as lossless; the run is not valid.
	Failed []string `json:"failed,omitempty"`
}

// Expectation is an assertion and its outcome. Value is the side of its comparison that is not
// the bound, a number, or nil if there is none.
type Expectation struct {
	Expr  string `json:"expr"`
	OK    bool   `json:"ok"`
	Value any    `json:"value"`
	// Text is the expression with the value of each side of a comparison behind it,
	// such as on["fct_us.p99"] = 1244.31 < off["fct_us.p99"] = 1190.02.
	Text string `json:"text,omitempty"`
	// Reason is why it could not be computed; OK is then false.
	Reason   string    `json:"reason,omitempty"`
	Seeds    []uint64  `json:"seeds,omitempty"` // in which the condition of every_seed does not hold
	Operands []Operand `json:"operands,omitempty"`
	Notes    []string  `json:"notes,omitempty"` // metrics that patterns left out, as not every seed has them
}

// Operand is a part of an expectation and its value.
type Operand struct {
	Expr   string   `json:"expr"`
	Value  *float64 `json:"value"`            // nil: it has none, or is a list
	Count  int      `json:"count,omitempty"`  // of a list: how many metrics match
	Metric string   `json:"metric,omitempty"` // of a list, that a minimum or maximum is the value of
	Seed   *uint64  `json:"seed,omitempty"`   // nil: a median over the seeds
}

// RunMetrics is what NewSummary needs of one run.
type RunMetrics struct {
	Variant   string
	Seed      uint64
	TraceHash [32]byte // zero: left out
	Metrics   map[string]float64
	// Matched are further metrics that expressions match by a pattern. They are for the
	// evaluation of expressions; the summary does not have them.
	Matched map[string]float64
	Failed  []string // names of the checks that failed
}

// NewSummary returns the summary of runs, valid and without expectations. A
// variant's metric is the median over its runs (the mean of the middle two when
// they are even in number) and is absent unless every run has a finite value.
// Its trace hash is the SHA-256 over the runs' hashes of 32 bytes each, by
// ascending seed. Variants have none if a run has none.
func NewSummary(name string, runs ...RunMetrics) Summary {
	s := Summary{Schema: SummarySchema, Name: name, Valid: true, Reasons: []string{}, Variants: map[string]VariantSummary{}, Expectations: []Expectation{}}
	runs = slices.SortedStableFunc(slices.Values(runs), func(a, b RunMetrics) int { return cmp.Compare(a.Seed, b.Seed) })
	hashes := map[string][]byte{}
	for _, r := range runs {
		v := s.Variants[r.Variant]
		v.Runs = append(v.Runs, RunSummary{Seed: r.Seed, Metrics: finite(r.Metrics), TraceHash: hashText(r.TraceHash), Failed: r.Failed})
		s.Variants[r.Variant] = v
		hashes[r.Variant] = append(hashes[r.Variant], r.TraceHash[:]...)
		s.NoTraceHash = s.NoTraceHash || r.TraceHash == [32]byte{}
	}
	for variant, v := range s.Variants {
		if !s.NoTraceHash {
			v.TraceHash = hashText(sha256.Sum256(hashes[variant]))
		}
		v.Metrics = medians(v.Runs)
		s.Variants[variant] = v
	}
	return s
}

func medians(runs []RunSummary) map[string]float64 {
	m := map[string]float64{}
	for name := range runs[0].Metrics {
		values := make([]float64, 0, len(runs))
		for _, r := range runs {
			if v, ok := r.Metrics[name]; ok {
				values = append(values, v)
			}
		}
		if len(values) == len(runs) {
			m[name] = Median(values)
		}
	}
	return m
}

// Median returns the median of values, the mean of the middle two when they are
// even in number, and NaN when there are none. It does not change values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return s[n/2-1]/2 + s[n/2]/2
	}
	return s[len(s)/2]
}

// normalise makes s fit for JSON: no nil where a list or map belongs and no
// number that JSON lacks. It leaves the caller's maps and lists as they are.
func (s Summary) normalise() Summary {
	s.Schema = SummarySchema
	if s.Reasons == nil {
		s.Reasons = []string{}
	}
	variants := make(map[string]VariantSummary, len(s.Variants))
	for name, v := range s.Variants {
		v.Metrics = finite(v.Metrics)
		runs := make([]RunSummary, len(v.Runs))
		for i, r := range v.Runs {
			r.Metrics = finite(r.Metrics)
			runs[i] = r
		}
		v.Runs = runs
		variants[name] = v
	}
	s.Variants = variants
	expectations := make([]Expectation, len(s.Expectations))
	for i, e := range s.Expectations {
		if f, ok := e.Value.(float64); ok && !isFinite(f) {
			e.Value = nil
		}
		expectations[i] = e
	}
	s.Expectations = expectations
	return s
}

func finite(metrics map[string]float64) map[string]float64 {
	m := make(map[string]float64, len(metrics))
	maps.Copy(m, metrics)
	maps.DeleteFunc(m, func(_ string, v float64) bool { return !isFinite(v) })
	return m
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
