package machine_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/generator"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/units"
)

// Exactly one field is set.
func TestSpecRefuses(t *testing.T) {
	for name, s := range map[string]machine.Spec{
		"none": {}, "two": {Host: new(host.Config), Shim: new(shim.Config)},
		"a host and a generator": {Host: new(host.Config), Generator: new(generator.Config)},
		"all":                    {Host: new(host.Config), Shim: new(shim.Config), Switch: new(dataplane.Config)},
	} {
		if m, err := s.New(new(wire.Pool), metrics.Discard); !errors.Is(err, machine.ErrSpec) || m != nil {
			t.Errorf("%s: got %v, %v, want ErrSpec", name, m, err)
		}
	}
	if got := (machine.Spec{}); got.Ports() != 0 || got.Name() != "" {
		t.Errorf("no machine has %d ports and the name %q", got.Ports(), got.Name())
	}
	bad := machine.Spec{Host: &host.Config{Name: "h0", Rate: units.Gbps, Sends: []host.Flow{{End: host.End{ID: 1}}}}}
	if m, err := bad.New(new(wire.Pool), metrics.Discard); err == nil || m != nil {
		t.Errorf("a host without congestion control: got %v, %v, want an error and no machine", m, err)
	}
}

// A Spec that crosses a process boundary is the same Spec.
func TestSpecIsPlainData(t *testing.T) {
	p := backendtest.Compile(t, backendtest.Small+"generators: [{host: 6, to: 1, every: 1us, count: 4, stack: csig:delay}]\n")
	for i, n := range p.Graph.Nodes {
		want := p.Nodes[i]
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(want); err != nil {
			t.Fatal(err)
		}
		var got machine.Spec
		if err := gob.NewDecoder(&b).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, want, cmp.AllowUnexported(csig.Quantiser{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("node %s: (-got +want):\n%s", n.Name, diff)
		}
		m, err := got.New(new(wire.Pool), metrics.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name() != n.Name || m.Profile() != p.Domain().Profile() && want.Generator == nil {
			t.Errorf("node %s: name %q, profile %08x", n.Name, got.Name(), m.Profile())
		}
	}
}

func ExampleSpec_New() {
	s := machine.Spec{Shim: &shim.Config{Rate: 10 * units.Gbps, EdgeConfig: shim.EdgeConfig{Name: "h0", Queue: 500 * units.KB, Records: units.Millisecond}}}
	m, err := s.New(new(wire.Pool), metrics.Discard)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s has %d ports, its next deadline is %v\n", s.Name(), s.Ports(), m.NextTimeout())
	// Output: h0 has 2 ports, its next deadline is never
}
