package experiment

import (
	"fmt"
	"testing"
)

// A flag or a variable that names the runtime alone keeps the file's clock where
// that runtime has it, and the other way round.
func TestRuntimeAndClockFit(t *testing.T) {
	const rest = "schema: 1\nname: x\ntopology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1us}}\nworkload: {transfers: [0 -> 1 1B]}\n"
	for _, c := range []struct {
		file, runtime, clock   string // runtime and clock are flags
		wantRuntime, wantClock string
	}{
		{"", "", "", "inproc", "virtual"},
		{"", "netns", "", "netns", "lockstep"},
		{"", "containerlab", "", "containerlab", "lockstep"},
		{"", "", "wall", "netns", "wall"},
		{"", "", "lockstep", "netns", "lockstep"},
		{"runtime: netns\nclock: wall\n", "", "", "netns", "wall"},
		{"clock: wall\n", "", "", "netns", "wall"},
		{"runtime: containerlab\n", "", "", "containerlab", "lockstep"},
		{"runtime: netns\nclock: wall\n", "netns", "", "netns", "wall"},
		{"runtime: netns\nclock: wall\n", "containerlab", "", "containerlab", "wall"},
		{"runtime: netns\nclock: wall\n", "inproc", "", "inproc", "virtual"},
		{"runtime: netns\nclock: wall\n", "", "virtual", "inproc", "virtual"},
		{"runtime: containerlab\nclock: lockstep\n", "", "wall", "containerlab", "wall"},
		{"clock: wall\n", "netns", "", "netns", "wall"},
		{"runtime: containerlab\nclock: lockstep\n", "netns", "wall", "netns", "wall"},
	} {
		var opts Options
		for path, value := range map[string]string{"runtime": c.runtime, "clock": c.clock} {
			if value != "" {
				opts.Override = append(opts.Override, Override{Path: path, Value: value, Origin: fmt.Sprintf("--%s %s", path, value)})
			}
		}
		opts.Tables = StandardTables()
		set, err := Parse("x.yaml", "", []byte(c.file+rest), opts)
		if err != nil {
			t.Errorf("%q with --runtime %q --clock %q: %v", c.file, c.runtime, c.clock, err)
			continue
		}
		if set.Base.Runtime != c.wantRuntime || set.Base.Clock != c.wantClock {
			t.Errorf("%q with --runtime %q --clock %q is %s with %s, want %s with %s", c.file, c.runtime, c.clock,
				set.Base.Runtime, set.Base.Clock, c.wantRuntime, c.wantClock)
		}
		if v := set.Variants[0].Experiment; v.Runtime != set.Base.Runtime || v.Clock != set.Base.Clock {
			t.Errorf("the variant is %s with %s, the base %s with %s", v.Runtime, v.Clock, set.Base.Runtime, set.Base.Clock)
		}
	}
}
