package collectives

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

// The worst instances are those that took longest beside the median of their name in their run;
// distributions are of all, and variants without jobs have neither.
func TestCollectives(t *testing.T) {
	at := func(us float64) units.Time { return units.Time(us * float64(units.Microsecond)) }
	f := (&readingtest.Planted{Many: readingtest.Many{Leaves: 2, Spines: 1, Hosts: 1}, Interval: 100 * units.Microsecond, EndUS: 1000, Variants: []string{"run", "idle"},
		Change: func(m *runfolder.Manifest) {
			m.Variants[0].Jobs = []runfolder.Job{{Name: "gpt", Ranks: []int32{0, 1}, Steps: 5, Collectives: []runfolder.Collective{{Name: "sum", Kind: "all_reduce", Ranks: 2}, {Name: "even", Kind: "all_reduce", Ranks: 2}}}}
		},
		Run: func(_ *runfolder.Manifest, variant string, _ uint64, b *metrics.Batch) {
			if variant != "run" {
				return
			}
			for i, us := range []float64{10, 10, 50, 20, 10} {
				step := metrics.Tag{Step: int32(i + 1)}
				b.Instances = append(b.Instances, metrics.Instance{Tag: step, Ranks: 2, Begin: at(0), End: at(900)}) // the step is no collective
				step.Collective = 1
				b.Instances = append(b.Instances, metrics.Instance{Tag: step, Ranks: 2, Begin: at(100), End: at(100 + us), Last: 1})
				step.Collective = 2
				b.Instances = append(b.Instances, metrics.Instance{Tag: step, Ranks: 2, Begin: at(100), End: at(140)})
			}
		}}).Folder(t)
	s, _ := sectiontest.Read[*Section](t, f, New)
	host := f.Manifest.Nodes[1].Name
	want := []Variant{{Variant: "run",
		CCTUS: []CCT{{"gpt", "sum", reading.Distribution{Count: 5, Mean: 20, P50: 10, P90: 50, P99: 50, P999: 50, Max: 50}}, {"gpt", "even", reading.Distribution{Count: 5, Mean: 40, P50: 40, P90: 40, P99: 40, P999: 40, Max: 40}}},
		Worst: []Worst{{Seed: 1, Job: "gpt", Step: 3, Collective: "sum", CCTUS: 50, Ratio: 5, LastHost: host}, {Seed: 1, Job: "gpt", Step: 4, Collective: "sum", CCTUS: 20, Ratio: 2, LastHost: host}}},
		{Variant: "idle", CCTUS: []CCT{}, Worst: []Worst{}}}
	if d := cmp.Diff(s.Variants, want, cmpopts.EquateApprox(0, 1e-6)); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	parts := s.Parts()
	worst := sectiontest.Part(parts, "worst-collectives")
	if worst == nil || worst.Level != section.Plain || worst.Says != "sum of gpt in step 3 took 50\u00a0µs in run, 5 times the median." {
		t.Errorf("%+v", worst)
	}
	if text := sectiontest.Text(worst); !strings.Contains(text, "sum | run | 1 | 3 | 0 | 50\u00a0µs | 5× | "+host+"\n") {
		t.Errorf("%s", text)
	}
	if text := sectiontest.Text(sectiontest.Part(parts, "cct")); !strings.Contains(text, "sum of gpt (µs) | run | 5 | 20 | 10 | 50 | 50 | 50 | 50\n") {
		t.Errorf("%s", text)
	}
}
