package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"
)

const sheetText = `
:root { --ink: #102030; --line: #0072b2; /* a { fill: red } */ }
@media screen and (prefers-color-scheme: dark) { :root { --line: #4fb3f0; } .a { fill: #000000; } }
.chart .a { fill: var(--line); } .a { fill: #ffffff; stroke: none; } rect.b, path.b { fill: var(--ink); fill-opacity: .5; }
.chart .a[title] { fill: #000000; } .c { stroke: var(--line); fill: none; stroke-width: 4px; }
@media print { .a { fill: #00ff00; } }
`

func drawing(t *testing.T, text string, scheme Scheme) *Drawing {
	t.Helper()
	sheet, err := ParseSheet(sheetText)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Parse(text, sheet, scheme)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func picture(t *testing.T, body string, scheme Scheme) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := drawing(t, `<svg class="chart" viewBox="0 0 40 20" xmlns="http://www.w3.org/2000/svg">`+body+`</svg>`, scheme).WritePNG(&b, 2); err != nil {
		t.Fatal(err)
	}
	p, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if p.Bounds() != image.Rect(0, 0, 80, 40) {
		t.Fatalf("picture of %v, want 80 by 40", p.Bounds())
	}
	return p
}

// Each drawing has the colour at a place, and nothing beside it.
func TestPicture(t *testing.T) {
	blue, sky := color.NRGBA{0, 0x72, 0xb2, 255}, color.NRGBA{0x4f, 0xb3, 0xf0, 255}
	for name, c := range map[string]struct {
		body    string
		scheme  Scheme
		in, out image.Point // in pixels: two for a unit
		want    color.NRGBA
	}{
		"rule of two classes wins":  {`<rect class="a" x="5" y="5" width="10" height="10"/>`, Light, image.Pt(20, 20), image.Pt(34, 20), blue},
		"dark":                      {`<rect class="a" x="5" y="5" width="10" height="10" rx="2"/>`, Dark, image.Pt(20, 20), image.Pt(10, 10), sky},
		"inline style wins":         {`<rect class="a" style="fill:#010203" x="5" y="5" width="10" height="10"/>`, Light, image.Pt(20, 20), image.Pt(34, 20), color.NRGBA{1, 2, 3, 255}},
		"opacity":                   {`<rect class="b" x="5" y="5" width="10" height="10"/>`, Light, image.Pt(20, 20), image.Pt(34, 20), color.NRGBA{0x10, 0x20, 0x30, 128}},
		"inherited":                 {`<g style="fill:#010203"><path d="M5 5h10v10H5z"/></g>`, Light, image.Pt(20, 20), image.Pt(34, 20), color.NRGBA{1, 2, 3, 255}},
		"stroke":                    {`<path class="c" d="M5 10H35"/>`, Light, image.Pt(40, 22), image.Pt(40, 25), blue},
		"gap between dashes":        {`<path class="c" style="stroke-dasharray:10 10" d="M0 10L40 10"/>`, Light, image.Pt(10, 20), image.Pt(30, 20), blue},
		"curve":                     {`<path class="c" d="M5 18C5 -4 35 -4 35 18"/>`, Light, image.Pt(40, 3), image.Pt(40, 30), blue},
		"circle that is not filled": {`<circle class="c" cx="20" cy="10" r="8"/>`, Light, image.Pt(24, 20), image.Pt(40, 20), blue},
		"arc":                       {`<path style="fill:#010203" d="M28,10A8,8 0 1 1 12,10A8 8 0 1 1 28 10Z"/>`, Light, image.Pt(40, 8), image.Pt(22, 4), color.NRGBA{1, 2, 3, 255}},
		"transforms":                {`<g transform="scale(1, -1) translate(0, -20)"><g transform="rotate(90)"><path style="fill:#010203" d="M12 -8h6v6h-6z"/></g></g>`, Light, image.Pt(10, 10), image.Pt(30, 30), color.NRGBA{1, 2, 3, 255}},
		"use":                       {`<defs><g id="x"><path class="a" d="M0 0h4v4H0z"/></g></defs><use href="#x" transform="translate(10 10) scale(2)"/>`, Light, image.Pt(30, 30), image.Pt(4, 4), blue},
		"text":                      {`<text x="20" y="16" style="text-anchor:middle;font-size:20px;fill:#010203">I</text>`, Light, image.Pt(40, 20), image.Pt(48, 20), color.NRGBA{1, 2, 3, 255}},
		"a hole in a letter":        {`<text x="20" y="17" style="text-anchor:middle;font-size:20px;fill:#010203;font-weight:bold">O</text>`, Light, image.Pt(28, 20), image.Pt(40, 20), color.NRGBA{1, 2, 3, 255}},
	} {
		p := picture(t, c.body, c.scheme)
		if got := color.NRGBAModel.Convert(p.At(c.in.X, c.in.Y)); got != c.want {
			t.Errorf("%s: %v at %v, want %v", name, got, c.in, c.want)
		}
		if _, _, _, alpha := p.At(c.out.X, c.out.Y).RGBA(); alpha != 0 {
			t.Errorf("%s: something at %v", name, c.out)
		}
	}
}

