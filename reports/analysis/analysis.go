// Package analysis turns a run folder into typed numbers: the verdict, the
// comparison with published figures, findings, completion times, what programs
// did and the series of charts. It reads the folder and nothing else, so that it
// works on last month's run. It makes no text and knows no colour, unit of an
// axis or width of a page: package reports renders the numbers, and commands do
// so on a terminal.
//
// Read passes over the tables of windows twice. The first pass finds when runs
// end, how fast flows are and how ports are used; the second one collects the
// charts, whose points and groups of flows depend on the first. Memory grows
// with the numbers of flows and ports, not with the length of a run.
package analysis

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Result holds the numbers of one run folder. Lists by variant are in the order
// of the experiment file.
type Result struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Setup       Setup     `json:"setup"`
	Verdict     Verdict   `json:"verdict"`
	Notes       []Note    `json:"notes"`
	Variants    []Variant `json:"variants"`
	Findings    Findings  `json:"findings"`
	Slowest     string    `json:"slowest"`          // the flow that charts of one flow show: the slowest of the first variant; "" when there is none
	Fabric      *Fabric   `json:"fabric,omitempty"` // nil when the manifest has no link
	// FabricLoads say how the lines of Fabric were used over time: of the first variants.
	FabricLoads []FabricLoad `json:"fabricLoads,omitempty"`
	Progress    []Progress   `json:"progress"`        // by run of variants with transfers: how many of them completed
	Completion  []Completion `json:"completion"`      // by flow; not the flows of programs
	Worst       []Worst      `json:"worst"`           // transfers of variants with more than manyFlows, by variant
	Ports       *ManyPorts   `json:"ports,omitempty"` // nil unless there are many
	Programs    []Program    `json:"programs"`        // by run, in the experiment's order
	Faults      []Fault      `json:"faults"`          // by run, in the experiment's order
	Jobs        []Job        `json:"jobs"`            // by variant, then job
	// JobGroups are the jobs that share links, by variant.
	JobGroups []JobGroup `json:"jobGroups"`
	Truth     []Truth    `json:"truth,omitempty"` // of runs that recorded it: samples beside the exact values of hops
	Named     []Named    `json:"named"`           // by group of flows, signal and ports: what CSIG samples named as the bottleneck
	Blame     []Blame    `json:"blame"`           // by variant, then by the time lost, the most first; at most MaxBlame of a variant
	Fairness  []Fairness `json:"fairness"`        // by variant
	Runs      []Run      `json:"runs"`            // by variant, then seed
	// Locators are the shared ones.
	Locators []SharedLocators `json:"locators"`
	Fidelity *Fidelity        `json:"fidelity,omitempty"`

	// DroppedRecords is the number of records that the tables lack: the charts and
	// the findings lack them too.
	DroppedRecords int64 `json:"droppedRecords,omitempty"`
	// Details says where the metrics are that Variants lack because there are too many; nil
	// if they have all.
	Details *runfolder.Details `json:"details,omitempty"`

	Utilisation []Utilisation `json:"utilisation"` // by variant
	Signatures  []Signature   `json:"signatures"`  // by variant, then job
	Heatmaps    []Heatmap     `json:"heatmaps"`    // by variant, then signal
	Shifts      []Shift       `json:"shifts"`      // of variants, then of faults

	Groups  []Group `json:"groups"`  // the flows as charts show them
	PointUS float64 `json:"pointUs"` // time between two points of a chart
	Charts  []Chart `json:"charts"`  // without those that have no panel
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

// Unfinished returns the runs in which transfers did not complete.
func (r *Result) Unfinished() []Progress {
	return slices.DeleteFunc(slices.Clone(r.Progress), func(p Progress) bool { return p.Open() == 0 })
}

// Group is one flow, or several that charts show as their mean.
type Group struct {
	Flow  string `json:"flow,omitempty"` // "" when the group has several
	Flows int    `json:"flows"`
}

// Values are the values of a line, one per point. NaN means that there is none;
// it is null in JSON.
type Values []float64

// MarshalJSON implements json.Marshaler.
func (v Values) MarshalJSON() ([]byte, error) {
	values := make([]*float64, len(v))
	for i := range v {
		if !math.IsNaN(v[i]) {
			values[i] = &v[i]
		}
	}
	return json.Marshal(values)
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *Values) UnmarshalJSON(text []byte) error {
	var values []*float64
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*v = make(Values, len(values))
	for i, value := range values {
		if value == nil {
			(*v)[i] = math.NaN()
			continue
		}
		(*v)[i] = *value
	}
	return nil
}

// Rows returns the number of rows that Read reads, of some of them twice: for showing its
// progress (runfolder.Folder.OnRows).
func Rows(f *runfolder.Folder) int64 {
	t := f.Manifest.Tables
	rows := 3*(t["ports"]+t["flows"]+t["signals"]) + t["cc"] + 2*t["phases"] + t["instances"]
	if t["operations"] > 0 { // see jobReader
		rows += t["instances"] + t["operations"]
	}
	if sharesLinks(&f.Manifest) {
		rows += t["instances"]
	}
	if slices.Contains(f.Manifest.Details, ofFlows) {
		rows += t["metrics"]
	}
	return rows
}

// Read analyses a run folder, whose metrics have the units of a meaning. It collects the
// charts of this package's table and those of more. Errors wrap runfolder.ErrDamaged when a table cannot be read.
func Read(f *runfolder.Folder, of meaning.Of, more ...ChartKind) (*Result, error) {
	r, err := read(f, of, more)
	if err != nil {
		return nil, fmt.Errorf("analyse run: %w", err)
	}
	return r, nil
}

