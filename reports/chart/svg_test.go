package chart

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// The user units of a figure's SVG have the shape of its size: wider than high where it is.
func TestShapeOfSVG(t *testing.T) {
	sizes := regexp.MustCompile(`width="([0-9.]+)[a-z]*" height="([0-9.]+)[a-z]*" viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)
	for _, size := range []Size{Page, OneColumn, Slide} {
		for _, f := range gallery()[:4] {
			var b bytes.Buffer
			if err := f.Write(&b, SVG, Layout{Size: size}); err != nil {
				t.Fatal(err)
			}
			var got [4]float64
			for i, text := range sizes.FindStringSubmatch(b.String())[1:] {
				got[i], _ = strconv.ParseFloat(text, 64)
			}
			if shape, units := got[0]/got[1], got[2]/got[3]; math.Abs(shape/units-1) > 0.01 {
				t.Errorf("%s at size %v: %v by %v shows %v by %v units", f.ID, size, got[0], got[1], got[2], got[3])
			}
		}
	}
}
