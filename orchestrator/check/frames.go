package check

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Frames compares the frames that the nodes of a run under lockstep sent with what
// their interfaces counted.
func Frames(p *plan.Plan, out *backend.Outcome, nodes []metrics.NodeTotals) runfolder.Check {
	const name = "frames"
	var packets int64
	for _, n := range nodes {
		for _, t := range n.Ports {
			packets += t.TxPackets
		}
	}
	var wrong []string
	compare := func(what string, n int64) {
		if n != out.Frames {
			wrong = append(wrong, fmt.Sprintf("%s %d", what, n))
		}
	}
	if len(p.Control()) == 0 { // control messages are frames but no packets of a port
		compare("packets sent", packets)
	}
	compare("frames that interfaces sent", out.Interfaces.TxPackets)
	compare("frames that interfaces received", out.Interfaces.RxPackets)
	if len(wrong) > 0 {
		if n := out.Interfaces.Dropped; n > 0 {
			wrong = append(wrong, fmt.Sprintf("frames that interfaces dropped %d", n))
		}
		return failed(name, fmt.Sprintf("%d frames sent, but %s", out.Frames, strings.Join(wrong, ", ")))
	}
	return passed(name, "%d frames sent, %d and %d counted by the interfaces at both ends of the links",
		out.Frames, out.Interfaces.TxPackets, out.Interfaces.RxPackets)
}

// Programs checks that every program of a run ended well, or with the run. It also
// returns how each ended, for the run folder.
func Programs(r *backend.Run, out *backend.Outcome) (runfolder.Check, []runfolder.Program) {
	us := func(t units.Time) *float64 {
		if t == units.Never {
			return nil
		}
		v := units.Duration(t).Microseconds()
		return &v
	}
	c := passed("programs", "%d programs ended well, or with the run", len(out.Programs))
	list := make([]runfolder.Program, len(out.Programs))
	for i, e := range out.Programs {
		program := r.Plan.Programs[i]
		host := r.Plan.Graph.Nodes[program.Host].Name
		output, err := filepath.Rel(r.Folder, r.Outputs[i])
		if err != nil {
			output = r.Outputs[i]
		}
		list[i] = runfolder.Program{
			Host: host, Args: program.Args, Output: output, StartUS: us(e.Started), EndUS: us(e.Ended),
			Code: e.Code, Signal: e.Signal, Stopped: e.Stopped, Failure: e.Failure,
		}
		if c.OK && !e.OK() {
			c.OK = false
			c.Detail = fmt.Sprintf("%q on %s %v", program.Args[0], host, e)
			if e.Failure == "" {
				c.Detail += "; what it wrote is in " + output
			}
		}
	}
	return c, list
}
