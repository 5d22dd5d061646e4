package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// With parts, a point has the variants and the seeds that its part names. A lenient request
// keeps a point at which the experiment is wrong, with the reason and without a trial; what
// a sweep with other parts would run is another plan.
func TestParts(t *testing.T) {
	r := request(file(t, text), "seeds=[5, 6, 7]")
	over := func(path, value string) experiment.Override {
		return experiment.Override{Path: path, Value: value, Origin: path}
	}
	r.Points = &experiment.Sweep{List: [][]experiment.Override{{}, {over("links.mtu", "1500B")}, {over("links.mtu", "9MB")}, {over("variants.b.links.mtu", "2kB")}}}
	r.Parts = []Part{{[]string{"a", "b"}, []uint64{5, 6, 7}}, {[]string{"a"}, []uint64{5}}, {[]string{"a"}, []uint64{5}}, {[]string{"b"}, []uint64{6, 7}}}
	if _, err := r.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "9MB is too large") {
		t.Errorf("a request that is not lenient: %v", err)
	}
	r.Lenient = true
	p := plan(t, r)
	if why := p.Points[2].Refused; !strings.Contains(why, "9MB is too large") || p.Points[1].Refused != "" {
		t.Errorf("refused: %q, %q", why, p.Points[1].Refused)
	}
	if p.Trials() != 9 {
		t.Errorf("%d trials, want 6 + 1 + 0 + 2", p.Trials())
	}
	s, sim := create(t, p), &simulator{}
	sim.bad = func(trial.Trial) *trial.Outcome { return &trial.Outcome{Metrics: map[string]float64{"x": 1}} }
	sum, _ := swept(t, s, sim, 1)
	var got []string
	err := s.Each(func(point int, variant string, seed uint64, _ trial.Outcome) {
		got = append(got, fmt.Sprintf("%d%s%d", point, variant, seed))
	})
	if want := "0a5 0a6 0a7 0b5 0b6 0b7 1a5 3b6 3b7"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q; %v", got, want, err)
	}
	if sum.Done != 9 || len(sum.Points) != 4 || sum.Points[3].Seeds != 2 {
		t.Errorf("%+v", sum)
	}
	if again, err := readPlan(s.Folder); err != nil || again.Trials() != 9 {
		t.Errorf("read again: %v", err)
	}
	other := *r
	other.Parts = slices.Clone(r.Parts)
	other.Parts[0] = Part{[]string{"a"}, []uint64{5, 6, 7}}
	if plan(t, &other).Digest == p.Digest {
		t.Error("other parts have the same digest")
	}
}

// The points of the atlas are valid: each cell with one rival, and all rivals in one cell. All of
// them take twenty times as long.
func TestAtlas(t *testing.T) {
	text, dir, err := experiment.Text("atlas")
	if err != nil {
		t.Fatal(err)
	}
	set, err := experiment.Parse("atlas", dir, text, experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	if n := set.Base.Sweep.Points(); n != 4*5*3*7*4 {
		t.Errorf("the atlas has %d points", n)
	}
	for _, of := range []struct {
		at   []string
		want int
	}{
		{[]string{"cc=nscc+csig", "lb=csig-weighted"}, 4 * 5 * 3},
		{[]string{"fabric=rail", "trouble=slow-link", "rate=400Gbps"}, 7 * 4},
	} {
		r := request("atlas")
		r.At = of.at
		if p := plan(t, r); len(p.Points) != of.want || p.Judge == nil || p.Trials() != of.want*len(p.Seeds) {
			t.Errorf("%v: %d points and %d trials, want %d points; judge: %+v", of.at, len(p.Points), p.Trials(), of.want, p.Judge)
		}
	}
}
