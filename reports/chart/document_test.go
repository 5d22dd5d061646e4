package chart

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// The view box of a document is the whole drawing, in the proportions of the document.
func TestDocumentShowsTheDrawing(t *testing.T) {
	size := regexp.MustCompile(`width="([\d.]+)(?:mm)?" height="([\d.]+)(?:mm)?" viewBox="0 0 ([\d.]+) ([\d.]+)"`)
	for name, c := range charts() {
		d := c.Draw(Whole)
		for unit, k := range map[string]float64{"": 1, "mm": 0.25} {
			var b bytes.Buffer
			if err := d.document(&b, Light, unit, k); err != nil {
				t.Fatal(err)
			}
			m := size.FindStringSubmatch(b.String())
			if m == nil {
				t.Fatalf("%s: no size in %.200s", name, b.String())
			}
			for i, want := range []float64{d.Width, math.Ceil(d.Height)} {
				box, _ := strconv.ParseFloat(m[3+i], 64)
				shown, _ := strconv.ParseFloat(m[1+i], 64)
				if math.Abs(box-want) > 0.1 || math.Abs(shown-k*want) > 0.1 {
					t.Errorf("%s in %q: %s, want %g of %g", name, unit, m[0], k*want, want)
				}
			}
		}
	}
}
