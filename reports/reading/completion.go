package reading

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

// completed collects what the table of phases says of transfers.
type completed struct {
	flows     []Completion
	index     map[string]int // of flows
	variant   map[string]int
	transfers map[string]int             // by variant
	own       map[RunID][]runfolder.Flow // of runs whose flows are not the variant's
	found     []times                    // by flow, then variant
	times     map[RunID][]float64
	least     map[RunID][]Done
}

// times are the completion times of a flow in a variant, in µs.
type times struct {
	us   []float64
	open int // runs in which it did not complete
}

func newCompleted(r *Reading) *completed {
	m := r.Manifest
	c := &completed{flows: []Completion{}, index: map[string]int{}, variant: map[string]int{}, transfers: map[string]int{},
		own: map[RunID][]runfolder.Flow{}, times: map[RunID][]float64{}, least: map[RunID][]Done{}}
	for i, v := range m.Variants {
		c.variant[v.Name], c.transfers[v.Name] = i, countCompleting(m.FirstFlows(v.Name))
	}
	for i := range m.Runs {
		if r := &m.Runs[i]; r.Flows != nil {
			c.own[RunID{r.Variant, r.Seed}] = r.Flows
		}
	}
	for _, v := range m.Variants {
		for _, flow := range m.FlowsOf(v.Name) {
			if _, listed := c.index[flow.Name]; !listed && Completes(flow) {
				c.index[flow.Name] = len(c.flows)
				c.flows = append(c.flows, Completion{Flow: flow.Name, SizeBytes: flow.Size, Variants: make([]Times, len(m.Variants))})
			}
		}
	}
	c.found = make([]times, len(c.flows)*len(m.Variants))
	return c
}

// Transfers returns the number of transfers of a variant.
func (r *Reading) Transfers(variant string) int { return r.done.transfers[variant] }

// Transfer returns the index of the variant of a transfer's row, and how many bytes it has. It
// reports whether the row is of a transfer that completes at some time.
func (r *Reading) Transfer(row *runfolder.PhaseRow) (variant int, size int64, ok bool) {
	_, variant, size, ok = r.done.of(row)
	return variant, size, ok
}

func (c *completed) of(row *runfolder.PhaseRow) (flow, variant int, size int64, ok bool) {
	flow, ok = c.index[row.FlowName]
	variant, known := c.variant[row.Variant]
	if !ok || !known {
		return 0, 0, 0, false
	}
	size = c.flows[flow].SizeBytes
	if flows := c.own[RunID{row.Variant, row.Seed}]; int(row.Flow) < len(flows) {
		size = flows[row.Flow].Size
	}
	return flow, variant, size, true
}

// phase takes a row of the table.
func (c *completed) phase(row *runfolder.PhaseRow) {
	flow, variant, size, ok := c.of(row)
	if !ok {
		return
	}
	one, of := &c.found[flow*len(c.variant)+variant], RunID{row.Variant, row.Seed}
	if row.StartUS == nil || row.SenderDoneUS == nil {
		one.open++
		c.least[of] = addLeast(c.least[of], Done{row.FlowName, float64(row.PayloadBytes) / float64(size)})
		return
	}
	us := *row.SenderDoneUS - *row.StartUS
	one.us, c.times[of] = append(one.us, us), append(c.times[of], us)
}

// settle sets what completed, and how far each run came, by variant and seed.
func (c *completed) settle(r *Reading) {
	for i, t := range c.found {
		times := &c.flows[i/len(c.variant)].Variants[i%len(c.variant)]
		times.Seeds, times.Open = SpreadOf(t.us), t.open
		if len(t.us) > 0 && t.open == 0 {
			median := runfolder.Median(t.us)
			times.MedianUS = &median
		}
	}
	c.found = nil
	r.Completion, r.Times, r.Progress = c.flows, c.times, []Progress{}
	for _, run := range r.Manifest.Runs {
		of := RunID{run.Variant, run.Seed}
		slices.Sort(c.times[of])
		flows := c.transfers[run.Variant]
		if run.Flows != nil {
			flows = countCompleting(run.Flows)
		}
		p := Progress{Variant: run.Variant, Seed: run.Seed, Flows: flows, Completed: len(c.times[of]), EndUS: r.Totals.Stops[of], Least: c.least[of]}
		p.CutOff = p.Open() > 0 && !slices.ContainsFunc(run.Checks, func(c runfolder.Check) bool { return c.Name == "completion" && !c.OK })
		if p.Flows > 0 {
			r.Progress = append(r.Progress, p)
		}
	}
}

// countCompleting returns how many of the flows complete at some time.
func countCompleting(flows []runfolder.Flow) (n int) {
	for _, f := range flows {
		if Completes(f) {
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
