package check

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
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
	if out.Counters != nil && out.Ports != nil {
		if wrong := links(p, out); wrong != "" {
			return failed(name, wrong)
		}
		if wrong := cutLinks(out); wrong != "" {
			return failed(name, wrong)
		}
		if foreign := out.Strays; foreign > 0 {
			return passed(name, "%d frames sent and received on every link%s; %d frames that no node sent were dropped", out.Frames, crossed(out), foreign)
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
	return passed(name, "%d frames sent, %d and %d counted by the interfaces at both ends of the links%s",
		out.Frames, out.Interfaces.TxPackets, out.Interfaces.RxPackets, crossed(out))
}

// portCounts returns what nodes have counted at their ports.
func portCounts(out *backend.Outcome) map[topologies.End]emu.PortCount {
	ports := make(map[topologies.End]emu.PortCount, len(out.Ports))
	for _, c := range out.Ports {
		ports[topologies.End{Node: c.Node, Port: c.Port}] = c
	}
	return ports
}

// mismatches returns the directions of links whose ports have counted different
// numbers of frames, or frames that no node sent.
func mismatches(p *plan.Plan, out *backend.Outcome) []runfolder.LinkMismatch {
	ports := portCounts(out)
	var list []runfolder.LinkMismatch
	for _, l := range p.Links {
		for _, d := range [][2]topologies.End{{l.A, l.B}, {l.B, l.A}} {
			from, ok := ports[d[0]]
			to, both := ports[d[1]]
			if !ok || !both || from.Sent == to.Received && to.Strays == (emu.Strays{}) {
				continue
			}
			list = append(list, runfolder.LinkMismatch{
				Link: l.Name, From: p.Graph.Nodes[d[0].Node].Name, To: p.Graph.Nodes[d[1].Node].Name,
				Sent: from.Sent, Received: to.Received, Lost: max(0, from.Sent-to.Received),
				// One of two frames with the same number may be another's, and have taken the
				// place of the node's.
				Surplus: max(0, to.Received+to.Strays.Repeated-from.Sent),
				Foreign: runfolder.ForeignFrames(to.Strays),
			})
		}
	}
	return list
}

// links compares, for a run under lockstep, what the nodes counted on each direction of
// a link with the counters of its interfaces. It returns what is wrong, "" for nothing.
// A foreign frame that a node has dropped is no fault.
func links(p *plan.Plan, out *backend.Outcome) string {
	ports := portCounts(out)
	counters := make(map[topologies.End]backend.Counters, len(out.Counters))
	for _, c := range out.Counters {
		counters[c.End] = c.Counters
	}
	for _, l := range p.Links {
		for _, d := range [][2]topologies.End{{l.A, l.B}, {l.B, l.A}} {
			tx, ok := counters[d[0]]
			rx, both := counters[d[1]]
			if !ok || !both {
				continue // in memory
			}
			sent, strays := ports[d[0]].Sent, ports[d[1]].Strays.Sum()
			what := ""
			switch {
			case tx.TxPackets < sent || rx.RxPackets < sent:
				what = "some were lost"
			case rx.RxPackets > sent+strays:
				what = "some are of no node"
			default:
				continue
			}
			return fmt.Sprintf("link %s: %s sent %d frames to %s; the interfaces counted %d sent and %d received, and %s dropped %d foreign ones: %s",
				l.Name, p.Graph.Nodes[d[0].Node].Name, sent, p.Graph.Nodes[d[1].Node].Name, tx.TxPackets, rx.RxPackets, p.Graph.Nodes[d[1].Node].Name, strays, what)
		}
	}
	return ""
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