// A written document has the values of variables, no class, and the text of hostile names
// as text.
func TestWriteSVG(t *testing.T) {
	d := drawing(t, `<svg class="chart" viewBox="0 0 40 20" xmlns="http://www.w3.org/2000/svg"><title>&lt;script&gt;"x"`+"\x00\x1b\xff"+`</title><path class="a" d="M0 0L4 4" data-series="1" onclick="x()"/><line x1="1" stroke="var(--line)"/></svg>`, Dark)
	var b strings.Builder
	if err := d.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`width="40" height="20"`, `style="fill:#4fb3f0;stroke:none"`, `&lt;script&gt;`, `stroke="#4fb3f0"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, b.String())
		}
	}
	for _, no := range []string{"class", "var(", "<script", "onclick", "data-series"} {
		if strings.Contains(b.String(), no) {
			t.Errorf("%s in %s", no, b.String())
		}
	}
	decoder := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// What is not supported is refused: nothing is left out of a picture in silence.
func TestRefused(t *testing.T) {
	sheet, err := ParseSheet(sheetText)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "<svg", "<p/>", `<svg viewBox="0 0 0 3"/>`, `<svg viewBox="1 1 4 3"/>`, `<svg viewBox="0 0 1e9 3"/>`, `<svg viewBox="0 0 NaN 3"/>`, `<svg viewBox="0 0 4 3"/><svg/>`,
		`<svg viewBox="0 0 4 3">` + strings.Repeat("<g>", 100) + strings.Repeat("</g>", 100) + `</svg>`,
	} {
		if d, err := Parse(text, sheet, Light); err == nil {
			t.Errorf("%.60q is a drawing of %g by %g, want an error", text, d.Width, d.Height)
		}
	}
	for body, want := range map[string]string{
		`<ellipse/>`:                                   "ellipse",
		`<path d="M0 0Q1 1 2 2"/>`:                     "'Q'",
		`<path d="L0 0"/>`:                             "want M",
		`<path d="M0"/>`:                               "number",
		`<rect width="x"/>`:                            "width",
		`<rect width="4" height="4" fill="red"/>`:      "colour",
		`<g transform="skewX(3)"/>`:                    "transform",
		`<use href="#none"/>`:                          "no such element",
		`<g id="a"><use href="#a"/></g>`:               "circle",
		`<path class="c" style="stroke-dasharray:x"/>`: "dasharray",
	} {
		d, err := Parse(`<svg viewBox="0 0 4 3">`+body+`</svg>`, sheet, Light)
		if err == nil {
			err = d.WritePNG(io.Discard, 1)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", body, err, want)
		}
	}
	if _, err := ParseSheet(".a { fill: #000000;"); err == nil {
		t.Error("a rule without an end is no error")
	}
	d, err := Parse(`<svg viewBox="0 0 8000 8000"/>`, sheet, Light)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WritePNG(io.Discard, 4); err == nil {
		t.Error("a picture of 32000 by 32000 pixels is no error")
	}
}
