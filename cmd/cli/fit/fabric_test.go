package fit

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// linksOf returns the links of a result with their jobs, in one word each.
func linksOf(r *Result) (all []string) {
	for _, l := range r.Links {
		all = append(all, l.Name+"="+strings.Join(l.Jobs, ","))
	}
	return all
}

// The jobs of cluster-rotation share three links, and the head of the file has offsets with
// which they take turns.
func TestLinksOfAnExperiment(t *testing.T) {
	r := answer(t, Options{}, "cluster-rotation")
	if diff := cmp.Diff([]string{"s0-s1=a,b", "s1-s2=b,c,d", "s2-s3=d,e"}, linksOf(r)); diff != "" || !r.Compatible || len(r.Loops) > 0 {
		t.Errorf("compatible %v, loops %v, links (-want +got):\n%s", r.Compatible, r.Loops, diff)
	}
	for i, j := range r.Jobs {
		if j.Slot == nil || j.With > j.Alone+j.Alone/50 || !(j.With < j.Fair) {
			t.Errorf("job %d: %v with the schedule, alone %v, fair %v", i, j.With, j.Alone, j.Fair)
		}
	}
	// Two of the jobs have one link.
	if diff := cmp.Diff([]string{"s2-s3=d,e"}, linksOf(answer(t, Options{}, "cluster-rotation#d", "cluster-rotation#e"))); diff != "" {
		t.Errorf("d and e (-want +got):\n%s", diff)
	}
	// A job that is there twice, or that is no part of the experiment, has no fabric.
	for _, args := range [][]string{{"cluster-rotation#d", "cluster-rotation#d"}, {"cluster-rotation#d", "x=240ms:70ms@1Gbps"}} {
		if r := answer(t, Options{}, args...); len(r.Links) != 1 || r.Links[0].Name != "link" || r.Links[0].Gbps != 2 {
			t.Errorf("%v: links %v", args, r.Links)
		}
	}
	// Flags are in place of the fabric.
	if diff := cmp.Diff([]string{"x=a,e"}, linksOf(answer(t, Options{Links: []Link{{Name: "x", Jobs: []string{"a", "e"}}}}, "cluster-rotation"))); diff != "" {
		t.Errorf("with a link (-want +got):\n%s", diff)
	}
	if r := answer(t, Options{Capacity: 10 * units.Gbps}, "cluster-rotation"); len(r.Links) != 0 || !r.Compatible || !strings.Contains(r.Text(), "no link of their fabric") {
		t.Errorf("with links of 10 Gb/s:\n%s", r.Text())
	}
}

// Each group of table 1 has a link of its own, and is decided by itself.
func TestGroupsOfAnExperiment(t *testing.T) {
	r := answer(t, Options{}, "table-1")
	want := map[string]bool{"g1-bert": false, "g2-dlrm-a": true, "g3-bert": false, "g4-wrn": true, "g5-vgg19": false}
	if len(r.Clusters) != len(want) || len(r.Links) != len(want) {
		t.Fatalf("clusters %+v, links %v", r.Clusters, linksOf(r))
	}
	for _, c := range r.Clusters {
		if fit, ok := want[c.Jobs[0]]; !ok || c.Compatible != fit {
			t.Errorf("%v: compatible %v", c.Jobs, c.Compatible)
		}
	}
	for _, j := range r.Jobs {
		if fits := strings.HasPrefix(j.Name, "g2") || strings.HasPrefix(j.Name, "g4"); (j.Slot != nil) != fits {
			t.Errorf("%s: schedule %v", j.Name, j.Slot)
		}
	}
}

