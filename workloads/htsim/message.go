package htsim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/graph"
)

// message takes the word msg, whose number may be missing, from the words of a flow.
func (m *matrix) message(f *flow, words []lines.Word) ([]lines.Word, error) {
	i := slices.IndexFunc(words, func(w lines.Word) bool { return w.Text == "msg" })
	// The other words come in pairs.
	if i < 0 || i%2 == 1 {
		return words, nil
	}
	f.msg = words[i]
	n := 1
	if i+1 < len(words) && !slices.Contains(flowWords, words[i+1].Text) {
		if _, err := m.Int("msg", words[i+1], 1, maxID); err != nil {
			return nil, err
		}
		n = 2
	}
	return slices.Concat(words[:i], words[i+n:]), nil
}

// addMessage takes a message of a connection.
func (m *matrix) addMessage(f flow) error {
	if f.id.Text == "" {
		return m.Errorf(f.msg.Pos, "a message needs the id of its connection")
	}
	for _, r := range []ref{f.after, f.sendDone, f.recvDone} {
		if r.id != 0 {
			return m.Errorf(r.at, "triggers of messages are not supported; give the message a flow of its own, without msg")
		}
	}
	id, err := m.Int("flow id", f.id, 1, maxID)
	if err != nil {
		return err
	}
	first, ok := m.open[id]
	if !ok {
		if err := m.flowID(f.id); err != nil {
			return err
		}
		m.open[id] = &f
	} else if first.src != f.src || first.dst != f.dst {
		return m.Errorf(f.at, "connection %d goes from %d to %d, see line %d", id, first.src, first.dst, first.at.Line)
	}
	m.messages = append(m.messages, f)
	return nil
}

// connections makes a job of the messages: its ranks are the hosts that have any, its
// streams the connections. Messages of a connection go in the order of their starts.
func (m *matrix) connections(w *workloads.Workload, notes []string) ([]string, error) {
	if len(m.messages) == 0 {
		return notes, nil
	}
	// htsim reads the start of a message in microseconds, whatever unit flows have.
	unit := m.options.StartUnit
	if unit == Auto {
		unit = Microseconds
		if slices.ContainsFunc(m.messages, func(f flow) bool { return f.start.Text != "0" }) {
			notes = append(notes, "start times of messages (msg) are read as microseconds, as htsim does; choose start unit ps to read them as picoseconds")
		}
	}
	type message struct {
		flow
		start   units.Duration
		channel uint16
	}
	var hosts []int
	list := make([]message, len(m.messages))
	type pair struct{ src, dst int }
	channels, of := map[pair]int{}, map[string]uint16{}
	for i, f := range m.messages {
		start, err := m.startTime(f.start, unit)
		if err != nil {
			return nil, err
		}
		channel, ok := of[f.id.Text]
		if !ok {
			n := channels[pair{f.src, f.dst}]
			if n > math.MaxUint16 {
				return nil, m.Errorf(f.at, "more than %d connections from %d to %d", n, f.src, f.dst)
			}
			channel = uint16(n)
			channels[pair{f.src, f.dst}], of[f.id.Text] = n+1, channel
		}
		list[i] = message{f, start, channel}
		hosts = append(hosts, f.src, f.dst)
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	slices.SortStableFunc(list, func(a, b message) int { return cmp.Compare(a.start, b.start) })
	s := &graph.Static{Count: 1, Of: map[int][]graph.Op{}, All: len(hosts)}
	tag := graph.Tag{Phase: graph.None, Collective: graph.None, Group: graph.None}
	for i := range list {
		f := &list[i]
		src, _ := slices.BinarySearch(hosts, f.src)
		dst, _ := slices.BinarySearch(hosts, f.dst)
		op := graph.Op{Kind: graph.Send, Peer: int32(dst), Channel: f.channel, Bytes: units.Size(f.size), NotBefore: f.start, Tag: tag}
		s.Of[src] = append(s.Of[src], op)
		op.Kind, op.Peer, op.NotBefore = graph.Recv, int32(src), 0
		s.Of[dst] = append(s.Of[dst], op)
	}
	w.Jobs = append(w.Jobs, workloads.Job{Name: "messages", Source: s, Hosts: hosts})
	return append(notes, fmt.Sprintf("%s messages on %d connections (msg) are the job messages", strconv.Itoa(len(list)), len(of))), nil
}
