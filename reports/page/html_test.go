package page

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/section"
)

// Readers who do not see the page find their way in it: headings in order, names of tables
// and drawings, each id once, and a link that skips the head.
func TestStructure(t *testing.T) {
	for _, n := range []int{1, 3} {
		page := html(t, newSample(n).document())
		level := 0
		for _, h := range regexp.MustCompile(`<h([1-6])[ >]`).FindAllStringSubmatch(page, -1) {
			next := int(h[1][0] - '0')
			if next > level+1 || next == 1 && level > 0 {
				t.Errorf("a heading of level %d follows one of level %d", next, level)
			}
			level = next
		}
		ids := map[string]bool{}
		for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if ids[id[1]] {
				t.Errorf("id %q twice", id[1])
			}
			ids[id[1]] = true
		}
		if !ids["content"] || !strings.Contains(page, `<a class="skip" href="#content">`) {
			t.Error("no link to the content")
		}
		links := regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1)
		for _, l := range links {
			if !ids[l[1]] {
				t.Errorf("a link to %q, which is nowhere", l[1])
			}
		}
		if len(links) < 90 { // two contents and an anchor for each of 30 parts
			t.Errorf("%d links within the page", len(links))
		}
		labels := map[string]bool{}
		for _, table := range regexp.MustCompile(`<table[^>]*>`).FindAllString(page, -1) {
			label := regexp.MustCompile(`aria-label="([^"]+)"`).FindStringSubmatch(table)
			if label == nil || labels[label[1]] {
				t.Errorf("the name of a table is missing, or another's: %s", table)
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
				t.Errorf("a drawing has no name: %s", svg)
			}
		}
		if described := strings.Count(page, "<desc>"); drawings < 10 || described != drawings {
			t.Errorf("%d drawings and %d descriptions", drawings, described)
		}
		if _, body, _ := strings.Cut(page, "</head>"); strings.Count(body, "<script") != 2 || regexp.MustCompile(` on[a-z]+="|(?:src|href)="[^#"]`).MatchString(body) {
			t.Error("the page has another script than its own, or a resource")
		}
	}
}

// Parts are in the order of their levels, those of a level in that of the list; quiet ones
// are closed, and what shows nothing is left out.
func TestOrder(t *testing.T) {
	d := &Document{Title: "t"}
	for _, p := range []struct {
		id    string
		level section.Level
		block section.Block
	}{
		{"q1", section.Quiet, section.Paragraph("text")}, {"p1", section.Plain, section.Paragraph("text")}, {"l1", section.Loud, section.Paragraph("text")},
		{"none", section.Loud, section.Paragraph("")}, {"table", section.Loud, &section.Table{}}, {"fold", section.Loud, section.Fold{Blocks: []section.Block{section.List{}}}},
		{"figure", section.Loud, &chart.Figure{}}, {"p2", section.Plain, section.List{"text"}}, {"t1", section.Telling, section.Code("text")}, {"q2", section.Quiet, section.Paragraph("text")}, {"l2", section.Loud, section.Paragraph("text")},
	} {
		d.Parts = append(d.Parts, section.Part{ID: p.id, Title: p.id, Level: p.level, Blocks: []section.Block{p.block}})
	}
	var got []string
	for _, m := range regexp.MustCompile(`<section class="part( quiet)?[^"]*" id="(\w+)"(><details>)?`).FindAllStringSubmatch(html(t, d), -1) {
		got = append(got, m[2])
		if closed := m[1] != ""; closed != strings.HasPrefix(m[2], "q") || closed != (m[3] != "") {
			t.Errorf("%s is closed: %v", m[2], closed)
		}
	}
	if want := strings.Fields("l1 l2 t1 p1 p2 q1 q2"); !slices.Equal(got, want) {
		t.Errorf("parts %q, want %q", got, want)
	}
}

func TestRefused(t *testing.T) {
	for name, parts := range map[string][]section.Part{
		"part p: a block is a int":                          {{ID: "p", Title: "P", Level: section.Loud, Blocks: []section.Block{7}}},
		"part f: a block is a string":                       {{ID: "f", Title: "F", Blocks: []section.Block{section.Fold{Title: "x", Blocks: []section.Block{"text"}}}}},
		`part "B": its ID "a" is empty, or another's`:       {{ID: "a", Title: "A", Says: "x"}, {ID: "a", Title: "B", Says: "x"}},
		`part "C": its ID "" is empty, or another's`:        {{Title: "C", Says: "x"}},
		`part "D": its ID "content" is empty, or another's`: {{ID: "content", Title: "D", Says: "x"}},
	} {
		err := (&Document{Parts: parts}).WriteHTML(new(strings.Builder))
		if err == nil || err.Error() != "write report: "+name {
			t.Errorf("%v, want %s", err, name)
		}
	}
}

// Short parts that follow each other stand side by side, and short blocks of a part.
func TestSideBySide(t *testing.T) {
	page := html(t, newSample(3).document())
	for id, half := range map[string]bool{"completion": false, "compared": false, "tail": false, "queues": false} {
		if got := strings.Contains(page, `<section class="part half" id="`+id+`"`); got != half {
			t.Errorf("%s stands beside another: %v", id, got)
		}
	}
	d := &Document{}
	s := newSample(3)
	for _, id := range []string{"a", "b", "c"} {
		d.Parts = append(d.Parts, section.Part{ID: id, Title: id, Level: section.Plain, Blocks: []section.Block{s.small(id), section.Paragraph("What it says.")}})
	}
	page = html(t, d)
	for id, half := range map[string]bool{"a": true, "b": true, "c": false} {
		if got := strings.Contains(page, `<section class="part half" id="`+id+`"`); got != half {
			t.Errorf("%s stands beside another: %v, want %v", id, got, half)
		}
	}
}

// Wide and narrow drawings of a figure share its data; a drawing that a phone has room for
// is there once.
func TestDrawings(t *testing.T) {
	page := html(t, newSample(3).document())
	for figure, n := range map[string]int{"slowest-0": 2, "queues-1": 2, "throughput-2": 1, "fabric-0": 0, "signature-0": 2} {
		if got := strings.Count(page, ` data-figure="`+figure+`"`); got != n {
			t.Errorf("%d drawings of %s, want %d", got, figure, n)
		}
	}
	if n := strings.Count(page, `"id":"slowest-0"`); n != 1 {
		t.Errorf("data of the main figure %d times", n)
	}
}
