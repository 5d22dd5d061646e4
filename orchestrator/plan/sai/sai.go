// Package sai writes what the switches of a plan are configured with as attributes of the Switch
// Abstraction Interface, for comparison with the configuration of a device. It configures no
// device, and what SAI has no attribute for stands apart under names of its own.
package sai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Sources of the names of attributes.
const (
	source     = "opencomputeproject/SAI, inc/*.h, 1.18"
	csigSource = "SAI-CSIG-Spec of the same repository, a proposal in review"
)

// Document is the configuration of all switches.
type Document struct {
	Schema   int      `json:"schema"` // 1
	Name     string   `json:"name"`   // of the fabric
	Seed     uint64   `json:"seed"`   // of the run, which the hash seeds follow from
	SAI      string   `json:"sai"`    // source of the names SAI_…
	CSIG     string   `json:"csig,omitempty"`
	Switches []Switch `json:"switches"`
}

// Switch is the objects of one switch, each behind those that it names.
type Switch struct {
	Name    string   `json:"name"`
	Objects []Object `json:"objects"`
}

// Object is an object of SAI. Attributes that name another object have its ID.
type Object struct {
	Type       string         `json:"type"` // SAI_OBJECT_TYPE_…
	ID         string         `json:"id"`   // of ours, unique in the switch
	Attributes map[string]any `json:"attributes"`
	Ours       map[string]any `json:"ours,omitempty"` // what SAI has no attribute for
}

// Write writes the configuration of the switches of a plan as JSON. seed is that of the run. The
// error is of w, or says that the plan has no switches.
func Write(w io.Writer, p *plan.Plan, seed uint64) error {
	d, err := New(p, seed)
	if err != nil {
		return err
	}
	to := json.NewEncoder(w)
	to.SetIndent("", " ")
	to.SetEscapeHTML(false)
	return to.Encode(d)
}

// New returns the configuration of the switches of a plan.
func New(p *plan.Plan, seed uint64) (*Document, error) {
	d := &Document{Schema: 1, Name: p.Graph.Name, Seed: seed, SAI: source, Switches: []Switch{}}
	if p.CSIG != nil {
		d.CSIG = csigSource
	}
	adjacency := p.Graph.Adjacency()
	for n := p.Hosts(); n < len(p.Graph.Nodes); n++ {
		c := p.Switch(n)
		if c == nil {
			return nil, fmt.Errorf("%s has no configuration: without packets there are no switches", p.Graph.Nodes[n].Name)
		}
		b := &builder{plan: p, adjacency: adjacency, cfg: c, node: n, ids: map[string]string{}}
		b.build()
		d.Switches = append(d.Switches, Switch{c.Name, b.objects})
	}
	return d, nil
}

// builder makes the objects of one switch.
type builder struct {
	plan      *plan.Plan
	adjacency [][]topologies.Adjacent
	cfg       *dataplane.Config
	node      int
	objects   []Object
	ids       map[string]string // of objects that several others name, by type and content
}

func (b *builder) build() {
	c := b.cfg
	b.add("SWITCH", "switch", map[string]any{
		"SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_SEED": uint32(c.Forward.Seed),
	}, map[string]any{"ecmpSeed": fmt.Sprintf("%#016x", c.Forward.Seed), "routing": c.Forward.Routing.Name, "delay": c.Delay.String()})
	b.csig()
	b.qosMap()
	pool := b.pool()
	for i := range c.Ports {
		b.port(i)
		b.queues(i, pool)
	}
	b.routes()
}

// add adds an object. ours may be nil.
func (b *builder) add(kind, id string, attributes, ours map[string]any) string {
	b.objects = append(b.objects, Object{"SAI_OBJECT_TYPE_" + kind, id, attributes, ours})
	return id
}

// shared adds an object unless the switch has the same one, and returns its ID: the prefix and a
// number.
func (b *builder) shared(kind, prefix string, attributes, ours map[string]any) string {
	content, err := json.Marshal([]any{attributes, ours})
	if err != nil {
		panic("sai: " + err.Error()) // all values are numbers and texts
	}
	key := kind + string(content)
	if id, ok := b.ids[key]; ok {
		return id
	}
	n := 0
	for i := range b.objects {
		if b.objects[i].Type == "SAI_OBJECT_TYPE_"+kind {
			n++
		}
	}
	id := fmt.Sprintf("%s%d", prefix, n)
	b.ids[key] = id
	return b.add(kind, id, attributes, ours)
}

