package compare

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports/section/variants"
)

// severalSides compares sides that are measured, by letter.
func severalSides(t *testing.T, all ...*Measured) *Several {
	t.Helper()
	s := &Sides{design: NewDesign(measure.Meaning)}
	for _, m := range all {
		s.all = append(s.all, opened{name: m.Folder, measured: m})
	}
	r, err := s.Result()
	if err != nil {
		t.Fatal(err)
	}
	return r.(*Several)
}

// Of all metrics of three sides of which most do not differ from A, some one is called different no
// more often than the level says, whether the seeds are few (8) or many (14); differences are found
// meanwhile. Noise is skewed, that of A is in all differences, and metrics depend on each other.
func TestSeveralKeepTheirLevel(t *testing.T) {
	const trials, sides, metrics, changed = 250, 3, 12, 2
	for _, seeds := range []int{8, 14} {
		random := rand.New(rand.NewPCG(7, uint64(seeds)))
		measured := func(folder string, moved int) *Measured {
			m := &Measured{Folder: folder, Experiment: "x", Version: "1", Cases: []Case{{Variant: "v"}}}
			for i := range seeds {
				common := random.ExpFloat64()
				s := Seed{Seed: uint64(i + 1), TraceHash: folder, Metrics: map[string]float64{}}
				for k := range metrics {
					v := 100 * math.Exp(0.02*(0.5*common+random.ExpFloat64()*random.ExpFloat64()))
					if k < moved {
						v *= 1.3
					}
					s.Metrics[fmt.Sprintf("fct_us.m%02d", k)] = v
				}
				m.Cases[0].Seeds = append(m.Cases[0].Seeds, s)
			}
			return m
		}
		wrong, found, swapped := 0, 0, 0
		for range trials {
			all := []*Measured{measured("a", 0)}
			for range sides {
				all = append(all, measured("b", changed))
			}
			s, any := severalSides(t, all...), false
			for _, c := range s.Comparisons {
				if c.Cases[0].Swapped {
					swapped++
				}
				for _, m := range c.Cases[0].Metrics {
					differs := m.Outcome == variants.Worse || m.Outcome == variants.Better
					switch {
					case differs && m.Name < fmt.Sprintf("fct_us.m%02d", changed):
						found++
					case differs:
						any = true
					}
				}
			}
			if any {
				wrong++
			}
		}
		// 5 % of 250 are 12.5, and three standard deviations more are 23.
		if wrong > 22 {
			t.Errorf("%d seeds: in %d of %d comparisons a metric that does not differ is called different", seeds, wrong, trials)
		}
		if share := float64(found) / trials / sides / changed; share < 0.9 {
			t.Errorf("%d seeds: %.2f of the differences are found", seeds, share)
		}
		if want := map[int]int{8: trials * sides, 14: 0}[seeds]; swapped != want {
			t.Errorf("%d seeds: %d sides were swapped, want %d", seeds, swapped, want)
		}
		t.Logf("%d seeds: wrong in %d of %d, %.3f of the differences found", seeds, wrong, trials, float64(found)/trials/sides/changed)
	}
}

// All metrics of all sides share the confidence: what 6 seeds show of one side they do not show of two,
// and 7 do. A side that is equal for every seed takes no share.
func TestSeveralShareTheConfidence(t *testing.T) {
	for _, c := range []struct {
		seeds int
		equal bool
		want  variants.Effect
		sides int
	}{{6, false, Inconclusive, 2}, {7, false, variants.Worse, 2}, {6, true, variants.Worse, 0}} {
		a, third := sideOf("a", 1, 1, c.seeds, 1), sideOf("c", 1, 1, c.seeds, 1.4)
		if c.equal {
			third = a
		}
		s := severalSides(t, a, sideOf("b", 1, 1, c.seeds, 1.2), third)
		one := s.Comparisons[0].Cases[0]
		if m := one.Metrics[0]; m.Outcome != c.want || one.Sides != c.sides {
			t.Errorf("%d seeds, third equal %v: %s with p %v, %d sides, want %s", c.seeds, c.equal, m.Outcome, m.P, one.Sides, c.want)
		}
		if text := severalText(t, s); c.want == Inconclusive && !strings.Contains(text, "6 seeds are too few to rule out chance; run all with --seeds 7.") {
			t.Error(text)
		}
	}
	two, err := Folders(sideOf("a", 1, 1, 6, 1), sideOf("b", 1, 1, 6, 1.2), NewDesign(measure.Meaning))
	if err != nil || two.Cases[0].Metrics[0].Outcome != variants.Worse {
		t.Errorf("of two sides, 6 seeds: %+v, %v", two, err)
	}
}

func severalText(t *testing.T, s *Several) string {
	t.Helper()
	var b strings.Builder
	if err := s.WriteText(&b, "csiglab compare a b c --html compare.html"); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), "\u00a0", " ")
}

