// Package formats opens workloads and traces in the formats of other tools. It knows all
// readers and finds out by name and content which of them a file is for. One line in the
// table adds a format.
package formats

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/chakra"
	"github.com/csiglab/csiglab/workloads/goal"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/hpcc"
	"github.com/csiglab/csiglab/workloads/htsim"
	"github.com/csiglab/csiglab/workloads/msccl"
	"github.com/csiglab/csiglab/workloads/pytorch"
	"github.com/csiglab/csiglab/workloads/simai"
	"github.com/csiglab/csiglab/workloads/trace"
	"github.com/csiglab/csiglab/workloads/tracefile"
)

// Options of Open. The zero value detects the format and reads a file as it is. What a
// format has no use for is not looked at.
type Options struct {
	Format    string          // name of a format; "": by name and content
	StartUnit htsim.StartUnit // of the start times of a connection matrix
	Hosts     int             // that a connection matrix must be for; 0: any number
	MaxSize   units.Size      // of a transfer of a connection matrix; 0: any
	// Training says how workloads of SimAI and AICB, and traces, are expanded, and how many
	// ranks there are where a file does not say.
	Training simai.Options
	Groups   string       // of a Chakra trace: the JSON file of its communicator groups; "": none
	DataOnly bool         // of a Chakra trace: without its control dependencies
	Limits   trace.Limits // of a trace
	// Size is that of the buffer of an MSCCL algorithm, which has to be given; 0: not given. Files
	// of other formats say their sizes, so that it is an error with them.
	Size units.Size
}

// Input is what a file says. It has either a Workload or a Source.
type Input struct {
	Format   string              // its name
	Workload *workloads.Workload // transfers between hosts, or nil
	Source   graph.Source        // programs of ranks, or nil
	Loss     *graph.Loss         // what of the file these do not have; never nil
	Notes    []string            // for the user: what was assumed, such as the unit of times
}

// format is a line of the table.
type format struct {
	name string
	doc  string // in one line
	ends []string
	// looks reports whether a file that begins with start, up to 4 KiB, looks like this format.
	looks func(start string) bool
	read  func(path string, o Options) (*Input, error)
	// ends are those of the names of formats that have a file for each rank: a path may be a
	// folder, or what the names begin with.
	ranks []string
}

// table is every format, in the order in which they are tried.
var table = []format{
	{name: "cm", doc: "htsim connection matrix (.cm, .tm)", ends: []string{".cm", ".tm"}, looks: htsim.Looks, read: text(readMatrix)},
	{name: "goal", doc: "GOAL schedule of LogGOPSim and ATLAHS, text", ends: []string{".goal"}, looks: goal.Looks, read: text(readGOAL)},
	{name: "hpcc", doc: "flows of the HPCC simulator for ns-3 (flow.txt)", looks: hpcc.Looks, read: text(readHPCC)},
	{name: "simai", doc: "workload of SimAI and ASTRA-sim, text", looks: simai.Looks, read: text(readSimAI)},
	{name: "aicb", doc: "workload of AICB, CSV", ends: []string{".csv"}, looks: simai.LooksCSV, read: text(readAICB)},
	{name: "msccl", doc: "algorithm of MSCCL and RCCL for one collective, XML", ends: []string{".xml"}, looks: msccl.Looks, read: text(readMSCCL)},
	{name: "chakra", doc: "Chakra execution traces, protobuf or JSON, one file per rank", ends: []string{".et"}, looks: isChakra, read: readChakra, ranks: chakra.Endings()},
	{name: "pytorch", doc: "PyTorch execution traces with record_param_comms, JSON, one file per rank", looks: isPyTorch, read: readPyTorch, ranks: pytorch.Endings()},
}

// maxFile bounds a text file.
const maxFile = 256 << 20

// Names returns the names of the formats that Open reads.
func Names() []string {
	names := make([]string, len(table))
	for i := range table {
		names[i] = table[i].name
	}
	return names
}

