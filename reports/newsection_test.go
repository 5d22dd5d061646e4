package reports_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/series"
	"github.com/csiglab/csiglab/reports/words"
)

// largest is a section that is outside of the list: it needs nothing that is not exported.
// In a folder of its own below reports/section and with a line in the list it is part of
// every report: that is all that a section costs.
type largest struct {
	section.Base
	Charts  []series.Chart
	Largest map[string]float64 // window of congestion in kB, by variant

	r       *reading.Reading
	windows *series.Collection
}

func newLargest(r *reading.Reading) section.Section {
	s := &largest{r: r, Largest: map[string]float64{}}
	s.windows = series.NewCollection(r, series.Kind{ID: "largest", Unit: "kB", New: collectLargest})
	return s
}

// collectLargest collects the largest window of congestion of each flow.
func collectLargest(s *series.Scope) series.Collector {
	cwnd := make([]reading.Values, len(s.Groups))
	for i := range cwnd {
		cwnd[i] = make(reading.Values, s.Point(s.EndUS-s.PointUS/2)+1)
	}
	return series.Collector{
		CC: func(r *runfolder.CCRow) {
			if group, ok := s.Group(r.FlowName); ok {
				v := &cwnd[group][s.Point(r.StartUS)]
				*v = max(*v, float64(r.Cwnd)/1000)
			}
		},
		Panels: func() []series.Panel {
			var lines []series.Line
			for i, g := range s.Groups {
				lines = append(lines, series.Line{Group: g, Values: cwnd[i]})
			}
			return []series.Panel{{Lines: lines}}
		},
	}
}

func (s *largest) Pass(n int, p *reading.Pass) error {
	if n == 1 {
		p.CC(func(r *runfolder.CCRow) { s.Largest[r.Variant] = max(s.Largest[r.Variant], float64(r.Cwnd)/1000) })
	}
	return s.windows.Pass(n, p)
}

func (s *largest) Settle() error {
	s.Charts = s.windows.Charts()
	return nil
}

func (s *largest) Numbers() map[string]any {
	return map[string]any{"charts": s.Charts, "largestWindowKB": s.Largest}
}

func (s *largest) Parts() []section.Part {
	t := &section.Table{Label: "Largest windows", Columns: []section.Column{{Name: "Variant"}, {Name: "kB", Number: true}}}
	for i := range s.r.Variants {
		v := s.r.Variants[i].Name
		t.Rows = append(t.Rows, section.Row{Variant: v, Cells: []section.Cell{{Text: v}, {Text: words.Number(s.Largest[v])}}})
	}
	f := series.OverTime(&s.r.Facts, &s.Charts[0], "Window")
	f.Title, f.Caption = "Windows of congestion", "Largest of a point."
	return []section.Part{{ID: "largest-windows", Title: "Largest windows", Level: section.Loud, Says: fmt.Sprintf("A window has up to %s kB.", words.Number(s.Largest["csig"])),
		Blocks: []section.Block{f, t}}}
}

func (s *largest) Tell(story *section.Story) { story.Also(section.Price, "windows grow") }

func (s *largest) Findings() []string { return []string{"Windows are large."} }

// A section from outside is read in the passes of all others, and stands in all forms.
func TestANewSection(t *testing.T) {
	f := readingtest.ThreeFlow().Folder(t, nil)
	r, without := read(t, f, newLargest), formsOf(t, read(t, f))
	all := formsOf(t, r)
	inOrder(t, all.html, "windows grow", `<section class="part" id="largest-windows"`, "<h2>Largest windows</h2>", "A window has up to 67.5 kB.", "Windows of congestion", "Largest of a point.",
		">Window (kB)</text>", `<table aria-label="Largest windows">`)
	inOrder(t, all.markdown, "windows grow", "## Largest windows", "A window has up to 67.5 kB.", "| Variant | kB |", "| csig | 67.5 |")
	var numbers struct {
		LargestWindowKB map[string]float64
		Charts          []series.Chart
	}
	if err := json.Unmarshal([]byte(all.json), &numbers); err != nil {
		t.Fatal(err)
	}
	if c := series.Find(numbers.Charts, "largest"); numbers.LargestWindowKB["csig"] != 67.5 || c == nil || c.Panels[0].Lines[0].Values[0] != 63 || series.Find(numbers.Charts, "queues") == nil {
		t.Errorf("JSON has the windows %v and %d charts", numbers.LargestWindowKB, len(numbers.Charts))
	}
	var figure *chart.Figure
	for _, f := range r.Figures() {
		if f.ID == "largest" {
			figure = f
		}
	}
	if figure == nil || !strings.Contains(string(written(t, figure, chart.SVG, chart.Layout{})), "Windows of congestion") || len(rowsOf(t, figure)) < 2000 {
		t.Errorf("its figure is %+v", figure)
	}
	if found := strings.Join(r.Findings(), "\n"); !strings.Contains(found, "\nWindows are large.") {
		t.Errorf("findings %s", found)
	}
	// It changes nothing of the others.
	for _, text := range []string{"largest", "Windows"} {
		if strings.Contains(without.json, text) || strings.Contains(without.markdown, text) {
			t.Errorf("without the section the report has %q", text)
		}
	}
}
