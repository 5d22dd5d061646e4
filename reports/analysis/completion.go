package analysis

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Completion holds the completion times of one flow: from its start to the
// arrival of the ACK that completes it.
type Completion struct {
	Flow      string  `json:"flow"`
	SizeBytes int64   `json:"sizeBytes"`
	Variants  []Times `json:"variants"` // by variant; of a variant without the flow all is 0
}

// Times are the completion times of a flow in one variant, in microseconds.
type Times struct {
	Seeds    Spread   `json:"seeds"`              // runs in which the flow completed
	Open     int      `json:"open"`               // runs that ended before it completed
	MedianUS *float64 `json:"medianUs,omitempty"` // over the seeds; nil unless it completed in all
}

// Progress says how many transfers of one run completed. Flows of programs do not
// count.
type Progress struct {
	Variant   string  `json:"variant"`
	Seed      uint64  `json:"seed"`
	Flows     int     `json:"flows"`           // transfers of the workload
	Completed int     `json:"completed"`       // by their senders' last ACK
	EndUS     float64 `json:"endUs,omitempty"` // model time at the end of the run; 0 when it is not known
	CutOff    bool    `json:"cutOff"`          // the end came before all flows completed, and no check of the run says that they were stuck
	// Least are the flows that did not complete and are the least done, at most three,
	// the least done first.
	Least []Done `json:"least,omitempty"`
}

// Open returns the number of transfers that did not complete.
func (p *Progress) Open() int { return p.Flows - p.Completed }

// Done is how much of a flow's payload had reached the receiver at the end.
type Done struct {
	Flow  string  `json:"flow"`
	Share float64 `json:"share"`
}

// maxLeast bounds Progress.Least.
const maxLeast = 3

// completed is what the table of phases says: the completion times of each flow, in
// the order of flows, and how far each run came, by variant and seed.
type completed struct {
	flows    []Completion
	progress []Progress
	times    map[run][]float64 // completion times of a run in microseconds, ascending
	worst    []Worst
	slow     slowTransfers
}

// readCompletion reads the table of phases.
func readCompletion(f *runfolder.Folder, flows []runfolder.Flow, t *totals, metrics *flowMetrics) (*completed, error) {
	m, stops := &f.Manifest, t.stops
	c := &completed{flows: []Completion{}, times: map[run][]float64{}, slow: newSlowTransfers(m, t, metrics)}
	variant := map[string]int{}
	transfers, own := map[string]int{}, map[run][]runfolder.Flow{} // own: of runs whose flows are not the variant's
	for i, v := range m.Variants {
		variant[v.Name], transfers[v.Name] = i, countCompleting(m.FirstFlows(v.Name))
	}
	for i := range m.Runs {
		if r := &m.Runs[i]; r.Flows != nil {
			own[run{r.Variant, r.Seed}] = r.Flows
		}
	}
	type times struct {
		us   []float64
		open int
	}
	index := map[string]int{}
	for _, flow := range flows {
		if completes(flow) {
			index[flow.Name] = len(c.flows)
			c.flows = append(c.flows, Completion{Flow: flow.Name, SizeBytes: flow.Size, Variants: make([]Times, len(variant))})
		}
	}
	found := make([]times, len(c.flows)*len(variant))
	least, worst := map[run][]Done{}, newWorstFlows(m, transfers, metrics)
	for row, err := range f.Phases() {
		if err != nil {
			return nil, err
		}
		i, ok := index[row.FlowName]
		v, known := variant[row.Variant]
		if !ok || !known {
			continue
		}
		one, of, size := &found[i*len(variant)+v], run{row.Variant, row.Seed}, c.flows[i].SizeBytes
		if flows := own[of]; int(row.Flow) < len(flows) {
			size = flows[row.Flow].Size
		}
		worst.add(v, &row, size)
		c.slow.add(&row, size)
		if row.StartUS == nil || row.SenderDoneUS == nil {
			one.open++
			least[of] = addLeast(least[of], Done{row.FlowName, float64(row.PayloadBytes) / float64(size)})
			continue
		}
		us := *row.SenderDoneUS - *row.StartUS
		one.us, c.times[of] = append(one.us, us), append(c.times[of], us)
	}
	for i, t := range found {
		times := &c.flows[i/len(variant)].Variants[i%len(variant)]
		times.Seeds, times.Open = spreadOf(t.us), t.open
		if len(t.us) > 0 && t.open == 0 {
			median := runfolder.Median(t.us)
			times.MedianUS = &median
		}
	}
	c.worst = slices.Concat(append([][]Worst{{}}, worst.lists...)...)
	c.progress = []Progress{}
	for _, r := range m.Runs {
		of := run{r.Variant, r.Seed}
		slices.Sort(c.times[of])
		flows := transfers[r.Variant]
		if r.Flows != nil {
			flows = countCompleting(r.Flows)
		}
		p := Progress{Variant: r.Variant, Seed: r.Seed, Flows: flows, Completed: len(c.times[of]), EndUS: stops[of], Least: least[of]}
		p.CutOff = p.Open() > 0 && !slices.ContainsFunc(r.Checks, func(c runfolder.Check) bool { return c.Name == "completion" && !c.OK })
		if p.Flows > 0 {
			c.progress = append(c.progress, p)
		}
	}
	return c, nil
}

func countCompleting(flows []runfolder.Flow) (n int) {
	for _, f := range flows {
		if completes(f) {
			n++
		}
	}
	return n
}

// addLeast adds a flow to those that are the least done.
func addLeast(least []Done, d Done) []Done {
	i, _ := slices.BinarySearchFunc(least, d, func(a, b Done) int { return cmp.Compare(a.Share, b.Share) })
	for i < len(least) && least[i].Share == d.Share {
		i++ // the first of equals first
	}
	if i == maxLeast {
		return least
	}
	least = slices.Insert(least, i, d)
	return least[:min(maxLeast, len(least))]
}