// Doc returns what a format is, in one line, or "".
func Doc(name string) string {
	for i := range table {
		if table[i].name == name {
			return table[i].doc
		}
	}
	return ""
}

// Open reads a file, or a folder where a format has one file per rank. Errors about the
// content name the file, line and column, or the byte of a binary file.
func Open(path string, o Options) (*Input, error) {
	f, err := choose(path, o.Format)
	if err != nil {
		return nil, err
	}
	if sized := f.name == "msccl"; sized != (o.Size > 0) {
		if sized {
			return nil, fmt.Errorf("%s: an algorithm does not say how large its buffer is; give a size (--size 32MiB, or size of a job's trace)", path)
		}
		return nil, fmt.Errorf("%s: a size is for algorithms of MSCCL; files of format %s say their sizes", path, f.name)
	}
	if o.DataOnly && f.name != "chakra" {
		return nil, fmt.Errorf("%s: dependencies of data alone (data_only) are for traces of Chakra; files of format %s have one kind of them", path, f.name)
	}
	in, err := f.read(path, o)
	if err != nil {
		return nil, err
	}
	in.Format = f.name
	if in.Loss == nil {
		in.Loss = &graph.Loss{}
	}
	return in, nil
}

// choose finds the format of a file or folder.
func choose(path, name string) (*format, error) {
	if name != "" {
		i := slices.Index(Names(), name)
		if i < 0 {
			err := fmt.Sprintf("unknown format %q", name)
			if near := spelling.Nearest(name, Names()); near != "" {
				return nil, fmt.Errorf("%s%s", err, spelling.Hint(near))
			}
			return nil, fmt.Errorf("%s; use %s", err, lines.Alternatives(Names()))
		}
		return &table[i], nil
	}
	sample := tracefile.One(path)
	if info, err := os.Stat(path); err != nil || info.IsDir() || tracefile.IsArchive(path) {
		if files, e := find(path); e == nil && len(files) > 0 {
			sample = files[0]
		} else if !errors.Is(err, fs.ErrNotExist) { // it is a folder, or goes on behind a file
			return nil, cmp.Or(e, fmt.Errorf("%s: there is no trace in this folder", path))
		}
	}
	start, err := beginning(sample)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range table {
		if f := &table[i]; f.looks(start) {
			return f, nil
		}
	}
	for _, o := range others {
		if o.looks(start) {
			return nil, fmt.Errorf("%s:1:1: %s", path, o.what)
		}
	}
	for i := range table {
		if f := &table[i]; slices.Contains(f.ends, strings.ToLower(filepath.Ext(path))) {
			return f, nil
		}
	}
	if f, err := lines.Open(sample.Name, math.MaxInt64); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	} else if f.Close(); start == "" { // opened for reading
		return nil, fmt.Errorf("%s:1:1: the file is empty", path)
	}
	return nil, fmt.Errorf("%s:1:1: the file does not begin like any format that is known; say which it is: %s", path, lines.Alternatives(Names()))
}

// others are files that lie beside workloads and are none, with what is missing in them.
var others = []struct {
	looks func(start string) bool
	what  string
}{
	{isKineto, "a trace of Kineto (Chrome's trace events), which has times and not what depends on what; record PyTorch's execution trace as well " +
		"(ExecutionTraceObserver), which Chakra's trace_link joins with it"},
	{isTopology, "a topology file of an ns-3 simulator, a fabric without traffic; it belongs into topology.ns3.file of an experiment"},
}

func isKineto(start string) bool {
	return strings.HasPrefix(strings.TrimLeft(start, " \t\r\n"), "{") &&
		(strings.Contains(start, `"traceEvents"`) || strings.Contains(start, `"schemaVersion"`) || strings.Contains(start, `"deviceProperties"`))
}

