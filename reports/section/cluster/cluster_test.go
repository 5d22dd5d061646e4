package cluster

import (
	"math"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

// steps are the mean times of the steps of jobs a and b, by variant and seed.
type steps map[string][2][2]float64

// of makes a section of two jobs and two seeds. In variant alone job b begins at 1 s.
func of(t *testing.T, order []string, all steps) *Section {
	t.Helper()
	m := &runfolder.Manifest{}
	r := &reading.Reading{Manifest: m, Summary: &runfolder.Summary{Variants: map[string]runfolder.VariantSummary{}}, Totals: &reading.Totals{Seeds: map[string][]uint64{}}}
	var rows []runfolder.InstanceRow
	for _, name := range order {
		csig := reading.NoCSIG
		if name == "tags" {
			csig = "wide"
		}
		m.Variants = append(m.Variants, runfolder.Variant{Name: name, CSIG: csig, Jobs: []runfolder.Job{{Name: "a"}, {Name: "b"}}})
		r.Variants = append(r.Variants, reading.Variant{Name: name, CSIG: csig})
		r.Totals.Seeds[name] = []uint64{1, 2}
		var runs []runfolder.RunSummary
		for i, us := range all[name] {
			seed := uint64(i + 1)
			r.Facts.Runs = append(r.Facts.Runs, reading.Run{Variant: name, Seed: seed})
			m.Runs = append(m.Runs, runfolder.Run{Variant: name, Seed: seed})
			runs = append(runs, runfolder.RunSummary{Seed: seed, Metrics: map[string]float64{"iteration_us.mean.a": us[0], "iteration_us.mean.b": us[1]}})
			for k, job := range []string{"a", "b"} {
				from := 0.0
				if name == "alone" {
					from = float64(k) * 1e6
				}
				rows = append(rows, runfolder.InstanceRow{Variant: name, Seed: seed, JobName: job, Step: 1, BeginUS: from, EndUS: from + us[k]},
					runfolder.InstanceRow{Variant: name, Seed: seed, JobName: job, Step: 1, Collective: "ring", BeginUS: 0, EndUS: 2e6}) // not a step
			}
		}
		r.Summary.Variants[name] = runfolder.VariantSummary{Runs: runs}
	}
	s := New(r).(*Section)
	for i := range rows {
		s.add(&rows[i])
	}
	if err := s.Settle(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGain(t *testing.T) {
	s := of(t, []string{"plain", "other", "tags", "alone"}, steps{
		"alone": {{100, 200}, {100, 200}},
		"plain": {{200, 400}, {200, 600}},
		"other": {{190, 380}, {190, 580}},
		"tags":  {{120, 420}, {120, 480}},
	})
	if s.Alone != "alone" || s.Base != "plain" || len(s.Variants) != 3 {
		t.Fatalf("alone %q, base %q, %d variants", s.Alone, s.Base, len(s.Variants))
	}
	tags := s.Variants[2]
	for name, c := range map[string]struct {
		got              reading.Median
		median, min, max float64
	}{
		"together":      {tags.Sum, 570, 540, 600},
		"change":        {tags.Change, (540.0/600 + 600.0/800 - 2) / 2, 600.0/800 - 1, 540.0/600 - 1},
		"Jain":          {tags.Jain, (3.3*3.3/2/(1.44+2.1*2.1) + 3.6*3.6/2/(1.44+2.4*2.4)) / 2, 3.6 * 3.6 / 2 / (1.44 + 2.4*2.4), 3.3 * 3.3 / 2 / (1.44 + 2.1*2.1)},
		"slowdown of b": {tags.Jobs[1].Slowdown, 2.25, 2.1, 2.4},
		"change of b":   {tags.Jobs[1].Change, (420.0/400 + 480.0/600 - 2) / 2, -0.2, 0.05},
		"change of a":   {tags.Jobs[0].Change, -0.4, -0.4, -0.4},
	} {
		for i, pair := range [][2]float64{{c.got.Median, c.median}, {c.got.Min, c.min}, {c.got.Max, c.max}} {
			if math.Abs(pair[0]-pair[1]) > 1e-9 || c.got.Count != 2 {
				t.Errorf("%s: %+v, want %v at %d", name, c.got, pair[1], i)
			}
		}
	}
	var story section.Story
	s.Tell(&story)
	text := strings.ReplaceAll(strings.Join(story.Sentences(), " "), "\u00a0", " ")
	for _, want := range []string{"In tags (with CSIG) the jobs together take 570 µs a step instead of 700 µs in plain (seed by seed −18 %; −25 % to −10 % over 2 seeds): a −40 % and b −7.5 %; without CSIG the best is other (seed by seed −", "), against which tags takes 570 µs instead of 670 µs (seed by seed −14 %; −22 % to −5.3 % over 2 seeds)", "No job pays under every seed; Jain's index over the slowdowns against each job alone goes from 0."} {
		if !strings.Contains(text, want) {
			t.Errorf("story lacks %q:\n%s", want, text)
		}
	}
	rows := sectiontest.Rows(s.Parts()[0].Blocks[2].(*section.Table))
	if len(rows) != 6 || rows[0][4] != "–" || !strings.HasPrefix(rows[4][4], "−40") {
		t.Errorf("rows %q", rows)
	}
	sectiontest.Survives(t, s.Variants)
}

// Who pays under every seed is named.
func TestPrice(t *testing.T) {
	s := of(t, []string{"plain", "tags", "alone"}, steps{"alone": {{100, 200}, {100, 200}}, "plain": {{200, 400}, {200, 400}}, "tags": {{120, 420}, {120, 440}}})
	if got := strings.ReplaceAll(s.price(), "\u00a0", " "); !strings.HasPrefix(got, "who pays in tags: b +7.5 %; ") {
		t.Error(got)
	}
}

// Without a variant in which the jobs run one after another there is nothing to compare with.
func TestNotAlone(t *testing.T) {
	s := of(t, []string{"plain", "tags"}, steps{"plain": {{200, 400}, {200, 600}}, "tags": {{120, 420}, {120, 480}}})
	if s.Parts() != nil || s.Numbers() != nil || s.Findings() != nil {
		t.Errorf("%+v", s)
	}
}
