package reports

import (
	"cmp"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// data is what the charts and sentences are made of.
type data struct {
	manifest *runfolder.Manifest
	summary  *runfolder.Summary
	flows    []runfolder.Flow // of all variants, each name once
	nodes    map[int32]runfolder.Node

	portRows []runfolder.PortRow
	flowRows []runfolder.FlowRow
	ccRows   []runfolder.CCRow
	phases   []runfolder.PhaseRow

	seeds  map[string]uint64             // variant -> the seed that its charts show
	rates  map[string]map[string]float64 // variant, flow -> Gb/s on the wire while measured, median over the seeds
	ends   map[run]float64               // when the last window of a run ends, in us
	bin    float64                       // us between points of the charts: some telemetry windows
	groups []group
	group  map[string]int // flow -> index of its group
}

// run is one seed of one variant.
type run struct {
	variant string
	seed    uint64
}

// group is a flow, or several that are drawn as one, as their mean.
type group struct {
	name  string
	flows int
	style int // of its lines
}

// Limits that keep a report readable.
const (
	maxGroups = 8   // flows drawn on their own
	maxPoints = 800 // of a line
)

func load(f *runfolder.Folder) (*data, error) {
	m := &f.Manifest
	if len(m.Variants) == 0 {
		return nil, errors.New("the manifest names no variant")
	}
	if m.IntervalUS <= 0 {
		return nil, errors.New("the manifest has no telemetry interval")
	}
	d := &data{manifest: m, summary: &f.Summary, nodes: map[int32]runfolder.Node{}, ends: map[run]float64{}}
	var errs [4]error
	d.portRows, errs[0] = collect(f.Ports())
	d.flowRows, errs[1] = collect(f.Flows())
	d.ccRows, errs[2] = collect(f.CC())
	d.phases, errs[3] = collect(f.Phases())
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	for _, n := range m.Nodes {
		d.nodes[n.Node] = n
	}
	named, heard := map[string]bool{}, map[string]bool{}
	for i := range d.flowRows {
		heard[d.flowRows[i].FlowName] = true
	}
	for _, v := range m.Variants {
		for _, flow := range m.FlowsOf(v.Name) {
			// Programs talk to few of those that they could talk to.
			if !named[flow.Name] && (!ofPrograms(flow) || heard[flow.Name]) {
				named[flow.Name] = true
				d.flows = append(d.flows, flow)
			}
		}
	}
	longest := 0.0
	extend := func(r run, start float64) {
		d.ends[r] = max(d.ends[r], start+m.IntervalUS)
		longest = max(longest, d.ends[r])
	}
	for i := range d.portRows {
		extend(run{d.portRows[i].Variant, d.portRows[i].Seed}, d.portRows[i].StartUS)
	}
	for i := range d.flowRows {
		extend(run{d.flowRows[i].Variant, d.flowRows[i].Seed}, d.flowRows[i].StartUS)
	}
	d.bin = m.IntervalUS * max(1, math.Ceil(longest/m.IntervalUS/maxPoints))
	d.measureRates()
	d.chooseSeeds()
	d.groupFlows()
	return d, nil
}

// collect returns all rows of a table.
func collect[T any](rows iter.Seq2[T, error]) (all []T, err error) {
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, nil
}

// ofPrograms tells whether a flow is all that programs of one host send to those
// of another: it has no size, and what it takes is up to them.
func ofPrograms(f runfolder.Flow) bool { return f.Size == 0 }

// measured returns the measuring window of a run in us.
func (d *data) measured(r run) (from, to float64) {
	from, to = d.manifest.Measure.FromUS, d.manifest.Measure.ToUS
	if to == 0 {
		to = d.ends[r]
	}
	return from, to
}

func (d *data) measureRates() {
	bytes := map[run]map[string]int64{}
	for i := range d.flowRows {
		w := &d.flowRows[i]
		r := run{w.Variant, w.Seed}
		if bytes[r] == nil {
			bytes[r] = map[string]int64{}
		}
		if from, to := d.measured(r); w.StartUS >= from && w.StartUS < to {
			bytes[r][w.FlowName] += w.WireBytes
		}
	}
	all := map[string]map[string][]float64{}
	for r, flows := range bytes {
		from, to := d.measured(r)
		if all[r.variant] == nil {
			all[r.variant] = map[string][]float64{}
		}
		for _, f := range d.manifest.FlowsOf(r.variant) {
			if to > from {
				all[r.variant][f.Name] = append(all[r.variant][f.Name], float64(flows[f.Name])*8/1000/(to-from))
			}
		}
	}
	d.rates = map[string]map[string]float64{}
	for variant, flows := range all {
		d.rates[variant] = map[string]float64{}
		for name, values := range flows {
			d.rates[variant][name] = runfolder.Median(values)
			// Over an open window a flow's rate is that of its own time, which the
			// metric has: over the run's, flows of one size would all be equal.
			if rate, ok := d.summary.Variants[variant].Metrics["rate_gbps."+name]; ok && d.manifest.Measure.ToUS == 0 {
				d.rates[variant][name] = rate
			}
		}
	}
}

// chooseSeeds picks for every variant the seed whose rates are nearest to the
// medians, as the sum of relative distances; the lowest of equals.
func (d *data) chooseSeeds() {
	d.seeds = map[string]uint64{}
	for _, v := range d.manifest.Variants {
		s := d.summary.Variants[v.Name]
		best := math.Inf(1)
		for _, r := range s.Runs {
			distance := 0.0
			for name, median := range s.Metrics {
				if strings.HasPrefix(name, "rate_gbps.") && median != 0 {
					distance += math.Abs(r.Metrics[name]-median) / math.Abs(median)
				}
			}
			if distance < best {
				best, d.seeds[v.Name] = distance, r.Seed
			}
		}
		if len(s.Runs) == 0 {
			for _, r := range d.manifest.Runs {
				if r.Variant == v.Name {
					d.seeds[v.Name] = r.Seed
					break
				}
			}
		}
	}
}

// shown reports whether the charts show a run.
func (d *data) shown(variant string, seed uint64) bool {
	s, ok := d.seeds[variant]
	return ok && s == seed
}

// groupFlows gives every flow its own style when there are few; of many it
// picks the slowest and the fastest and joins the rest.
func (d *data) groupFlows() {
	d.group = map[string]int{}
	own := d.flows
	if len(own) > maxGroups {
		rate := d.rates[d.manifest.Variants[0].Name]
		byRate := slices.Clone(own)
		slices.SortStableFunc(byRate, func(a, b runfolder.Flow) int { return cmp.Compare(rate[a.Name], rate[b.Name]) })
		half := (maxGroups - 1) / 2
		chosen := map[string]bool{}
		for _, f := range byRate[:maxGroups-1-half] {
			chosen[f.Name] = true
		}
		for _, f := range byRate[len(byRate)-half:] {
			chosen[f.Name] = true
		}
		own = slices.DeleteFunc(slices.Clone(own), func(f runfolder.Flow) bool { return !chosen[f.Name] })
	}
	for i, f := range own {
		d.group[f.Name] = i
		d.groups = append(d.groups, group{f.Name, 1, i})
	}
	if rest := len(d.flows) - len(own); rest > 0 {
		for _, f := range d.flows {
			if _, ok := d.group[f.Name]; !ok {
				d.group[f.Name] = len(own)
			}
		}
		d.groups = append(d.groups, group{"mean of the other " + number(float64(rest)), rest, styleRest})
	}
}

// index returns the point of a chart that a window belongs to.
func (d *data) index(start float64) int { return int(math.Floor(start/d.bin + 1e-6)) }

// at returns a point's place on a time axis: the middle of its span, in ms.
func (d *data) at(index int) float64 { return (float64(index) + 0.5) * d.bin / 1000 }
