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
		{csig.Dialects(), new(csig.Dialect)}, {csig.DecodeModes(), new(csig.DecodeMode)}, {csig.TrimRules(), new(csig.TrimRule)},
		{meter.Modes(), new(meter.Mode)}, {meter.Phases(), new(meter.Phase)}, {meter.Scopes(), new(meter.Scope)}, {meter.DepthModes(), new(meter.DepthMode)},
		{dataplane.DelayModes(), new(dataplane.DelayMode)}, {dataplane.PortDowns(), new(dataplane.PortDown)},
		{transport.Recoveries(), new(transport.Recovery)}, {transport.TrimPlaces(), new(transport.TrimPlace)},
		{topologies.Arrangements(), new(topologies.Arrangement)}, {collective.Kinds(), new(collective.Kind)}, {collective.Algorithms(), new(collective.Algorithm)},
		{pipeline.KindNames(), new(pipeline.Kind)},
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
