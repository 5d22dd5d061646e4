package compare

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/reports/heat"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section/signature"
	"github.com/csiglab/csiglab/reports/series"
)

// "source by destination (mean ABW) as B minus A": blocks are matched by name and size, and a
// cell that one side lacks has no difference.
func TestHeatmapChange(t *testing.T) {
	none := math.NaN()
	a := []heat.Heatmap{
		{Variant: "other", Signal: "abw", Blocks: []heat.Block{{Name: "t0", Hosts: 2}}, Mean: []reading.Values{{99}}},
		{Variant: "v", Signal: "abw", Unit: "Gb/s", By: "tor", Blocks: []heat.Block{{Name: "t0", Hosts: 2}, {Name: "t1", Hosts: 2}, {Name: "t2", Hosts: 2}}, Mean: []reading.Values{{1, 2, 3}, {4, 5, 6}, {7, none, 9}}},
	}
	b := []heat.Heatmap{{Variant: "w", Signal: "abw", Unit: "Gb/s", By: "tor", Blocks: []heat.Block{{Name: "t2", Hosts: 2}, {Name: "t0", Hosts: 2}, {Name: "t1", Hosts: 8}}, Mean: []reading.Values{{90, 70, 0}, {none, 10, 0}, {0, 0, 0}}}}
	var o Overlay
	o.compareHeatmaps([2]string{"v", "w"}, [2][]heat.Heatmap{a, b})
	want := []HeatmapChange{{Signal: "abw", Unit: "Gb/s", By: "tor", Blocks: []heat.Block{{Name: "t0", Hosts: 2}, {Name: "t2", Hosts: 2}},
		A: []reading.Values{{1, 3}, {7, 9}}, B: []reading.Values{{10, none}, {70, 90}}, Change: []reading.Values{{9, none}, {63, 81}}}}
	if diff := cmp.Diff(want, o.Heatmaps, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

// "port by time in the step (utilisation)": bins of different lengths are averaged by time,
// and a step that is shorter on one side has no difference after its end.
func TestSignatureChange(t *testing.T) {
	none := math.NaN()
	row := func(name string) signature.Row {
		return signature.Row{Name: name, Tier: "tor", Direction: "up", Ports: 1}
	}
	a := []signature.Signature{{Variant: "v", Job: "j", BinUS: 10, Bins: 6, Rows: []signature.Row{row("p"), row("q")}, Utilisation: []reading.Percents{{10, 20, 30, 40, reading.NoPercent, 60}, {0, 0, 0, 0, 0, 0}}}}
	b := []signature.Signature{{Variant: "v", Job: "j", BinUS: 20, Bins: 2, Rows: []signature.Row{row("r"), row("p")}, Utilisation: []reading.Percents{{1, 1}, {100, 5}}}}
	var o Overlay
	o.compareSignatures([2]string{"v", "v"}, [2][]signature.Signature{a, b})
	if len(o.Signatures) != 1 {
		t.Fatalf("%d signatures, left out: %v", len(o.Signatures), o.LeftOut)
	}
	s := o.Signatures[0]
	s.StepsA, s.StepsB = reading.Spread{}, reading.Spread{}
	want := SignatureChange{Job: "j", BinUS: 20, Bins: 3, Rows: []signature.Row{row("p")}, A: []reading.Values{{15, 35, 60}}, B: []reading.Values{{100, 5, none}}, Change: []reading.Values{{85, -30, none}}}
	if diff := cmp.Diff(want, s, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

// Iteration times of both sides: those of each side's own signature.
func TestStepsOfBothSides(t *testing.T) {
	of := func(variant string, times ...float64) []signature.Signature {
		return []signature.Signature{{Variant: "other", Job: "gpt", StepTimesUS: reading.Values{9}}, {Variant: variant, Job: "gpt", StepTimesUS: times}, {Variant: variant}}
	}
	var o Overlay
	o.laySteps([2]string{"v", "w"}, [2]string{"A", "B"}, [2][]signature.Signature{of("v", 1, 2, 3), of("w", 4, 5)})
	want := []series.Chart{{ID: "steps-gpt", Unit: "µs", Panels: []series.Panel{{Lines: []series.Line{{Variant: "A", Values: reading.Values{1, 2, 3}}, {Variant: "B", Values: reading.Values{4, 5}}}}}}}
	if diff := cmp.Diff(want, o.Charts); diff != "" {
		t.Error(diff)
	}
}
