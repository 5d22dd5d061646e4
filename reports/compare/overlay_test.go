package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section/control"
	"github.com/csiglab/csiglab/reports/section/heatmap"
	"github.com/csiglab/csiglab/reports/section/queues"
	"github.com/csiglab/csiglab/reports/section/rates"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/reports/section/signature"
	"github.com/csiglab/csiglab/reports/series"
	"github.com/csiglab/csiglab/units"
)

func overlaid(t *testing.T, a, b *runfolder.Folder, variantA, variantB string) Overlay {
	t.Helper()
	all, err := ReadOverlays(a, b, measure.Meaning, []VariantPair{{A: variantA, B: variantB, LabelA: "A", LabelB: "B"}})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// "figures over each other": each line is that of the side's own report.
func TestOverlayHasTheLinesOfBothSides(t *testing.T) {
	checkout.SkipSlowRace(t)
	s := readingtest.ThreeFlow()
	s.Samples = map[string]map[uint16]int64{"csig": {5: 30}}
	folder := s.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Variants[1].CSIG = "compact" })
	own1, _ := sectiontest.Read[*rates.Section](t, folder, rates.New)
	own2, _ := sectiontest.Read[*queues.Section](t, folder, queues.New)
	own3, _ := sectiontest.Read[*control.Section](t, folder, control.New)
	alone := slices.Concat(own1.Charts, own2.Charts, own3.Charts)
	o := overlaid(t, folder, folder, "baseline", "csig")
	for _, id := range []string{"slowest", "queues", "cwnd"} {
		is := func(c series.Chart) bool { return c.ID == id }
		at, own := slices.IndexFunc(o.Charts, is), slices.IndexFunc(alone, is)
		if at < 0 || own < 0 {
			t.Fatalf("no chart %s", id)
		}
		if len(o.Charts[at].Panels) != len(alone[own].Panels) {
			t.Fatalf("%s has %d panels, want %d", id, len(o.Charts[at].Panels), len(alone[own].Panels))
		}
		for k, p := range o.Charts[at].Panels {
			for i, names := range [][2]string{{"A", "baseline"}, {"B", "csig"}} {
				got := p.Lines[i]
				line := slices.IndexFunc(alone[own].Panels[k].Lines, func(l series.Line) bool { return l.Variant == names[1] })
				want := alone[own].Panels[k].Lines[line]
				want.Variant = names[0]
				if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" || len(p.Lines) != 2 {
					t.Errorf("%s, panel %d, %s: %s", id, k, names[0], diff)
				}
			}
		}
	}
	// Utilisation: 100 % while all flows run, 99.5 % afterwards. Samples of 5 µs, of one side.
	busy := chartOf(t, &o, busyChart).Panels[0].Lines[0]
	if len(busy.Values) != s.Windows || math.Abs(busy.Values[10]-100) > 1e-6 || math.Abs(busy.Values[s.Windows-1]-99.5) > 0.2 {
		t.Errorf("%d points: %v and %v", len(busy.Values), busy.Values[10], busy.Values[s.Windows-1])
	}
	delay := chartOf(t, &o, signalChart+"delay")
	if l := delay.Panels[0].Lines; len(l) != 1 || l[0].Variant != "B" || l[0].Values[3] != 5 || delay.Unit != "µs" {
		t.Errorf("%+v", delay)
	}
}

func chartOf(t *testing.T, o *Overlay, id string) *series.Chart {
	t.Helper()
	for i := range o.Charts {
		if o.Charts[i].ID == id {
			return &o.Charts[i]
		}
	}
	t.Fatalf("no chart %s", id)
	return nil
}

// Runs of different lengths have one scale of time, and the ports of either side.
func TestOverlayOfOtherLengths(t *testing.T) {
	checkout.SkipSlowRace(t)
	short := readingtest.ThreeFlow()
	short.Seeds, short.Windows = []uint64{1}, 100
	long := readingtest.ThreeFlow()
	long.Seeds, long.Windows = []uint64{1}, 1700 // a point is 3 windows
	long.Queues = map[string][2]float64{"baseline": {500, 1}, "csig": {500, 1}, "csig-wide": {500, 1}}
	a := short.Folder(t, nil)
	b := long.Folder(t, nil)
	o := overlaid(t, a, b, "csig", "csig")
	if o.PointUS != 300 {
		t.Errorf("a point is %v µs, want 300", o.PointUS)
	}
	var names []string
	for _, p := range o.Limits {
		names = append(names, p.From+"-"+p.To)
		if len(p.Use) != 2 || p.Use[0].Variant != "A" || p.Use[1].Variant != "B" {
			t.Errorf("%+v", p.Use)
		}
	}
	queues := chartOf(t, &o, "queues")
	if len(queues.Panels) != len(names) || !slices.Contains(names, "s0-s1") || !slices.Contains(names, "s1-s2") {
		t.Fatalf("%d panels of ports %v", len(queues.Panels), names)
	}
	for _, p := range queues.Panels {
		if len(p.Lines) != 2 || len(p.Lines[0].Values) > 40 || len(p.Lines[1].Values) < 500 {
			t.Errorf("%d lines", len(p.Lines))
		}
	}
}

