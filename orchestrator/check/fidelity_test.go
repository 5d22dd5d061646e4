package check

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// Each part of the budget fails on its own.
func TestFidelityBudget(t *testing.T) {
	p := backendtest.ShortThreeFlow(t)
	budget := experiment.Budget{Lateness: 0.25, Displaced: 0.01, Rate: 0.05}
	good := runfolder.Fidelity{Dilation: 4000, LatenessShare: 0.25, Frames: 1000, Displaced: 10, Links: []runfolder.LinkRate{{Rate: 0.96}, {Node: 1, Rate: 1.04}}}
	for _, c := range []struct {
		change func(f *runfolder.Fidelity)
		want   string
	}{
		{func(*runfolder.Fidelity) {}, ""},
		{func(f *runfolder.Fidelity) { f.LatenessShare = 0.26 }, "0.26 of the smallest delay"},
		{func(f *runfolder.Fidelity) { f.Displaced = 11 }, "11 of 1000 packets came too late"},
		{func(f *runfolder.Fidelity) { f.Lost = 1 }, "1 frames were lost on their way; a larger --dilation helps"},
		{func(f *runfolder.Fidelity) { f.Unread, f.Foreign = 2, 1 }, "2 frames of programs found no reader at their hosts: too many at a time, or longer than csig0's MTU"},
		{func(f *runfolder.Fidelity) { f.Foreign = 1 }, ""},
		{func(f *runfolder.Fidelity) { f.Links = append(f.Links, runfolder.LinkRate{Node: 2, Rate: 0.9}) }, "1 of 3 busy links were off their rate; h2 port 0 sent at 0.9 of it"},
		{func(f *runfolder.Fidelity) { f.Behind = 2.5 }, "given up when it was 2.5 s behind"},
	} {
		f := good
		c.change(&f)
		got := Fidelity(p, &f, budget)
		if got.OK != (c.want == "") || !strings.Contains(got.Detail, c.want) || f.Unread > 0 && strings.Contains(got.Detail, "dilation") {
			t.Errorf("check of %+v: ok %v, %q; want %q", f, got.OK, got.Detail, c.want)
		}
	}
}
