package analysis

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// "source by destination (mean ABW) as B minus A": blocks are matched by name and size, and a
// cell that one side lacks has no difference.
func TestHeatmapChange(t *testing.T) {
	none := math.NaN()
	a := &Result{Heatmaps: []Heatmap{
		{Variant: "other", Signal: "abw", Blocks: []Block{{"t0", 2}}, Mean: []Values{{99}}},
		{Variant: "v", Signal: "abw", Unit: "Gb/s", By: "tor", Blocks: []Block{{"t0", 2}, {"t1", 2}, {"t2", 2}}, Mean: []Values{{1, 2, 3}, {4, 5, 6}, {7, none, 9}}},
	}}
	b := &Result{Heatmaps: []Heatmap{{Variant: "w", Signal: "abw", Unit: "Gb/s", By: "tor", Blocks: []Block{{"t2", 2}, {"t0", 2}, {"t1", 8}}, Mean: []Values{{90, 70, 0}, {none, 10, 0}, {0, 0, 0}}}}}
	o := Overlay{Result: &Result{}}
	o.compareHeatmaps([2]string{"v", "w"}, [2]*Result{a, b})
	want := []HeatmapChange{{Signal: "abw", Unit: "Gb/s", By: "tor", Blocks: []Block{{"t0", 2}, {"t2", 2}},
		A: []Values{{1, 3}, {7, 9}}, B: []Values{{10, none}, {70, 90}}, Change: []Values{{9, none}, {63, 81}}}}
	if diff := cmp.Diff(want, o.Heatmaps, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

// "port by time in the step (utilisation)": bins of different lengths are averaged by time,
// and a step that is shorter on one side has no difference after its end.
func TestSignatureChange(t *testing.T) {
	none := math.NaN()
	row := func(name string) SignatureRow {
		return SignatureRow{Name: name, Tier: "tor", Direction: "up", Ports: 1}
	}
	a := &Result{Signatures: []Signature{{Variant: "v", Job: "j", BinUS: 10, Bins: 6, Rows: []SignatureRow{row("p"), row("q")}, Utilisation: []Percents{{10, 20, 30, 40, NoPercent, 60}, {0, 0, 0, 0, 0, 0}}}}}
	b := &Result{Signatures: []Signature{{Variant: "v", Job: "j", BinUS: 20, Bins: 2, Rows: []SignatureRow{row("r"), row("p")}, Utilisation: []Percents{{1, 1}, {100, 5}}}}}
	o := Overlay{Result: &Result{}}
	o.compareSignatures([2]string{"v", "v"}, [2]*Result{a, b})
	if len(o.Signatures) != 1 {
		t.Fatalf("%d signatures, left out: %v", len(o.Signatures), o.LeftOut)
	}
	s := o.Signatures[0]
	s.StepsA, s.StepsB = Spread{}, Spread{}
	want := SignatureChange{Job: "j", BinUS: 20, Bins: 3, Rows: []SignatureRow{row("p")}, A: []Values{{15, 35, 60}}, B: []Values{{100, 5, none}}, Change: []Values{{85, -30, none}}}
	if diff := cmp.Diff(want, s, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

// Iteration times of both sides: those of each side's own signature.
func TestStepsOfBothSides(t *testing.T) {
	of := func(variant string, times ...float64) *Result {
		return &Result{Signatures: []Signature{{Variant: "other", Job: "gpt", StepTimesUS: Values{9}}, {Variant: variant, Job: "gpt", StepTimesUS: times}, {Variant: variant}}}
	}
	o := Overlay{Result: &Result{}}
	o.laySteps([2]string{"v", "w"}, [2]string{"A", "B"}, [2]*Result{of("v", 1, 2, 3), of("w", 4, 5)})
	want := []Chart{{ID: "steps-gpt", Unit: "µs", Panels: []Panel{{Lines: []Line{{Variant: "A", Values: Values{1, 2, 3}}, {Variant: "B", Values: Values{4, 5}}}}}}}
	if diff := cmp.Diff(want, o.Charts); diff != "" {
		t.Error(diff)
	}
}

// A shard of a sweep has its part of the runs: I/N those whose number from 0 is I-1 modulo N.
func TestTrialsOfShards(t *testing.T) {
	p := plan{Points: make([]json.RawMessage, 5), Variants: []string{"a"}, Seeds: []uint64{1, 2}}
	if got := p.trials(); got != 10 {
		t.Errorf("%d runs, want 10", got)
	}
	for _, of := range []int{1, 2, 3, 4, 11} {
		p.Shard.Of = of
		for index := 1; index <= of; index++ {
			p.Shard.Index = index
			want := 0
			for i := range 10 {
				if i%of == index-1 {
					want++
				}
			}
			if got := p.trials(); got != want {
				t.Errorf("shard %d/%d: %d runs, want %d", index, of, got, want)
			}
		}
	}
}

// "hostile": texts that are no plan of a sweep.
func TestPlansThatAreNone(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"shard":{"index":2,"of":1}}`, `{"seeds":[-1]}`, `{"points":1}`, "null\x00"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, planFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := MeasureSweep(dir, nil, nil); !errors.Is(err, ErrNoSweep) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := MeasureSweep(t.TempDir(), nil, nil); !errors.Is(err, ErrNoSweep) {
		t.Error(err)
	}
}