// reading is a run folder between the two passes over its tables.
type reading struct {
	folder  *runfolder.Folder
	meaning meaning.Of
	metrics *flowMetrics
	totals  *totals
	flows   []runfolder.Flow
	done    *completed
	rates   rates
	medians map[string]map[string]float64
	all     []Port
	ports   []Port // Findings.Ports
	sharing *Sharing
	slowest string
	pointUS float64
	charted []Port // ports of charts
}

// begin makes the first pass.
func begin(f *runfolder.Folder, of meaning.Of) (*reading, error) {
	m, s := &f.Manifest, &f.Summary
	if len(m.Variants) == 0 {
		return nil, errors.New("the manifest names no variant")
	}
	if m.IntervalUS <= 0 {
		return nil, errors.New("the manifest has no telemetry interval")
	}
	metrics, err := readFlowMetrics(f)
	if err != nil {
		return nil, err
	}
	t := newTotals(m, s, metrics)
	if err := t.read(f); err != nil {
		return nil, err
	}
	flows := listFlows(m, t.heard)
	done, err := readCompletion(f, flows, t, metrics)
	if err != nil {
		return nil, err
	}
	g := &reading{folder: f, meaning: of, metrics: metrics, totals: t, flows: flows, done: done, rates: t.rates(metrics), all: usedPorts(m, t), pointUS: pointUS(m, t.longest())}
	g.medians = g.rates.medians()
	g.ports = busiestPorts(m, g.all)
	g.charted = g.ports
	g.sharing = sharing(m, t, flows, g.medians)
	g.slowest = slowestFlow(flows, g.sharing, g.medians[m.Variants[0].Name])
	return g, nil
}

func read(f *runfolder.Folder, of meaning.Of, more []ChartKind) (*Result, error) {
	g, err := begin(f, of)
	if err != nil {
		return nil, err
	}
	return g.finish(more)
}

// finish makes the second pass. It collects the charts of this package's table and those
// of more.
func (g *reading) finish(more []ChartKind) (*Result, error) {
	f, t, done := g.folder, g.totals, g.done
	m, s := &f.Manifest, &f.Summary
	c := compared{manifest: m, summary: s, totals: t, rates: g.rates, sharing: g.sharing, ports: g.ports, all: g.all, completed: done.flows}
	r := &Result{
		Name: m.Name, Description: strings.TrimSpace(m.Description), Setup: setup(m),
		Verdict: verdict(m, s, g.meaning), Notes: notes(m), Variants: variants(m, s, t.shown, g.meaning),
		Findings: Findings{Ports: g.ports, Crossings: crossings(m, g.flows, g.ports), Sharing: g.sharing, Losses: losses(g.all), Differences: c.differences(), Steps: c.steps()},
		Slowest:  g.slowest,
		Progress: done.progress, Completion: done.flows, Worst: done.worst, Ports: manyPortsOf(m, g.all),
		Programs: programs(m), Faults: faults(m), Locators: sharedLocators(m), Runs: runs(m), Fidelity: fidelity(m), DroppedRecords: m.DroppedRecords, Details: s.Details,
		PointUS: g.pointUS,
	}
	var group map[string]int
	r.Groups, group = groupFlows(g.flows, g.medians[m.Variants[0].Name])
	samples := newSamplesOf(done.worst)
	var err error
	if r.Named, err = readNamed(f, t, r.Groups, group, samples); err != nil {
		return nil, err
	}
	if r.Truth, err = readTruth(f); err != nil {
		return nil, err
	}
	explain(m, done.worst, samples, g.all)
	jobs, err := readJobs(f, t, done.slow.list())
	if err != nil {
		return nil, err
	}
	r.Jobs, r.Blame = jobs.jobs, jobs.blames
	if r.JobGroups, err = readJobGroups(f, t); err != nil {
		return nil, err
	}
	var lines lineOf
	r.Fabric, lines = fabricOf(m, r.Told(), g.all, g.ports, g.flows)
	if r.Fairness, err = fairnessOf(f, t, g.rates, g.all, done, g.metrics); err != nil {
		return nil, err
	}
	products := newProducts(t, jobs.steps.folds, r.Fabric, lines)
	if r.Charts, err = g.readCharts(r, group, products, append(chartKinds[:len(chartKinds):len(chartKinds)], more...)); err != nil {
		return nil, err
	}
	products.finish(r)
	return r, nil
}

// slowestFlow returns the flow that charts of one flow show: the slowest one of the
// first variant, of transfers if there are some. It is "" when nothing was heard.
func slowestFlow(flows []runfolder.Flow, shares *Sharing, rates map[string]float64) string {
	if shares != nil {
		return shares.Slowest
	}
	slowest := ""
	transfers := slices.ContainsFunc(flows, func(f runfolder.Flow) bool { return !ofPrograms(f) })
	for _, f := range flows {
		if rate, ok := rates[f.Name]; ok && (!transfers || !ofPrograms(f)) && (slowest == "" || rate < rates[slowest]) {
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

// ofPrograms reports whether a flow stands for all that programs of one host
// send to those of another. Such a flow has no size.
func ofPrograms(f runfolder.Flow) bool { return f.Size == 0 }

// completes reports whether a flow is complete at some time: a transfer that is no
// connection of a job.
func completes(f runfolder.Flow) bool { return !ofPrograms(f) && f.Messages == 0 }

// listFlows returns the flows of all variants, each name once. Of the pairs of
// hosts whose programs could talk to each other it lists those that did.
func listFlows(m *runfolder.Manifest, heard map[string]bool) []runfolder.Flow {
	var flows []runfolder.Flow
	listed := map[string]bool{}
	for _, v := range m.Variants {
		for _, f := range m.FlowsOf(v.Name) {
			if !listed[f.Name] && (!ofPrograms(f) || heard[f.Name]) {
				listed[f.Name] = true
				flows = append(flows, f)
			}
		}
	}
	return flows
}
