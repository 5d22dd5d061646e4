package reading

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Verdict says whether the experiment came out as it should.
type Verdict struct {
	Valid        bool                    `json:"valid"`
	Reasons      []string                `json:"reasons"` // why it is not valid
	Expectations []runfolder.Expectation `json:"expectations"`
	Published    []Comparison            `json:"published"`
	// Incomplete is nil unless the folder lacks runs. The rest is about the runs that
	// have finished.
	Incomplete *Incomplete `json:"incomplete,omitempty"`
}

// Incomplete says what a folder lacks.
type Incomplete struct {
	Reason       string                   `json:"reason"`   // such as interrupted
	Finished     int                      `json:"finished"` // of Runs runs
	Runs         int                      `json:"runs"`
	Missing      []runfolder.VariantSeeds `json:"missing"`
	NotEvaluated []string                 `json:"notEvaluated"` // expectations, which are about all seeds
}

func incomplete(m *runfolder.Manifest, s *runfolder.Summary) *Incomplete {
	if m.Complete {
		return nil
	}
	i := &Incomplete{Reason: m.Reason, Finished: len(m.Runs), Runs: len(m.Runs), Missing: m.Missing, NotEvaluated: s.NotEvaluated}
	for _, v := range m.Missing {
		i.Runs += len(v.Seeds)
	}
	return i
}

// Good reports whether the experiment is complete and valid, and all expectations hold.
// Published figures do not matter to it.
func (v *Verdict) Good() bool {
	return v.Incomplete == nil && v.Valid && v.Held() == len(v.Expectations)
}

// Held returns the number of expectations that hold.
func (v *Verdict) Held() int {
	n := 0
	for _, e := range v.Expectations {
		if e.OK {
			n++
		}
	}
	return n
}

// Count returns the number of published figures with an outcome.
func (v *Verdict) Count(o Outcome) int {
	n := 0
	for _, c := range v.Published {
		if c.Outcome == o {
			n++
		}
	}
	return n
}

// Outcome is the result of the comparison with a published figure. Its text is
// fit for readers.
type Outcome string

// Outcomes of comparisons.
const (
	Reproduced  Outcome = "reproduced"   // the median lies in the band
	Outside     Outcome = "outside"      // it lies outside the band
	NotMeasured Outcome = "not measured" // there is no median
)

// Comparison compares the median of a metric with a published figure.
type Comparison struct {
	Variant   string   `json:"variant"`
	Metric    string   `json:"metric"`
	Unit      string   `json:"unit,omitempty"`
	Measured  *float64 `json:"measured,omitempty"` // nil when the variant has no median
	Seeds     Spread   `json:"seeds"`
	Published float64  `json:"published"`
	Low       float64  `json:"low"` // the band includes its ends
	High      float64  `json:"high"`
	Outcome   Outcome  `json:"outcome"`
	Source    string   `json:"source,omitempty"`
	Note      string   `json:"note,omitempty"` // the known cause when the median lies outside
}

// Spread is the range of a metric over the seeds.
type Spread struct {
	Count int     `json:"count"` // seeds that have a value; Min and Max are 0 when there is none
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
}

func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	return Spread{len(values), slices.Min(values), slices.Max(values)}
}

// Median is the median of values and their range; the zero value is of none.
type Median struct {
	Median float64 `json:"median"`
	Spread
}

// MedianOf returns the median and the range of values.
func MedianOf(values []float64) Median {
	if len(values) == 0 {
		return Median{}
	}
	return Median{runfolder.Median(values), SpreadOf(values)}
}

func verdict(m *runfolder.Manifest, s *runfolder.Summary, of meaning.Of) Verdict {
	v := Verdict{Valid: s.Valid, Reasons: s.Reasons, Expectations: s.Expectations, Published: []Comparison{}, Incomplete: incomplete(m, s)}
	if v.Incomplete != nil { // the summary of an incomplete folder is never valid
		v.Valid = !slices.ContainsFunc(m.Runs, func(r runfolder.Run) bool { return !r.Valid })
		v.Reasons = slices.DeleteFunc(slices.Clone(s.Reasons), func(text string) bool { return text == m.Incomplete() })
	}
	for _, p := range m.Published {
		variant := s.Variants[p.Variant]
		c := Comparison{
			Variant: p.Variant, Metric: p.Metric, Unit: of(p.Metric).Unit, Seeds: spreadOverSeeds(variant, p.Metric),
			Published: p.Value, Low: p.Low, High: p.High, Outcome: NotMeasured, Source: p.Source, Note: p.Note,
		}
		if value, ok := variant.Metrics[p.Metric]; ok {
			c.Measured, c.Outcome = &value, Outside
			if value >= p.Low && value <= p.High {
				c.Outcome = Reproduced
			}
		}
		if set := overrides(m.Command); len(set) > 0 {
			c.Note = fmt.Sprintf("the experiment was changed (%s), and the published figure is not of that", strings.Join(set, " "))
		}
		v.Published = append(v.Published, c)
	}
	return v
}

// overrides returns the values of --set of a command line.
func overrides(command []string) (set []string) {
	for i, arg := range command {
		if value, ok := strings.CutPrefix(arg, "--set="); ok {
			set = append(set, value)
		} else if arg == "--set" && i+1 < len(command) {
			set = append(set, command[i+1])
		}
	}
	return set
}
