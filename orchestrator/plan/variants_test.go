package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// One experiment keeps the fabrics of all its variants, each once, and so their memory is
// limited together; a single fabric has the same limit.
func TestFabricsOfVariantsAreLimited(t *testing.T) {
	var v Variants
	kary := func(k int, delay units.Duration) experiment.Topology {
		return experiment.Topology{Spec: experiment.KAry{K: k, Rate: 100 * units.Gbps, Delay: delay}}
	}
	first, err := v.topology(kary(32, units.Microsecond), nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := v.topology(kary(32, units.Microsecond), nil); err != nil || again != first {
		t.Fatalf("the same topology is another fabric: %v", err)
	}
	each := first.wiring.graph.Size().Memory()
	for made := units.Size(1); ; made++ {
		_, err := v.topology(kary(32, units.Duration(made+1)*units.Microsecond), nil)
		if over := (made+1)*each > topologies.MaxMemory; over != (err != nil) {
			t.Fatalf("%d fabrics of %v: %v", made+1, each, err)
		}
		if err != nil {
			if !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), "the fabrics would take an estimated 290 MB; the limit of one experiment is 280 MB") {
				t.Errorf("the error is %v", err)
			}
			return
		}
	}
}
