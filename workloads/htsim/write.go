package htsim

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// exactStart is the largest start up to which htsim, which reads numbers of 24 bits, knows
// every picosecond.
const exactStart = 1 << 24

// Write writes the transfers, triggers and failures of a workload as a connection matrix,
// with start times in picoseconds. ReadMatrix gives the same workload again, but for its
// name and what the loss report says: the format has no delay between a trigger and a start,
// no jobs (see FromSource) and no transfers that stop. The loss report also warns of what
// htsim itself reads wrong. The error is that of out.
func Write(out io.Writer, load *workloads.Workload) (*graph.Loss, error) {
	w := &writer{Writer: bufio.NewWriter(out), load: load, loss: &graph.Loss{}}
	w.number()
	fmt.Fprintf(w, "Nodes %d\nConnections %d\n", load.Hosts, len(load.Transfers))
	if len(load.Triggers) > 0 {
		fmt.Fprintf(w, "Triggers %d\n", len(load.Triggers))
	}
	if len(load.Failures) > 0 {
		fmt.Fprintf(w, "Failures %d\n", len(load.Failures))
	}
	last := units.Duration(0)
	for i := range load.Transfers {
		w.transfer(i, &load.Transfers[i])
		if t := &load.Transfers[i]; t.After == workloads.None {
			last = max(last, t.Start)
		}
	}
	if last > 0 && last < autoLimit {
		w.loss.Add("start times that are all below 1 ns; read the file with start unit ps", "")
	}
	for i, t := range load.Triggers {
		fmt.Fprintf(w, "trigger id %d ", w.triggers[i])
		switch t.Kind {
		case workloads.OneShot:
			w.WriteString("oneshot\n")
		case workloads.MultiShot:
			w.WriteString("multishot\n")
		default:
			fmt.Fprintf(w, "barrier count %d\n", t.Count)
		}
	}
	for _, f := range load.Failures {
		fmt.Fprintf(w, "failure switch_type %s switch_id %d link_id %d\n", strings.ToUpper(f.Tier), f.Switch, f.Link)
	}
	w.loss.AddN("jobs", "", len(load.Jobs))
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return w.loss, nil
}

// writer is the state of one Write.
type writer struct {
	*bufio.Writer
	load     *workloads.Workload
	loss     *graph.Loss
	flows    []int64 // ids; 0: none
	triggers []int64
}

// number gives flows and triggers the ids that their labels say, or new ones. A flow of the
// file that had none gets one only if a trigger starts it.
func (w *writer) number() {
	own := func(labels func(i int) string, n int, needs func(i int) bool) []int64 {
		ids, taken := make([]int64, n), make(map[int64]bool, n)
		for i := range ids {
			if id, err := strconv.ParseInt(labels(i), 10, 64); err == nil && id >= 1 && id <= maxID && !taken[id] && strconv.FormatInt(id, 10) == labels(i) {
				ids[i], taken[id] = id, true
			}
		}
		next := int64(1)
		for i := range ids {
			if ids[i] == 0 && (labels(i) != "" || needs(i)) {
				for taken[next] {
					next++
				}
				ids[i], taken[next] = next, true
			}
		}
		return ids
	}
	transfers, triggers := w.load.Transfers, w.load.Triggers
	w.flows = own(func(i int) string { return transfers[i].Label }, len(transfers), func(i int) bool { return transfers[i].After != workloads.None })
	w.triggers = own(func(i int) string { return triggers[i].Label }, len(triggers), func(int) bool { return true })
}

// transfer writes the line of a transfer.
func (w *writer) transfer(i int, t *workloads.Transfer) {
	place := "transfer " + strconv.Itoa(i+1)
	fmt.Fprintf(w, "%d->%d ", t.Src, t.Dst)
	if w.flows[i] != 0 {
		fmt.Fprintf(w, "id %d ", w.flows[i])
	}
	if t.After == workloads.None {
		fmt.Fprintf(w, "start %d ", int64(t.Start))
		if s := int64(t.Start); s > exactStart && int64(float32(s)) != s {
			w.loss.Add("start times that htsim rounds to 24 bits", place)
		}
	} else {
		fmt.Fprintf(w, "trigger %d ", w.triggers[t.After])
		if t.Start > 0 {
			w.loss.Add("delays between a trigger and what it starts", place)
		}
	}
	fmt.Fprintf(w, "size %d", int64(t.Size))
	if t.Size > math.MaxInt32 {
		w.loss.Add("sizes above 2147483647 bytes, which htsim cannot read", place)
	}
	if t.SendDone != workloads.None {
		fmt.Fprintf(w, " send_done_trigger %d", w.triggers[t.SendDone])
	}
	if t.RecvDone != workloads.None {
		fmt.Fprintf(w, " recv_done_trigger %d", w.triggers[t.RecvDone])
	}
	if t.Priority != 0 {
		fmt.Fprintf(w, " prio %d", t.Priority)
	}
	if t.Stop != 0 {
		w.loss.Add("times at which transfers stop", place)
	}
	if t.Response {
		w.loss.Add("marks of answers to calls", place)
	}
	w.WriteString("\n")
}
