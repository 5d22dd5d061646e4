package containerlab

import (
	"fmt"
	"io"
	"maps"
	"regexp"

	"github.com/goccy/go-yaml"

	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/clab"
	"github.com/csiglab/csiglab/topologies"
)

// topologyResource is a custom resource Topology, version v1alpha1, as far as csiglab writes
// it. Each group has its own way to say that nodes need no services outside of the lab.
type topologyResource struct {
	APIVersion string           `yaml:"apiVersion"`
	Kind       string           `yaml:"kind"`
	Metadata   resourceMetadata `yaml:"metadata"`
	Spec       resourceSpec     `yaml:"spec"`
}

type resourceMetadata struct {
	Name   string            `yaml:"name"`
	Labels map[string]string `yaml:"labels"`
}

type resourceSpec struct {
	Expose       map[string]any     `yaml:"expose"`
	StatusProbes map[string]bool    `yaml:"statusProbes,omitempty"`
	Definition   resourceDefinition `yaml:"definition"`
}

type resourceDefinition struct {
	Containerlab string `yaml:"containerlab"` // the topology file
}

// briefFile is a topology file of what clabernetes reads: it takes links in containerlab's
// short form, knows no groups of nodes, and gives pods their network and rights itself.
type briefFile struct {
	Name     string        `yaml:"name"`
	Topology briefTopology `yaml:"topology"`
}

type briefTopology struct {
	Defaults briefDefaults `yaml:"defaults"`
	Nodes    yaml.MapSlice `yaml:"nodes"` // name -> briefNode
	Links    []briefLink   `yaml:"links"`
}

type briefDefaults struct {
	Kind   string            `yaml:"kind"`
	Labels map[string]string `yaml:"labels"`
}

type briefNode struct {
	Image  string            `yaml:"image"`
	Cmd    string            `yaml:"cmd,omitempty"`
	Env    map[string]string `yaml:"env,omitempty"`
	Labels map[string]string `yaml:"labels"`
}

type briefLink struct {
	Endpoints []string `yaml:"endpoints,flow"`
	MTU       int      `yaml:"mtu"`
	Vars      linkVars `yaml:"vars,flow"`
}

// Limits of Kubernetes: a label of a name (RFC 1123 §2.1), of which the names of a lab and of a
// node make one together, and what fits into an object, less some room for its status
// (etcd's limit of a request is 1.5 MiB).
const (
	maxLabel    = 63
	maxResource = 1 << 20
)

var dnsLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// WriteClabernetes writes the lab as a custom resource Topology of clabernetes, of one of
// clab.Groups. Errors wrap ErrInvalid or come from w.
func WriteClabernetes(w io.Writer, lab Lab, group string) error {
	if err := lab.validate(); err != nil {
		return err
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w %q: "+format, append([]any{ErrInvalid, lab.Name}, args...)...)
	}
	f := briefFile{Name: lab.Name, Topology: briefTopology{Defaults: briefDefaults{Kind: "linux", Labels: map[string]string{labelLab: lab.Name}}}}
	for i, n := range lab.Graph.Nodes {
		if !dnsLabel.MatchString(n.Name) || len(lab.Name)+1+len(n.Name) > maxLabel {
			return fail("node %s: Kubernetes wants names of a-z, 0-9 and -, with a letter or digit at both ends; this and the lab's have at most %d characters together", n.Name, maxLabel-1)
		}
		s, labels := lab.Nodes[i], maps.Clone(lab.labels(i))
		if labels == nil {
			labels = map[string]string{}
		}
		labels[labelRole] = "switch"
		if n.Kind == topologies.Host {
			labels[labelRole] = "host"
		} else if n.Tier != topologies.TierHost {
			labels[labelTier] = n.Tier.String()
		}
		f.Topology.Nodes = append(f.Topology.Nodes, yaml.MapItem{Key: n.Name, Value: briefNode{
			Image: s.Image, Cmd: quote(s.Cmd), Env: s.Env, Labels: labels,
		}})
	}
	for _, l := range lab.Graph.Links {
		end := func(e topologies.End) string { return lab.Graph.Nodes[e.Node].Name + ":" + Interface(lab.Graph, e) }
		f.Topology.Links = append(f.Topology.Links, briefLink{
			Endpoints: []string{end(l.A), end(l.B)}, MTU: lab.MTU,
			Vars: linkVars{Rate: l.Rate.String(), Delay: l.Delay.String()},
		})
	}
	definition, err := lab.marshal(f)
	if err != nil {
		return err
	}
	r := topologyResource{
		APIVersion: group + "/v1alpha1", Kind: "Topology",
		Metadata: resourceMetadata{Name: lab.Name, Labels: map[string]string{labelLab: lab.Name}},
		Spec:     resourceSpec{Definition: resourceDefinition{string(definition)}},
	}
	switch group {
	case clab.Group:
		r.Spec.Expose = map[string]any{"exposeType": "None"}
		r.Spec.StatusProbes = map[string]bool{"enabled": false}
	case clab.OldGroup:
		r.Spec.Expose = map[string]any{"disableExpose": true}
	default:
		return fail("there is no API group %q of clabernetes", group)
	}
	text, err := yaml.MarshalWithOptions(r, yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return fmt.Errorf("write topology %s: %w", lab.Name, err)
	}
	if len(text) > maxResource {
		return fail("its resource has %d bytes, and Kubernetes keeps at most about %d", len(text), maxResource)
	}
	_, err = w.Write(text)
	return err
}
