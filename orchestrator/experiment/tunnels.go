package experiment

// Tunnels puts what hosts of one rack send to another into VXLAN tunnels between their switches.
type Tunnels struct {
	Tags string `yaml:"tags" is:"outer|inner" default:"outer" doc:"where the CSIG tag of a packet in a tunnel is: 'outer', switches that speak CSIG move it to the outer header, and back at the far end; 'inner': it stays with the inner frame, where no switch within the tunnel sees it"`
	VNI  int    `yaml:"vni" is:"0 to 16777215" default:"1" doc:"VXLAN network identifier"`
}

// Where returns where tags are, "" without tunnels.
func (t *Tunnels) Where() string {
	if t == nil {
		return ""
	}
	return t.Tags
}

// TagsOuter is the value of Tunnels.Tags for tags that move.
const TagsOuter = "outer"

// tunnels refuses what tunnels cannot have.
func (d *decoder) tunnels(e *Experiment) {
	if e.Tunnels == nil {
		return
	}
	for _, key := range []struct {
		path, what string
		set        bool
	}{
		{"fidelity", "runs without packets have no tunnels", e.Fidelity != Packets},
		{"nodes", "foreign nodes are not in csiglab's tunnels", len(e.Nodes) > 0},
		{"wall.datapath", "switches in the kernel know no tunnels", e.Wall.Datapath == DatapathEBPF},
	} {
		if key.set && d.sound(key.path) {
			d.failAt("tunnels", key.what+"; leave tunnels or "+key.path+" out", "")
		}
	}
}
