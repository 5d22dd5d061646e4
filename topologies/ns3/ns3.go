// Package ns3 reads the topology files of the ns-3 simulators of RDMA: the one of HPCC, which other
// papers have taken over, and SimAI's. Source: simulation/mix/topology.txt of alibaba-edu's
// High-Precision-Congestion-Control, and what SimAI's gen_Topo_Template.py writes.
//
//	nodes switches links                                     HPCC
//	nodes gpus nvswitches switches links type                SimAI
//	the numbers of the switches; SimAI's NVSwitches first
//	node node rate delay loss                                for each link, such as 0 8 100Gbps 1000ns 0
package ns3

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Options are what a file does not say.
type Options struct {
	SwitchDelay units.Duration
	Ports       int // of a switch; 0: as many as needed
}

// Error names a place of a file and what is wrong with it.
type Error = lines.Error

// Limits of a file.
const (
	maxNodes = 1 << 18
	maxLinks = 1 << 20
)

// reader is the state of one Read.
type reader struct {
	*lines.Reader
	options              Options
	nodes, inner, others int // inner: NVSwitches; others: switches
	links                lines.Word
	wantLinks, read      int
	switches             []int // NVSwitches first
	kinds                []kind
	at                   map[[2]int]int // index in list
	list                 []topologies.CustomLink
	places               []lines.Pos
}

type kind uint8

const (
	host kind = iota
	fabricSwitch
	nvSwitch
)

// Read reads a file. name stands for it in errors, which are *Error; its last element without its
// ending becomes the fabric's name. Nodes are called n0, n1 and so on; those that are no switches
// are hosts. NVSwitches, which connect the GPUs of one server, are left out with their links; their
// number comes too.
func Read(name string, r io.Reader, o Options) (c *topologies.Custom, nvSwitches int, err error) {
	rd := &reader{Reader: lines.NewReader(name, r), options: o, nodes: -1, at: map[[2]int]int{}}
	if err := rd.Each(rd.line); err != nil {
		return nil, 0, err
	}
	switch {
	case rd.nodes < 0:
		return nil, 0, rd.Errorf(rd.Last(), "the file is empty")
	case len(rd.switches) < rd.inner+rd.others:
		return nil, 0, rd.Errorf(rd.Last(), "%d switches are named, and the first line says %d", len(rd.switches), rd.inner+rd.others)
	case rd.read != rd.wantLinks:
		return nil, 0, rd.Errorf(rd.links.Pos, "%d links, and the file has %d", rd.wantLinks, rd.read)
	}
	if c, err = rd.build(); err != nil {
		return nil, 0, err
	}
	base := path.Base(name)
	c.Name = strings.TrimSuffix(base, path.Ext(base))
	return c, rd.inner, nil
}

func (r *reader) line(words []lines.Word) error {
	switch {
	case r.nodes < 0:
		return r.head(words)
	case len(r.switches) < r.inner+r.others:
		return r.switchNumbers(words)
	}
	return r.link(words)
}

// head takes the first line.
func (r *reader) head(words []lines.Word) error {
	at := []int{0, -1, 1, 2} // of nodes, NVSwitches, switches and links
	switch len(words) {
	case 3:
	case 6:
		at = []int{0, 2, 3, 4}
	default:
		return r.Errorf(words[0].Pos, "want the numbers of nodes, switches and links, or SimAI's six words; the line has %d", len(words))
	}
	var numbers [4]int
	for i, what := range []string{"nodes", "NVSwitches", "switches", "links"} {
		if at[i] < 0 {
			continue
		}
		most := int64(maxNodes)
		if what == "links" {
			most, r.links = maxLinks, words[at[i]]
		}
		n, err := r.Int("the number of "+what, words[at[i]], 0, most)
		if err != nil {
			return err
		}
		numbers[i] = int(n)
	}
	if numbers[1]+numbers[2] > numbers[0] {
		return r.Errorf(words[0].Pos, "%d switches among %d nodes", numbers[1]+numbers[2], numbers[0])
	}
	r.nodes, r.inner, r.others, r.wantLinks = numbers[0], numbers[1], numbers[2], numbers[3]
	r.kinds = make([]kind, r.nodes)
	return nil
}

