package compare

import (
	"math"
	"slices"

	"github.com/csiglab/csiglab/reports/heat"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section/signature"
)

// compareHeatmaps subtracts the heatmaps of A from those of B.
func (o *Overlay) compareHeatmaps(names [2]string, all [2][]heat.Heatmap) {
	for i := range all[0] {
		a := &all[0][i]
		at := slices.IndexFunc(all[1], func(b heat.Heatmap) bool { return b.Variant == names[1] && b.Signal == a.Signal })
		if a.Variant != names[0] || at < 0 {
			continue
		}
		b := &all[1][at]
		c := HeatmapChange{Signal: a.Signal, Unit: a.Unit, By: a.By}
		var rows [2][]int // of the blocks of both
		for k, block := range a.Blocks {
			if same := slices.IndexFunc(b.Blocks, func(o heat.Block) bool { return o == block }); same >= 0 {
				c.Blocks, rows[0], rows[1] = append(c.Blocks, block), append(rows[0], k), append(rows[1], same)
			}
		}
		if len(c.Blocks) == 0 || a.By != b.By {
			o.LeftOut = append(o.LeftOut, "the heatmaps of "+a.Signal+": the hosts have other names, or are other blocks")
			continue
		}
		for src := range c.Blocks {
			var values [3]reading.Values
			for dst := range c.Blocks {
				va, vb := a.Mean[rows[0][src]][rows[0][dst]], b.Mean[rows[1][src]][rows[1][dst]]
				values[0], values[1], values[2] = append(values[0], va), append(values[1], vb), append(values[2], reading.Rounded(vb-va))
			}
			c.A, c.B, c.Change = append(c.A, values[0]), append(c.B, values[1]), append(c.Change, values[2])
		}
		o.Heatmaps = append(o.Heatmaps, c)
	}
}

// compareSignatures subtracts the signatures of A from those of B.
func (o *Overlay) compareSignatures(names [2]string, all [2][]signature.Signature) {
	for i := range all[0] {
		a := &all[0][i]
		at := slices.IndexFunc(all[1], func(b signature.Signature) bool { return b.Variant == names[1] && b.Job == a.Job })
		if a.Variant != names[0] || at < 0 {
			continue
		}
		b := &all[1][at]
		c := SignatureChange{Job: a.Job, BinUS: max(a.BinUS, b.BinUS), FromUS: a.FromUS, StepsA: a.StepUS, StepsB: b.StepUS}
		what := "the signature of the run"
		if a.Job != "" {
			what = "the signature of job " + a.Job
		}
		if a.FromUS != b.FromUS || !(c.BinUS > 0) {
			o.LeftOut = append(o.LeftOut, what+": the measuring windows begin at other times")
			continue
		}
		c.Bins = int(math.Ceil(max(float64(a.Bins)*a.BinUS, float64(b.Bins)*b.BinUS)/c.BinUS - 1e-9))
		for k := range a.Rows {
			row := &a.Rows[k]
			same := slices.IndexFunc(b.Rows, func(o signature.Row) bool {
				return o.Name == row.Name && o.Tier == row.Tier && o.Direction == row.Direction && o.Ports == row.Ports
			})
			// The other ports are those that have no row of their own: the same only if those with
			// one are.
			if row.Name == "" && !slices.Equal(named(a, row), named(b, row)) {
				same = -1
			}
			if same < 0 {
				continue
			}
			va, vb := rebin(a, a.Utilisation[k], c.BinUS, c.Bins), rebin(b, b.Utilisation[same], c.BinUS, c.Bins)
			change := make(reading.Values, c.Bins)
			for bin := range change {
				change[bin] = vb[bin] - va[bin]
			}
			c.Rows, c.A, c.B, c.Change = append(c.Rows, *row), append(c.A, va), append(c.B, vb), append(c.Change, change)
		}
		if len(c.Rows) == 0 {
			o.LeftOut = append(o.LeftOut, what+": no port has the same name")
			continue
		}
		o.Signatures = append(o.Signatures, c)
	}
}

// named returns the names of the rows of single ports of a row's tier and direction.
func named(g *signature.Signature, row *signature.Row) (names []string) {
	for i := range g.Rows {
		if r := &g.Rows[i]; r.Name != "" && r.Tier == row.Tier && r.Direction == row.Direction {
			names = append(names, r.Name)
		}
	}
	return names
}

// rebin returns the cells of a row in longer bins: means weighted by time. Where there is no
// cell there is no value.
func rebin(g *signature.Signature, cells reading.Percents, binUS float64, bins int) reading.Values {
	sums, spans := make(reading.Values, bins), make([]float64, bins)
	for i, cell := range cells {
		from, to := float64(i)*g.BinUS, float64(i+1)*g.BinUS
		for bin := max(0, int(from/binUS)); cell != reading.NoPercent && bin < bins && float64(bin)*binUS < to; bin++ {
			if part := min(to, float64(bin+1)*binUS) - max(from, float64(bin)*binUS); part > 0 {
				sums[bin] += float64(cell) * part
				spans[bin] += part
			}
		}
	}
	for bin := range sums {
		if spans[bin] > 0 {
			sums[bin] /= spans[bin]
		} else {
			sums[bin] = math.NaN()
		}
	}
	return sums
}
