package backend

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// exposures are where and what the processes of a run serve; nil: nothing.
type exposures struct {
	folder string              // of the sockets, as this process sees it
	of     []*process.Exposure // by node; those of this process have the same
	inside *process.Exposure   // of this process; nil: it drives no node
}

// expose makes the folder for the sockets of a run in real time. A run whose folder takes
// none goes on without metrics.
func expose(d *Deployment, r *Run) *exposures {
	if r.Wall == nil || d.Sockets == "" {
		return nil
	}
	x := &exposures{folder: runs.MetricsFolder(d.Sockets), of: make([]*process.Exposure, len(r.Plan.Nodes))}
	if err := runs.MakeMetricsFolder(d.Sockets); err != nil {
		return nil
	}
	seen := filepath.Join(d.Folder, filepath.Base(x.folder))
	var inside []int
	var groups [][]int
	for i := range r.Plan.Nodes {
		if !r.Driven(i) {
			continue
		}
		if r.inDriver(i) {
			inside = append(inside, i)
		} else {
			groups = append(groups, []int{i})
		}
	}
	if len(inside) > 0 {
		groups = append(groups, inside)
	}
	descriptions := r.Plan.Expositions(groups)
	for g, nodes := range groups {
		e := &process.Exposure{Nodes: nodes, Description: descriptions[g]}
		e.Description.Common = exposition.Common{Run: r.ID, Variant: r.Series.Variant, Seed: strconv.FormatUint(r.Series.Seed, 10), Stretch: "1"}
		if nodes[0] == 0 {
			e.Description.Info = &exposition.RunDescription{
				Experiment: r.Name, Runtime: r.Series.Runtime, Clock: runtimes.Wall, CC: r.Series.CC, LB: r.Series.LB, AQM: r.Plan.AQM(), CSIG: r.Series.CSIG, Number: r.Series.Number,
				Dilation: r.Wall.Dilation, SmallestDelay: r.Plan.SmallestDelay(),
			}
		}
		name := fmt.Sprint(nodes[0])
		e.Socket = filepath.Join(seen, name)
		if len(inside) > 0 && g == len(groups)-1 {
			e.Socket, x.inside = filepath.Join(x.folder, name), e
		}
		for _, n := range nodes {
			e.Names = append(e.Names, r.Plan.Graph.Nodes[n].Name)
			x.of[n] = e
		}
	}
	return x
}

// node returns the Exposure of a node's own process.
func (x *exposures) node(i int) *process.Exposure {
	if x == nil {
		return nil
	}
	return x.of[i]
}

// insideNodes returns the Exposure of the nodes that this process drives.
func (x *exposures) insideNodes() *process.Exposure {
	if x == nil {
		return nil
	}
	return x.inside
}

// describe adds the sockets to the description of the nodes.
func (x *exposures) describe(nodes []runs.Node) {
	if x == nil {
		return
	}
	for i := range nodes {
		if x.of[i] == nil { // it is in another part, or foreign
			continue
		}
		nodes[i].Metrics = filepath.Join(x.folder, filepath.Base(x.of[i].Socket))
	}
}

// close removes the sockets, those of processes that have been killed among them.
func (x *exposures) close() {
	if x != nil {
		runs.RemoveMetricsFolder(filepath.Dir(x.folder))
	}
}
