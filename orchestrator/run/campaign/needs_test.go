package campaign

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// Each option by the runtimes and clocks under which it is accepted.
func TestNeeds(t *testing.T) {
	const virtual, frames = "inproc/virtual", " netns/lockstep netns/wall containerlab/lockstep containerlab/wall kubernetes/lockstep kubernetes/wall"
	const inTime = " netns/wall containerlab/wall kubernetes/wall"
	set := func(change func(*experiment.Experiment)) *experiment.Set {
		e := &experiment.Experiment{}
		change(e)
		return &experiment.Set{Base: e, Variants: []experiment.Resolved{{Experiment: e}}}
	}
	plain := set(func(*experiment.Experiment) {})
	for _, c := range []struct {
		what string
		set  *experiment.Set
		o    Options
		want string
	}{
		{"nothing", plain, Options{}, virtual + frames},
		{"the usual", plain, Options{Payload: PayloadFull, Processes: string(backend.ProcessPerNode), Shards: 1}, virtual + frames},
		{"--payload elide", plain, Options{Payload: PayloadElide}, frames},
		{"--inject", plain, Options{Inject: []string{"drop=a-b:1"}}, frames},
		{"--processes one", plain, Options{Processes: string(backend.OneProcess)}, " netns/lockstep netns/wall kubernetes/lockstep kubernetes/wall"},
		{"--processes switches", plain, Options{Processes: string(backend.SwitchProcess)}, " netns/wall kubernetes/wall"},
		{"--shards 2", plain, Options{Shards: 2}, " netns/lockstep kubernetes/lockstep kubernetes/wall"},
		{"--shards 2 --processes one", plain, Options{Shards: 2, Processes: string(backend.OneProcess)}, " kubernetes/wall"},
		{"--context", plain, Options{Remote: backend.Remote{Context: "c"}}, " kubernetes/lockstep kubernetes/wall"},
		{"--namespace", plain, Options{Remote: backend.Remote{Namespace: "n"}}, " kubernetes/lockstep kubernetes/wall"},
		{"--image", plain, Options{Remote: backend.Remote{Image: "i"}}, " kubernetes/lockstep kubernetes/wall"},
		{"--check-parity", plain, Options{CheckParity: true}, virtual + " netns/lockstep containerlab/lockstep kubernetes/lockstep"},
		{"a lab", plain, Options{Hold: make(chan struct{})}, inTime},
		{"no trace hash", set(func(e *experiment.Experiment) { e.Telemetry.TraceHash = "none" }), Options{}, virtual},
		{"programs", set(func(e *experiment.Experiment) { e.Applications = &experiment.Applications{} }), Options{}, inTime},
	} {
		var got []string
		for _, name := range runtimes.Names() {
			for _, clock := range runtimes.Get(name).Clocks {
				w := runtimes.Way{Runtime: name, Clock: clock}
				n := w.Unmet(Needs(c.set, c.o, w))
				if n == nil {
					got = append(got, name+"/"+clock)
				} else if n.Else == "" || strings.Contains(n.Else, "%!") {
					t.Errorf("%s, %v: %q", c.what, w, n.Else)
				}
			}
		}
		if got := strings.Join(got, " "); got != strings.TrimSpace(c.want) {
			t.Errorf("%s: accepted by\n%s, want\n%s", c.what, got, c.want)
		}
	}
}
