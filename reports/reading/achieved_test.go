package reading

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// The bytes of programs and the time from the first to the last, with pauses of more than a second
// beside it; transfers are no programs.
func TestAchieved(t *testing.T) {
	m := &runfolder.Manifest{
		Variants: []runfolder.Variant{{Name: "run", Flows: []runfolder.Flow{{Name: "a-b app"}, {Name: "b-a app"}, {Name: "a-b", Size: 1000}, {Name: "c-d app"}}}},
		Runs:     []runfolder.Run{{Variant: "run", Seed: 3}},
	}
	a := newAchieved(m)
	for _, row := range []runfolder.FlowRow{
		{FlowName: "a-b app", SrcName: "a", DstName: "b", StartUS: 1e6, WindowUS: 1000, PayloadBytes: 100},
		{FlowName: "a-b app", SrcName: "a", DstName: "b", StartUS: 1.5e6, WindowUS: 1000, PayloadBytes: 100},
		{FlowName: "a-b app", SrcName: "a", DstName: "b", StartUS: 9e6, WindowUS: 1000, PayloadBytes: 100},
		{FlowName: "b-a app", SrcName: "b", DstName: "a", StartUS: 1e6, WindowUS: 1000, PayloadBytes: 7},
		{FlowName: "a-b", SrcName: "a", DstName: "b", StartUS: 1e6, WindowUS: 1000, PayloadBytes: 1000},
		{FlowName: "c-d app", SrcName: "c", DstName: "d", StartUS: 1e6, WindowUS: 1000},
	} {
		row.Variant, row.Seed = "run", 3
		a.flow(&row)
	}
	want := []Achieved{
		{Variant: "run", Seed: 3, Source: "a", Destination: "b", Bytes: 300, SpanUS: 8_001_000, PausedUS: 7_499_000},
		{Variant: "run", Seed: 3, Source: "b", Destination: "a", Bytes: 7, SpanUS: 1000},
	}
	if diff := cmp.Diff(a.list(m), want); diff != "" {
		t.Errorf("got - want +:\n%s", diff)
	}
}
