package containers_test

import (
	"path/filepath"
	"testing"

	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// shape is how many parts a fabric has.
type shape struct{ Switches, Hosts, Links int }

// fabrics are the embedded experiments with an all-to-all of small messages, and the small
// form of one with training jobs (issue 13, Must show 5).
var fabrics = []struct {
	name string
	want shape
	long bool // takes a minute; only counted here
}{
	// A k-ary fat tree has 5k²/4 switches, k³/4 hosts and 3k³/4 links.
	{name: "all-to-all", want: shape{Switches: 20, Hosts: 16, Links: 48}},
	// A Dragonfly with p hosts at each of a routers, h global links of each and
	// g = ah+1 groups has ag switches, pag hosts and g(pa + a(a-1)/2 + ah/2) links.
	{name: "dragonfly", want: shape{Switches: 6, Hosts: 6, Links: 12}},
	{name: "dragonfly-72", want: shape{Switches: 36, Hosts: 72, Links: 9 * (8 + 6 + 4)}, long: true},
	{name: "../../../docs/examples/small/unfair-pair.yaml", want: shape{Switches: 2, Hosts: 4, Links: 5}},
}

func loadFabric(t *testing.T, name string) (*experiment.Set, shape) {
	t.Helper()
	set, err := experiment.Load(name, experiment.Options{Tables: experiment.StandardTables(), Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	built, err := set.Base.Topology.Build()
	if err != nil {
		t.Fatal(err)
	}
	g := built.Graph
	return set, shape{Switches: len(g.Nodes) - g.Hosts(), Hosts: g.Hosts(), Links: len(g.Links)}
}

func TestShapesOfFabrics(t *testing.T) {
	for _, f := range fabrics {
		_, got := loadFabric(t, f.name)
		if diff := cmp.Diff(got, f.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", f.name, diff)
		}
	}
}

// testFabrics runs the small fabrics on both runtimes with real frames; each run
// is checked against one in virtual time, and their expectations hold.
func testFabrics(t *testing.T, docker *client.Client) {
	for _, f := range fabrics {
		if f.long {
			continue
		}
		set, _ := loadFabric(t, f.name)
		for _, runtime := range []string{runtimes.Netns, runtimes.Containerlab} {
			seen := make(chan struct{})
			close(seen)
			if runtime == runtimes.Containerlab {
				seen = deployed(t, docker, f.want.Switches+f.want.Hosts, unprivileged(t, docker))
			}
			folder := filepath.Join(t.TempDir(), "run")
			got, err := campaign.Run(t.Context(), set, campaign.Options{Out: folder, Runtime: runtime, CheckParity: true})
			if err != nil {
				t.Fatalf("%s, %s: %v", f.name, runtime, err)
			}
			<-seen
			if !got.Summary.Valid {
				t.Errorf("%s, %s: not valid: %q", f.name, runtime, got.Summary.Reasons)
			}
			for _, e := range got.Summary.Expectations {
				if !e.OK {
					t.Errorf("%s, %s: %s does not hold: it is %v", f.name, runtime, e.Expr, e.Value)
				}
			}
			checkFrames(t, folder)
			t.Log(f.name, runtime, got.Notes)
		}
	}
}
