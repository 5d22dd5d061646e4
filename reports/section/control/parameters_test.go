package control

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
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
	s, r := sectiontest.Read[*Section](t, readingtest.ThreeFlow().Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Variants[0].Parameters = parameters(map[string]string{"gamma": "0.8"})
		m.Variants[1].Parameters = parameters(map[string]string{"gamma": "0.5"})
		m.Variants[2].Parameters = parameters(map[string]string{"gamma": "0.8"})
	}), New)
	p := sectiontest.Part(s.Parts(), "parameters")
	if p == nil || len(p.Blocks) != 2 {
		t.Fatalf("part %+v", p)
	}
	ports, flows := p.Blocks[0].(*section.Table), p.Blocks[1].(*section.Table)
	want := [][]string{
		{"host", "tor", "6", "25\u00a0Gb/s", "37.35\u00a0kB", "–", "–", "–", "–", "–"},
		{"tor", "host", "6", "25\u00a0Gb/s", "37.35\u00a0kB", "37.35\u00a0kB", "74.7\u00a0kB", "9\u00a0kB", "33.2\u00a0kB", "linear (high 33.2kB, low 9kB)"},
	}
	if d := cmp.Diff(sectiontest.Rows(ports), want); d != "" {
		t.Errorf("ports (-got +want):\n%s", d)
	}
	var columns []string
	for _, c := range flows.Columns {
		columns = append(columns, c.Name)
	}
	if d := cmp.Diff(columns, []string{"Flows", "baseline and csig-wide: 0-3", "baseline and csig-wide: 1-4 and 1 more", "csig: 0-3", "csig: 1-4 and 1 more"}); d != "" {
		t.Errorf("columns (-got +want):\n%s", d)
	}
	rows := map[string][]string{}
	for _, row := range sectiontest.Rows(flows) {
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
	var text strings.Builder
	if err := WriteParameters(&text, r.Variants); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nPorts of  towards  Ports  Rate", "\nFlows ", "csig: 1-4 and 1 more", "33.2 kB", "\nnetwork RTT "} {
		if !strings.Contains(strings.ReplaceAll(text.String(), "Variants              ", ""), want) {
			t.Errorf("text has no %q:\n%s", want, text.String())
		}
	}
	s, _ = sectiontest.Read[*Section](t, readingtest.ThreeFlow().Folder(t, nil), New)
	if p := sectiontest.Part(s.Parts(), "parameters"); p != nil {
		t.Errorf("a folder without parameters has %+v", p)
	}
}
