package jobs

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

// A kind of span has its colour in each picture, whatever else is there, and no two kinds share one.
func TestSpansHaveFixedColours(t *testing.T) {
	all := []Kind{{"forward", true}, {"backward", true}, {"weight", true}, {"optimizer", true}, {"compute", true}, {"mine", true}, {"yours", true},
		{"all_reduce", false}, {"send_recv", false}, {"all_gather", false}, {"reduce_scatter", false}, {"all_to_all", false}, {held, false}, {"broadcast", false}}
	paints := paintsOf(all)
	for i, k := range all {
		if slices.Contains(paints[:i], paints[i]) {
			t.Errorf("%s has the colour of another kind", k.Name)
		}
		if got := paintsOf([]Kind{k})[0]; got != paints[i] && k.Name != "yours" {
			t.Errorf("%s alone has another colour: %v, want %v", k.Name, got, paints[i])
		}
	}
}

// The picture has a lane for each of a few ranks, and of many ten with the straggler, which
// is on the critical path; computes, communication and waiting add up to the time of each.
func TestStepPicture(t *testing.T) {
	for _, c := range []struct{ ranks, slow, lanes int }{{8, 5, 8}, {64, 41, pictureWorst}} {
		s, _ := sectiontest.Read[*Section](t, readingtest.JobFolder(t, readingtest.Training(t, c.ranks, c.slow)), New)
		j := &s.Jobs[0]
		if j.Picture == nil || len(j.Picture.Lanes) != c.lanes || len(j.Picture.Overlaid) != 2 {
			t.Fatalf("%d ranks: %+v", c.ranks, j.Picture)
		}
		if l := j.Paths[0].Lost; l == nil || int(l.Rank) != c.slow {
			t.Errorf("%d ranks: lost %+v, want at rank %d", c.ranks, l, c.slow)
		}
		var kinds []string
		for _, k := range j.Picture.Kinds {
			kinds = append(kinds, k.Name)
		}
		if !slices.Equal(kinds, []string{"forward", "backward", "all_reduce"}) {
			t.Errorf("%d ranks: kinds %q", c.ranks, kinds)
		}
		found := false
		for _, l := range j.Picture.Lanes {
			want := 300.0
			if int(l.Rank) == c.slow {
				want, found = 360, l.Path
			}
			// The rank that is not slow waits for the rest of the step.
			if l.ComputeUS < want-1e-6 || l.ComputeUS > want+1e-6 || l.ComputeUS+l.ExposedUS > j.Picture.ToUS-j.Picture.FromUS+1e-6 || int(l.Rank) != c.slow && l.ExposedUS < 60 {
				t.Errorf("%d ranks: %+v, want %v us of compute", c.ranks, l, want)
			}
		}
		if !found {
			t.Errorf("%d ranks: no lane of the straggler on the critical path", c.ranks)
		}
		for k := range pictureColumns {
			sum := 0.0
			for _, s := range j.Picture.Shares {
				sum += s.Shares[k]
			}
			if sum < 1-1e-9 || sum > 1+1e-9 {
				t.Fatalf("%d ranks: the shares of column %d are %v together", c.ranks, k, sum)
			}
		}
		p := sectiontest.Part(s.Parts(), "steps")
		if p == nil || p.Level != section.Loud || len(p.Blocks) != 1 || !strings.Contains(p.Says, fmt.Sprintf("at rank %d (h%d), which computes longer", c.slow, c.slow)) {
			t.Fatalf("%d ranks: %+v", c.ranks, p)
		}
		f := p.Blocks[0].(*chart.Figure)
		g := f.Panels[0].Chart.(*chart.Gantt)
		strong := slices.IndexFunc(g.Lanes, func(l chart.Lane) bool { return l.Strong })
		waits := len(g.Kinds) - 1
		if strong < 0 || g.Lanes[strong].Name != fmt.Sprintf("%d · h%d", c.slow, c.slow) || g.Kinds[waits].Name != "waiting for messages" ||
			!slices.ContainsFunc(g.Lanes, func(l chart.Lane) bool {
				return slices.ContainsFunc(l.Spans, func(s chart.Span) bool { return s.Kind == waits })
			}) {
			t.Errorf("%d ranks: the drawing lacks the waiting or the rank where time was lost", c.ranks)
		}
		// The path goes on from hop to hop, through the whole step, and is where the rank computes.
		end, computes := 0.0, 0.0
		for _, h := range g.Path {
			if h.From < end-1e-9 || h.To <= h.From {
				t.Fatalf("%d ranks: a hop from %v to %v after %v", c.ranks, h.From, h.To, end)
			}
			if end = h.To; h.In == chart.InCompute && h.Lane == strong {
				computes += h.To - h.From
			}
		}
		if math.Abs(end-g.X.Max) > 0.01*g.X.Max || !(computes > g.X.Max/4) {
			t.Errorf("%d ranks: the path ends at %v of %v, and computes for %v on the slow rank", c.ranks, end, g.X.Max, computes)
		}
		if few := c.ranks <= pictureRanks; few != (g.Shares == nil) || few != (g.Others == "") {
			t.Errorf("%d ranks: shares %v, others %q", c.ranks, g.Shares != nil, g.Others)
		}
		for _, key := range []string{"all-reduce", "critical path", "waiting for messages"} {
			if !slices.ContainsFunc(f.Legend, func(k chart.Key) bool { return k.Name == key }) {
				t.Errorf("%d ranks: the legend lacks %q", c.ranks, key)
			}
		}
	}
}

// The picture of 1024 ranks is small: what cannot be told apart is one mark.
func TestPictureOfManyRanks(t *testing.T) {
	checkout.SkipSlowRace(t)
	s, _ := sectiontest.Read[*Section](t, readingtest.JobFolder(t, readingtest.Training(t, 1024, 640)), New)
	f := s.Parts()[1].Blocks[0].(*chart.Figure)
	for _, width := range []float64{chart.Whole, chart.Narrow} {
		if n := len(f.SVG(0, width)); n > 300_000 {
			t.Errorf("%d bytes at a width of %v", n, width)
		}
	}
}
