package plan

import (
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/results"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/validity"
)

var mapFrom = flag.String("map-from", "", "make orchestrator/experiment/validity/map.csv and docs/explanation/validity.svg from the sweeps in these folders, such as /a,/b")

// crowdOf returns where validity lies with some settings.
func crowdOf(t *testing.T, set ...string) crowd {
	t.Helper()
	opts := experiment.Options{Tables: experiment.StandardTables(), Variants: []string{"csig"}}
	for _, text := range set {
		o, err := experiment.ParseSet("--set", text)
		if err != nil {
			t.Fatal(err)
		}
		opts.Override = append(opts.Override, o)
	}
	e, err := experiment.Load("validity", opts)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewShape(e.Variants[0].Experiment)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRun(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	found, ok := newSignalling(r, p).crowd()
	if !ok {
		t.Fatal("no flow crosses several bottlenecks")
	}
	return found
}

// The 95 % quantile of Student's t with two degrees of freedom, both sides: three seeds.
const student = 4.303

// pointOf returns the point of some paired rates, with and without CSIG by seed.
func pointOf(at crowd, alone, csig map[uint64]float64) validity.Point {
	var logs []float64
	for _, seed := range slices.Sorted(maps.Keys(alone)) {
		logs = append(logs, math.Log(csig[seed]/alone[seed]))
	}
	mean, square := 0.0, 0.0
	for _, v := range logs {
		mean += v / float64(len(logs))
	}
	for _, v := range logs {
		square += (v - mean) * (v - mean)
	}
	half := student * math.Sqrt(square/float64(len(logs)-1)/float64(len(logs)))
	return validity.Point{Rate: at.rate, BDP: at.bdp, Flows: at.flows, Ratio: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half)}
}

// readMap returns the points of a sweep.
func readMap(t *testing.T, folder string) (points []validity.Point) {
	t.Helper()
	table, err := results.Open(filepath.Join(folder, results.File))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	rates := map[int]map[string]map[uint64]float64{}
	sets := map[int][]string{}
	for row, err := range table.Rows() {
		if err != nil || row.Outcome != results.Passed {
			t.Fatalf("point %d: %s %s %v", row.Point, row.Outcome, row.Reason, err)
		}
		if rates[row.Point] == nil {
			rates[row.Point] = map[string]map[uint64]float64{"alone": {}, "csig": {}}
			for i, value := range row.Set {
				if value != "" {
					sets[row.Point] = append(sets[row.Point], table.Paths[i]+"="+value)
				}
			}
		}
		rates[row.Point][row.Variant][row.Seed] = row.Metrics["victim_gbps"]
	}
	for _, point := range slices.Sorted(maps.Keys(rates)) {
		points = append(points, pointOf(crowdOf(t, sets[point]...), rates[point]["alone"], rates[point]["csig"]))
	}
	return points
}

// The picture of docs/explanation/validity.md is that of map.csv. With -map-from both are made.
func TestValidityMap(t *testing.T) {
	csv, svg := filepath.FromSlash("../experiment/validity/map.csv"), filepath.FromSlash("../../docs/explanation/validity.svg")
	points := validity.Points()
	if *mapFrom != "" {
		points = nil
		for folder := range strings.SplitSeq(*mapFrom, ",") {
			points = append(points, readMap(t, folder)...)
		}
		slices.SortStableFunc(points, func(a, b validity.Point) int {
			return slices.Compare([]float64{float64(a.Rate), a.BDP, a.Flows}, []float64{float64(b.Rate), b.BDP, b.Flows})
		})
		text := validity.Header + "\n"
		for _, p := range points {
			text += p.Line() + "\n"
		}
		var err error
		if points, err = validity.Parse(text); err != nil { // the picture is of the figures in the file
			t.Fatal(err)
		}
		for file, text := range map[string]string{csv: text, svg: validityPicture(points)} { // order: two files
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := os.ReadFile(svg)
	if err != nil || string(got) != validityPicture(points) {
		t.Errorf("docs/explanation/validity.svg is not the picture of map.csv (%v); make both with -map-from", err)
	}
}

// The sweep of the experiment validity has the points of map.csv at 100 Gb/s, and its
// unchanged form is one of them.
func TestCrowd(t *testing.T) {
	at := crowdOf(t)
	if math.Abs(at.flows-8.5) > 0.01 || math.Abs(at.bdp-28.16) > 0.01 || at.rate.String() != "100Gbps" || at.first != "0-8" {
		t.Errorf("got %+v, want 8.5 flows per link of 100Gbps and 28.16 packets", at)
	}
	if place, ok := validity.At(at.rate, at.bdp, at.flows); !ok || !place.Harm || place.Least < 0 {
		t.Errorf("got %+v %v, want a place where CSIG harms", place, ok)
	}
	set, err := experiment.Load("validity", experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	for _, p := range validity.Points() {
		if p.Rate == at.rate {
			measured++
		}
	}
	if measured != set.Base.Sweep.Points() || measured < 64 {
		t.Errorf("map.csv has %d points at 100 Gb/s, and the sweep has %d", measured, set.Base.Sweep.Points())
	}
}
