package experiment

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Labels of a node of a containerlab file by which it says what it is here. They win over
// its group, and that over its kind.
const (
	clabRole  = "csiglab.role"  // host, switch or none: not part of the fabric
	clabTier  = "csiglab.tier"  // tor, agg or core
	clabPorts = "csiglab.ports" // that a switch has
	clabDelay = "csiglab.delay" // of a switch
	// clabForeign is what csiglab sets up in a node that runs its own image, a value of
	// ForeignNode.Forwards. It counts where the file is an experiment.
	clabForeign = "csiglab.foreign"
)

// clabRoles has what a node is by its group, as containerlab's graph calls its layers and
// as csiglab writes it.
var clabRoles = map[string]topologies.CustomNode{
	"host": {Kind: topologies.Host}, "hosts": {Kind: topologies.Host}, "server": {Kind: topologies.Host}, "servers": {Kind: topologies.Host},
	"client": {Kind: topologies.Host}, "clients": {Kind: topologies.Host},
	"switch": {Kind: topologies.Switch}, "switches": {Kind: topologies.Switch},
	"leaf": {Kind: topologies.Switch, Tier: topologies.TierToR}, "leafs": {Kind: topologies.Switch, Tier: topologies.TierToR},
	"leaves": {Kind: topologies.Switch, Tier: topologies.TierToR}, "tor": {Kind: topologies.Switch, Tier: topologies.TierToR},
	"spine": {Kind: topologies.Switch, Tier: topologies.TierAgg}, "spines": {Kind: topologies.Switch, Tier: topologies.TierAgg},
	"agg": {Kind: topologies.Switch, Tier: topologies.TierAgg}, "superspine": {Kind: topologies.Switch, Tier: topologies.TierCore},
	"superspines": {Kind: topologies.Switch, Tier: topologies.TierCore}, "core": {Kind: topologies.Switch, Tier: topologies.TierCore},
}

// Names of containerlab 0.79 (docs/reference/references.md#containerlab-files).
var (
	clabKinds = strings.Fields(`linux host ext-container generic_vm openbsd freebsd k8s-kind keysight_ixia-c-one spirent_stc ostinato
		cvx cumulus_cvx nokia_srlinux arista_ceos juniper_crpd juniper_csrx sonic-vs sonic-vm nokia_sros nokia_srsim juniper_vmx juniper_vqfx juniper_vsrx
		juniper_vjunosrouter juniper_vjunosswitch juniper_vjunosevolved cisco_xrv cisco_xrv9k arista_veos cisco_csr1000v paloalto_panos
		mikrotik_ros 6wind_vsr cisco_n9kv cisco_ftdv dell_ftosv dell_sonic aruba_aoscx bridge ovs-bridge border0 ipinfusion_ocnos
		checkpoint_cloudguard ciena_saos rare cisco_xrd cisco_xrd_vrouter cisco_c8000 cisco_c8000v cisco_cat9kv cisco_iol cisco_asav
		cisco_vios nvidia_cumulusvx huawei_vrp fortinet_fortigate fdio_vpp vyosnetworks_vyos juniper_cjunosevolved arrcus_arcos
		f5_bigip-ve cisco_sdwan openwrt veesix_osvbng plvision_sonic`)
	clabBridges      = []string{"bridge", "ovs-bridge"} // kinds that are switches
	clabTopKeys      = []string{"name", "prefix", "mgmt", "topology", "settings", "debug"}
	clabTopologyKeys = []string{"defaults", "kinds", "groups", "nodes", "links"}
	clabNodeKeys     = strings.Fields(`image image-pull-policy restart-policy kind license type group startup-config startup-delay
		enforce-startup-config suppress-startup-config auto-remove exec binds volumes ports env credentials env-files user hostname entrypoint
		cmd labels runtime mgmt-ipv4 mgmt-ipv6 network-mode link-apply-mode cpu memory cpu-set extras config stages dns certificate
		healthcheck components aliases shm-size cap-add privileged cgroupns-mode cgroup-parent pid-mode tmpfs security-opts sysctls devices`)
	clabLinkKeys = strings.Fields(`type endpoints endpoint mtu ipv4 ipv6 vars labels host-interface mode remote vni dst-port src-port udp-port parent-interface`)
	clabEndKeys  = []string{"node", "interface", "mac", "ipv4", "ipv6", "vars"}
	// clabOutside are the types of link that leave the lab; clabPseudo are the names that
	// stand for this in the short form.
	clabOutside = []string{"mgmt-net", "macvlan", "host", "vxlan", "vxlan-stitch", "dummy"}
	clabPseudo  = []string{"host", "mgmt-net", "macvlan", "dummy"}
	clabInside  = []string{"veth", "veth-stitch"}
)

