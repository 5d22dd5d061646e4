package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/measure"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// parameters returns parameters whose flows have the given CC parameters.
func parameters(cc map[string]string) *runfolder.Parameters {
	return &runfolder.Parameters{
		Ports: []runfolder.PortClass{
			{Tier: "host", PeerTier: "tor", Ports: 6, RateBPS: 25e9, BDPBytes: 37350},
			{Tier: "tor", PeerTier: "host", Ports: 6, RateBPS: 25e9, BDPBytes: 37350, QueueBytes: 37350, ControlQueueBytes: 74700, AQM: "linear",
				AQMParameters: map[string]string{"low": "9kB", "high": "33.2kB"}, ECNLowBytes: 9000, ECNHighBytes: 33200},
		},
		Flows: []runfolder.FlowClass{
			{Flows: 1, First: "0-3", RateBPS: 25e9, NetworkRTTUS: 11.3712, BaseRTTUS: 11.3712, BaseRTTMaxUS: 11.3712, RTOUS: 86.712, CC: "nscc", CCParameters: cc, LB: "single", WindowBytes: 53302},
			{Flows: 2, First: "1-4", RateBPS: 25e9, NetworkRTTUS: 11.3712, BaseRTTUS: 6.5, BaseRTTMaxUS: 7, RTOUS: 86.712, CC: "nscc", CCParameters: cc, LB: "single", WindowBytes: 53302, WindowMinBytes: 4150},
		},
	}
}

// A report has the parameters by class, with a column for the variants where these
// differ; that of an older folder has none.
func TestParameters(t *testing.T) {
	folder := analysistest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Variants[0].Parameters = parameters(map[string]string{"gamma": "0.8"})
		m.Variants[1].Parameters = parameters(map[string]string{"gamma": "0.5"})
		m.Variants[2].Parameters = parameters(map[string]string{"gamma": "0.8"})
	})
	r := build(t, folder)
	want := [][]string{
		{"host", "tor", "6", "25\u00a0Gb/s", "37.35\u00a0kB", "–", "–", "–", "–", "–"},
		{"tor", "host", "6", "25\u00a0Gb/s", "37.35\u00a0kB", "37.35\u00a0kB", "74.7\u00a0kB", "9\u00a0kB", "33.2\u00a0kB", "linear (high 33.2kB, low 9kB)"},
	}
	if d := cmp.Diff(texts(&r.Ports), want); d != "" {
		t.Errorf("ports (-got +want):\n%s", d)
	}
	var columns []string
	for _, c := range r.Flows.Columns {
		columns = append(columns, c.Name)
	}
	if d := cmp.Diff(columns, []string{"Flows", "baseline and csig-wide: 0-3", "baseline and csig-wide: 1-4 and 1 more", "csig: 0-3", "csig: 1-4 and 1 more"}); d != "" {
		t.Errorf("columns (-got +want):\n%s", d)
	}
	rows := map[string][]string{}
	for _, row := range texts(&r.Flows) {
		rows[row[0]] = row[1:]
	}
	for name, want := range map[string][]string{
		"base RTT of the path": {"11.3712\u00a0µs", "6.5\u00a0µs … 7\u00a0µs", "11.3712\u00a0µs", "6.5\u00a0µs … 7\u00a0µs"},
		"CC gamma":             {"0.8", "0.8", "0.5", "0.5"},
		"least window":         {"–", "4.15\u00a0kB", "–", "4.15\u00a0kB"},
		"first window":         {"53.302\u00a0kB", "53.302\u00a0kB", "53.302\u00a0kB", "53.302\u00a0kB"},
	} {
		if d := cmp.Diff(rows[name], want); d != "" {
			t.Errorf("%s (-got +want):\n%s", name, d)
		}
	}
	for form, text := range formsOf(t, folder) {
		for _, want := range []string{"csig: 1-4 and 1 more", "33.2\u00a0kB", "network RTT"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q", form, want)
			}
		}
	}
	for form, text := range formsOf(t, analysistest.ThreeFlow().Folder(t, nil)) {
		if strings.Contains(text, "network RTT over") || strings.Contains(text, "Parameters") {
			t.Errorf("%s of a folder without parameters has a table of them", form)
		}
	}
}

// formsOf returns the forms of a folder's report as text.
func formsOf(t *testing.T, folder *runfolder.Folder) map[string]string {
	t.Helper()
	r, err := analysis.Read(folder, measure.Meaning)
	if err != nil {
		t.Fatal(err)
	}
	var page, markdown bytes.Buffer
	if err := WriteHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&markdown, r); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"HTML": page.String(), "Markdown": markdown.String()}
}
