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
	r := &analysis.Result{PointUS: 100, Variants: []analysis.Variant{{Name: "rails"}, {Name: "spread"}}, Jobs: []analysis.Job{
		{Variant: "rails", Name: "gpt", IterationUS: us(1200), ExposedUS: us(300), Slowest: -1},
		{Variant: "spread", Name: "gpt", IterationUS: us(2000), ExposedUS: us(1500), Slowest: -1},
		{Variant: "open", Name: "gpt", Slowest: -1}, // ended no step
	}}
	times := newStepTimes(r)
	if times.Title != "Time of a step of gpt" || times.data.X.Unit != "ms" || !cmp.Equal(times.data.Y.Names, []string{"rails", "spread"}) {
		t.Fatalf("%+v", times)
	}
	for i, want := range []numbers{{0.9, 0.5}, {0.3, 1.5}} {
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
	r.Jobs = append(r.Jobs[:1:1], analysis.Job{Variant: "rails", Name: "moe", IterationUS: us(1), ExposedUS: us(2), Slowest: -1})
	if times = newStepTimes(r); times.Title != "Time of a step" || times.data.Y.Names[1] != "rails, moe" || times.data.Series[0].Values[1] != 0 {
		t.Errorf("%+v", times.data)
	}
	if newStepTimes(&analysis.Result{}) != nil {
		t.Error("a run without jobs has times of steps")
	}
}