// clabReader reads a containerlab topology file.
type clabReader struct {
	rate  units.Rate     // of links without their own; 0: none
	delay units.Duration // likewise
	errs  Errors

	custom   topologies.Custom
	position map[string]int // of a node in custom, -1 for one that is left out
	names    []string       // of the nodes
	nodes    []clabNode     // of custom
	links    []clabLink     // likewise
	images   clabImages
	foreign  []ForeignNode // nodes that run their own images
	bareRate bool          // a link has no rate of its own
	ownRate  bool          // a link has one
	bareTime bool          // a link has no delay of its own
	outside  int           // links that leave the fabric
	left     []string      // nodes that are left out
}

// clabNode is what a file says of a node beside its part in the fabric.
type clabNode struct {
	at   *tree
	role bool // a label or the group says what it is
	// bridge says that its kind is one of clabBridges, which a label or the group may overrule.
	bridge bool
}

// clabLink is what a file says of a link beside its part in the fabric: the interfaces at its
// ends A and B.
type clabLink struct {
	at         *tree
	interfaces [2]string
}

// fail adds an error at a place of the file.
func (r *clabReader) fail(t *tree, path, suggestion, format string, args ...any) {
	r.errs = append(r.errs, t.at.error(path, fmt.Sprintf(format, args...), suggestion))
}

// read returns the fabric of a file. Its error has the places.
func (r *clabReader) read(name string) (Built, error) {
	t, err := readClab(name)
	if err != nil {
		return Built{}, err
	}
	r.custom.Name, r.position = fileStem(name), map[string]int{}
	r.keys(t, "", clabTopKeys)
	if text := t.get("name"); text != nil && text.kind == scalar {
		r.custom.Name = text.text
	}
	topology := t.get("topology")
	if topology == nil || topology.kind != mapping {
		r.fail(t, "", "", "no containerlab topology: the key %q is missing, or is no mapping", "topology")
		return Built{}, r.errs
	}
	r.keys(topology, "topology", clabTopologyKeys)
	r.readNodes(topology)
	r.readLinks(topology)
	var roles []string
	if len(r.errs) == 0 {
		roles = r.settle()
		r.check(topology)
	}
	if len(r.errs) > 0 {
		return Built{}, sortErrors(name, r.errs)
	}
	b, err := buildGraph(r.custom.Build())
	if err != nil {
		return b, err
	}
	r.nameInterfaces(b.Graph)
	for _, note := range append(roles, r.images.note(), r.foreigners(), r.outsiders()) {
		if note != "" {
			b.Notes = append(b.Notes, filepath.Base(name)+": "+note)
		}
	}
	return b, nil
}

// readClab returns the YAML of a file. One with Go templates, which containerlab renders
// before it reads YAML, is refused.
func readClab(name string) (*tree, error) {
	data, err := readInput(name, maxTopologyFile)
	if err != nil {
		return nil, err
	}
	if before, _, found := strings.Cut(string(data), "{{"); found {
		return nil, &Error{
			File: name, Line: 1 + strings.Count(before, "\n"), Column: len(before) - strings.LastIndex(before, "\n"),
			Msg: "a template; write the file that containerlab makes of it with containerlab deploy --export-rendered",
		}
	}
	t, errs := parseTree(data, origin{file: name}, false)
	switch {
	case len(errs) > 0:
		return nil, errs
	case t.kind != mapping:
		return nil, t.at.error("", fmt.Sprintf("want a mapping with name and topology, got %v", t.kind), "")
	}
	return t, nil
}

