package chakra

import (
	"fmt"
	"io"
	"strings"

	"github.com/csiglab/csiglab/internal/jsonread"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/workloads/pytorch"
)

// noGroups is what ASTRA-sim calls a configuration without groups.
const noGroups = "empty"

// initName is in the names of nodes that define groups.
const initName = "process_group:init"

// maxSidecar is the greatest size of a file of groups.
const maxSidecar = 64 << 20

// sidecar reads the file of groups.
func (r *reader) sidecar() error {
	r.groups = map[string]int{}
	name := r.o.Groups
	if name == "" || name == noGroups {
		return nil
	}
	f, err := own.Input(name, maxSidecar)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close() // opened for reading
	return r.readGroups(name, f)
}

// readGroups reads groups by name.
func (r *reader) readGroups(name string, in io.Reader) error {
	j := jsonread.New(name, in)
	members := 0
	err := j.Object(func(key string) error {
		at := j.Pos()
		if _, ok := r.groups[key]; ok {
			return j.Errorf(at, "there are two groups %q", cut(key))
		}
		ranks, err := pytorch.ReadRanks(j, &members)
		if err != nil {
			return err
		}
		g, err := r.assembler.Group(key, ranks)
		if err != nil {
			return j.Errorf(at, "%v", err)
		}
		r.groups[key] = g
		return nil
	})
	if err != nil {
		return err
	}
	return end(j)
}

// end reports that something follows the last value.
func end(j *jsonread.Reader) error {
	kind, err := j.Peek()
	if err == nil && kind != jsonread.None {
		return j.Errorf(j.Pos(), "%s follows the end", kind)
	}
	return err
}

// embeddedGroups reads the groups that PyTorch defines in a node. Its input is a list of one
// string, as Python prints it, which holds JSON. Without ranks a group has the first group_size
// ranks, or all. PyTorch cuts a long list off; such a node is lost.
func (r *reader) embeddedGroups(n *node) error {
	text := n.inputs
	begin, last := strings.Index(text, "[{"), strings.LastIndex(text, "}]")
	if begin < 0 || last < begin {
		if strings.Trim(text, "[]'\" \t") != "" {
			r.lost("definitions of groups that are cut off", n)
		}
		return nil
	}
	text = text[begin : last+2]
	if strings.HasPrefix(strings.TrimLeft(text[2:], " "), `\`) {
		text = strings.ReplaceAll(text, `\"`, `"`)
	}
	groups, err := pytorch.ParseGroups(text)
	if err != nil {
		return r.errorf(n, "its groups: %w", err)
	}
	for _, g := range groups {
		number, err := r.assembler.Group(g.Name, g.Ranks)
		if err != nil {
			return r.errorf(n, "%w", err)
		}
		r.embedded[g.Name] = number
	}
	return nil
}
