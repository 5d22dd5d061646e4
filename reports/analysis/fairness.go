package analysis

import (
	"cmp"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Fairness says how evenly flows share bottlenecks in one variant, and how completion
// times are distributed.
type Fairness struct {
	Variant string `json:"variant"`
	// Shared has the full ports that at least two flows must cross, the one with the most
	// flows first, at most maxShared. Without such a port it has one entry of all transfers,
	// without Place, if their rates compare.
	Shared   []SharedPort  `json:"shared"`
	FCTUS    *Distribution `json:"fctUs,omitempty"`    // of transfers that completed; nil without
	Slowdown *Distribution `json:"slowdown,omitempty"` // likewise; nil too if it is not known of all
	CCTUS    []CCT         `json:"cctUs"`              // of each collective of each job
	Worst    []WorstCCT    `json:"worst"`              // instances of collectives of all seeds that took the longest for their kind, at most MaxWorst
}

// maxShared bounds Fairness.Shared.
const maxShared = 8

// SharedPort is a port that several flows share.
type SharedPort struct {
	Place *Place `json:"place,omitempty"` // nil: all transfers of the variant
	Flows int    `json:"flows"`
	// Jain is Jain's index of the flows' rates, median over the seeds: 1 if all are equal,
	// 1/Flows if one has everything (Jain, Chiu and Hawe, DEC-TR-301, 1984). JainSeeds is its
	// range over the seeds.
	Jain      float64 `json:"jain"`
	JainSeeds Spread  `json:"jainSeeds"`
	// The rates of the slowest and of the fastest flow, medians over the seeds.
	LeastGbps float64 `json:"leastGbps"`
	MostGbps  float64 `json:"mostGbps"`
	Slowest   string  `json:"slowest"` // the flow whose median rate is the least
}

// Distribution has the quantiles of a quantity: of each seed, and of these the medians over
// the seeds. P99 is the least value that 99 % of the values do not exceed.
type Distribution struct {
	Count float64 `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// CCT is the distribution of the completion times of one collective of a job, over
// its steps and groups.
type CCT struct {
	Job        string `json:"job"`
	Collective string `json:"collective"`
	Distribution
}

// WorstCCT is an instance of a collective that took long: Ratio times the median of the
// instances of its name in its run, 1.05 or more.
type WorstCCT struct {
	Seed       uint64  `json:"seed"`
	Job        string  `json:"job"`
	Step       int32   `json:"step"`
	Collective string  `json:"collective"`
	Group      int32   `json:"group"`
	CCTUS      float64 `json:"cctUs"`
	Ratio      float64 `json:"ratio"`
	LastHost   string  `json:"lastHost"` // the host that left it last
}

// maxFairFlows bounds the transfers whose paths are searched.
const maxFairFlows = 512

// fairnessOf returns the fairness of each variant. all are the ports of the experiment.
func fairnessOf(f *runfolder.Folder, t *totals, rates rates, all []Port, done *completed, metrics *flowMetrics) ([]Fairness, error) {
	m := &f.Manifest
	list := make([]Fairness, len(m.Variants))
	ccts, err := readCCTs(f)
	if err != nil {
		return nil, err
	}
	for i := range m.Variants {
		v := &m.Variants[i]
		list[i] = Fairness{Variant: v.Name, Shared: shared(m, t, rates, all, v.Name), CCTUS: []CCT{}, Worst: []WorstCCT{}}
		var fct, slow [][]float64
		known := true
		for _, seed := range t.seeds[v.Name] {
			r := run{v.Name, seed}
			times := done.times[r]
			fct = append(fct, times)
			slowdowns := metrics.slowdownsOf(r, len(times))
			known = known && slowdowns != nil
			slow = append(slow, slowdowns)
		}
		if list[i].FCTUS = distributionOf(fct); known {
			list[i].Slowdown = distributionOf(slow)
		}
		ccts.put(m, &list[i], t.seeds[v.Name])
	}
	return list, nil
}

// distributionOf returns the distribution of the values of the seeds, ascending each; nil if
// no seed has any. Seeds without values do not count.
func distributionOf(seeds [][]float64) *Distribution {
	var of [7][]float64
	for _, sorted := range seeds {
		n := len(sorted)
		if n == 0 {
			continue
		}
		sum := 0.0
		for _, v := range sorted {
			sum += v
		}
		at := func(share float64) float64 {
			return sorted[min(n-1, max(0, int(math.Ceil(share*float64(n)-1e-9))-1))]
		}
		for i, v := range []float64{float64(n), sum / float64(n), at(0.5), at(0.9), at(0.99), at(0.999), sorted[n-1]} {
			of[i] = append(of[i], v)
		}
	}
	if of[0] == nil {
		return nil
	}
	median := func(i int) float64 { return runfolder.Median(of[i]) }
	return &Distribution{median(0), median(1), median(2), median(3), median(4), median(5), median(6)}
}

// shared returns the full ports that transfers of a variant share.
func shared(m *runfolder.Manifest, t *totals, rates rates, all []Port, variant string) []SharedPort {
	list := []SharedPort{}
	var flows []runfolder.Flow
	for _, f := range m.FlowsOf(variant) {
		if completes(f) {
			flows = append(flows, f)
		}
	}
	var full []*Port
	for i := range all {
		if use, ok := all[i].In(variant); ok && use.Utilisation > fullShare && !all[i].Parallel {
			full = append(full, &all[i])
		}
	}
	if len(full) > 0 && len(flows) >= 2 && len(flows) <= maxFairFlows {
		g := newPaths(m.PortsOf(variant))
		crossing := make([][]runfolder.Flow, len(full))
		for _, f := range flows {
			from, to := g.search(g.out, f.Src), g.search(g.in, f.Dst)
			for i, p := range full {
				if g.onAll(&from, &to, f.Dst, p.Node, p.Peer) {
					crossing[i] = append(crossing[i], f)
				}
			}
		}
		for i, p := range full {
			if s := jain(m, t, rates, variant, crossing[i]); s != nil {
				s.Place = &p.Place
				list = append(list, *s)
			}
		}
		list = first(list, maxShared, func(a, b *SharedPort) int { return cmp.Compare(b.Flows, a.Flows) })
	}
	if len(list) == 0 {
		if s := jain(m, t, rates, variant, flows); s != nil {
			list = append(list, *s)
		}
	}
	return list
}

// jain returns how evenly transfers share; nil if their rates do not compare.
func jain(m *runfolder.Manifest, t *totals, rates rates, variant string, flows []runfolder.Flow) *SharedPort {
	if len(flows) < 2 || m.Measure.ToUS == 0 && mixedSizes(flows) {
		return nil
	}
	var index, least, most []float64
	byFlow := make([][]float64, len(flows))
	for _, seed := range t.seeds[variant] {
		of, ok := rates[run{variant, seed}]
		if !ok {
			continue
		}
		sum, squares, low, high := 0.0, 0.0, math.Inf(1), 0.0
		for i, f := range flows {
			rate := of[f.Name]
			byFlow[i] = append(byFlow[i], rate)
			sum, squares, low, high = sum+rate, squares+rate*rate, min(low, rate), max(high, rate)
		}
		if squares > 0 {
			index, least, most = append(index, sum*sum/float64(len(flows))/squares), append(least, low), append(most, high)
		}
	}
	if len(index) == 0 {
		return nil
	}
	slowest := 0
	for i := range flows {
		if runfolder.Median(byFlow[i]) < runfolder.Median(byFlow[slowest]) {
			slowest = i
		}
	}
	return &SharedPort{Flows: len(flows), Jain: runfolder.Median(index), JainSeeds: spreadOf(index), LeastGbps: runfolder.Median(least), MostGbps: runfolder.Median(most), Slowest: flows[slowest].Name}
}

// cctKey identifies the instances of a collective in a run.
type cctKey struct {
	run
	job, collective string
}

// ccts are the completion times of collectives, ascending, and the instances that took
// longest of each.
type ccts struct {
	times map[cctKey][]float64
	worst map[cctKey][]WorstCCT
}

func readCCTs(f *runfolder.Folder) (*ccts, error) {
	c := &ccts{times: map[cctKey][]float64{}, worst: map[cctKey][]WorstCCT{}}
	for r, err := range f.Instances() {
		if err != nil {
			return nil, err
		}
		if r.Collective == "" {
			continue
		}
		k, us := cctKey{run{r.Variant, r.Seed}, r.JobName, r.Collective}, r.EndUS-r.BeginUS
		c.times[k] = append(c.times[k], us)
		list := c.worst[k]
		if len(list) == MaxWorst && list[MaxWorst-1].CCTUS >= us {
			continue
		}
		one := WorstCCT{Seed: r.Seed, Job: r.JobName, Step: r.Step, Collective: r.Collective, Group: max(0, value(r.Group)), CCTUS: us, LastHost: r.LastHost}
		c.worst[k] = first(append(list, one), MaxWorst, func(a, b *WorstCCT) int { return cmp.Compare(b.CCTUS, a.CCTUS) })
	}
	for k := range c.times {
		slices.Sort(c.times[k])
	}
	return c, nil
}

// put sets the collectives of a variant.
func (c *ccts) put(m *runfolder.Manifest, to *Fairness, seeds []uint64) {
	var worst []WorstCCT
	for _, j := range m.JobsOf(to.Variant) {
		seen := map[string]bool{}
		for _, of := range j.Collectives {
			if seen[of.Name] {
				continue
			}
			seen[of.Name] = true
			var times [][]float64
			for _, seed := range seeds {
				k := cctKey{run{to.Variant, seed}, j.Name, of.Name}
				times = append(times, c.times[k])
				if len(c.times[k]) == 0 {
					continue
				}
				median := runfolder.Median(c.times[k])
				for _, w := range c.worst[k] {
					if w.Ratio = 1; median > 0 {
						w.Ratio = w.CCTUS / median
					}
					worst = append(worst, w)
				}
			}
			if d := distributionOf(times); d != nil {
				to.CCTUS = append(to.CCTUS, CCT{Job: j.Name, Collective: of.Name, Distribution: *d})
			}
		}
	}
	worst = slices.DeleteFunc(worst, func(w WorstCCT) bool { return w.Ratio < 1+leastBlame })
	to.Worst = append(to.Worst, first(worst, MaxWorst, func(a, b *WorstCCT) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), cmp.Compare(b.CCTUS, a.CCTUS))
	})...)
}
