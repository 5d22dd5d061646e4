package containerlab

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/clab"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// capabilities are the only ones of a node: it may set up its interfaces and open
// packet sockets.
var capabilities = []string{"NET_ADMIN", "NET_RAW"}

// file is a containerlab topology (docs/reference/references.md#containerlab-files), as far as csiglab writes it.
type file struct {
	Name     string       `yaml:"name"`
	Mgmt     mgmt         `yaml:"mgmt"`
	Topology fileTopology `yaml:"topology"`
}

type mgmt struct {
	SkipWhenUnused bool `yaml:"skip-when-unused"`
}

type fileTopology struct {
	Defaults fileDefaults  `yaml:"defaults"`
	Nodes    yaml.MapSlice `yaml:"nodes"` // name -> fileNode
	Links    []any         `yaml:"links"` // fileLink and tunnel
}

type fileDefaults struct {
	Kind            string            `yaml:"kind"`
	NetworkMode     string            `yaml:"network-mode"`
	Privileged      bool              `yaml:"privileged"`
	CapAdd          []string          `yaml:"cap-add,flow"`
	SecurityOpts    []string          `yaml:"security-opts,flow"`
	RestartPolicy   string            `yaml:"restart-policy"`
	ImagePullPolicy string            `yaml:"image-pull-policy"`
	Labels          map[string]string `yaml:"labels"`
}

type fileNode struct {
	Image      string            `yaml:"image"`
	Group      string            `yaml:"group"`
	Entrypoint string            `yaml:"entrypoint,omitempty"`
	Cmd        string            `yaml:"cmd,omitempty"`
	Env        map[string]string `yaml:"env,omitempty"`
	Binds      []string          `yaml:"binds,omitempty"`
	Labels     map[string]string `yaml:"labels,omitempty"`
	Memory     string            `yaml:"memory"`
}

type fileLink struct {
	Type      string     `yaml:"type"`
	Endpoints []endpoint `yaml:"endpoints"`
	MTU       int        `yaml:"mtu"`
	Vars      linkVars   `yaml:"vars,flow"`
}

type endpoint struct {
	Node      string `yaml:"node"`
	Interface string `yaml:"interface"`
}

// linkVars is what containerlab stores for a link without looking at it.
type linkVars struct {
	Rate  string `yaml:"rate"`
	Delay string `yaml:"delay"`
}

// WriteTopology writes the lab as a containerlab topology, which containerlab's
// own command can deploy. A lab without RunID or Folder can be written, for export.
// The file lacks the settings that a topology cannot express (a read-only root, no
// other capability, the limit on processes); Deploy adds them. Errors wrap ErrInvalid
// or come from w.
func WriteTopology(w io.Writer, lab Lab) error {
	if err := lab.validate(); err != nil {
		return err
	}
	text, err := lab.render(nil)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// name returns the lab's name for containerlab. It contains the run's id, as two runs
// of an experiment may exist at the same time.
func (lab *Lab) name() string {
	if lab.RunID == "" {
		return lab.Name
	}
	return lab.Name + "-" + lab.RunID
}

// container returns the name that containerlab gives to the container of a node of
// the topology.
func (lab *Lab) container(node string) string { return "clab-" + lab.name() + "-" + node }

// path returns the path of the topology file.
func (lab *Lab) path() string { return filepath.Join(lab.Folder, lab.Name+".clab.yml") }

// render returns the file of the lab, or of a part of it.
func (lab *Lab) render(s *Shard) ([]byte, error) {
	labels := map[string]string{labelLab: lab.Name}
	if lab.RunID != "" {
		labels[labelRun] = lab.RunID
	}
	if lab.Owner != "" {
		labels[labelOwner] = lab.Owner
	}
	name := lab.name()
	if s != nil {
		name = fmt.Sprintf("%s-shard%d", name, s.Index)
	}
	f := file{Name: name, Mgmt: mgmt{SkipWhenUnused: true}, Topology: fileTopology{
		Defaults: fileDefaults{
			Kind: "linux", NetworkMode: "none", CapAdd: capabilities,
			SecurityOpts:    []string{"no-new-privileges:true"},
			RestartPolicy:   "no", // a container that starts again has lost its links
			ImagePullPolicy: "Never", Labels: labels,
		},
		Links: make([]any, 0, len(lab.Graph.Links)),
	}}
	for i, n := range lab.Graph.Nodes {
		if !s.has(i) {
			continue
		}
		settings := lab.Nodes[i]
		f.Topology.Nodes = append(f.Topology.Nodes, yaml.MapItem{Key: n.Name, Value: fileNode{
			Image: settings.Image, Group: n.Tier.String(), Cmd: quote(settings.Cmd), Env: settings.Env, Binds: settings.Binds, Labels: lab.labels(i),
			Memory: fmt.Sprintf("%dMiB", settings.memory()/units.MiB),
		}})
	}
	for _, sidecar := range lab.Sidecars {
		s := sidecar.settings()
		f.Topology.Nodes = append(f.Topology.Nodes, yaml.MapItem{Key: lab.sidecarName(sidecar), Value: fileNode{
			Image: s.Image, Group: "programs",
			Entrypoint: sidecarInit, Cmd: quote(s.Cmd), Binds: s.Binds, Memory: fmt.Sprintf("%dMiB", s.memory()/units.MiB),
		}})
	}
	end := func(e topologies.End) endpoint {
		return endpoint{lab.Graph.Nodes[e.Node].Name, Interface(lab.Graph, e)}
	}
	between := 0
	for i := range lab.Graph.Links {
		l := &lab.Graph.Links[i]
		vars := linkVars{Rate: l.Rate.String(), Delay: l.Delay.String()}
		if s == nil || s.Of[l.A.Node] == s.Of[l.B.Node] {
			if s.has(l.A.Node) {
				f.Topology.Links = append(f.Topology.Links, fileLink{Type: "veth", Endpoints: []endpoint{end(l.A), end(l.B)}, MTU: lab.MTU, Vars: vars})
			}
			continue
		}
		vni := s.VNI + between
		between++
		if here, there, ok := s.ends(l); ok {
			f.Topology.Links = append(f.Topology.Links, tunnel{
				Type: "vxlan", Endpoint: end(here), Remote: s.Remotes[s.Of[there.Node]].String(), VNI: vni, DstPort: clab.TunnelPort, MTU: lab.MTU, Vars: vars,
			})
		}
	}
	return lab.marshal(f)
}

// labels returns the labels of a node.
func (lab *Lab) labels(node int) map[string]string {
	labels, delay := lab.Nodes[node].Labels, lab.Graph.Nodes[node].Delay
	if delay > 0 {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels[labelDelay] = delay.String()
	}
	return labels
}

// marshal returns a topology file.
func (lab *Lab) marshal(f any) ([]byte, error) {
	text, err := yaml.MarshalWithOptions(f, yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("write topology %s: %w", lab.Name, err)
	}
	// Containerlab reads the file as a Go template and expands variables in it.
	for _, line := range bytes.Split(text, []byte("\n")) {
		if bytes.Contains(line, []byte("{{")) || bytes.Contains(line, []byte("$")) {
			return nil, fmt.Errorf("%w %q: %q: containerlab would expand {{ or $", ErrInvalid, lab.Name, bytes.TrimSpace(line))
		}
	}
	return text, nil
}

func (s *NodeSettings) memory() units.Size {
	if s.Memory == 0 {
		return defaultMemory
	}
	return s.Memory
}

func (s *NodeSettings) pids() int64 {
	if s.PIDs == 0 {
		return defaultPIDs
	}
	return int64(s.PIDs)
}

var (
	word    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)
	label   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	unquote = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)
)