// switchNumbers takes the switches of a line.
func (r *reader) switchNumbers(words []lines.Word) error {
	for _, w := range words {
		n, err := r.Int("the switch", w, 0, int64(r.nodes)-1)
		switch {
		case err != nil:
			return err
		case len(r.switches) == r.inner+r.others:
			return r.Errorf(w.Pos, "one switch more than the %d that the first line says", r.inner+r.others)
		case r.kinds[n] != host:
			return r.Errorf(w.Pos, "switch %d is named twice", n)
		}
		r.kinds[n] = fabricSwitch
		if len(r.switches) < r.inner {
			r.kinds[n] = nvSwitch
		}
		r.switches = append(r.switches, int(n))
	}
	return nil
}

// link takes a link. Those of NVSwitches are counted alone.
func (r *reader) link(words []lines.Word) error {
	if len(words) != 5 {
		return r.Errorf(words[0].Pos, "want a link: two nodes, rate, delay and loss; the line has %s", spelling.Plural(len(words), "word"))
	}
	var ends [2]int
	for i := range ends {
		n, err := r.Int("the node", words[i], 0, int64(r.nodes)-1)
		if err != nil {
			return err
		}
		ends[i] = int(n)
	}
	rate, err := units.ParseRate(words[2].Text)
	if err != nil {
		return r.Errorf(words[2].Pos, "%v", err)
	}
	delay, err := units.ParseDuration(words[3].Text)
	if err != nil {
		return r.Errorf(words[3].Pos, "%v", err)
	}
	switch loss, err := strconv.ParseFloat(words[4].Text, 64); {
	case err != nil:
		return r.Errorf(words[4].Pos, "%q is no share of lost packets", words[4].Text)
	case loss != 0:
		return r.Errorf(words[4].Pos, "a link that loses packets is a fault in csiglab: write 0, and faults: [{loss: {links: [n%d-n%d], …}}]", ends[0], ends[1])
	case ends[0] == ends[1]:
		return r.Errorf(words[0].Pos, "joins node %d to itself", ends[0])
	}
	if r.read++; r.read > r.wantLinks {
		return r.Errorf(words[0].Pos, "one link more than the %d that the first line says", r.wantLinks)
	}
	if r.kinds[ends[0]] == nvSwitch || r.kinds[ends[1]] == nvSwitch {
		return nil
	}
	key := [2]int{min(ends[0], ends[1]), max(ends[0], ends[1])}
	if i, ok := r.at[key]; ok && r.list[i].Rate == rate && r.list[i].Delay == delay {
		r.list[i].Count++
		return nil
	}
	r.at[key] = len(r.list)
	r.list = append(r.list, topologies.CustomLink{A: ends[0], B: ends[1], Rate: rate, Delay: delay, Count: 1})
	r.places = append(r.places, words[0].Pos)
	return nil
}

// build returns the fabric.
func (r *reader) build() (*topologies.Custom, error) {
	c := &topologies.Custom{}
	place := make([]int, r.nodes) // of a node among those that are kept
	for n, k := range r.kinds {
		place[n] = len(c.Nodes)
		node := topologies.CustomNode{Name: fmt.Sprintf("n%d", n)}
		switch k {
		case nvSwitch:
			continue
		case fabricSwitch:
			node.Kind, node.Delay, node.Ports = topologies.Switch, r.options.SwitchDelay, r.options.Ports
		}
		c.Nodes = append(c.Nodes, node)
	}
	for _, l := range r.list {
		l.A, l.B = place[l.A], place[l.B]
		c.Links = append(c.Links, l)
	}
	var e *topologies.CustomError
	if errors.As(c.Check(), &e) {
		at := r.links.Pos
		if e.Link >= 0 {
			at = r.places[e.Link]
		}
		wrong := r.Errorf(at, "%s", e.Msg)
		wrong.Cause = e
		return nil, wrong
	}
	return c, nil
}