// isTopology reports whether a line is that of a link: two nodes, a rate such as 100Gbps, a delay, a
// loss.
func isTopology(start string) bool {
	for line := range strings.Lines(start) {
		w := strings.Fields(line)
		if len(w) == 5 && strings.Trim(w[0]+w[1], "0123456789") == "" && strings.HasSuffix(w[2], "bps") {
			return true
		}
	}
	return false
}

// find returns the files of a trace of any format that has one for each rank.
func find(path string) ([]tracefile.File, error) {
	var ends []string
	for i := range table {
		ends = append(ends, table[i].ranks...)
	}
	slices.Sort(ends)
	return tracefile.Find(path, slices.Compact(ends)...)
}

// Files returns the names of the files of a trace with one for each rank, of which path is what
// they begin with; none if there is no such trace.
func Files(path string) (names []string) {
	files, err := find(path)
	if err != nil {
		return nil
	}
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// beginning returns up to 4 KiB of a file, unpacked.
func beginning(file tracefile.File) (string, error) {
	const most = 4096
	f, err := file.Open()
	if err != nil {
		return "", err
	}
	defer f.Close() // opened for reading
	start, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil || !strings.HasPrefix(string(start), "\x1f\x8b") {
		return string(start), err
	}
	if packed, err := gzip.NewReader(bytes.NewReader(start)); err == nil {
		// That what was read ends is no end of the file.
		if unpacked, _ := io.ReadAll(io.LimitReader(packed, most)); len(unpacked) > 0 {
			return string(unpacked), nil
		}
	}
	return string(start), nil
}

// text is the read of a format of text files.
func text(read func(name string, r io.Reader, o Options) (*Input, error)) func(string, Options) (*Input, error) {
	return func(path string, o Options) (*Input, error) {
		f, err := lines.Open(path, maxFile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		defer f.Close() // opened for reading
		return read(path, f, o)
	}
}

func readMatrix(name string, r io.Reader, o Options) (*Input, error) {
	load, notes, err := htsim.ReadMatrix(name, r, htsim.Options{StartUnit: o.StartUnit, Hosts: o.Hosts, MaxSize: o.MaxSize})
	if err != nil {
		return nil, err
	}
	return &Input{Workload: load, Notes: notes}, nil
}

// source is the Input of a reader of sources.
func source[S graph.Source](s S, loss *graph.Loss, err error) (*Input, error) {
	if err != nil {
		return nil, err
	}
	return &Input{Source: s, Loss: loss}, nil
}

func readGOAL(name string, r io.Reader, _ Options) (*Input, error) { return source(goal.Read(name, r)) }

func readHPCC(name string, r io.Reader, _ Options) (*Input, error) {
	load, loss, err := hpcc.Read(name, r)
	if err != nil {
		return nil, err
	}
	return &Input{Workload: load, Loss: loss}, nil
}

func readSimAI(name string, r io.Reader, o Options) (*Input, error) {
	return source(simai.Read(name, r, o.Training))
}

func readAICB(name string, r io.Reader, o Options) (*Input, error) {
	return source(simai.ReadCSV(name, r, o.Training))
}

func readMSCCL(name string, r io.Reader, o Options) (*Input, error) {
	return source(msccl.Read(name, r, msccl.Options{Bytes: o.Size, Iterations: o.Training.Passes, Cut: o.Training.Chunk}))
}

func isChakra(start string) bool { return chakra.IsTrace([]byte(start)) }

func readChakra(path string, o Options) (*Input, error) {
	return source(chakra.Open(path, chakra.Options{Options: o.trace(), Groups: o.Groups, Unit: o.Training.TimeUnit, DataOnly: o.DataOnly}))
}

// trace returns the options of traces.
func (o *Options) trace() trace.Options {
	return trace.Options{Ranks: o.Training.Ranks, Steps: o.Training.Passes, Choices: o.Training.Choices, Limits: o.Limits}
}

func isPyTorch(start string) bool { return pytorch.IsTrace([]byte(start)) }

func readPyTorch(path string, o Options) (*Input, error) {
	return source(pytorch.Open(path, o.trace()))
}