// keys reports keys that containerlab does not have. It reports whether t is a mapping.
func (r *clabReader) keys(t *tree, path string, known []string) bool {
	if t == nil || t.kind == null {
		return false
	}
	if t.kind != mapping {
		r.fail(t, path, "", "want a mapping, got %v", t.kind)
		return false
	}
	for _, e := range t.keys {
		if !slices.Contains(known, e.name) {
			r.fail(&tree{at: e.at}, join(path, e.name), spelling.Nearest(e.name, known), "unknown key %q", e.name)
		}
	}
	return true
}

// readNodes takes the nodes. Values of a node win over those of its group, these over
// those of its kind, these over the defaults.
func (r *clabReader) readNodes(topology *tree) {
	nodes := topology.get("nodes")
	if nodes == nil || nodes.kind != mapping {
		r.fail(topology, "topology.nodes", "", "want a mapping of nodes")
		return
	}
	r.keys(topology.get("defaults"), "topology.defaults", clabNodeKeys)
	for _, section := range []string{"kinds", "groups"} {
		all := topology.get(section)
		if all == nil || all.kind != mapping {
			continue
		}
		for _, e := range all.keys {
			if section == "kinds" {
				r.kind(&tree{at: e.at, text: e.name}, "topology.kinds."+e.name)
			}
			r.keys(e.value, join("topology."+section, e.name), clabNodeKeys)
		}
	}
	for _, e := range nodes.keys {
		r.names = append(r.names, e.name)
		path := "topology.nodes." + e.name
		if e.value.kind != null && !r.keys(e.value, path, clabNodeKeys) {
			continue
		}
		r.readNode(topology, e, path)
	}
}

// kind reports a kind that containerlab does not have.
func (r *clabReader) kind(t *tree, path string) {
	if !slices.Contains(clabKinds, t.text) {
		r.fail(t, path, spelling.Nearest(t.text, clabKinds), "unknown kind %q", t.text)
	}
}

func (r *clabReader) readNode(topology *tree, e entry, path string) {
	levels := []*tree{e.value, nil, nil, topology.get("defaults")}
	value := func(key string) *tree {
		for _, level := range levels {
			if v := level.get(key); v != nil && v.kind == scalar {
				return v
			}
		}
		return nil
	}
	group := value("group")
	if group != nil {
		levels[1] = topology.get("groups").get(group.text)
	}
	kind := value("kind")
	if kind != nil {
		levels[2] = topology.get("kinds").get(kind.text)
	}
	if group == nil {
		if group = value("group"); group != nil { // of the kind
			levels[1] = topology.get("groups").get(group.text)
		}
	}
	label := func(key string) *tree {
		for _, level := range levels {
			if v := level.get("labels").get(key); v != nil && v.kind == scalar {
				return v
			}
		}
		return nil
	}
	node, known := topologies.CustomNode{Name: e.name, Kind: topologies.Switch}, false
	if kind == nil {
		r.fail(&tree{at: e.at}, path, "", "the node has no kind, nor do defaults or its group have one")
		return
	}
	r.kind(kind, path+".kind")
	if group != nil {
		if of, ok := clabRoles[strings.ToLower(group.text)]; ok {
			node.Kind, node.Tier, known = of.Kind, of.Tier, true
		}
	}
	r.readLabels(&node, label, path+".labels.")
	role := label(clabRole)
	if role != nil && role.text == "none" {
		r.position[e.name] = -1
		r.left = append(r.left, e.name)
		return
	}
	image := value("image")
	switch forwards := label(clabForeign); {
	case forwards != nil:
		r.readForeign(e, path, forwards, kind, image, value("cmd"))
	case image != nil:
		r.images.add(image.text)
	}
	r.position[e.name] = len(r.custom.Nodes)
	r.custom.Nodes = append(r.custom.Nodes, node)
	r.nodes = append(r.nodes, clabNode{at: &tree{at: e.at}, role: known || role != nil, bridge: slices.Contains(clabBridges, kind.text)})
}

