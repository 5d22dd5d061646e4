package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// mixed is a fabric of four leaves, h0 and h1 at tor0, and two spines.
const mixed = `
schema: 1
name: mixed
topology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 3 1MB, 4 -> 5 1MB]}
csig: {format: wide, port_down: notify, speakers: %s, ports: [%s]}
`

func leafSpine(t *testing.T, leaves, spines int) *topologies.Graph {
	t.Helper()
	f, err := topologies.LeafSpine(topologies.LeafSpineSpec{Leaves: leaves, Spines: spines, HostsPerLeaf: 1, Rate: 100 * units.Gbps, Delay: units.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	g, err := f.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// "Those of a smaller share speak with a greater one too", so many of those selected as the
// share says, and another seed draws others.
func TestSpeakersAreNested(t *testing.T) {
	g := leafSpine(t, 24, 8)
	draw := func(s experiment.Speakers) []bool {
		t.Helper()
		speak, err := plan.Speakers(&s, g)
		if err != nil {
			t.Fatal(err)
		}
		return speak
	}
	for seed := range uint64(5) {
		for _, tiers := range [][]string{nil, {"agg"}} {
			of := map[bool]int{true: 32, false: 8}[tiers == nil]
			before := make([]bool, len(g.Nodes))
			for percent := 0; percent <= 95; percent += 5 {
				speak := draw(experiment.Speakers{Share: float64(percent) / 100, Seed: seed, Tiers: tiers})
				n := 0
				for i := range speak {
					if before[i] && !speak[i] {
						t.Fatalf("seed %d: %s speaks at less than %d %%, and not there", seed, g.Nodes[i].Name, percent)
					}
					if speak[i] {
						n++
						if g.Nodes[i].Kind != topologies.Switch || tiers != nil && g.Nodes[i].Tier != topologies.TierAgg {
							t.Fatalf("seed %d: %s speaks", seed, g.Nodes[i].Name)
						}
					}
				}
				if want := (percent*of + 50) / 100; n != want {
					t.Errorf("seed %d: %d of %d speak at %d %%, want %d", seed, n, of, percent, want)
				}
				before = speak
			}
		}
	}
	half := experiment.Speakers{Share: 0.5, Seed: 1}
	other := half
	other.Seed = 2
	if slices.Equal(draw(half), draw(other)) {
		t.Error("seeds 1 and 2 draw the same half of 32 switches")
	}
	if speak := draw(experiment.Speakers{Share: 1}); speak != nil {
		t.Errorf("all speak: %v, want nil", speak)
	}
}

// A switch that does not speak "neither strips, inits nor checks" tags, whatever csig.ports
// says, and puts no locator into a notice; the others do what they did.
func TestSilentSwitchesPassTags(t *testing.T) {
	for speakers, want := range map[string]string{
		"1":                                "tor0 tttt o +1[delay] notify, tor1 tttt o +1[delay] notify, agg0 uuuu notify, agg1 uuuu notify",
		"0":                                "tor0 pppp silent, tor1 pppp silent, agg0 pppp silent, agg1 pppp silent",
		"{tiers: [agg]}":                   "tor0 pppp silent, tor1 pppp silent, agg0 uuuu notify, agg1 uuuu notify",
		"{switches: [tor0, agg*]}":         "tor0 tttt o +1[delay] notify, tor1 pppp silent, agg0 uuuu notify, agg1 uuuu notify",
		"{tiers: [tor], switches: ['*0']}": "tor0 tttt o +1[delay] notify, tor1 pppp silent, agg0 pppp silent, agg1 pppp silent",
	} {
		p := backendtest.Compile(t, fmt.Sprintf(mixed, speakers, "{to: host, policy: terminate, init: every}"))
		var got []string
		for _, n := range []int{8, 9, 12, 13} {
			s := p.Switch(n)
			down := map[dataplane.PortDown]string{dataplane.Silent: "silent", dataplane.Notify: "notify"}[s.PortDown]
			got = append(got, strings.Join(append(append([]string{s.Name}, describe(s.Ports[0])...), down), " "))
			if speaks := !slices.Contains(p.Silent, s.Name); speaks != (s.PortDown == dataplane.Notify) {
				t.Errorf("%s: the plan has %v as silent, but %s speaks: %v", speakers, p.Silent, s.Name, !speaks)
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", speakers, diff)
		}
	}
}

// The notes say which queues are in no sample, which flows get none, and which rules do nothing.
func TestNotesOfSilentSwitches(t *testing.T) {
	for _, c := range []struct {
		speakers, ports string
		want            []string // parts of the notes about speakers, in order; other words come between
	}{
		{"1", "", nil},
		{"0", "", []string{"no switch speaks CSIG"}},
		{"{tiers: [agg]}", "", []string{
			"2 of 6 switches speak CSIG; no sample covers the queues at 2 ports (tor0-agg0, tor0-agg1)",
			"no sample covers the last hop at 2 ports (tor1-h3, tor2-h5)",
			"tags of 1 of 2 flows cross none of them",
		}},
		{"{switches: [tor*]}", "", []string{"4 of 6 switches speak CSIG; no sample covers the queues at 2 ports (agg0-tor1, agg1-tor1)"}},
		{"{switches: [tor3]}", "{switch: tor0, policy: pass}", []string{
			"1 of 6 switches speak CSIG; no sample covers the queues at 4 ports (tor0-agg0, tor0-agg1, agg0-tor1, …)",
			"no sample covers the last hop at 2 ports (tor1-h3, tor2-h5)",
			"tags of 2 of 2 flows cross none of them",
			"csig.ports: rule 0, of switch tor0, does nothing",
		}},
	} {
		p := backendtest.Compile(t, fmt.Sprintf(mixed, c.speakers, c.ports))
		var notes []string
		for _, n := range p.Notes {
			if strings.HasPrefix(n, "csig.speakers:") || strings.HasPrefix(n, "csig.ports:") {
				notes = append(notes, n)
			}
		}
		if len(notes) != len(c.want) {
			t.Errorf("%s: notes %q, want %d", c.speakers, notes, len(c.want))
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(notes[i], want) {
				t.Errorf("%s: note %q, want %q", c.speakers, notes[i], want)
			}
		}
	}
}

func TestWrongSpeakers(t *testing.T) {
	g := leafSpine(t, 2, 1)
	for want, s := range map[string]experiment.Speakers{
		`csig.speakers.switches[1]: no switch is called "spine*"`:       {Share: 1, Switches: []string{"tor*", "spine*"}},
		"csig.speakers.tiers[0]: the fabric has no switch of tier core": {Share: 1, Tiers: []string{"core"}},
	} {
		if _, err := plan.Speakers(&s, g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", s, err, want)
		}
	}
}

// Where neighbours have agreed on tags these end before switches that do not speak, and none comes
// from there; ports to hosts and to switches that speak are as before, and a note says it.
func TestNegotiatedSpeakers(t *testing.T) {
	p := backendtest.Compile(t, fmt.Sprintf(mixed, "{switches: [tor0, tor1, agg0], negotiated: true}", ""))
	for n := p.Hosts(); n < len(p.Nodes); n++ {
		name, c := p.Graph.Nodes[n].Name, p.Nodes[n].Switch
		for i := range c.Ports {
			peer := p.Graph.Adjacency()[n][i].Peer.Node
			speaks := func(name string) bool { return name == "tor0" || name == "tor1" || name == "agg0" }
			fenced := speaks(name) && peer >= p.Hosts() && !speaks(p.Graph.Nodes[peer].Name)
			want := dataplane.Update
			switch {
			case fenced:
				want = dataplane.Strip
			case !speaks(name):
				want = dataplane.Pass
			}
			if port := &c.Ports[i]; port.Ingress.Outside != fenced || port.Policies[0] != want || port.Policies[3] != want {
				t.Errorf("%s:p%d to %s: outside %v, policies %v, want %v and %v", name, i, p.Graph.Nodes[peer].Name, port.Ingress.Outside, port.Policies, fenced, want)
			}
		}
	}
	const want = "csig.speakers: 3 of 6 switches speak CSIG, and tags end before the others"
	if notes := strings.Join(p.Notes, "\n"); strings.Count(notes, "csig.speakers") != 1 || !strings.Contains(notes, want) {
		t.Errorf("notes %q, want %q", p.Notes, want)
	}
}
