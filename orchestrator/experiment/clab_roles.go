package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/topologies"
)

// isHost reports whether a node is a host.
func isHost(n topologies.CustomNode) bool { return n.Kind == topologies.Host }

// settle decides what the nodes are whose label and group do not say it: a bridge is a switch, another
// node with one link is a host, one with several is a switch, and one without a link is left out. It
// returns a note for each kind of guess.
func (r *clabReader) settle() (notes []string) {
	links := make([]int, len(r.custom.Nodes))
	for _, l := range r.custom.Links {
		links[l.A]++
		links[l.B]++
	}
	var hosts, switches, unlinked []string
	moved := make([]int, len(r.custom.Nodes)) // their new positions
	var nodes []topologies.CustomNode
	var said []clabNode
	for i, n := range r.custom.Nodes {
		switch {
		case r.nodes[i].role:
		case links[i] == 0:
			unlinked = append(unlinked, n.Name)
			continue
		case r.nodes[i].bridge:
		case links[i] == 1:
			n = topologies.CustomNode{Name: n.Name, Kind: topologies.Host}
			hosts = append(hosts, n.Name)
		default:
			switches = append(switches, n.Name)
		}
		moved[i] = len(nodes)
		nodes, said = append(nodes, n), append(said, r.nodes[i])
	}
	r.custom.Nodes, r.nodes = nodes, said
	for i := range r.custom.Links {
		l := &r.custom.Links[i]
		l.A, l.B = moved[l.A], moved[l.B]
	}
	r.left = append(r.left, unlinked...)
	add := func(what string, names []string) {
		if len(names) > 0 {
			notes = append(notes, what+": "+listed(names))
		}
	}
	add("hosts, as they have one link", hosts)
	add("switches, as they have several", switches)
	add("a switch in the middle of the link of two hosts", r.wire())
	add("hosts that are added, as the file has fewer than two", r.addHosts())
	if len(notes) > 0 {
		notes[0] += "; label " + clabRole + " says otherwise"
	}
	return notes
}

// free returns name, or if a node has it already, a name that begins with it.
func (r *clabReader) free(name string) string {
	for slices.Contains(r.names, name) {
		name += "2"
	}
	r.names = append(r.names, name)
	return name
}

// put adds a node that the file does not have. It stands for errors where another one does.
func (r *clabReader) put(name string, kind topologies.Kind, like int) (position int) {
	r.custom.Nodes = append(r.custom.Nodes, topologies.CustomNode{Name: r.free(name), Kind: kind})
	r.nodes = append(r.nodes, r.nodes[like])
	return len(r.custom.Nodes) - 1
}

// wire puts a switch into the middle of each link that joins two hosts which are hosts because
// of it. It returns the names of the switches.
func (r *clabReader) wire() (added []string) {
	end := func(i int) bool { return isHost(r.custom.Nodes[i]) && !r.nodes[i].role }
	for i := range len(r.custom.Links) {
		whole, at := r.custom.Links[i], r.links[i]
		if !end(whole.A) || !end(whole.B) {
			continue
		}
		middle := r.put("wire", topologies.Switch, whole.A)
		added = append(added, r.custom.Nodes[middle].Name)
		near, far := whole, whole
		near.B, near.Delay = middle, max(1, whole.Delay/2)
		far.A, far.Delay = middle, max(1, whole.Delay-whole.Delay/2)
		r.custom.Links[i], r.links[i] = near, clabLink{at.at, [2]string{at.interfaces[0], ""}}
		r.custom.Links = append(r.custom.Links, far)
		r.links = append(r.links, clabLink{at.at, [2]string{"", at.interfaces[1]}})
	}
	return added
}

// addHosts adds a host at each switch without one, if the file has fewer than two hosts: at
// the ToRs, if groups or labels say which these are. Its link is like the first one of the
// switch. It returns the names of the hosts.
func (r *clabReader) addHosts() (added []string) {
	hosts, racks, first := 0, false, make([]int, len(r.custom.Nodes))
	for i, n := range r.custom.Nodes {
		first[i] = -1
		racks = racks || n.Tier == topologies.TierToR
		if isHost(n) {
			hosts++
		}
	}
	if hosts > 1 {
		return nil
	}
	has := make([]bool, len(r.custom.Nodes))
	for i, l := range slices.Backward(r.custom.Links) {
		first[l.A], first[l.B] = i, i
		has[l.A], has[l.B] = has[l.A] || isHost(r.custom.Nodes[l.B]), has[l.B] || isHost(r.custom.Nodes[l.A])
	}
	for i, n := range slices.Clone(r.custom.Nodes) {
		if isHost(n) || has[i] || first[i] < 0 || racks && n.Tier != topologies.TierToR {
			continue
		}
		host := r.put(n.Name+"-host", topologies.Host, i)
		added = append(added, r.custom.Nodes[host].Name)
		like := r.custom.Links[first[i]]
		r.custom.Links = append(r.custom.Links, topologies.CustomLink{A: host, B: i, Rate: like.Rate, Delay: like.Delay})
		r.links = append(r.links, clabLink{r.links[first[i]].at, [2]string{"eth1", "host"}})
	}
	return added
}

// mostInNote is how many names a note lists at most.
const mostInNote = 6

// listed returns names for a note.
func listed(names []string) string {
	if more := len(names) - mostInNote; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostInNote], ", "), more)
	}
	return strings.Join(names, ", ")
}

// outsiders returns a note on what is not part of the fabric, or "".
func (r *clabReader) outsiders() string {
	var parts []string
	if len(r.left) > 0 {
		parts = append(parts, "not part of the fabric: "+listed(r.left))
	}
	if r.outside > 0 {
		parts = append(parts, fmt.Sprintf("%d links that leave the fabric are left out", r.outside))
	}
	return strings.Join(parts, "; ")
}

// clabImages are the images of the nodes, in order of the file. csiglab runs none of them.
type clabImages []string

func (c *clabImages) add(image string) {
	if !slices.Contains(*c, image) {
		*c = append(*c, image)
	}
}

// note returns which images are not used, or "".
func (c clabImages) note() string {
	if len(c) == 0 {
		return ""
	}
	return "images are not used, nor what configures them, as each node is csiglab's own: " + listed(c)
}

// nameInterfaces gives the ports of the graph the names that the file has for their interfaces.
// A node keeps the runtime's names if one of its own cannot be that of an interface.
func (r *clabReader) nameInterfaces(g *topologies.Graph) {
	names := make([][]string, len(g.Nodes))
	for i, l := range g.Links { // in the order of the file
		ends := [2]topologies.End{l.A, l.B}
		if g.Nodes[l.A.Node].Name != r.custom.Nodes[r.custom.Links[i].A].Name {
			ends = [2]topologies.End{l.B, l.A}
		}
		for k, end := range ends {
			for len(names[end.Node]) <= end.Port {
				names[end.Node] = append(names[end.Node], "")
			}
			names[end.Node][end.Port] = r.links[i].interfaces[k]
		}
	}
	for i := range names {
		if slices.ContainsFunc(names[i], func(name string) bool { return !isInterface(name) }) {
			names[i] = nil
		}
	}
	g.Interfaces = names
}

// isInterface reports whether an interface of a node can have that name. Linux has names of up to
// 15 bytes without / and : (net/core/dev.c, dev_valid_name). lo, csig0 and, in containers, eth0
// are other interfaces.
func isInterface(name string) bool {
	const most = 15
	if name == "" || len(name) > most || name == "." || name == ".." || slices.Contains([]string{"lo", "csig0", "eth0"}, name) {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("/:%", c) })
}
