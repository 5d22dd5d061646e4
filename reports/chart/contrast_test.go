package chart

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"
)

// linear returns a colour's linear channels.
func linear(c color.NRGBA) (channels [3]float64) {
	for i, v := range [3]uint8{c.R, c.G, c.B} {
		c := float64(v) / 255
		if channels[i] = c / 12.92; c > 0.04045 {
			channels[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return channels
}

// contrast returns the contrast of two colours (WCAG 2.2).
func contrast(a, b color.NRGBA) float64 {
	luminance := func(c color.NRGBA) float64 {
		l := linear(c)
		return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// "sufficient contrast" (issue 14): WCAG 2.2 AA, §1.4.3 for texts in charts and §1.4.11 for what
// else a reader has to see.
func TestContrast(t *testing.T) {
	type pair struct {
		front, back Paint
		least       float64
	}
	pairs := []pair{{Ink, Shade, 4.5}, {Target, Shade, 4.5}, {Ink, Switch, 4.5}, {Ink, Host, 4.5}, {Paper, Target, 4.5}, // numbers of the fabric
		{Axis, Paper, 3}, {Rest, Paper, 3}, {Target, Paper, 3}}
	for i := range Flows {
		pairs = append(pairs, pair{Flow(i), Paper, 3}, pair{Flow(i), Shade, 3})
	}
	for i := range Actions {
		pairs = append(pairs, pair{onPaint(Action(i)), Action(i), 4.5})
	}
	for i := 1; i <= Levels; i++ {
		pairs = append(pairs, pair{onPaint(Scale(i)), Scale(i), 4.5})
	}
	for i := 1; i <= Changes; i++ {
		pairs = append(pairs, pair{onPaint(Less(i)), Less(i), 4.5}, pair{onPaint(More(i)), More(i), 4.5})
	}
	for name, palette := range map[string]*Palette{"light": Light, "dark": Dark} {
		for _, p := range pairs {
			if ratio := contrast(palette.Colour(p.front), palette.Colour(p.back)); ratio < p.least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %g", name, p.front.Variable(), p.back.Variable(), ratio, p.least)
			}
		}
	}
}

// lab returns a colour in CIE L*a*b*, as one who lacks a kind of cones sees it. Matrices of
// Viénot, Brettel and Mollon 1999, Digital video colourmaps for checking the legibility of
// displays by dichromats, in linear RGB.
func lab(colour color.NRGBA, vision string) [3]float64 {
	c := linear(colour)
	see := map[string][3][3]float64{
		"all":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
		"protan": {{0.11238, 0.88762, 0}, {0.11238, 0.88762, 0}, {0.00401, -0.00401, 1}},
		"deutan": {{0.29275, 0.70725, 0}, {0.29275, 0.70725, 0}, {-0.02234, 0.02234, 1}},
	}[vision]
	var seen [3]float64
	for i := range seen {
		for k := range c {
			seen[i] += see[i][k] * c[k]
		}
		seen[i] = min(max(seen[i], 0), 1)
	}
	xyz := [3]float64{(0.4124*seen[0] + 0.3576*seen[1] + 0.1805*seen[2]) / 0.9505, 0.2126*seen[0] + 0.7152*seen[1] + 0.0722*seen[2], (0.0193*seen[0] + 0.1192*seen[1] + 0.9505*seen[2]) / 1.089}
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	return [3]float64{116*f(xyz[1]) - 16, 500 * (f(xyz[0]) - f(xyz[1])), 200 * (f(xyz[1]) - f(xyz[2]))}
}

// "a diverging scale that works in dark and for colour-blind readers": from no difference
// on, each level stands out more from the background, and less differs from more at each
// level, also for those who lack the cones for red or green.
func TestDivergingScale(t *testing.T) {
	for scheme, palette := range map[string]*Palette{"light": Light, "dark": Dark} {
		for _, vision := range []string{"all", "protan", "deutan"} {
			distance := func(a, b Paint) float64 {
				p, q := lab(palette.Colour(a), vision), lab(palette.Colour(b), vision)
				return math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2])
			}
			for _, side := range []int{-1, 1} {
				for k := 1; k <= Changes; k++ {
					now, before := Change(side*k), Change(side*(k-1))
					step := lab(palette.Colour(now), vision)[0] - lab(palette.Colour(before), vision)[0]
					if scheme == "light" {
						step = -step
					}
					if step < 3 || distance(now, before) < 6 {
						t.Errorf("%s, %s: level %d is %.1f from the one before, %.1f in lightness", scheme, vision, side*k, distance(now, before), step)
					}
				}
			}
			for k := 1; k <= Changes; k++ {
				if d := distance(Less(k), More(k)); d < 15 {
					t.Errorf("%s, %s: less and more differ by %.1f at level %d", scheme, vision, d, k)
				}
			}
		}
	}
}

// Parts of bars differ, as there are more kinds of steps of congestion control in a figure than of
// anything else.
func TestActionsDiffer(t *testing.T) {
	for scheme, palette := range map[string]*Palette{"light": Light, "dark": Dark} {
		for i := range Actions {
			for k := range i {
				p, q := lab(palette.Colour(Action(i)), "all"), lab(palette.Colour(Action(k)), "all")
				if d := math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2]); d < 15 {
					t.Errorf("%s: %s and %s differ by %.1f", scheme, Action(i).Variable(), Action(k).Variable(), d)
				}
			}
		}
	}
}

// Levels of differences: nothing near 0, the same on either side, the last at the end.
func TestLevelsOfDifferences(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want int
	}{{0, 0}, {0.1, 0}, {-0.1, 0}, {0.5, 1}, {-0.5, -1}, {2.1, 2}, {-2.1, -2}, {10, 5}, {-10, -5}, {99, 5}, {math.NaN(), 0}} {
		if got := ChangeOf(c.v, 10); got != c.want {
			t.Errorf("ChangeOf(%v, 10) = %d, want %d", c.v, got, c.want)
		}
	}
}

// The legend of the diverging scale has each colour once, and its ranges are those of the
// colours.
func TestLegendOfDifferences(t *testing.T) {
	keys := ChangeKeys(20, "points", "less", "more")
	var fills []Paint
	for _, k := range keys {
		fills = append(fills, k.Fills...)
	}
	var want []Paint
	for level := -Changes; level <= Changes; level++ {
		want = append(want, Change(level))
	}
	if !slices.Equal(fills, want) {
		t.Errorf("colours %v, want %v", fills, want)
	}
	for i, name := range map[int]string{0: "12 to 20 points less", 2: "0 to 4 points less", 3: "no difference", 5: "4 to 12 points more"} {
		if got := strings.ReplaceAll(keys[i].Name, "\u00a0", " "); got != name {
			t.Errorf("entry %d is %q, want %q", i, got, name)
		}
	}
}