// A column for each side against the first, in all forms; a side that lacks a case has an empty one.
func TestSeveralForms(t *testing.T) {
	a, b, c := sideOf("a", 2, 6, 12, 1), sideOf("b", 2, 6, 12, 1.2), sideOf("c", 1, 6, 12, 1.4)
	s := severalSides(t, a, b, c)
	text := severalText(t, s)
	for _, want := range []string{
		"Against A: B 4 worse, 4 better, 4 the same; C 2 worse, 2 better, 2 the same.\nA  a (x, csiglab 0.1)\nB  b (x, csiglab 0.1)\nC  c (x, csiglab 0.1)\n",
		"note: 1 of 2 variants of A have no counterpart in c\n",
		"\nVariant v0: 12 seeds in pairs: B 2 worse, 2 better, 2 the same; C 2 worse, 2 better, 2 the same\n  metric     A ",
		"\nVariant v1: 12 seeds in pairs: B 2 worse, 2 better, 2 the same\n",
		"geometric means over 2 cases, 12 seeds:\n  metric     A  B                             C\n  fct_us.p0     worse +20 % (+20 % … +20 %)   –\n",
	} {
		if !strings.Contains(strings.ReplaceAll(text, "WORSE", "worse"), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var rows strings.Builder
	if err := s.WriteCSV(&rows); err != nil {
		t.Fatal(err)
	}
	table, err := csv.NewReader(strings.NewReader(rows.String())).ReadAll()
	if err != nil || len(table) != 1+6+6+6+6 || table[0][0] != "side" || table[1][0] != "B" || table[len(table)-1][0] != "C" {
		t.Errorf("%v: %v", err, table)
	}
	var markdown, page strings.Builder
	if err := s.WriteMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(markdown.String(), "\u00a0", " "); !strings.Contains(got, "| Metric | A | B against A | C against A |") || !strings.Contains(got, "+40 % ✗ worse |") || !strings.Contains(got, "In C fct\\_us.p0 is 140 µs instead of 100 µs in A (+40 %).") {
		t.Error(got)
	}
	if err := s.writeHTML(&page, nil); err != nil || !strings.Contains(page.String(), `id="case-1"`) {
		t.Errorf("%v: %d bytes", err, page.Len())
	}
	// A comparison in the list is as one of two folders.
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Schema      int
		Comparisons []Comparison
	}
	if err := json.Unmarshal(data, &back); err != nil || back.Schema != Schema || len(back.Comparisons) != 2 {
		t.Fatalf("%v: %+v", err, back)
	}
	two := compareSides(t, a, c)
	for k := range back.Comparisons[1].Cases[0].Metrics {
		m, same := back.Comparisons[1].Cases[0].Metrics[k], two.Cases[0].Metrics[k]
		m.P, same.P, same.moves = 0, 0, nil // those of several sides are corrected for more
		if diff := cmp.Diff(same, m, cmp.AllowUnexported(MetricComparison{})); diff != "" {
			t.Error(diff)
		}
	}
}

// A side that is equal for every seed is the same in the means too.
func TestSeveralOfEqualSides(t *testing.T) {
	a := sideOf("a", 2, 2, 8, 1)
	text := severalText(t, severalSides(t, a, sideOf("b", 2, 2, 8, 1.3), a))
	if !strings.Contains(text, "; C has the same traces, 4 the same.") || !strings.Contains(text, "  fct_us.p0     WORSE +30 % (+30 % … +30 %)   same\n") {
		t.Error(text)
	}
}

// Remarks name the side.
func TestSeveralWithRemarks(t *testing.T) {
	c := sideOf("c", 1, 2, 8, 1.3)
	delete(c.Cases[0].Seeds[3].Metrics, "fct_us.p0")
	s := severalSides(t, sideOf("a", 1, 2, 8, 1), sideOf("b", 1, 2, 8, 1.3), c)
	var markdown strings.Builder
	if err := s.WriteMarkdown(&markdown); err != nil || !strings.Contains(markdown.String(), "| C: A has it with 8 of 8 seeds, C with 7 of 8: the others may be the worst |") {
		t.Errorf("%v: %s", err, markdown.String())
	}
}

// Many sides fit: intervals give way.
func TestManySides(t *testing.T) {
	all := []*Measured{sideOf("a", 1, 30, 12, 1)}
	for i := range 9 {
		all = append(all, sideOf(strings.Repeat("b", i+1), 1, 30, 12, 1+float64(i)/10))
	}
	for _, line := range strings.Split(severalText(t, severalSides(t, all...)), "\n") {
		if strings.HasPrefix(line, "  ") && (strings.Contains(line, "…") || len(line) > 250) {
			t.Errorf("%d bytes: %s", len(line), line)
		}
	}
}

// Names from folders that somebody wrote by hand are shown as text.
func TestHostileSides(t *testing.T) {
	name := strings.Join(hostileNames, " ")
	a, b, c := sideOf(name, 1, 4, 12, 1), sideOf(name+"b", 1, 4, 12, 1.3), sideOf(name+"c", 1, 4, 12, 1.5)
	for _, m := range []*Measured{a, b, c} {
		m.Experiment, m.Version, m.Command, m.Cases[0].Variant = name, name, []string{name}, name
	}
	s := severalSides(t, a, b, c)
	s.Comparisons[1].Differs = []Disparity{{What: name, A: name, B: name + "b"}}
	var page, markdown strings.Builder
	if err := s.writeHTML(&page, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteMarkdown(&markdown); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{page.String(), markdown.String(), severalText(t, s)} {
		if strings.ContainsAny(text, "\x00\x07\u202e") {
			t.Errorf("%d bytes have a hostile character", len(text))
		}
	}
	if strings.Contains(page.String(), "<script>hacked") || strings.Contains(markdown.String(), "<img") {
		t.Error("a name is markup")
	}
}