// "difference heatmaps: source by destination (mean ABW) and port by time in the step
// (utilisation) as B minus A".
func TestOverlayDifferences(t *testing.T) {
	checkout.SkipSlowRace(t)
	folder := func(utilise float64) *runfolder.Folder {
		s := readingtest.ThreeFlow()
		s.Seeds, s.Utilise = []uint64{1}, utilise
		s.Samples = map[string]map[uint16]int64{"csig": {5: 30}}
		return s.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Variants[1].CSIG = "compact" })
	}
	a, b := folder(0.9), folder(0.6)
	o := overlaid(t, a, b, "csig", "csig")
	alone, _ := sectiontest.Read[*heatmap.Section](t, a, heatmap.New)
	if len(o.Signatures) != 1 || len(o.Heatmaps) != 1 {
		t.Fatalf("%d signatures, %d heatmaps; left out: %v", len(o.Signatures), len(o.Heatmaps), o.LeftOut)
	}
	s := &o.Signatures[0]
	row := slices.IndexFunc(s.Rows, func(r signature.Row) bool { return r.Name == "s0-s1" })
	if got := s.Change[row][5]; math.Abs(got+30) > 1 {
		t.Errorf("s0-s1 is %v points busier in B, want -30: %v to %v", got, s.A[row][5], s.B[row][5])
	}
	other := slices.IndexFunc(s.Rows, func(r signature.Row) bool { return r.Name == "h0-s0" })
	if got := s.Change[other][5]; got != 0 {
		t.Errorf("h0-s0 is %v points busier in B, want 0", got)
	}
	h := &o.Heatmaps[0]
	if h.Signal != "delay" || len(h.Blocks) != len(alone.Heatmaps[0].Blocks) {
		t.Errorf("%+v", h)
	}
	for i := range h.Change {
		for k, v := range h.Change[i] {
			if want := h.B[i][k] - h.A[i][k]; !(math.IsNaN(v) && math.IsNaN(want)) && math.Abs(v-want) > 1e-4 {
				t.Errorf("cell %d %d: %v, want %v", i, k, v, want)
			}
		}
	}
	// A side without samples has no heatmap, and fabrics with other names have none to
	// subtract.
	renamed := readingtest.ThreeFlow()
	renamed.Seeds = []uint64{1}
	renamed.Samples = map[string]map[uint16]int64{"csig": {5: 30}}
	c := renamed.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Variants[1].CSIG = "compact"
		for i := range m.Nodes {
			m.Nodes[i].Name = "x" + m.Nodes[i].Name
		}
	})
	if o := overlaid(t, a, c, "csig", "csig"); len(o.Heatmaps) != 0 || len(o.Signatures) != 0 || len(o.LeftOut) != 2 || !strings.Contains(o.LeftOut[1], "no port has the same name") {
		t.Errorf("%d heatmaps, %d signatures, left out: %q", len(o.Heatmaps), len(o.Signatures), o.LeftOut)
	}
	if o := overlaid(t, a, b, "baseline", "csig"); len(o.Heatmaps) != 0 {
		t.Error("a heatmap of a variant without samples")
	}
}

// In large fabrics the rows of both sides are the same ports: those that are busy on either.
func TestOverlayOfLargeFabrics(t *testing.T) {
	checkout.SkipSlowRace(t)
	folder := func(hot string) *runfolder.Folder {
		p := &readingtest.Planted{Many: readingtest.Many{Leaves: 12, Spines: 8, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 400}
		p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
			for i := range m.Ports {
				share := 0.1
				if m.Ports[i].Name == hot {
					share = 0.9
				}
				for at := 0.0; at < p.EndUS; at += 100 {
					b.Ports = append(b.Ports, p.Window(&m.Ports[i], at, share, 0))
				}
			}
		}
		return p.Folder(t)
	}
	var ports []string
	for _, p := range folder("").Manifest.Ports {
		if p.Tier == "tor" && p.Direction == "up" {
			ports = append(ports, p.Name)
		}
	}
	hotA, hotB := ports[len(ports)-1], ports[len(ports)-9]
	o := overlaid(t, folder(hotA), folder(hotB), "run", "run")
	if len(o.Signatures) != 1 {
		t.Fatalf("%d signatures: %v", len(o.Signatures), o.LeftOut)
	}
	s := &o.Signatures[0]
	if len(s.Rows) != signature.MaxRows {
		t.Errorf("%d rows, want %d: each has its counterpart", len(s.Rows), signature.MaxRows)
	}
	covered := 0
	for i, row := range s.Rows {
		covered += row.Ports
		want := map[string]float64{hotA: -80, hotB: 80}[row.Name]
		if got := s.Change[i][1]; math.Abs(got-want) > 1.01 {
			t.Errorf("row %q of %d ports: %v, want %v", row.Name, row.Ports, got, want)
		}
	}
	for _, name := range []string{hotA, hotB} {
		if !slices.ContainsFunc(s.Rows, func(r signature.Row) bool { return r.Name == name }) {
			t.Errorf("%s has no row", name)
		}
	}
	if want := 2*12*8 + 2*2*12; covered != want {
		t.Errorf("rows stand for %d ports, want %d", covered, want)
	}
}

// Of many flows there are the distributions of both sides.
func TestOverlayOfManyFlows(t *testing.T) {
	m := readingtest.Many{Leaves: 4, Spines: 2, Hosts: 4, Seeds: 2}
	folder := m.Folder(t)
	o := overlaid(t, folder, folder, "run", "run")
	titles := map[string]string{"fct": "Flow completion times", "slowdown": "Slowdowns"}
	for _, f := range o.charts() {
		if want, ok := titles[f.ID]; ok && (f.Title != want || len(f.Legend) != 2) {
			t.Errorf("figure %s: title %q, want %q; legend %v", f.ID, f.Title, want, f.Legend)
		}
		delete(titles, f.ID)
	}
	if len(titles) > 0 {
		t.Errorf("no figure %v", titles)
	}
}