func portID(i int) string { return fmt.Sprintf("port%d", i) }

// port adds a port, and the interface by which it routes.
func (b *builder) port(i int) {
	p := &b.cfg.Ports[i]
	attributes := map[string]any{
		"SAI_PORT_ATTR_SPEED":       int64(p.Rate / units.Mbps),
		"SAI_PORT_ATTR_ADMIN_STATE": true,
		"SAI_PORT_ATTR_MTU":         int64(b.plan.Path.MTU),
	}
	end := b.adjacency[b.node][i]
	ours := map[string]any{"name": plan.PortName(b.plan.Graph, b.adjacency, b.node, i), "peer": b.plan.Graph.Nodes[end.Peer.Node].Name}
	if b.cfg.Classes != nil {
		attributes["SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP"] = "dscp-to-tc"
		pfc := 0
		for k, class := range b.cfg.Classes.List {
			if class.Lossless {
				pfc |= 1 << k
			}
		}
		attributes["SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL"] = pfc
	}
	b.portTags(p, attributes, ours)
	b.add("PORT", portID(i), attributes, ours)
	b.add("ROUTER_INTERFACE", fmt.Sprintf("rif%d", i), map[string]any{
		"SAI_ROUTER_INTERFACE_ATTR_TYPE": "SAI_ROUTER_INTERFACE_TYPE_PORT", "SAI_ROUTER_INTERFACE_ATTR_PORT_ID": portID(i),
		"SAI_ROUTER_INTERFACE_ATTR_SRC_MAC_ADDRESS": mac(p.MAC),
	}, nil)
	b.add("NEIGHBOR_ENTRY", fmt.Sprintf("neighbor%d", i), map[string]any{
		"rif_id": fmt.Sprintf("rif%d", i), "ip_address": address(end.Peer.Node), "SAI_NEIGHBOR_ENTRY_ATTR_DST_MAC_ADDRESS": mac(p.PeerMAC),
	}, nil)
	b.add("NEXT_HOP", nextHop(uint16(i)), map[string]any{
		"SAI_NEXT_HOP_ATTR_TYPE": "SAI_NEXT_HOP_TYPE_IP", "SAI_NEXT_HOP_ATTR_IP": address(end.Peer.Node), "SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID": fmt.Sprintf("rif%d", i),
	}, nil)
}

func nextHop(port uint16) string { return fmt.Sprintf("nexthop%d", port) }

func mac(m [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// address returns the IPv4 address of a node.
func address(node int) string {
	ip := wire.HostIP(node)
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}).String()
}

// routes adds a route to each host, and a group for each set of ports that some of them have.
func (b *builder) routes() {
	for h := range b.plan.Hosts() {
		ports := b.cfg.Forward.Routes.To(h)
		var to string
		switch len(ports) {
		case 0:
			continue
		case 1:
			to = nextHop(ports[0])
		default:
			to = b.group(ports, h)
		}
		b.add("ROUTE_ENTRY", "route-"+b.plan.Graph.Nodes[h].Name, map[string]any{
			"destination": address(h) + "/32", "SAI_ROUTE_ENTRY_ATTR_PACKET_ACTION": "SAI_PACKET_ACTION_FORWARD", "SAI_ROUTE_ENTRY_ATTR_NEXT_HOP_ID": to,
		}, nil)
	}
}

// group returns the group of the ports to a host.
func (b *builder) group(ports []uint16, host int) string {
	weights := make([]int, len(ports))
	for i, port := range ports {
		weights[i] = 1
		if w := b.cfg.Forward.Weights; w != nil {
			if of := w.ByRack[w.Racks[host]]; of != nil {
				weights[i] = int(of[port])
			}
		}
	}
	before := len(b.objects)
	id := b.shared("NEXT_HOP_GROUP", "group", map[string]any{"SAI_NEXT_HOP_GROUP_ATTR_TYPE": "SAI_NEXT_HOP_GROUP_TYPE_DYNAMIC_UNORDERED_ECMP"},
		map[string]any{"ports": slices.Clone(ports), "weights": weights})
	if len(b.objects) == before {
		return id
	}
	for i, port := range ports {
		b.add("NEXT_HOP_GROUP_MEMBER", fmt.Sprintf("%s-%d", id, port), map[string]any{
			"SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID": id, "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID": nextHop(port), "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_WEIGHT": weights[i],
		}, nil)
	}
	return id
}
