package containerlab

import (
	"fmt"
	"io"
	"net/netip"

	"github.com/csiglab/csiglab/topologies"
)

// Shard is one part of a lab that is deployed on several machines. Links inside of a part
// are veth pairs. A link between parts is a vxlan tunnel of containerlab: an interface in
// each of the two files, with the same identifier, which sends to the other machine.
type Shard struct {
	Of      []int // by node of the graph: its part
	Index   int   // of this part
	Remotes []netip.Addr
	// VNI is the identifier of the first link between parts. Each further link has the next
	// one, in the order of the graph's links, so that all parts give it the same.
	VNI int
}

// maxVNI is the largest identifier of a vxlan (RFC 7348 §5: 24 bits).
const maxVNI = 1<<24 - 1

// WriteShard writes one part of the lab as a containerlab topology, which containerlab's own
// command deploys on the part's machine. Its name is that of the lab with the number of the
// part. Errors are those of WriteTopology.
func WriteShard(w io.Writer, lab Lab, s Shard) error {
	if err := lab.validate(); err != nil {
		return err
	}
	if err := s.validate(&lab); err != nil {
		return fmt.Errorf("%w %q: %w", ErrInvalid, lab.Name, err)
	}
	text, err := lab.render(&s)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// cut returns how many links are between parts.
func (s *Shard) cut(g *topologies.Graph) (n int) {
	for _, l := range g.Links {
		if s.Of[l.A.Node] != s.Of[l.B.Node] {
			n++
		}
	}
	return n
}

func (s *Shard) validate(lab *Lab) error {
	parts := len(s.Remotes)
	if len(s.Of) != len(lab.Graph.Nodes) {
		return fmt.Errorf("parts for %d of %d nodes", len(s.Of), len(lab.Graph.Nodes))
	}
	if len(lab.Sidecars) > 0 {
		return fmt.Errorf("programs beside nodes in parts")
	}
	for node, part := range s.Of {
		if part < 0 || part >= parts {
			return fmt.Errorf("node %s is in part %d; there are addresses of %d", lab.Graph.Nodes[node].Name, part, parts)
		}
	}
	if s.Index < 0 || s.Index >= parts {
		return fmt.Errorf("part %d of %d", s.Index, parts)
	}
	seen := map[netip.Addr]int{}
	for i, a := range s.Remotes {
		other, ok := seen[a]
		switch {
		case !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() || a.Zone() != "":
			return fmt.Errorf("part %d: address %v is none at which other machines reach it", i, a)
		case ok:
			return fmt.Errorf("parts %d and %d: both have address %v", other, i, a)
		case a.Is4() != s.Remotes[0].Is4():
			return fmt.Errorf("addresses %v and %v: want all of IPv4 or all of IPv6", s.Remotes[0], a)
		}
		seen[a] = i
	}
	if last := s.VNI + s.cut(lab.Graph) - 1; s.VNI < 1 || last > maxVNI {
		return fmt.Errorf("vxlan identifiers %d to %d: want 1 to %d", s.VNI, last, maxVNI)
	}
	return nil
}

// tunnel is an end of a link between parts in the file.
type tunnel struct {
	Type     string   `yaml:"type"`
	Endpoint endpoint `yaml:"endpoint"`
	Remote   string   `yaml:"remote"`
	VNI      int      `yaml:"vni"`
	DstPort  int      `yaml:"dst-port"`
	MTU      int      `yaml:"mtu"`
	Vars     linkVars `yaml:"vars,flow"`
}

// has reports whether a node is in the part; every node is in the part nil.
func (s *Shard) has(node int) bool { return s == nil || s.Of[node] == s.Index }

// ends returns a part's end of a link between parts, and the other end.
func (s *Shard) ends(l *topologies.Link) (here, there topologies.End, ok bool) {
	switch {
	case s.has(l.A.Node):
		return l.A, l.B, true
	case s.has(l.B.Node):
		return l.B, l.A, true
	}
	return here, there, false
}