// What jobs fit prints pastes into the experiment, and the plan of that predicts the same.
func TestSchedulesPaste(t *testing.T) {
	const text = `schema: 1
name: pair
topology: {dumbbell: {left: 2, right: 2, rate: 5Gbps, delay: 1us}}
jobs:
  - {name: first, hosts: [0, 2], steps: 40, profile: {compute: 10ms, bytes: 5MB}}
  - {name: second, hosts: [1, 3], steps: 40, profile: {compute: 10ms, bytes: 5MB}}
end: 2s
hosts: {cc: {name: dcqcn}, recovery: go_back_n}
`
	write := func(text string) string {
		name := filepath.Join(t.TempDir(), "pair.yaml")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	r := answer(t, Options{}, write(text))
	pasted := text
	for _, line := range strings.Split(r.Text(), "\n") {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "  {name: "), ",")
		if ok && strings.HasPrefix(line, "  {name: ") {
			pasted = strings.Replace(pasted, "{name: "+name+",", "{name: "+name+","+strings.TrimSuffix(rest, "}")+",", 1)
		}
	}
	if strings.Count(pasted, "schedule:") != 2 {
		t.Fatalf("%s\ngives\n%s", r.Text(), pasted)
	}
	set, err := experiment.Load(write(pasted), experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range measure.Predict(p) {
		if got := float64(r.Jobs[i].With) / float64(one.Fluid); one.NoFluid != "" || math.Abs(got-1) > 1e-6 {
			t.Errorf("job %d: %v, the plan predicts %v (%s)", i, r.Jobs[i].With, one.Fluid, one.NoFluid)
		}
		if slot := r.Jobs[i].Slot; slot == nil || float64(slot.Period) < 1.01*float64(one.Alone) {
			t.Errorf("job %d: schedule %v, want a period with 1 %% of slack behind %v", i, slot, one.Alone)
		}
	}
}

// A link that carries only a part of what a job sends counts with this part: two jobs that
// send a half of their bytes through a link may do so at one time.
func TestPartsOfAJobOnALink(t *testing.T) {
	profile := func(name string) Job {
		return Job{Profile: circle.Profile{Name: name, Period: 100 * ms, Bursts: []circle.Burst{{At: 20 * ms, Length: 80 * ms, Rate: 10 * units.Gbps}}}}
	}
	for _, c := range []struct {
		uses []float64
		fit  bool
	}{{[]float64{0.5, 0.5}, true}, {[]float64{0.5, 0.6}, false}, {[]float64{1, 1}, false}} {
		r := &Result{
			shared:   []shared{{name: "half", capacity: 10 * units.Gbps, jobs: []int{0, 1}, uses: c.uses}, {name: "whole", capacity: 10 * units.Gbps, jobs: []int{0, 2}, uses: []float64{1, 1}}},
			links:    []circle.Link{{Name: "half", Jobs: []int{0, 1}}, {Name: "whole", Jobs: []int{0, 2}}},
			profiles: []circle.Profile{profile("a").Profile, profile("b").Profile, {Name: "c", Period: 100 * ms, Bursts: []circle.Burst{{At: 0, Length: 10 * ms, Rate: 10 * units.Gbps}}}},
		}
		r.scale()
		p, err := circle.Solve(r.profiles, r.links, circle.PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Compatible() != c.fit || r.Rough {
			t.Errorf("uses %v: compatible %v, rough %v", c.uses, p.Compatible(), r.Rough)
		}
	}
	// In a loop there may be no common measure.
	r := &Result{
		shared:   []shared{{capacity: 10 * units.Gbps, jobs: []int{0, 1}, uses: []float64{1, 1}}, {capacity: 10 * units.Gbps, jobs: []int{0, 1}, uses: []float64{1, 0.5}}},
		links:    []circle.Link{{Jobs: []int{0, 1}}, {Jobs: []int{0, 1}}},
		profiles: []circle.Profile{profile("a").Profile, profile("b").Profile},
	}
	if r.scale(); !r.Rough {
		t.Errorf("links %v are said to have a common measure", r.links)
	}
	if _, err := circle.Solve(r.profiles, r.links, circle.PlanOptions{}); err != nil {
		t.Error(err)
	}
}
