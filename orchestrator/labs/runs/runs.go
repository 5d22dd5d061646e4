// Package runs keeps the list of the runs on this machine, so that other processes
// find them: the nodes and links of each run, whether the csiglab that holds it
// lives, and what remains of it. It enters the network namespace of a node and asks a
// holder to end its run. It starts no run: package backend puts its runs on the list,
// and Clean asks the backends to remove everything that carries a run's id.
//
//	          Register         Describe           Hold              Remove
//	(nothing) ───────▶ running ───────▶ running ───────▶ held ───────────▶ (nothing)
//	                      └──── the process that holds it dies ──▶ dead ── Clean ─┘
package runs

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/topologies"
)

// Run is a run that is under way, or of which something remains. csiglab inspect
// prints its JSON.
type Run struct {
	ID       string  `json:"id"` // [0-9a-f]+
	Name     string  `json:"name"`
	Runtime  string  `json:"runtime"`
	Clock    string  `json:"clock"`
	Dilation float64 `json:"dilation,omitempty"`       // wall seconds per model second, of clock wall
	Lateness float64 `json:"latenessBudget,omitempty"` // of clock wall: wall.budget.lateness
	State    State   `json:"state"`                    // not in the list's files
	Folder   string  `json:"folder"`                   // absolute
	// NodeFolder is the folder, absolute, where the nodes write captured frames and
	// look for the pipes of live captures.
	NodeFolder string    `json:"nodeFolder"`
	Started    time.Time `json:"started"`
	Engine     string    `json:"engine,omitempty"`    // of containers: DOCKER_HOST of the csiglab that runs it
	PID        int       `json:"pid"`                 // of the holder: the csiglab that runs it
	Ticks      uint64    `json:"ticks"`               // since boot, when that process started
	Boot       string    `json:"boot"`                // of the machine, when that process started
	PIDSpace   uint64    `json:"pidSpace"`            // inode of that process's PID namespace
	Held       bool      `json:"held"`                // a lab: it runs until it is asked to end
	DiskLimit  int64     `json:"diskLimit,omitempty"` // of a lab: the most that its windows take in Folder while it is up
	End        *Report   `json:"end,omitempty"`       // of a lab that ended by itself
	Nodes      []Node    `json:"nodes"`               // none before they are deployed
	Links      []Link    `json:"links"`

	Processes  []int `json:"-"` // of the nodes and those above them, apart from the holder
	Containers int   `json:"-"`
}

// State is the state of a run.
type State string

// States of a run.
const (
	Running State = "running" // or a lab that comes up
	Held    State = "held"    // a lab that is up
	Dead    State = "dead"    // its holder is gone
	// Foreign is a run of another csiglab, which shares the engine or the list with
	// this one: its holder lives, or nobody here can tell.
	Foreign State = "foreign"
)

// Node is a host or a switch that has been deployed.
type Node struct {
	Name        string      `json:"name"`
	Kind        string      `json:"kind"`                  // host or switch
	Foreign     bool        `json:"foreign,omitempty"`     // it is none of csiglab's, or in the kernel: no process drives it
	Kernel      bool        `json:"kernel,omitempty"`      // a switch of csiglab whose datapath is in the kernel
	Silent      bool        `json:"silent,omitempty"`      // a switch that does not speak CSIG, though there are tags
	PID         int         `json:"pid"`                   // of the process that drives it
	Container   string      `json:"container,omitempty"`   // its name
	Application string      `json:"application,omitempty"` // name of the container of its programs
	Addresses   []string    `json:"addresses,omitempty"`   // of a host, in the fabric: IPv4, and IPv6 where programs run
	Network     string      `json:"network"`               // file of its network namespace
	Programs    string      `json:"programs,omitempty"`    // file of the network namespace of its programs, which has csig0 alone
	User        string      `json:"user,omitempty"`        // file of the user namespace that owns Network; empty: the machine's
	Metrics     string      `json:"metrics,omitempty"`     // socket at which its process serves metrics; others of the same process have the same
	Interfaces  []Interface `json:"interfaces"`            // by port
	Shard       *Shard      `json:"shard,omitempty"`       // of a run in several parts: where the node is
}

// Shard is the place of a part of a run. What a Node of it says of processes, namespaces
// and files is true there.
type Shard struct {
	Index     int    `json:"index"`
	Machine   string `json:"machine,omitempty"`   // node of the cluster
	Pod       string `json:"pod,omitempty"`       // in a cluster; empty: on this machine
	Context   string `json:"context,omitempty"`   // of the kubeconfig
	Namespace string `json:"namespace,omitempty"` // of the pod
	List      string `json:"list,omitempty"`      // folder of the list of runs that has the part, on this machine
}

// Interface is a port's interface in its node's network namespace. The interface of
// programs is joined to the node, not to a link.
type Interface struct {
	Name          string `json:"name"` // empty where the link is in a process's memory
	MAC           string `json:"mac"`
	Link          string `json:"link,omitempty"`
	Peer          string `json:"peer,omitempty"`
	PeerInterface string `json:"peerInterface,omitempty"`
	RateBPS       int64  `json:"rateBps,omitempty"` // of the model
}

