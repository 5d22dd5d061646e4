// Package htsim reads the connection matrices (.cm, .tm) of the htsim
// simulator as workloads. It is stricter than htsim, which skips header lines
// that it does not know and stops at run time on triggers that cannot work.
//
// A file has the header lines Nodes, Connections, Triggers and Failures, then
// one line per flow, trigger or failure:
//
//	<src>-><dst> [id n [msg [n]]] (start t | trigger n) size bytes
//	             [send_done_trigger n] [recv_done_trigger n] [prio n]
//	trigger id n (oneshot | multishot | barrier count n)
//	failure switch_type (TOR | AGG | CORE) switch_id n link_id n
//
// Words are separated by spaces, "#" begins a comment. Flows with msg and the same id are
// messages on one connection: they become a job of the workload. Write writes such files.
// Sources: htsim/sim/datacenter/connection_matrix.cpp, main_uec.cpp, fat_tree_topology.cpp
// (add_failed_link) and htsim/sim/trigger.cpp of ultraethernet/uet-htsim.
package htsim

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Error names a place of a file and what is wrong with it.
type Error = lines.Error

// StartUnit is the unit of a file's start times, which the files do not say.
type StartUnit uint8

// Units of start times. htsim's reader takes picoseconds, some of its writers
// and older files use microseconds. Auto takes the file's largest start, if it is
// above 0 and below 1000, as a sign of microseconds.
const (
	Auto StartUnit = iota
	Picoseconds
	Microseconds
)

var startUnits = []string{"auto", "ps", "us"}

// Names returns the names that ParseStartUnit reads, in the order of their values.
func (StartUnit) Names() []string { return slices.Clone(startUnits) }

// UnmarshalText implements encoding.TextUnmarshaler by ParseStartUnit.
func (u *StartUnit) UnmarshalText(text []byte) error {
	parsed, err := ParseStartUnit(string(text))
	if err == nil {
		*u = parsed
	}
	return err
}

// String returns auto, ps or us.
func (u StartUnit) String() string { return startUnits[u] }

// ParseStartUnit reads auto, ps or us; the empty text is auto.
func ParseStartUnit(text string) (StartUnit, error) {
	if text == "" {
		return Auto, nil
	}
	i := slices.Index(startUnits, text)
	if i < 0 {
		return Auto, fmt.Errorf("start unit %q: use %s", text, lines.Alternatives(startUnits))
	}
	return StartUnit(i), nil
}

// Options of ReadMatrix; the zero value is htsim's file as it is, with Auto.
type Options struct {
	StartUnit StartUnit
	Hosts     int        // that the topology has, and so must the file; 0: any number
	MaxSize   units.Size // of a flow; 0: any
}

// Limits; a value past them is a mistake rather than traffic.
const (
	maxHosts = 1 << 20
	// maxConnections and as many triggers are read within 5 s and 500 MB.
	maxConnections = 1 << 19
	maxFailures    = 1 << 16
	maxID          = math.MaxUint32
	maxBytes       = 1_000_000_000_000_000_000 // of all transfers
	// autoLimit is the start below which Auto reads microseconds. The reader of htsim takes
	// picoseconds, but its save() and 41 of its public files, whose starts are 1 to 40, mean
	// microseconds (docs/reference/references.md#htsim-connection-matrices).
	autoLimit = 1000
)

// matrix is the state of one ReadMatrix.
type matrix struct {
	*lines.Reader
	options  Options
	header   map[string]count
	body     int // the first line behind the header; 0: none yet
	hosts    int
	flows    []flow
	triggers []trigger
	byID     map[int64]int // trigger id -> position in triggers
	flowLine map[int64]int // flow id -> its line
	failure  lines.Pos     // of the first failure; Line 0: none
	failed   []workloads.Failure
	messages []flow          // with msg
	open     map[int64]*flow // flow id -> the first message of the connection
	bytes    int64
}

// count is a header line.
type count struct {
	word  lines.Word
	value int64
}

// trigger is a trigger line with where it is.
type trigger struct {
	at, countAt lines.Pos
	workloads.Trigger
}

