package reports

import (
	"math"
	"testing"
)

// Values are shown in the unit that fits the greatest of them; units without others stay.
func TestScaleOf(t *testing.T) {
	for _, c := range []struct {
		unit   string
		values []float64
		shown  string
		factor float64
	}{
		{"µs", []float64{2310, 12}, "ms", 1e-3},
		{"µs", []float64{0.5}, "ns", 1e3},
		{"µs", []float64{-2310}, "ms", 1e-3},
		{"ms", []float64{2310}, "s", 1e-3},
		{"s", []float64{0.004}, "ms", 1e3},
		{"B", []float64{4000}, "kB", 1e-3},
		{"Gb/s", []float64{0.25}, "Mb/s", 1e3},
		{"µs", []float64{0}, "µs", 1},
		{"µs", []float64{math.Inf(1), math.NaN(), 3}, "µs", 1},
		{"packets", []float64{1e9}, "packets", 1},
		{"", nil, "", 1},
	} {
		shown, factor := ScaleOf(c.unit, c.values...)
		if shown != c.shown || math.Abs(factor/c.factor-1) > 1e-12 {
			t.Errorf("%v %s: in %s, factor %g; want %s, %g", c.values, c.unit, shown, factor, c.shown, c.factor)
		}
	}
}

// Names are code as they are where Markdown leaves them alone, and escaped elsewhere; what
// GitHub and GitLab would make a link or a mention is taken apart.
func TestMarkdownTexts(t *testing.T) {
	for _, c := range []struct{ text, code, plain string }{
		{"fct_us.p99", "`fct_us.p99`", `fct\_us.p99`},
		{"git:main (4be1c2f)", "`git:main (4be1c2f)`", "git:main (4be1c2f)"},
		{" padded ", "<code> padded </code>", " padded "},
		{"a|b`c", "<code>a\\|b\\`c</code>", "a\\|b\\`c"},
		{"@team #7 !8 # heading", "<code><span>@</span>team <span>#</span>7 <span>!</span>8 # heading</code>", "<span>@</span>team <span>#</span>7 <span>!</span>8 # heading"},
		{"see https://x.org, WWW.x.org", "`see https://x.org, WWW.x.org`", "see https<span>:</span>//x.org, WWW<span>.</span>x.org"},
		{"", "<code></code>", ""},
	} {
		if got := MarkdownCode(c.text); got != c.code {
			t.Errorf("code of %q: %s, want %s", c.text, got, c.code)
		}
		if got := MarkdownText(c.text); got != c.plain {
			t.Errorf("text of %q: %s, want %s", c.text, got, c.plain)
		}
	}
}
