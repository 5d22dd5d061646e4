package campaign

import (
	"context"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/experiment/validity"
)

// victims returns the mean of the logarithm of the victims' rate with CSIG over that
// without, over the seeds of validity with some settings.
func victims(t *testing.T, set ...string) float64 {
	t.Helper()
	result, err := Run(context.Background(), load(t, "validity", set...), Options{Out: filepath.Join(t.TempDir(), "run"), Runtime: runtimes.Inproc, Clock: runtimes.Virtual})
	if err != nil {
		t.Fatal(err)
	}
	alone, csig := result.Summary.Variants["alone"].Runs, result.Summary.Variants["csig"].Runs
	sum := 0.0
	for i := range csig {
		sum += math.Log(csig[i].Metrics["victim_gbps"]/alone[i].Metrics["victim_gbps"]) / float64(len(csig))
	}
	return sum
}

// sweepPoint returns the settings of a point of the sweep of validity.
func sweepPoint(t *testing.T, i int) (set []string) {
	t.Helper()
	whole, err := experiment.Load("validity", experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range whole.Base.Sweep.Point(i) {
		set = append(set, o.Path+"="+o.Value)
	}
	return set
}

// The figures of map.csv are those of the experiment: some points on both sides of the
// line, and all at 100 Gb/s with CSIGLAB_E2E.
func TestValidityPoints(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	points := slices.DeleteFunc(slices.Clone(validity.Points()), func(p validity.Point) bool { return p.Rate.String() != "100Gbps" })
	some := []int{0, 11, 40} // 10 packets and 2 flows: gain; 14 and 8.5: loss; 56 and 2: gain
	if os.Getenv("CSIGLAB_E2E") != "" {
		some = nil
		for i := range points {
			some = append(some, i)
		}
	}
	for _, i := range some {
		want := points[i]
		if got := math.Exp(victims(t, sweepPoint(t, i)...)); math.Abs(got-want.Ratio) > 0.0006 {
			t.Errorf("%s: the ratio is %.3f", want.Line(), got)
		}
	}
}

// The same at 25 and 400 Gb/s, where the points are those of docs/examples/validity-rates.csv
// in its order: a loss and a gain at each rate, and all with CSIGLAB_E2E.
func TestValidityPointsOfRates(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	points := slices.DeleteFunc(slices.Clone(validity.Points()), func(p validity.Point) bool { return p.Rate.String() == "100Gbps" })
	file, err := os.Open("../../../docs/examples/validity-rates.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 1+len(points) {
		t.Fatalf("%d rows of %d points: %v", len(rows), len(points), err)
	}
	for i, want := range points {
		if !slices.Contains([]int{1, 8, 17, 24}, i) && os.Getenv("CSIGLAB_E2E") == "" {
			continue
		}
		var set []string
		for k, path := range rows[0] {
			set = append(set, path+"="+rows[1+i][k])
		}
		if got := math.Exp(victims(t, set...)); math.Abs(got-want.Ratio) > 0.0006 {
			t.Errorf("%s: the ratio is %.3f", want.Line(), got)
		}
	}
}

// The explanation of docs/explanation/validity.md: without fair increase, NSCC's victims lose, and those
// with CSIG do not. 28 packets, 8.5 flows: the sign changes.
func TestValidityExplanation(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	const point = 3*8 + 3
	base, without := victims(t, sweepPoint(t, point)...), victims(t, append(sweepPoint(t, point), "hosts.cc.fair_increase=0")...)
	if base >= 0 || without <= 0 {
		t.Errorf("the logarithm of the ratio is %.3f, and %.3f without fair increase; want below 0 and above", base, without)
	}
}
