package analysis

import "github.com/csiglab/csiglab/metrics/runfolder"

// products are what the second pass collects beside the charts: how ports were used at
// several scales and in the course of a step, and what samples named.
type products struct {
	totals       *totals
	utilisations []*utilisationReader
	signatures   []*signatureReader
	heat         []*heatReader
	fabric       []*fabricReader
}

// newProducts prepares them from what the first pass, and the steps of jobs, say.
func newProducts(t *totals, folds []*fold, f *Fabric, lines lineOf) *products {
	return &products{totals: t, utilisations: newUtilisations(t), signatures: newSignatures(t, folds), heat: newHeatReaders(t), fabric: newFabricReaders(t, f, lines)}
}

// collect adds their collectors of the second pass.
func (p *products) collect(add func(of run, c Collector)) {
	for _, u := range p.utilisations {
		add(run{u.of.Variant, u.of.Seed}, Collector{Port: func(r runfolder.PortRow) {
			if inWindow(p.totals.manifest, r.StartUS) {
				u.port(&r)
			}
		}})
	}
	for _, s := range p.signatures {
		add(run{s.of.Variant, s.of.Seed}, Collector{Port: func(r runfolder.PortRow) { s.port(&r) }})
	}
	for _, f := range p.fabric {
		add(run{f.of.Variant, f.of.Seed}, Collector{Port: func(r runfolder.PortRow) { f.port(&r) }, Signal: func(r runfolder.SignalRow) { f.signal(&r) }})
	}
	for _, h := range p.heat {
		for _, seed := range p.totals.seeds[h.variant.Name] {
			add(run{h.variant.Name, seed}, Collector{Signal: func(r runfolder.SignalRow) {
				if inWindow(p.totals.manifest, r.StartUS) {
					h.signal(&r)
				}
			}})
		}
	}
}

// finish puts them into a result after the last row.
func (p *products) finish(r *Result) {
	r.Utilisation, r.Signatures, r.Heatmaps = []Utilisation{}, []Signature{}, []Heatmap{}
	for _, u := range p.utilisations {
		r.Utilisation = append(r.Utilisation, u.result())
	}
	for _, s := range p.signatures {
		r.Signatures = append(r.Signatures, s.result())
	}
	for _, f := range p.fabric {
		r.FabricLoads = append(r.FabricLoads, f.result())
	}
	for _, h := range p.heat {
		r.Heatmaps = append(r.Heatmaps, h.result()...)
	}
	r.Shifts = newShifts(p.totals, p.heat)
}
