package reading

import (
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Facts are what all sections share: what the manifest and the summary say, and what the
// survey found. Lists by variant are in the order of the experiment file.
type Facts struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Setup       Setup     `json:"setup"`
	Verdict     Verdict   `json:"verdict"`
	Notes       []Note    `json:"notes"`
	Variants    []Variant `json:"variants"`
	Slowest     string    `json:"slowest"` // the flow that charts of one flow show: the slowest of the first variant; "" when there is none

	Progress   []Progress   `json:"progress"`   // by run of variants with transfers: how many of them completed
	Completion []Completion `json:"completion"` // by flow; not the flows of programs
	Programs   []Program    `json:"programs"`   // by run, in the experiment's order
	Achieved   []Achieved   `json:"-"`          // by run; the metrics goodput_gbps are over the whole run
	Faults     []Fault      `json:"faults"`     // by run, in the experiment's order
	Runs       []Run        `json:"runs"`       // by variant, then seed
	Fidelity   *Fidelity    `json:"fidelity,omitempty"`

	// DroppedRecords is the number of records that the tables lack: the charts and
	// the findings lack them too.
	DroppedRecords int64 `json:"droppedRecords,omitempty"`
	// Details says where the metrics are that Variants lack because there are too many; nil
	// if they have all.
	Details *runfolder.Details `json:"details,omitempty"`

	Groups  []Group `json:"groups"`  // the flows as charts show them
	PointUS float64 `json:"pointUs"` // time between two points of a chart

	// The report's JSON form has the following in its findings.
	Limits    []Port     `json:"-"` // the full ports, or else the busiest ones; at most two
	Crossings *Crossings `json:"-"`
	Sharing   *Sharing   `json:"-"`
	Losses    []Loss     `json:"-"` // the ports that dropped or trimmed the most packets, at most three

	// Told is the variant that sentences on places and the picture of the fabric are of: the
	// one in which the steps of the first job take longest, or else the first one.
	Told string `json:"-"`
}

// Variant returns the index of a variant, -1 if there is none of this name.
func (f *Facts) Variant(name string) int {
	return slices.IndexFunc(f.Variants, func(v Variant) bool { return v.Name == name })
}

// Unfinished returns the runs in which transfers did not complete.
func (f *Facts) Unfinished() []Progress {
	return slices.DeleteFunc(slices.Clone(f.Progress), func(p Progress) bool { return p.Open() == 0 })
}

// Setup says how and where the experiment was run.
type Setup struct {
	Command    []string           `json:"command"`
	Version    string             `json:"version"`
	GoVersion  string             `json:"goVersion"`
	Modules    []runfolder.Module `json:"modules,omitempty"` // that csiglab build has compiled in
	Machine    runfolder.Machine  `json:"machine"`
	Runtime    string             `json:"runtime"`
	Clock      string             `json:"clock"`
	Dilation   float64            `json:"dilation"` // 0 when the clock has none
	Seeds      []uint64           `json:"seeds"`    // each once
	Started    time.Time          `json:"started"`
	Finished   time.Time          `json:"finished"`
	Measure    runfolder.Window   `json:"measure"`
	IntervalUS float64            `json:"intervalUs"` // of the telemetry windows
}

// Group is one flow, or several that charts show as their mean.
type Group struct {
	Flow  string `json:"flow,omitempty"` // "" when the group has several
	Flows int    `json:"flows"`
}

// Told returns Facts.Told.
func Told(m *runfolder.Manifest, s *runfolder.Summary) string {
	variant, longest, name := m.Variants[0].Name, 0.0, ""
	for i := range m.Variants {
		v := m.Variants[i].Name
		jobs := m.JobsOf(v)
		if len(jobs) == 0 {
			continue
		}
		if name == "" {
			name = jobs[0].Name
		}
		if us, ok := s.Variants[v].Metrics["iteration_us.mean."+name]; ok && us > longest {
			variant, longest = v, us
		}
	}
	return variant
}

// newFacts returns the facts of the manifest and the summary. settle adds those of the survey.
func newFacts(r *Reading) Facts {
	m := r.Manifest
	return Facts{
		Name: m.Name, Description: strings.TrimSpace(m.Description), Setup: setup(m), Verdict: verdict(m, r.Summary, r.Meaning), Notes: notes(m),
		Variants: VariantsOf(m, r.Summary, r.Totals.Shown, r.Meaning), Programs: programs(m), Faults: faults(m), Runs: runs(m), Fidelity: fidelity(m),
		DroppedRecords: m.DroppedRecords, Details: r.Summary.Details, Told: Told(m, r.Summary),
	}
}

// slowestFlow returns the flow that charts of one flow show: the slowest one of the
// first variant, of transfers if there are some. It is "" when nothing was heard.
func slowestFlow(flows []runfolder.Flow, shares *Sharing, rates map[string]float64) string {
	if shares != nil {
		return shares.Slowest
	}
	slowest := ""
	transfers := slices.ContainsFunc(flows, func(f runfolder.Flow) bool { return !OfPrograms(f) })
	for _, f := range flows {
		if rate, ok := rates[f.Name]; ok && (!transfers || !OfPrograms(f)) && (slowest == "" || rate < rates[slowest]) {
			slowest = f.Name
		}
	}
	return slowest
}

func setup(m *runfolder.Manifest) Setup {
	s := Setup{
		Command: m.Command, Version: m.Version, GoVersion: m.GoVersion, Modules: m.Modules, Machine: m.Machine, Runtime: m.Runtime, Clock: m.Clock, Dilation: m.Dilation,
		Seeds: []uint64{}, Started: m.Started, Finished: m.Finished, Measure: m.Measure, IntervalUS: m.IntervalUS,
	}
	seen := map[uint64]bool{}
	for _, r := range m.Runs {
		if !seen[r.Seed] {
			seen[r.Seed] = true
			s.Seeds = append(s.Seeds, r.Seed)
		}
	}
	return s
}

// OfPrograms reports whether a flow stands for all that programs of one host
// send to those of another. Such a flow has no size.
func OfPrograms(f runfolder.Flow) bool { return f.Size == 0 }

// Completes reports whether a flow is complete at some time: a transfer that is no
// connection of a job.
func Completes(f runfolder.Flow) bool { return !OfPrograms(f) && f.Messages == 0 }

// listFlows returns the flows of all variants, each name once. Of the pairs of
// hosts whose programs could talk to each other it lists those that did.
func listFlows(m *runfolder.Manifest, heard map[string]bool) []runfolder.Flow {
	var flows []runfolder.Flow
	listed := map[string]bool{}
	for _, v := range m.Variants {
		for _, f := range m.FlowsOf(v.Name) {
			if !listed[f.Name] && (!OfPrograms(f) || heard[f.Name]) {
				listed[f.Name] = true
				flows = append(flows, f)
			}
		}
	}
	return flows
}
