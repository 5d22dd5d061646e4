package campaign

import (
	"fmt"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// Needs returns what options and an experiment ask of the runtime and the clock of its runs. What
// an option of a value that is every run's asks for is not among it.
func Needs(set *experiment.Set, o Options, w runtimes.Way) (list []runtimes.Need) {
	need := func(option string, of runtimes.Capability, format string, args ...any) {
		list = append(list, runtimes.Need{Option: option, Of: of, Else: fmt.Sprintf(format, args...)})
	}
	first := func(of runtimes.Capability) string {
		runtime, clock := runtimes.With(of)
		return append(runtime, clock...)[0]
	}
	inTime := first(runtimes.RealTime)
	for _, flag := range []struct{ name, value, usual string }{
		{"payload", o.Payload, PayloadFull}, {"processes", o.Processes, string(backend.ProcessPerNode)},
	} {
		if flag.value != "" && flag.value != flag.usual {
			need(flag.name, runtimes.RealFrames, "--%s %s: needs --runtime %s; the runtime %s has no frames and no processes of nodes",
				flag.name, flag.value, first(runtimes.RealFrames), w.Runtime)
		}
	}
	shared := o.Processes != "" && o.Processes != string(backend.ProcessPerNode)
	if shared {
		need("processes", runtimes.SharedProcesses, "--processes %s: needs --runtime %s; a container holds one node", o.Processes, first(runtimes.SharedProcesses))
	}
	if len(o.Inject) > 0 {
		need("inject", runtimes.RealFrames, "--inject needs real frames; add --runtime %s", first(runtimes.RealFrames))
	}
	if o.Shards > 1 {
		cut, _ := runtimes.With(runtimes.Shards)
		need("shards", runtimes.RealFrames, "--shards %d: clock %s runs in one process of one machine; want --runtime %s", o.Shards, w.Clock, lines.Alternatives(cut))
		need("shards", runtimes.Shards, "--shards %d: runtime %s does not cut runs; want --runtime %s", o.Shards, w.Runtime, lines.Alternatives(cut))
		if w.Has(runtimes.RealTime) {
			need("shards", runtimes.RealTimeShards, "--shards %d: clock %s in parts needs a network for each, of machines or pods; one machine needs no shards: leave them out, or use --runtime %s",
				o.Shards, w.Clock, first(runtimes.RealTimeShards))
		} else if shared {
			need("processes", runtimes.RealTime, "--processes %s: with --shards %d and clock %s, every node needs a process of its own", o.Processes, o.Shards, w.Clock)
		}
	}
	for _, flag := range []struct{ name, value string }{{"context", o.Remote.Context}, {"namespace", o.Remote.Namespace}, {"image", o.Remote.Image}} {
		if flag.value != "" {
			need(flag.name, runtimes.Cluster, "--%s %s: needs --runtime %s; runtime %s uses no cluster", flag.name, flag.value, first(runtimes.Cluster), w.Runtime)
		}
	}
	if o.Processes == string(backend.SwitchProcess) {
		need("processes", runtimes.RealTime, "--processes %s: needs --clock %s; %s is exact with a process for each node", o.Processes, inTime, w.Clock)
	}
	if o.CheckParity {
		need("check-parity", runtimes.Repeatable, "--check-parity: clock %s does not claim the trace of a virtual run; use --clock %s", w.Clock, runtimes.Lockstep)
	}
	if o.Nowhere {
		need("", runtimes.SideBySide, "a run under clock %s needs a folder", w.Clock)
	}
	if o.Hold != nil {
		need("", runtimes.RealTime, "a lab runs in real time, not under clock %s", w.Clock)
	}
	if set.Base.Telemetry.Untraced() {
		need("", runtimes.Untraced, "telemetry.trace_hash: none needs clock %s; under clock %s every node has a trace hash", first(runtimes.Untraced), w.Clock)
	}
	for _, v := range set.Variants {
		if v.Experiment.Applications != nil {
			need("", runtimes.RealTime, "applications: programs need clock %s; %s has no time that they could live in", inTime, w.Clock)
		}
		if v.Experiment.Wall.Datapath == experiment.DatapathEBPF && o.Shards > 1 {
			need("shards", runtimes.Repeatable, "--shards %d: runs with switches in the kernel are not cut", o.Shards)
		}
		if len(v.Experiment.Nodes) > 0 {
			need("", runtimes.RealTime, "nodes: foreign nodes need clock %s; %s has no time that they could live in", inTime, w.Clock)
			if o.Shards > 1 {
				need("shards", runtimes.Repeatable, "--shards %d: runs with foreign nodes are not cut", o.Shards)
			}
		}
	}
	return list
}
