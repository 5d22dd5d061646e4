package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/reports/analysis"
)

// The first screen of a run with jobs shows how long their steps take in each variant, and
// not the rate of one of their many flows.
func TestStepTimes(t *testing.T) {
	us := func(mean float64) *analysis.Stats { return &analysis.Stats{Mean: mean} }
	parts := func(us ...float64) (all []analysis.JobPart) { // compute, bubble, network, late ranks
		for i, name := range analysis.PartNames {
			one := append(us, 0, 0)[i]
			all = append(all, analysis.JobPart{Name: name, US: one, Share: one / (us[0] + us[1] + us[2] + us[3])})
		}
		return all
	}
	r := &analysis.Result{PointUS: 100, Variants: []analysis.Variant{{Name: "rails"}, {Name: "spread"}}, Jobs: []analysis.Job{
		{Variant: "rails", Name: "gpt", IterationUS: us(1200), Parts: parts(900, 0, 300, 0), Slowest: -1},
		{Variant: "spread", Name: "gpt", IterationUS: us(2000), Parts: parts(500, 200, 1290, 10), Slowest: -1},
		{Variant: "open", Name: "gpt", Slowest: -1}, // ended no step
	}}
	times := newStepTimes(r)
	if times.Title != "Time of a step of gpt" || times.data.X.Unit != "ms" || !cmp.Equal(times.data.Y.Names, []string{"rails", "spread"}) {
		t.Fatalf("%+v", times)
	}
	if len(times.data.Series) != 4 || len(times.Legend) != 4 {
		t.Fatalf("%d series and %d keys, want 4: nothing is held and nothing idle", len(times.data.Series), len(times.Legend))
	}
	for i, want := range []numbers{{0.9, 0.5}, {0, 0.2}, {0.3, 1.29}, {0, 0.01}} {
		if !cmp.Equal(times.data.Series[i].Values, want) {
			t.Errorf("%s: %v, want %v", times.data.Series[i].Name, times.data.Series[i].Values, want)
		}
	}
	for _, want := range []string{"rails: 1.2\u00a0ms, 25 % waiting", "spread: 2\u00a0ms, 75 % waiting"} {
		if !strings.Contains(string(times.SVG), want) || !strings.Contains(string(times.Narrow), want) {
			t.Errorf("drawing lacks %q:\n%s", want, times.SVG)
		}
	}
	var page bytes.Buffer
	if err := WriteHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(page.String(), `<figure id="main"><figcaption><strong>Time of a step of gpt</strong>`); n != 1 {
		t.Errorf("%d figures of the times of steps", n)
	}
	if words := partWords(&r.Jobs[1]); !cmp.Equal(words, []string{"64.5 % waiting for the network", "10 % in the bubble of the pipeline", "0.5 % waiting for late ranks"}) {
		t.Errorf("ranks spend %q", words)
	}
	r.Jobs = append(r.Jobs[:1:1], analysis.Job{Variant: "rails", Name: "moe", IterationUS: us(1), Parts: parts(0, 0, 1, 0), Slowest: -1})
	if times = newStepTimes(r); times.Title != "Time of a step" || times.data.Y.Names[1] != "rails, moe" || times.data.Series[0].Values[1] != 0 {
		t.Errorf("%+v", times.data)
	}
	if newStepTimes(&analysis.Result{}) != nil {
		t.Error("a run without jobs has times of steps")
	}
}