// Bounds of an interface's MTU: IPv4's smallest (RFC 791 §3.1) and the largest of a
// veth.
const (
	minMTU = 68
	maxMTU = 65535
)

func (lab *Lab) validate() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w %q: "+format, append([]any{ErrInvalid, lab.Name}, args...)...)
	}
	switch {
	case !word.MatchString(lab.Name):
		return fail("the name is not of a-z, 0-9 and -")
	case lab.RunID != "" && !word.MatchString(lab.RunID):
		return fail("run id %q is not of a-z, 0-9 and -", lab.RunID)
	case lab.Graph == nil:
		return fail("it has no graph")
	case len(lab.Nodes) != len(lab.Graph.Nodes):
		return fail("settings for %d of %d nodes", len(lab.Nodes), len(lab.Graph.Nodes))
	case lab.MTU < minMTU || lab.MTU > maxMTU:
		return fail("mtu %d is not in %d to %d", lab.MTU, minMTU, maxMTU)
	}
	if err := lab.Graph.Validate(); err != nil {
		return fail("%w", err)
	}
	for i, s := range lab.Nodes {
		name := lab.Graph.Nodes[i].Name
		switch {
		case !label.MatchString(name):
			return fail("node %q: the name is not of letters, digits, . _ and -", name)
		case s.Image == "":
			return fail("node %s: no image", name)
		case s.Memory < 0 || s.Memory%units.MiB != 0:
			return fail("node %s: memory %d bytes is not whole MiB", name, int64(s.Memory))
		case s.PIDs < 0:
			return fail("node %s: limit of %d processes", name, s.PIDs)
		}
		for _, b := range s.Binds {
			part := strings.Split(b, ":")
			if len(part) < 2 || len(part) > 3 || part[0] == "" || !filepath.IsAbs(part[1]) || len(part) == 3 && part[2] != "ro" {
				return fail("node %s: bind %q is not source:target or source:target:ro", name, b)
			}
		}
	}
	beside := map[int]bool{}
	for _, s := range lab.Sidecars {
		switch {
		case s.Node < 0 || s.Node >= len(lab.Nodes):
			return fail("a container beside node %d; nodes go from 0 to %d", s.Node, len(lab.Nodes)-1)
		case beside[s.Node]:
			return fail("two containers beside node %s", lab.Graph.Nodes[s.Node].Name)
		case s.Image == "":
			return fail("the container beside node %s: no image", lab.Graph.Nodes[s.Node].Name)
		case !filepath.IsAbs(s.Init) || strings.Contains(s.Init, ":"):
			return fail("the container beside node %s: init %q is not an absolute path that can be mounted", lab.Graph.Nodes[s.Node].Name, s.Init)
		}
		beside[s.Node] = true
	}
	return nil
}

// quote joins arguments into a line that containerlab splits as a shell does.
func quote(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if !unquote.MatchString(a) {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'"'"'`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
