package programs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

func TestPrograms(t *testing.T) {
	from, to := 200_000.0, 1_500_000.0
	good := []runfolder.Program{
		{Host: "h0", Args: []string{"iperf3", "-c", "10.0.0.4"}, StartUS: &from, EndUS: &to},
		{Host: "h3", Args: []string{"iperf3", "-s"}, StartUS: &from, EndUS: &to, Code: 1, Stopped: true},
	}
	f := readingtest.ThreeFlow().Folder(t, nil)
	f.Manifest.Runs = []runfolder.Run{
		{Variant: "a", Seed: 1},
		{Variant: "b", Seed: 7, Programs: []runfolder.Program{
			good[0],
			{Host: "h1", Args: []string{"sh"}, StartUS: &from, EndUS: &to, Code: 3},
			{Host: "h1", Args: []string{"sh"}, StartUS: &from, EndUS: &to, Signal: "segmentation fault"},
			good[1],
			{Host: "h3", Args: []string{"none"}, Failure: "no such file"},
			{Host: "h3", Args: []string{"late"}},
		}},
	}
	s, _ := sectiontest.Read[*Section](t, f, New)
	p := s.Parts()[0]
	want := [][]string{
		{"b", "7", "h0", "iperf3 -c 10.0.0.4", "0.2", "1.5", "✓ exit code 0"},
		{"b", "7", "h1", "sh", "0.2", "1.5", "✗ exit code 3"},
		{"b", "7", "h1", "sh", "0.2", "1.5", "✗ signal segmentation fault"},
		{"b", "7", "h3", "iperf3 -s", "0.2", "1.5", "ended with the run"},
		{"b", "7", "h3", "none", "–", "–", "✗ no such file"},
		{"b", "7", "h3", "late", "–", "–", "not started"},
	}
	if diff := cmp.Diff(sectiontest.Rows(p.Blocks[0].(*section.Table)), want); diff != "" {
		t.Errorf("rows (-got +want):\n%s", diff)
	}
	if p.Level != section.Telling || p.Says != "3 of 6 programs failed." {
		t.Errorf("level %d, %q", p.Level, p.Says)
	}
	f.Manifest.Runs[1].Programs = good
	s, _ = sectiontest.Read[*Section](t, f, New)
	if p := s.Parts()[0]; p.Level != section.Quiet || p.Says != "2 programs; none failed." {
		t.Errorf("level %d, %q", p.Level, p.Says)
	}
}
