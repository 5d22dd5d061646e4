package experiment

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/units"
)

// What an implied experiment gives the links that say nothing of their own. Programs of one
// computer keep up with this rate in real time.
const (
	impliedRate  = 20 * units.Mbps
	impliedDelay = 2 * units.Millisecond
)

// isClab reports whether a file is a containerlab topology and no experiment: by its name, or
// because it has nodes and links as containerlab has them.
func isClab(name string, data []byte) bool {
	for _, ending := range []string{".clab.yml", ".clab.yaml", ".clab.gotmpl"} {
		if strings.HasSuffix(strings.ToLower(name), ending) {
			return true
		}
	}
	if bytes.Contains(data, []byte("schema")) || !bytes.Contains(data, []byte("nodes")) { // do not read others twice
		return false
	}
	t, _ := parseTree(data, origin{file: name}, false)
	nodes := t.get("topology").get("nodes")
	return t.get("schema") == nil && nodes != nil && nodes.kind == mapping
}

// imply returns the text of the experiment that a containerlab topology file stands for. A lab
// has programs at all hosts, a run a permutation. The name of the file in it is relative to
// its folder. The error is that of reading the file.
func imply(file string, lab bool) ([]byte, error) {
	r := clabReader{rate: impliedRate, delay: impliedDelay}
	b, err := r.read(file)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	fabric := "file: " + asYAML(filepath.Base(file))
	if r.bareRate {
		fabric += fmt.Sprintf(", rate: %v", impliedRate)
	}
	if r.bareTime {
		fabric += fmt.Sprintf(", delay: %v", impliedDelay)
	}
	name := AsName(b.Graph.Name)
	fmt.Fprintf(&text, "schema: 1\nname: %s\ntopology: {clab: {%s}}\n", asYAML(strings.Trim(name[:min(len(name), maxName)], "-")), fabric)
	if !lab {
		fmt.Fprintf(&text, "workload: {permutation: {size: 1MB}} # from each host to another\n")
		return text.Bytes(), nil
	}
	tags, wall := "format: wide", ""
	if r.bareRate { // a window of some packets
		tags += ", interval: 50ms"
	}
	if !r.ownRate { // else the links may be too fast for it
		wall = "dilation: 1, "
	}
	hosts := make([]string, b.Graph.Hosts())
	for i := range hosts {
		hosts[i] = strconv.Itoa(i)
	}
	if len(r.foreign) > 0 {
		fmt.Fprintf(&text, "runtime: %s\nnodes:\n", runtimes.Containerlab)
		for _, n := range r.foreign {
			fmt.Fprintf(&text, "  - {name: %s, image: %s, forwards: %s", asYAML(n.Name), asYAML(n.Image), n.Forwards)
			if n.Command != "" {
				fmt.Fprintf(&text, ", command: %s", asYAML(n.Command))
			}
			text.WriteString("}\n")
		}
	}
	fmt.Fprintf(&text, "clock: wall\nwall: {%sbudget: {lateness: 1000, displaced: 1, rate: 1}} # no measurement\n"+
		"csig: {%s}\napplications: {hosts: [%s], signals: [abw, delay]}\n", wall, tags, strings.Join(hosts, ", "))
	return text.Bytes(), nil
}

// asYAML returns a text as a value of YAML.
func asYAML(text string) string { return quote(text, !bare(text)) }

// maxName is the most characters of an experiment's name.
const maxName = 64

var notInNames = lazy.Regexp(`[^a-z0-9]+`)

// AsName replaces by "-" each sequence of characters that a name may not contain.
func AsName(text string) string {
	return strings.Trim(notInNames().ReplaceAllString(strings.ToLower(text), "-"), "-")
}
