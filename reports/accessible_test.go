package reports

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/analysis"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// paints returns the colours of the style sheet's variables, light or dark.
func paints(t *testing.T, dark bool) map[string]string {
	t.Helper()
	blocks := regexp.MustCompile(`(?s)(prefers-color-scheme: dark\) \{\s*)?:root \{(.*?)\}`).FindAllStringSubmatch(pageStyle, -1)
	if len(blocks) < 2 {
		t.Fatalf("%d blocks of variables, want light and dark", len(blocks))
	}
	all := map[string]string{}
	for _, b := range blocks {
		if b[1] != "" && !dark {
			continue
		}
		for _, v := range regexp.MustCompile(`(--[a-z0-9-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(b[2], -1) {
			all[v[1]] = v[2]
		}
	}
	return all
}

// luminance returns the relative luminance of a colour (WCAG 2.2, "relative luminance").
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	channel := func(shift int) float64 {
		c := float64(rgb>>shift&0xFF) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}

// "sufficient contrast" (issue 14): WCAG 2.2 AA, §1.4.3 for text and §1.4.11 for what else
// a reader has to see.
func TestContrast(t *testing.T) {
	type pair struct {
		front, back string
		least       float64
	}
	var pairs []pair
	text := func(back string, fronts ...string) {
		for _, front := range fronts {
			pairs = append(pairs, pair{front, back, 4.5})
		}
	}
	graphic := func(back string, fronts ...string) {
		for _, front := range fronts {
			pairs = append(pairs, pair{front, back, 3})
		}
	}
	text("--paper", "--ink", "--soft", "--good", "--warn", "--bad", "--target")
	text("--card", "--ink", "--soft", "--good", "--warn", "--bad")
	text("--shade", "--ink", "--target")
	text("--switch", "--ink")
	text("--host", "--ink")
	text("--target", "--paper") // numbers of the fabric
	graphic("--paper", "--axis", "--rest", "--target")
	for i := range analysis.MaxGroups {
		graphic("--paper", fmt.Sprintf("--flow-%d", i))
		graphic("--shade", fmt.Sprintf("--flow-%d", i))
	}
	for i := range partPaints {
		text(fmt.Sprintf("--action-%d", i), "--bar-ink")
	}
	for i := 1; i <= levels; i++ { // texts on the cells of matrices
		front := "--bar-ink"
		switch {
		case i == levels/2+1:
			front = "--on-middle"
		case i > levels/2:
			front = "--on-dark"
		}
		text(fmt.Sprintf("--s%d", i), front)
	}
	for _, dark := range []bool{false, true} {
		colours := paints(t, dark)
		for _, p := range pairs {
			front, back := colours[p.front], colours[p.back]
			if front == "" || back == "" {
				t.Errorf("%s or %s is not defined", p.front, p.back)
				continue
			}
			a, b := luminance(t, front), luminance(t, back)
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < p.least {
				t.Errorf("dark %v: %s %s on %s %s has a contrast of %.2f, want %g", dark, p.front, front, p.back, back, ratio, p.least)
			}
		}
	}
}

// Readers who do not see the page find their way in it: headings in order, names of
// tables and drawings, each id once, and a link that skips the head.
func TestStructure(t *testing.T) {
	step := analysistest.ThreeFlow()
	step.Samples = map[string]map[uint16]int64{"csig": {1: 5}}
	for name, f := range map[string]func() *analysis.Result{
		"three-flow": func() *analysis.Result { return build(t, step.Folder(t, nil)).numbers },
		"many": func() *analysis.Result {
			return build(t, (&analysistest.Many{Leaves: 8, Spines: 16, Hosts: 5, Samples: true}).Folder(t)).numbers
		},
	} {
		var b bytes.Buffer
		if err := WriteHTML(&b, f()); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		level := 0
		for _, h := range regexp.MustCompile(`<h([1-6])[ >]`).FindAllStringSubmatch(page, -1) {
			next := int(h[1][0] - '0')
			if next > level+1 || next == 1 && level > 0 {
				t.Errorf("%s: a heading of level %d follows one of level %d", name, next, level)
			}
			level = next
		}
		ids := map[string]bool{}
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if ids[id[1]] {
				t.Errorf("%s: id %q twice", name, id[1])
			}
			ids[id[1]] = true
		}
		if !ids["content"] || !strings.Contains(page, `<a class="skip" href="#content">`) {
			t.Errorf("%s: no link to the content", name)
		}
		labels := map[string]bool{}
		for _, table := range regexp.MustCompile(`<table[^>]*>`).FindAllString(page, -1) {
			label := regexp.MustCompile(`aria-label="([^"]+)"`).FindStringSubmatch(table)
			if label == nil || labels[label[1]] {
				t.Errorf("%s: the name of a table is missing, or another's: %s", name, table)
				continue
			}
			labels[label[1]] = true
		}
		drawings := 0
		for _, svg := range regexp.MustCompile(`(?s)<svg [^>]*>.{0,40}`).FindAllString(page, -1) {
			switch {
			case strings.Contains(svg, `aria-hidden="true"`):
			case strings.Contains(svg, `role="img"`) && regexp.MustCompile(`><title>[^<]`).MatchString(svg):
				drawings++
			default:
				t.Errorf("%s: a drawing has no name: %s", name, svg)
			}
		}
		if described := strings.Count(page, "<desc>"); drawings < 4 || described != drawings {
			t.Errorf("%s: %d drawings and %d descriptions", name, drawings, described)
		}
	}
}
