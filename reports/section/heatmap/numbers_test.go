package heatmap

import (
	"math"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

// "Planted oversubscribed ToR uplink dominates the LM mode for exactly the cells crossing
// it"; "ties of the mode broken by lower LM; cells under n=20 samples shown as empty"; "only
// among heavily loaded bottleneck links" (section 7, item 2 and the table).
func TestHeatmapNamesThePlantedUplink(t *testing.T) {
	const abwc = 1 // in Manifest.Signals
	p := &readingtest.Planted{Many: readingtest.Many{Leaves: 4, Spines: 1, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, Seeds: 2, EndUS: 1000}
	var uplink, tieLow, tieHigh int
	p.Run = func(m *runfolder.Manifest, _ string, seed uint64, b *metrics.Batch) {
		locator := func(name string) int { return readingtest.PortNamed(t, m, name) + 1 }
		uplink, tieLow, tieHigh = locator("tor1-agg0"), locator("agg0-tor3"), locator("tor3-h6")
		tieLow, tieHigh = min(tieLow, tieHigh), max(tieLow, tieHigh)
		for _, f := range m.Flows {
			src, dst := int(f.Src)/2, int(f.Dst)/2
			switch {
			case src == 1 && dst != 1: // they cross the uplink, which has little left; more samples name an idle port
				readingtest.PlantSamples(b, f.Flow, abwc, uplink, 200, 12, 100_000)
				readingtest.PlantSamples(b, f.Flow, abwc, tieHigh, 300, 30, 900_000)
			case src == 0 && dst == 3: // a tie of two heavily loaded ports
				readingtest.PlantSamples(b, f.Flow, abwc, tieHigh, 200, 10, 240_000)
				readingtest.PlantSamples(b, f.Flow, abwc, tieLow, 300, 10, 240_000)
			case src == 2 && dst == 3: // 19 heavily loaded samples, by both seeds and four flows
				if seed == 1 && f.Src == 4 && f.Dst == 6 {
					readingtest.PlantSamples(b, f.Flow, abwc, tieLow, 200, 19, 0)
				}
				readingtest.PlantSamples(b, f.Flow, abwc, tieLow, 300, 5, 800_000)
			case src == 3 && dst == 2: // too few samples
				if seed == 1 && f.Src == 6 && f.Dst == 4 {
					readingtest.PlantSamples(b, f.Flow, abwc, uplink, 200, 19, 0)
				}
			default: // no hop wrote the tags, or the port has enough left
				readingtest.PlantSamples(b, f.Flow, abwc, 0, 200, 40, 0)
				readingtest.PlantSamples(b, f.Flow, abwc, tieLow, 200, 40, 260_000)
			}
		}
	}
	s, _ := sectiontest.Read[*Section](t, p.Folder(t), New)
	maps := s.Heatmaps
	sectiontest.Survives(t, maps)
	if len(maps) != 1 || maps[0].Signal != "abw-c" || maps[0].Unit != "%" || maps[0].Threshold != 25 || !maps[0].Below || maps[0].By != "tor" || len(maps[0].Blocks) != 4 || maps[0].Seeds != 2 {
		t.Fatalf("heatmaps %+v", maps)
	}
	h := maps[0]
	named := func(src, dst int) string {
		if at := h.Modal[src][dst]; at >= 0 {
			return h.Locators[at].Ports[0]
		}
		return ""
	}
	for src := range 4 {
		for dst := range 4 {
			want := ""
			switch {
			case src == 1 && dst != 1:
				want = "tor1-agg0"
			case src == 0 && dst == 3:
				want = "tor3-h6" // its locator is the lower one
			}
			if got := named(src, dst); got != want {
				t.Errorf("from %s to %s the modal bottleneck is %q, want %q", h.Blocks[src].Name, h.Blocks[dst].Name, got, want)
			}
			if (want == "") != math.IsNaN(h.Share[src][dst]) || want == "tor1-agg0" && h.Share[src][dst] != 1 || want == "tor3-h6" && h.Share[src][dst] != 0.5 {
				t.Errorf("from %d to %d its share is %v", src, dst, h.Share[src][dst])
			}
		}
	}
	if got := h.Mean[1][0]; math.Abs(got-(12*10+30*90)/42.0) > 1e-3 { // weighted by samples
		t.Errorf("mean %v", got)
	}
	if !math.IsNaN(h.Mean[3][2]) || h.Samples[3][2] != 19 || h.Heavy[3][2] != 19 || h.Samples[2][3] != 19+2*4*5 || h.Heavy[2][3] != 19 {
		t.Errorf("a cell of 19 samples: mean %v, %d samples, %d heavy", h.Mean[3][2], h.Samples[3][2], h.Heavy[3][2])
	}
}