// ReadMatrix reads a connection matrix. name stands for the file in errors,
// which are *Error; its last element without extension becomes the workload's
// name. Transfers and triggers are in the order of the file, labelled with their
// ids; the workload passes Validate. Notes tell the user what was assumed, such
// as the unit of start times.
func ReadMatrix(name string, r io.Reader, o Options) (w *workloads.Workload, notes []string, err error) {
	m := &matrix{
		Reader: lines.NewReader(name, r), options: o, header: make(map[string]count),
		byID: make(map[int64]int), flowLine: make(map[int64]int), open: make(map[int64]*flow),
	}
	if err := m.Each(m.line); err != nil {
		return nil, nil, err
	}
	if err := m.checkCounts(); err != nil {
		return nil, nil, err
	}
	unit, notes := m.startUnit(o.StartUnit)
	w = &workloads.Workload{Name: strings.TrimSuffix(path.Base(name), path.Ext(name)), Hosts: m.hosts, StartUnit: unit.String(), Failures: m.failed}
	if err := m.transfers(w, unit); err != nil {
		return nil, nil, err
	}
	if notes, err = m.connections(w, notes); err != nil {
		return nil, nil, err
	}
	more, err := m.checkTriggers(w)
	if err != nil {
		return nil, nil, err
	}
	if len(w.Transfers) == 0 {
		return w, append(notes, more...), nil // messages alone
	}
	if err := w.Validate(); err != nil {
		// Whatever Validate finds, the checks above should have found with its
		// position.
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return w, append(notes, more...), nil
}

// Words that begin a line.
const (
	wordNodes       = "Nodes"
	wordConnections = "Connections"
	wordTriggers    = "Triggers"
	wordFailures    = "Failures"
	wordTrigger     = "trigger"
	wordFailure     = "failure"
	arrow           = "->"
)

var headerWords = []string{wordNodes, wordConnections, wordTriggers, wordFailures}

// line takes a line of the header, or one of the body behind it.
func (m *matrix) line(words []lines.Word) error {
	first := words[0]
	read := m.readFlow
	switch {
	case slices.Contains(headerWords, first.Text):
		if m.body > 0 {
			return m.Errorf(first.Pos, "%s belongs before the first flow, which is in line %d", first.Text, m.body)
		}
		return m.readHeader(words)
	case strings.Contains(first.Text, arrow):
	case first.Text == wordTrigger:
		read = m.readTrigger
	case first.Text == wordFailure:
		read = m.readFailure
	default:
		return m.Unknown("word", first, slices.Concat(headerWords, []string{wordTrigger, wordFailure, "<src>-><dst>"})...)
	}
	if m.body == 0 {
		m.body = first.Line
		if err := m.checkHeader(first.Pos); err != nil {
			return err
		}
	}
	return read(words)
}

func (m *matrix) readHeader(words []lines.Word) error {
	key := words[0]
	if earlier, ok := m.header[key.Text]; ok {
		return m.Errorf(key.Pos, "%s was set in line %d", key.Text, earlier.word.Line)
	}
	if len(words) == 1 {
		return m.Errorf(key.End(), "the line ends after %s, want its number", key.Text)
	}
	if len(words) > 2 {
		return m.Errorf(words[2].Pos, "unexpected %q after the number of %s", words[2].Text, strings.ToLower(key.Text))
	}
	low, high := int64(0), int64(maxID)
	switch key.Text {
	case wordNodes:
		low, high = 2, maxHosts
	case wordConnections:
		low, high = 1, maxConnections
	case wordTriggers:
		high = maxConnections
	}
	v, err := m.Int(key.Text, words[1], low, high)
	if err != nil {
		return err
	}
	m.header[key.Text] = count{words[1], v}
	return nil
}

// checkHeader makes sure that the header is whole when the body begins.
func (m *matrix) checkHeader(at lines.Pos) error {
	for _, key := range []string{wordNodes, wordConnections} {
		if _, ok := m.header[key]; !ok {
			return m.Errorf(at, "%s is missing before the first flow", key)
		}
	}
	if m.flows == nil {
		m.flows = make([]flow, 0, m.header[wordConnections].value) // which checkCounts compares
	}
	nodes := m.header[wordNodes]
	m.hosts = int(nodes.value)
	if want := m.options.Hosts; want != 0 && m.hosts != want {
		return m.Errorf(nodes.word.Pos, "the file is written for %d hosts, the topology has %d", m.hosts, want)
	}
	return nil
}

// checkCounts compares the header's numbers with the lines.
func (m *matrix) checkCounts() error {
	if len(m.header) == 0 && len(m.flows)+len(m.messages) == 0 {
		return m.Errorf(m.Last(), "the file is empty")
	}
	if err := m.checkHeader(m.Last()); err != nil {
		return err
	}
	for _, c := range []struct {
		key, what string
		found     int
		first     lines.Pos
	}{
		{wordConnections, "connections", len(m.flows) + len(m.messages), lines.Pos{}},
		{wordTriggers, "triggers", len(m.triggers), m.firstTrigger()},
		{wordFailures, "failures", len(m.failed), m.failure},
	} {
		header, ok := m.header[c.key]
		switch {
		case !ok && c.found > 0:
			return m.Errorf(c.first, "the header has no %s line, the file has %d %s", c.key, c.found, c.what)
		case ok && header.value != int64(c.found):
			return m.Errorf(header.word.Pos, "header says %d %s, the file has %d", header.value, c.what, c.found)
		}
	}
	return nil
}

func (m *matrix) firstTrigger() lines.Pos {
	if len(m.triggers) == 0 {
		return lines.Pos{}
	}
	return m.triggers[0].at
}

// startUnit settles the unit of start times.
func (m *matrix) startUnit(wish StartUnit) (StartUnit, []string) {
	if wish != Auto {
		return wish, nil
	}
	largest := 0.0
	for _, f := range m.flows {
		if f.start.Text != "" {
			v, _ := strconv.ParseFloat(f.start.Text, 64) // a decimal; infinite if too large
			largest = max(largest, v)
		}
	}
	if largest == 0 || largest >= autoLimit {
		return Picoseconds, nil
	}
	return Microseconds, []string{fmt.Sprintf(
		"start times are read as microseconds, because the largest is %g and htsim's files with picoseconds have no start between 0 and %d; choose start unit ps to read them as picoseconds",
		largest, autoLimit)}
}

// startTime reads a start time, which is a decimal number, in unit.
func (m *matrix) startTime(w lines.Word, unit StartUnit) (units.Duration, error) {
	factor, name := units.Picosecond, "picoseconds"
	if unit == Microseconds {
		factor, name = units.Microsecond, "microseconds"
	}
	v, err := units.Scale(w.Text, int64(factor))
	if errors.Is(err, units.ErrTooFine) {
		return 0, m.Errorf(w.Pos, "start %s, read as %s, is not a whole number of picoseconds", w.Text, name)
	}
	if err != nil {
		return 0, m.Errorf(w.Pos, "start %s, read as %s: %v", w.Text, name, err)
	}
	return units.Duration(v), nil
}

// transfers appends the flows and triggers to w.
func (m *matrix) transfers(w *workloads.Workload, unit StartUnit) error {
	for _, t := range m.triggers {
		w.Triggers = append(w.Triggers, t.Trigger)
	}
	w.Transfers = make([]workloads.Transfer, 0, len(m.flows))
	for _, f := range m.flows {
		t := workloads.Transfer{
			Label: f.id.Text, Src: f.src, Dst: f.dst, Size: units.Size(f.size), Priority: f.priority,
			After: workloads.None, SendDone: workloads.None, RecvDone: workloads.None,
		}
		if f.start.Text != "" {
			start, err := m.startTime(f.start, unit)
			if err != nil {
				return err
			}
			t.Start = start
		}
		for _, use := range []struct {
			ref  ref
			into *int
		}{{f.after, &t.After}, {f.sendDone, &t.SendDone}, {f.recvDone, &t.RecvDone}} {
			if use.ref.id == 0 {
				continue
			}
			position, ok := m.byID[use.ref.id]
			if !ok {
				return m.Errorf(use.ref.at, "trigger %d is not defined", use.ref.id)
			}
			*use.into = position
		}
		w.Transfers = append(w.Transfers, t)
	}
	return nil
}

// Looks reports whether a file that begins with start looks like a connection matrix.
func Looks(start string) bool {
	for line := range strings.Lines(start) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			return slices.Contains(headerWords, words[0])
		}
	}
	return false
}
