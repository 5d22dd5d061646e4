package experiment

import (
	"encoding"
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/htsim"
	"github.com/csiglab/csiglab/workloads/pipeline"
)

// Each name of an enumeration is read as another value, which has that name; no other text is.
func TestEnumerations(t *testing.T) {
	for _, e := range []struct {
		names []string
		value interface {
			encoding.TextUnmarshaler
			fmt.Stringer
		}
	}{
		{csig.Dialect(0).Names(), new(csig.Dialect)}, {csig.DecodeMode(0).Names(), new(csig.DecodeMode)}, {csig.TrimRule(0).Names(), new(csig.TrimRule)},
		{meter.Mode(0).Names(), new(meter.Mode)}, {meter.Phase(0).Names(), new(meter.Phase)}, {meter.Scope(0).Names(), new(meter.Scope)}, {meter.DepthMode(0).Names(), new(meter.DepthMode)},
		{dataplane.DelayMode(0).Names(), new(dataplane.DelayMode)}, {dataplane.PortDown(0).Names(), new(dataplane.PortDown)},
		{transport.Recovery(0).Names(), new(transport.Recovery)}, {transport.TrimPlace(0).Names(), new(transport.TrimPlace)},
		{topologies.Arrangement(0).Names(), new(topologies.Arrangement)}, {collective.Kind(0).Names(), new(collective.Kind)}, {collective.Algorithm(0).Names(), new(collective.Algorithm)},
		{pipeline.Kind(0).Names(), new(pipeline.Kind)}, {csig.FormatNone.Names(), new(csig.Format)}, {csig.Structured.Names(), new(csig.SchemeKind)}, {csig.KnownNames(), new(csig.Type)},
		{htsim.Auto.Names(), new(htsim.StartUnit)}, {[]string{"auto", "all", "none", "7"}, new(Operations)}, {[]string{"auto", "none", "10ms after 300s"}, new(Thin)},
	} {
		if len(e.names) < 2 {
			t.Errorf("%T: the names %q", e.value, e.names)
		}
		for _, name := range e.names {
			if err := e.value.UnmarshalText([]byte(name)); err != nil || e.value.String() != name {
				t.Errorf("%T: %q is read as %v, %v", e.value, name, e.value, err)
			}
		}
		last := e.value.String()
		if err := e.value.UnmarshalText([]byte("neither")); err == nil || e.value.String() != last {
			t.Errorf("%T: reads neither, as %v", e.value, e.value)
		}
	}
}
