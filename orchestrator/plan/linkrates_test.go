package plan_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// links.rates gives links another rate than the topology: the last item that names a link
// counts, the others keep their rate, and variants with other rates have other fabrics.
func TestLinkRates(t *testing.T) {
	load := func(set ...string) *experiment.Set {
		t.Helper()
		overrides, err := experiment.ParseSets("--set", set)
		if err != nil {
			t.Fatal(err)
		}
		s, err := experiment.Load("pipeline", experiment.Options{Override: overrides, Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	set := load(`variants.alone.links.rates=[{links: "tor*-agg*", rate: 200Gbps}, {links: tor0-agg1, rate: 25Gbps}]`)
	err := plan.EachVariant(set, func(i int, p *plan.Plan) {
		for id, l := range p.Graph.Links {
			want, name := 100*units.Gbps, p.Graph.LinkName(id)
			switch {
			case set.Variants[i].Name != "alone":
			case name == "tor0-agg1":
				want = 25 * units.Gbps
			case strings.Contains(name, "agg"):
				want = 200 * units.Gbps
			}
			if l.Rate != want {
				t.Errorf("%s: link %s has %v, want %v", set.Variants[i].Name, name, l.Rate, want)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
	err = plan.EachVariant(load(`links.rates=[{links: tor0-agg9, rate: 25Gbps}]`), func(int, *plan.Plan) {})
	if !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), "links.rates[0].links") || !strings.Contains(err.Error(), `did you mean "tor0-agg0"?`) {
		t.Errorf("a link that there is none of: %v", err)
	}
}
