// Package hpcc reads the flow files (flow.txt) of the HPCC simulator for ns-3, which SimAI
// and others took over, as workloads.
//
// The first line is the number of flows. A line for each follows:
//
//	<src> <dst> <priority group> <destination port> <bytes> <start in seconds>
//
// Lines behind those that are counted are not read; HPCC's own file has a legend there. The lines
// are in the order of their starts. Nodes are hosts by number; the files have no
// number of hosts. Source: simulation/scratch/third.cc and traffic_gen/traffic_gen.py of
// alibaba-edu/High-Precision-CC. See docs/reference/references.md#hpcc-flow-files.
package hpcc

import (
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// Error names a place of a file and what is wrong with it.
type Error = lines.Error

// Limits; a value past them is a mistake rather than traffic.
const (
	maxHosts = 1 << 20
	maxFlows = 1 << 20                   // read within 5 s and 500 MB
	maxBytes = 1_000_000_000_000_000_000 // of all flows
	// dataGroup is the priority group of HPCC's data; 0 is that of its control packets.
	dataGroup = 3
)

// columns of a flow's line.
var columns = []string{"source", "destination", "priority group", "destination port", "size", "start"}

// reader is the state of one Read.
type reader struct {
	*lines.Reader
	load  *workloads.Workload
	loss  *graph.Loss
	bytes int64
}

// Read reads a flow file. name stands for the file in errors, which are *Error; its last
// element without extension becomes the workload's name. Transfers are in the order of the
// file, labelled with their numbers from 0 as in HPCC; hosts are as many as the highest
// number needs; the workload passes Validate. The loss report names priority groups other
// than 3, start times that HPCC would refuse, and lines behind the flows.
func Read(name string, in io.Reader) (*workloads.Workload, *graph.Loss, error) {
	r := &reader{Reader: lines.NewReader(name, in), loss: &graph.Loss{}}
	r.load = &workloads.Workload{Name: strings.TrimSuffix(path.Base(name), path.Ext(name)), StartUnit: "s"}
	words, err := r.Next()
	if err != nil {
		return nil, nil, err
	}
	if words == nil {
		return nil, nil, r.Errorf(r.Last(), "the file is empty")
	}
	count, e := r.Int("number of flows", words[0], 1, maxFlows)
	if e != nil {
		return nil, nil, e
	}
	if len(words) > 1 {
		return nil, nil, r.Errorf(words[1].Pos, "unexpected %q after the number of flows", words[1].Text)
	}
	at := words[0].Pos
	err = r.Each(func(words []lines.Word) error {
		if int64(len(r.load.Transfers)) == count {
			r.loss.Add("lines behind the flows that the first line counts, which HPCC does not read", r.Place(words[0].Pos))
			return nil
		}
		return r.flow(words)
	})
	if err != nil {
		return nil, nil, err
	}
	if n := len(r.load.Transfers); int64(n) < count {
		return nil, nil, r.Errorf(at, "the first line says %d flows, the file has %d", count, n)
	}
	if err := r.load.Validate(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err) // which the checks above should have found
	}
	return r.load, r.loss, nil
}

// flow takes the line of a flow.
func (r *reader) flow(words []lines.Word) error {
	if len(words) < len(columns) {
		last := words[len(words)-1]
		return r.Errorf(last.End(), "the line ends after the %s, want the %s", columns[len(words)-1], columns[len(words)])
	}
	if len(words) > len(columns) {
		return r.Errorf(words[len(columns)].Pos, "unexpected %q after the start", words[len(columns)].Text)
	}
	var v [5]int64
	for i, limit := range [5]struct{ low, high int64 }{{0, maxHosts - 1}, {0, maxHosts - 1}, {0, 7}, {0, 65535}, {1, maxBytes}} {
		n, err := r.Int(columns[i], words[i], limit.low, limit.high)
		if err != nil {
			return err
		}
		v[i] = n
	}
	switch {
	case v[0] == v[1]:
		return r.Errorf(words[1].Pos, "host %d sends to itself", v[0])
	case v[4] > maxBytes-r.bytes:
		return r.Errorf(words[4].Pos, "size %s: the flows up to here carry more than %d bytes", words[4].Text, int64(maxBytes))
	}
	r.bytes += v[4]
	start, err := r.start(words[5])
	if err != nil {
		return err
	}
	if n := len(r.load.Transfers); n > 0 && start < r.load.Transfers[n-1].Start {
		r.loss.Add("flows that start before the one in front of them, which HPCC starts late", r.Place(words[5].Pos))
	}
	if v[2] != dataGroup {
		r.loss.Add(fmt.Sprintf("flows of priority group %d; all data shares one queue unless classes say otherwise", v[2]), r.Place(words[2].Pos))
	}
	r.load.Hosts = max(r.load.Hosts, int(v[0])+1, int(v[1])+1)
	r.load.Transfers = append(r.load.Transfers, workloads.Transfer{
		Label: strconv.Itoa(len(r.load.Transfers)), Src: int(v[0]), Dst: int(v[1]), Size: units.Size(v[4]), Start: start,
		After: workloads.None, SendDone: workloads.None, RecvDone: workloads.None,
	})
	return nil
}

// start reads a time in seconds.
func (r *reader) start(w lines.Word) (units.Duration, error) {
	switch {
	case strings.HasPrefix(w.Text, "-"):
		return 0, r.Errorf(w.Pos, "start %s is negative", w.Text)
	case w.Text == "." || strings.Count(w.Text, ".") > 1 || strings.Trim(w.Text, "0123456789.") != "":
		return 0, r.Errorf(w.Pos, "start %q is not a number of seconds", w.Text)
	}
	v, err := units.Scale(w.Text, int64(units.Second))
	if err != nil {
		return 0, r.Errorf(w.Pos, "start %s, in seconds: %v", w.Text, err)
	}
	return units.Duration(v), nil
}

// Looks reports whether a file that begins with start looks like a flow file: a number,
// and in the next line several words, of which the first two are numbers.
func Looks(start string) bool {
	number := func(w string) bool { return strings.Trim(w, "0123456789") == "" }
	first := true
	for line := range strings.Lines(start) {
		switch words := strings.Fields(line); {
		case len(words) == 0:
		case first:
			if len(words) > 1 || !number(words[0]) {
				return false
			}
			first = false
		default:
			return len(words) > 2 && number(words[0]) && number(words[1])
		}
	}
	return false
}
