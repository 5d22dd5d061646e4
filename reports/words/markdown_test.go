package words

import (
	"math"
	"testing"
)

// Names are code as they are where Markdown leaves them alone, and escaped elsewhere; what
// GitHub and GitLab would make a link or a mention is taken apart.
func TestMarkdown(t *testing.T) {
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
		if got := Markdown(c.text); got != c.plain {
			t.Errorf("text of %q: %s, want %s", c.text, got, c.plain)
		}
	}
}

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

// Hostile characters are seen as such, and long texts are cut; others stay as they are.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"":             "",
		"a b, µs – é":  "a b, µs – é",
		"two\nlines\t": "two lines ",
		"\x00 \x07":    "\u2400 \u2407",
		"\u202ea\u2066\u200b\x7f\u0085\ufeff\xff": "\ufffda\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd",
	} {
		if got := PlainText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	type named struct {
		Name string
		Of   map[string][]any
	}
	plain := &named{"a", map[string][]any{"b": {"c", 1, &named{Name: "d"}}}}
	if Plain(plain) != plain {
		t.Error("what is plain is copied")
	}
	hostile := &named{"a", map[string][]any{"b\n": {"c\x00", 1, &named{Name: "d\u202e"}}}}
	got := Plain(hostile)
	list := got.Of["b "]
	if len(list) != 3 || list[0] != "c\u2400" || list[1] != 1 || list[2].(*named).Name != "d\ufffd" || hostile.Of["b\n"][0] != "c\x00" {
		t.Errorf("%+v of %+v", got, hostile)
	}
}