// readForeign takes a node that runs its own image.
func (r *clabReader) readForeign(e entry, path string, forwards, kind, image, command *tree) {
	known := []string{ForwardsNothing, ForwardsBridge, ForwardsRouter}
	switch {
	case !slices.Contains(known, forwards.text):
		r.fail(forwards, path+".labels."+clabForeign, spelling.Nearest(forwards.text, known), "unknown value %q; known: %s", forwards.text, strings.Join(known, " "))
	case kind.text != "linux":
		r.fail(kind, path+".kind", "", "csiglab starts images of kind linux alone, not of %s; without the label %s the node is csiglab's own", kind.text, clabForeign)
	case image == nil:
		r.fail(&tree{at: e.at}, path, "", "the label %s wants an image", clabForeign)
	default:
		n := ForeignNode{Name: e.name, Forwards: forwards.text, Image: image.text}
		if command != nil {
			n.Command = command.text
		}
		r.foreign = append(r.foreign, n)
	}
}

// foreigners returns a note on the nodes that may run their own images, or "".
func (r *clabReader) foreigners() string {
	var names []string
	for _, n := range r.foreign {
		names = append(names, n.Name)
	}
	if names == nil {
		return ""
	}
	return "nodes with the label " + clabForeign + " run their own images in a lab of this file, elsewhere where the key nodes says so: " + listed(names)
}

// readLabels takes what the labels of a node say. Those for switches have no meaning on hosts.
func (r *clabReader) readLabels(node *topologies.CustomNode, label func(key string) *tree, path string) {
	if t := label(clabRole); t != nil {
		kind, ok := graphKinds[t.text]
		if node.Kind = kind; !ok && t.text != "none" {
			r.fail(t, path+clabRole, spelling.Nearest(t.text, []string{"host", "switch", "none"}), "unknown role %q; known: host switch none", t.text)
		}
	}
	if node.Kind == topologies.Host { // labels of switches may come from the defaults
		node.Tier = topologies.TierHost
		return
	}
	if t := label(clabTier); t != nil {
		tier, ok := graphTiers[t.text]
		if node.Tier = tier; !ok || t.text == byLinks {
			r.fail(t, path+clabTier, spelling.Nearest(t.text, []string{"tor", "agg", "core"}), "unknown tier %q; known: tor agg core", t.text)
		}
	}
	if t := label(clabPorts); t != nil {
		n, err := strconv.Atoi(t.text)
		if node.Ports = n; err != nil || n < 1 || n > maxPorts {
			r.fail(t, path+clabPorts, "", "%q is not a number of ports from 1 to %d", t.text, maxPorts)
		}
	}
	if t := label(clabDelay); t != nil {
		var err error
		if node.Delay, err = units.ParseDuration(t.text); err != nil {
			r.fail(t, path+clabDelay, suggestUnit(t.text, "duration"), "%v", err)
		}
	}
}

func (r *clabReader) readLinks(topology *tree) {
	links := topology.get("links")
	switch {
	case links == nil || links.kind == null:
		r.fail(topology, "topology.links", "", "the file has no links, so that there is nothing to send over")
		return
	case links.kind != sequence:
		r.fail(topology, "topology.links", "", "want a list of links")
		return
	}
	taken := map[string]int{} // interface -> its link
	for i, l := range links.items {
		path := fmt.Sprintf("topology.links[%d]", i)
		if !r.keys(l, path, clabLinkKeys) {
			continue
		}
		if t := l.get("type"); t != nil && !slices.Contains(clabInside, t.text) {
			if !slices.Contains(clabOutside, t.text) {
				r.fail(t, path+".type", spelling.Nearest(t.text, slices.Concat(clabInside, clabOutside)), "unknown type of link %q", t.text)
			}
			r.outside++
			continue
		}
		ends := l.get("endpoints")
		if ends == nil || ends.kind != sequence || len(ends.items) != 2 {
			r.fail(l, path+".endpoints", "", "want two endpoints")
			continue
		}
		var at [2]int
		var interfaces [2]string
		inside, known := true, true
		for k, end := range ends.items {
			node, name, ok := r.endpoint(end, fmt.Sprintf("%s.endpoints[%d]", path, k))
			if !ok {
				known = false
				continue
			}
			position, isNode := r.position[node]
			switch {
			case !isNode && slices.Contains(clabPseudo, node):
				inside = false
				continue
			case !isNode && !slices.Contains(r.names, node):
				r.fail(end, fmt.Sprintf("%s.endpoints[%d]", path, k), spelling.Nearest(node, r.names), "no node is called %q", node)
				known = false
				continue
			case !isNode: // an error says why
				known = false
				continue
			case position < 0:
				inside = false
			}
			if first, twice := taken[node+":"+name]; twice {
				r.fail(end, fmt.Sprintf("%s.endpoints[%d]", path, k), "", "interface %s of %s is that of links[%d] already", name, node, first)
				known = false
			}
			taken[node+":"+name], at[k], interfaces[k] = i, position, name
		}
		if !known {
			continue
		}
		if !inside {
			r.outside++
			continue
		}
		one := topologies.CustomLink{A: at[0], B: at[1], Rate: r.rate, Delay: r.delay}
		if r.readVars(l, &one, path) {
			r.custom.Links = append(r.custom.Links, one)
			r.links = append(r.links, clabLink{l, interfaces})
		}
	}
}