// Link joins two nodes.
type Link struct {
	Name    string    `json:"name"`
	Nodes   [2]string `json:"nodes"`
	RateBPS int64     `json:"rateBps"`          // of the model
	DelayUS float64   `json:"delayUs"`          // of the model
	Memory  bool      `json:"memory,omitempty"` // in a process's memory, without interfaces
}

// owner returns the process that holds the run.
func (r *Run) owner() Owner {
	return Owner{PID: r.PID, Ticks: r.Ticks, Boot: r.Boot, Space: r.PIDSpace}
}

// SetOwner sets the process that holds the run.
func (r *Run) SetOwner(o Owner) { r.PID, r.Ticks, r.Boot, r.PIDSpace = o.PID, o.Ticks, o.Boot, o.Space }

// Describe returns the nodes and links of a graph. A backend adds processes,
// namespaces and containers. port returns the name of a port's interface; inMemory
// says of each link whether it is in memory and has no interfaces.
func Describe(g *topologies.Graph, port func(topologies.End) string, inMemory []bool) ([]Node, []Link) {
	nodes, links := make([]Node, len(g.Nodes)), make([]Link, len(g.Links))
	for i, n := range g.Nodes {
		nodes[i] = Node{Name: n.Name, Kind: "switch", Interfaces: []Interface{}}
		if n.Kind == topologies.Host {
			nodes[i].Kind, nodes[i].Addresses = "host", []string{address(wire.HostIP(i))}
		}
	}
	names := g.LinkNames()
	for id, l := range g.Links {
		memory := inMemory[id]
		links[id] = Link{
			Name: names[id], Nodes: [2]string{g.Nodes[l.A.Node].Name, g.Nodes[l.B.Node].Name},
			RateBPS: int64(l.Rate), DelayUS: l.Delay.Microseconds(), Memory: memory,
		}
		for _, end := range [][2]topologies.End{{l.A, l.B}, {l.B, l.A}} {
			own, peer := end[0], end[1]
			i := Interface{
				MAC: mac(own.Node, own.Port), Link: names[id], Peer: g.Nodes[peer.Node].Name, RateBPS: int64(l.Rate),
			}
			if !memory {
				i.Name, i.PeerInterface = port(own), port(peer)
			}
			n := &nodes[own.Node]
			for len(n.Interfaces) <= own.Port {
				n.Interfaces = append(n.Interfaces, Interface{})
			}
			n.Interfaces[own.Port] = i
		}
	}
	return nodes, links
}

// AddPrograms adds the interface of programs to the hosts that run programs.
func AddPrograms(nodes []Node, hosts []int, name string) {
	for _, i := range hosts {
		v6 := wire.HostIPv6(i)
		nodes[i].Addresses = append(nodes[i].Addresses, netip.AddrFrom16(v6).String())
		nodes[i].Interfaces = append(nodes[i].Interfaces, Interface{Name: name, MAC: mac(i, 0)})
	}
}

func address(ip uint32) string {
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}).String()
}

func mac(node, port int) string {
	m := wire.MAC(node, port)
	return net.HardwareAddr(m[:]).String()
}

// Entry is a run of this process in the list. Its methods may be called from
// several goroutines, but not at once.
type Entry struct {
	run  Run
	lock *os.File // of the run
}

// Register puts a run of this process into the list. It sets the run's Owner and
// Started.
func Register(r Run) (*Entry, error) {
	r.Started = time.Now().Round(0) // as its file has it
	r.SetOwner(Self())
	e := &Entry{run: r}
	err := e.write(func() (err error) {
		e.lock, err = lockRun(r.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Describe adds the nodes and links that have been deployed.
func (e *Entry) Describe(nodes []Node, links []Link) error {
	e.run.Nodes, e.run.Links = nodes, links
	return e.write(func() error { return nil })
}

// Remove takes the run, which is over, off the list and kills the commands that Enter
// has started in its nodes. It may be repeated.
func (e *Entry) Remove() error {
	if _, err := Kill(e.run.ID); err != nil {
		return err // it stays on the list
	}
	e.lock.Close() // may be closed already
	return forget(e.run.ID)
}

// Forget takes the run off the list and leaves its processes alone.
func (e *Entry) Forget() error {
	e.lock.Close() // may be closed already
	return forget(e.run.ID)
}

func (e *Entry) write(first func() error) error {
	if err := record(e.run, first); err != nil {
		return fmt.Errorf("note the run: %w", err)
	}
	return nil
}

// Fail puts a lab of this process that has ended by itself into the list, so that
// its user learns of it.
func Fail(r Run, end Report) error {
	r.End = &end
	if err := record(r, func() error { return nil }); err != nil {
		return fmt.Errorf("note the lab's end: %w", err)
	}
	return nil
}
