package campaign

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// asHybrid returns an experiment in which the messages of the first rack are packets.
func asHybrid(t *testing.T, e *experiment.Experiment) *experiment.Experiment {
	t.Helper()
	p, err := plan.Compile(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := *e
	c.Fidelity = experiment.Hybrid
	rack := p.Graph.Adjacency()[0][0].Peer.Node
	c.Packets = experiment.PacketChoice{Nodes: []string{p.Graph.Nodes[rack].Name}}
	return &c
}

// docs/explanation/jobs.md#a-part-as-packets says how far steps of jobs of which one rack has packets
// are from those with packets alone.
func TestHybridAgainstPackets(t *testing.T) {
	checkout.SkipSlowRace(t)
	cases := flowErrors
	if os.Getenv("CSIGLAB_E2E") == "" {
		cases = slices.DeleteFunc(slices.Clone(cases), func(c flowError) bool { return !c.quick })
	}
	var all []float64
	for _, c := range cases {
		set := load(t, c.experiment)
		i := slices.IndexFunc(set.Variants, func(v experiment.Resolved) bool { return v.Name == c.variant })
		for _, seed := range []uint64{11, 12} {
			e := set.Variants[i].Experiment
			want, _ := runVirtual(t, e, seed)
			got, _ := runVirtual(t, asHybrid(t, e), seed)
			flow, _ := runVirtual(t, asFlow(e), seed)
			for metric, step := range want {
				job, ok := strings.CutPrefix(metric, "iteration_us.mean.")
				if !ok {
					continue
				}
				off := 100 * (got[metric]/step - 1)
				t.Logf("%s, %s, seed %d, %s: %.1f us with packets, %.1f hybrid: %+.1f %%, flow %+.1f", c.experiment, c.variant, seed, job, step, got[metric], off, 100*(flow[metric]/step-1))
				all = append(all, math.Abs(off))
			}
		}
	}
	slices.Sort(all)
	t.Logf("median of %d: %.1f %%, greatest %.1f %%", len(all), all[len(all)/2], all[len(all)-1])
}