// endpoint returns the node and the interface of an end of a link, in the short form
// node:interface or the long one.
func (r *clabReader) endpoint(t *tree, path string) (node, name string, ok bool) {
	if t.kind == scalar {
		node, name, ok = strings.Cut(t.text, ":")
		if !ok || node == "" || name == "" {
			r.fail(t, path, "", "%q is not node:interface", t.text)
			return "", "", false
		}
		return node, name, true
	}
	if !r.keys(t, path, clabEndKeys) {
		return "", "", false
	}
	for _, key := range []string{"node", "interface"} {
		if v := t.get(key); v == nil || v.kind != scalar {
			r.fail(t, path, "", "the key %q is missing", key)
			return "", "", false
		}
	}
	return t.get("node").text, t.get("interface").text, true
}

// readVars takes rate and delay from the variables of a link. Other variables are those of
// other tools.
func (r *clabReader) readVars(l *tree, one *topologies.CustomLink, path string) bool {
	vars, before := l.get("vars"), len(r.errs)
	own := vars.get("rate") != nil
	r.bareRate, r.ownRate = r.bareRate || !own, r.ownRate || own
	r.bareTime = r.bareTime || vars.get("delay") == nil
	if vars != nil && vars.kind == mapping {
		for _, e := range vars.keys {
			at := path + ".vars." + e.name
			var err error
			switch near := spelling.Within(e.name, []string{"rate", "delay"}, 1); {
			case e.name == "rate":
				if one.Rate, err = units.ParseRate(e.value.text); err != nil {
					r.fail(e.value, at, suggestUnit(e.value.text, "rate"), "%v", err)
				}
			case e.name == "delay":
				if one.Delay, err = units.ParseDuration(e.value.text); err != nil {
					r.fail(e.value, at, suggestUnit(e.value.text, "duration"), "%v", err)
				}
			case near != "":
				r.fail(&tree{at: e.at}, at, near, "unknown variable %q", e.name)
			}
		}
	}
	if one.Rate == 0 && len(r.errs) == before {
		r.fail(l, path, "", "the link has no rate; write vars: {rate: 100Gbps}, or topology.clab.rate for all links")
	}
	if one.Delay == 0 && len(r.errs) == before {
		r.fail(l, path, "", "the link has no delay; write vars: {delay: 1us}, or topology.clab.delay for all links")
	}
	return len(r.errs) == before
}

// check reports what is wrong with the fabric as a whole.
func (r *clabReader) check(topology *tree) {
	var e *topologies.CustomError
	if !errors.As(r.custom.Check(), &e) {
		return
	}
	switch {
	case e.Node >= 0:
		hint := ""
		if strings.HasSuffix(e.Msg, "has no link") {
			hint = "; label " + clabRole + ": none leaves it out"
		}
		r.fail(r.nodes[e.Node].at, "topology.nodes."+r.custom.Nodes[e.Node].Name, "", "%s%s", e.Msg, hint)
	case e.Link >= 0:
		r.fail(r.links[e.Link].at, "topology.links", "", "%s", e.Msg)
	case len(r.custom.Links) == 0:
		r.fail(topology.get("nodes"), "topology.nodes", "", "no link joins two of the nodes, so that there is nothing to send over")
	default:
		r.fail(topology.get("nodes"), "topology.nodes", "", "%s; label %s says what a node is", e.Msg, clabRole)
	}
}
