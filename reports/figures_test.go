package reports_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/chart"
)

// written returns a figure as a document.
func written(t *testing.T, f *chart.Figure, format chart.Format, o chart.Layout) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, format, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// textsOf returns the texts of a document, which must be whole.
func textsOf(t *testing.T, document []byte) (all []string) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(document))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in %.300s", err, document)
		}
		if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
}

// checkFigures holds that figures have names, titles and captions, and are whole documents in
// all formats, whose pictures are not empty.
func checkFigures(t *testing.T, figures []*chart.Figure) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range figures {
		if seen[f.ID] {
			t.Errorf("two figures have the name %s", f.ID)
		}
		seen[f.ID] = true
		if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(f.ID) || len(f.ID) > 80 {
			t.Errorf("name %q", f.ID)
		}
		if f.Title == "" || f.Caption == "" {
			t.Errorf("%s: title %q, caption %q", f.ID, f.Title, f.Caption)
		}
		for _, scheme := range []*chart.Palette{chart.Light, chart.Dark} {
			document := written(t, f, chart.SVG, chart.Layout{Palette: scheme})
			if all := textsOf(t, document); len(all) < 4 {
				t.Errorf("%s has the texts %q", f.ID, all)
			}
			if left := regexp.MustCompile(`var\(|class=|<script|data-|NaN|Inf`).Find(document); left != nil || len(document) > 4<<20 {
				t.Errorf("%s has %s, and %d bytes", f.ID, left, len(document))
			}
		}
		picture, err := png.Decode(bytes.NewReader(written(t, f, chart.PNG, chart.Layout{Size: chart.OneColumn})))
		if err != nil {
			t.Fatal(err)
		}
		colours := map[[3]uint32]bool{}
		for y := range picture.Bounds().Dy() {
			for x := range picture.Bounds().Dx() {
				r, g, b, _ := picture.At(x, y).RGBA()
				colours[[3]uint32{r, g, b}] = true
			}
		}
		if len(colours) < 20 {
			t.Errorf("%s: a picture of %d colours", f.ID, len(colours))
		}
		if text := written(t, f, chart.PDF, chart.Layout{Size: chart.OneColumn}); !bytes.HasPrefix(text, []byte("%PDF-")) || !bytes.HasSuffix(bytes.TrimSpace(text), []byte("%%EOF")) {
			t.Errorf("%s: its PDF begins with %.10q and ends with %q", f.ID, text, text[len(text)-10:])
		}
		if text := written(t, f, chart.PGF, chart.Layout{Size: chart.OneColumn}); !bytes.Contains(text, []byte(`\begin{pgfpicture}`)) || !bytes.Contains(text, []byte(`\end{pgfpicture}`)) || bytes.Contains(text, []byte("NaN")) {
			t.Errorf("%s: its PGF is no picture: %.200q", f.ID, text)
		}
		if rows := rowsOf(t, f); len(rows) < 2 {
			t.Errorf("%s: its CSV has %d rows", f.ID, len(rows))
		}
	}
}

// rowsOf returns the rows of a figure's CSV.
func rowsOf(t *testing.T, f *chart.Figure) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(written(t, f, chart.CSV, chart.Layout{}))).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", f.ID, err)
	}
	return rows
}

// Each figure of real runs is written in all formats: the charts of flows, the pictures of
// steps, heatmaps, signatures and fabrics.
func TestFigures(t *testing.T) {
	standard := experiment.StandardTables()
	for name, c := range map[string]struct {
		f    func() *runfolder.Folder
		want string
	}{
		"made up":    {func() *runfolder.Folder { return sampled().Folder(t, nil) }, "fabric slowest throughput queues cwnd delays actions"},
		"three-flow": {func() *runfolder.Folder { return ran(t, "three-flow", experiment.Options{Seeds: 1}) }, "fabric slowest throughput queues cwnd delays actions"},
		"training-step": {func() *runfolder.Folder {
			return ran(t, "training-step", experiment.Options{Tables: standard, Seeds: 1, Variants: []string{"spread"}})
		}, "fabric step-times"},
		"pfc-incast": {func() *runfolder.Folder { return ran(t, "pfc-incast", experiment.Options{Seeds: 1}) }, "fabric"},
	} {
		t.Run(name, func(t *testing.T) {
			r := read(t, c.f())
			figures := r.Figures()
			checkFigures(t, figures)
			ids := map[string]bool{}
			for _, f := range figures {
				ids[f.ID] = true
			}
			for want := range strings.FieldsSeq(c.want) {
				if !ids[want] {
					t.Errorf("no figure %s in %v", want, ids)
				}
			}
			checkNumbers(t, r, figures)
		})
	}
}

// checkNumbers checks that the CSV of charts over time has the numbers of the JSON form, in the
// units that fit.
func checkNumbers(t *testing.T, r *reports.Report, figures []*chart.Figure) {
	t.Helper()
	var numbers struct {
		Charts []struct {
			ID     string
			Panels []struct {
				Lines []struct{ Values, Low, High []*float64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(formsOf(t, r).json), &numbers); err != nil {
		t.Fatal(err)
	}
	for _, c := range numbers.Charts {
		var want [3][]float64
		for _, p := range c.Panels {
			for _, l := range p.Lines {
				for i, values := range [][]*float64{l.Values, l.Low, l.High} {
					for _, v := range values {
						if v != nil {
							want[i] = append(want[i], *v)
						}
					}
				}
			}
		}
		if len(want[0]) == 0 {
			continue // bars
		}
		for _, f := range figures {
			if f.ID != c.ID {
				continue
			}
			var got [3][]float64
			at := 3
			if strings.HasPrefix(rowsOf(t, f)[0][2], "Completion time") || strings.HasPrefix(rowsOf(t, f)[0][2], "Slowdown") {
				at, want[1], want[2] = 2, nil, nil // of a distribution the numbers are on the x axis
			}
			for _, row := range rowsOf(t, f)[1:] {
				for i := range want {
					if want[i] == nil {
						continue
					}
					if text := row[at+i]; text != "" {
						v, err := strconv.ParseFloat(text, 64)
						if err != nil {
							t.Fatal(err)
						}
						got[i] = append(got[i], v)
					}
				}
			}
			for i, column := range []string{"value", "low", "high"} {
				if len(got[i]) != len(want[i]) {
					t.Errorf("%s: CSV has %d numbers of %s, JSON %d", f.ID, len(got[i]), column, len(want[i]))
					continue
				}
				factor := math.NaN()
				for k := range got[i] {
					if math.IsNaN(factor) && want[i][k] != 0 {
						factor = math.Pow(10, math.Round(math.Log10(got[i][k]/want[i][k])))
					}
					if math.Abs(got[i][k]-want[i][k]*factor) > 1e-9*math.Abs(got[i][k]) {
						t.Errorf("%s: the %d. %s is %v in CSV and %v in JSON", f.ID, k, column, got[i][k], want[i][k])
						break
					}
				}
			}
		}
	}
}
