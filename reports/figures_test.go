package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
	"github.com/csiglab/csiglab/reports/svg"
)

// textsOf returns the texts of a document, which must be whole.
func textsOf(t *testing.T, document string) (all []string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(document))
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

// checkFigures holds that figures are whole documents with their titles, and that their
// pictures are not empty. It returns their names and SVG.
func checkFigures(t *testing.T, r *analysis.Result, pictures bool) map[string]string {
	t.Helper()
	documents := map[string]string{}
	backgrounds := [2]string{}
	for scheme := range backgrounds {
		figures, err := Figures(r, svg.Scheme(scheme))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range figures {
			var b strings.Builder
			if err := f.Drawing.WriteSVG(&b); err != nil {
				t.Fatal(err)
			}
			if svg.Scheme(scheme) == svg.Light {
				if documents[f.Name] != "" {
					t.Errorf("two figures have the name %s", f.Name)
				}
				documents[f.Name] = b.String()
			}
			if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(f.Name) {
				t.Errorf("name %q", f.Name)
			}
			if f.Title == "" || f.Caption == "" {
				t.Errorf("%s: title %q, caption %q", f.Name, f.Title, f.Caption)
			}
			all := textsOf(t, b.String())
			if len(all) < 6 || !strings.HasPrefix(strings.Join(strings.Fields(f.Title), " "), strings.Fields(all[0])[0]) {
				t.Errorf("%s has the texts %q, want first its title %q", f.Name, all, f.Title)
			}
			if left := regexp.MustCompile(`var\(|class=|<script|data-`).FindString(b.String()); left != "" {
				t.Errorf("%s has %s", f.Name, left)
			}
			if paper := regexp.MustCompile(`fill:(#[0-9a-f]{6})`).FindStringSubmatch(b.String()); paper[1] != map[svg.Scheme]string{svg.Light: "#ffffff", svg.Dark: "#12161d"}[svg.Scheme(scheme)] {
				t.Errorf("%s in scheme %d: paper %s", f.Name, scheme, paper[1])
			}
			if !pictures {
				continue
			}
			var p bytes.Buffer
			if err := f.Drawing.WritePNG(&p, 0.5); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			image, err := png.Decode(&p)
			if err != nil {
				t.Fatal(err)
			}
			colours := map[[3]uint32]bool{}
			for y := range image.Bounds().Dy() {
				for x := range image.Bounds().Dx() {
					r, g, b, _ := image.At(x, y).RGBA()
					colours[[3]uint32{r, g, b}] = true
				}
			}
			if len(colours) < 20 {
				t.Errorf("%s: a picture of %d colours", f.Name, len(colours))
			}
		}
	}
	return documents
}

// "writes every figure of the report as standalone SVG and PNG" (issue 14): each chart of
// the page is there, with the names of its flows.
func TestFigures(t *testing.T) {
	checkout.SkipSlowRace(t)
	r := build(t, analysistest.ThreeFlow().Folder(t, nil))
	documents := checkFigures(t, r.numbers, true)
	want := []string{"fabric"}
	for _, c := range r.Charts {
		want = append(want, c.ID)
	}
	for _, name := range want {
		if documents[name] == "" {
			t.Errorf("no figure %s", name)
		}
	}
	if all := textsOf(t, documents["throughput"]); !slices.Contains(all, "0-3") || !slices.Contains(all, "csig-wide") {
		t.Errorf("throughput has the texts %q", all)
	}
}

// Names of any kind are text in figures, and short in the names of files.
func TestFiguresOfHostileNames(t *testing.T) {
	hostile := "</text><script>x()</script>\"'&\x00\x1b\n" + strings.Repeat("wide ", 2000)
	r := build(t, analysistest.ThreeFlow().Folder(t, nil)).numbers
	rename := map[string]string{}
	for i := range r.Variants {
		rename[r.Variants[i].Name] = r.Variants[i].Name + hostile
		r.Variants[i].Name += hostile
	}
	for i := range r.Charts {
		for k := range r.Charts[i].Panels {
			r.Charts[i].Panels[k].Variant = rename[r.Charts[i].Panels[k].Variant]
		}
	}
	for i := range r.Fabric.Boxes {
		r.Fabric.Boxes[i].Name += hostile
	}
	for name, document := range checkFigures(t, r, false) {
		if len(document) > 2<<20 {
			t.Errorf("%s has %d bytes", name, len(document))
		}
	}
	if got := fileName("Step 1 of " + hostile); len(got) > 60 || fileName("…") != "figure" || fileName("GPT/3") != "gpt-3" {
		t.Errorf("names %q, %q, %q", got, fileName("…"), fileName("GPT/3"))
	}
}

// Figures of different names have different IDs, by which the script finds their data.
func TestIDs(t *testing.T) {
	long := strings.Repeat("a", 64)
	seen := map[string]string{}
	for _, name := range []string{"a-b", "a--b", "-a-b", long, long[:62], long[:61] + "b", "GPT", "gpt"} {
		id := idPart(name)
		if other, ok := seen[id]; ok {
			t.Errorf("%q and %q have the ID %s", name, other, id)
		}
		seen[id] = name
	}
	if got := idPart("csig-wide"); got != "csig-wide" {
		t.Errorf("got %s of an ordinary name", got)
	}
}
