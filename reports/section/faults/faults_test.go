package faults

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

// There is a row for each fault of each run, and a sentence for each fault.
func TestFaults(t *testing.T) {
	until := 150.0
	down := func(arriving, queued int64) runfolder.Fault {
		return runfolder.Fault{Name: "cut", Kind: "down", What: "link tor0-agg0 down", Where: []string{"tor0-agg0"}, FromUS: 50, UntilUS: &until, Happened: true, Arriving: arriving, Queued: queued}
	}
	slow := runfolder.Fault{Name: "slow", Kind: "rate", What: "9 of 64 links agg*-core* at 25 % of the rate", Where: strings.Fields("a b c d e f g h i"), Happened: true}
	late := runfolder.Fault{Name: "late", Kind: "down", What: "link tor1-agg0 down", Where: []string{"tor1-agg0"}, FromUS: 2e6}
	f := readingtest.ThreeFlow().Folder(t, nil)
	a, b := f.Manifest.Variants[0].Name, f.Manifest.Variants[1].Name
	f.Manifest.Runs = []runfolder.Run{
		{Variant: a, Seed: 1, Faults: []runfolder.Fault{down(10, 20), slow, late}},
		{Variant: a, Seed: 2, Faults: []runfolder.Fault{down(12, 30), slow, late}},
		{Variant: b, Seed: 1, Faults: []runfolder.Fault{down(0, 7)}},
	}
	s, r := sectiontest.Read[*Section](t, f, New)
	p := s.Parts()[0]
	got := sectiontest.Rows(p.Blocks[1].(*section.Table))
	for _, row := range got {
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], "\u00a0", " ")
		}
	}
	want := [][]string{
		{a, "1", "cut", "link tor0-agg0 down", "tor0-agg0", "50 µs", "150 µs", "10", "20"},
		{a, "1", "slow", slow.What, "a, b, c, d, e, f, g, h and 1 more", "0 µs", "end", "0", "0"},
		{a, "1", "late", late.What, "tor1-agg0", "2 s", "did not happen", "0", "0"},
		{a, "2", "cut", "link tor0-agg0 down", "tor0-agg0", "50 µs", "150 µs", "12", "30"},
		{a, "2", "slow", slow.What, "a, b, c, d, e, f, g, h and 1 more", "0 µs", "end", "0", "0"},
		{a, "2", "late", late.What, "tor1-agg0", "2 s", "did not happen", "0", "0"},
		{b, "1", "cut", "link tor0-agg0 down", "tor0-agg0", "50 µs", "150 µs", "0", "7"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("rows (-got +want):\n%s", diff)
	}
	sentences := strings.ReplaceAll(strings.Join(Sentences(&r.Facts), "\n"), "\u00a0", " ")
	first := "Fault cut: link tor0-agg0 down from 50 µs to 150 µs; it dropped 30 to 42 packets in " + a + " and 7 in " + b + "."
	if want := first + "\n" +
		"Fault slow: 9 of 64 links agg*-core* at 25 % of the rate in the whole run.\n" +
		"Fault late: link tor1-agg0 down was to begin at 2 s, after the end of the run."; sentences != want {
		t.Errorf("got\n%s\nwant\n%s", sentences, want)
	}
	if d := cmp.Diff(p.Blocks[0], section.List(Sentences(&r.Facts)[1:])); d != "" {
		t.Errorf("list (-got +want):\n%s", d)
	}
	if says := strings.ReplaceAll(p.Says, "\u00a0", " "); p.Level != section.Telling || says != first {
		t.Errorf("level %d, %q", p.Level, says)
	}
	var story section.Story
	story.Say(section.Why, 0, "the bottleneck is a link")
	s.Tell(&story)
	if got, want := strings.Join(story.Sentences(), " "), "The bottleneck is a link; faults: link tor0-agg0 down in "+a+" and "+b+", "+slow.What+" in "+a+"."; got != want {
		t.Errorf("story %q, want %q", got, want)
	}
}

// Of many faults the terminal gets the first. Those that did not happen are not told.
func TestManyFaults(t *testing.T) {
	f := readingtest.ThreeFlow().Folder(t, nil)
	var all []runfolder.Fault
	for _, name := range strings.Fields("a b c d e f g h i j") {
		all = append(all, runfolder.Fault{Name: name, What: "link " + name + " down"})
	}
	f.Manifest.Runs = []runfolder.Run{{Variant: f.Manifest.Variants[0].Name, Seed: 1, Faults: all}}
	s, r := sectiontest.Read[*Section](t, f, New)
	if texts := Sentences(&r.Facts); len(texts) != maxFaults+1 || texts[maxFaults] != "The report lists 4 more faults." {
		t.Errorf("got %q", texts)
	}
	var story section.Story
	s.Tell(&story)
	if parts := s.Parts(); len(parts) != 2 || len(parts[1].Blocks[0].(*section.Table).Rows) != 10 || parts[1].Level != section.Quiet {
		t.Errorf("of 10 faults: %+v", parts)
	}
	if told := story.Sentences(); told != nil || s.Parts()[0].Level != section.Quiet {
		t.Errorf("told %q, level %d", told, s.Parts()[0].Level)
	}
	s, _ = sectiontest.Read[*Section](t, readingtest.ThreeFlow().Folder(t, nil), New)
	if parts := s.Parts(); parts != nil {
		t.Errorf("without faults: %+v", parts)
	}
}
