package chakra

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/csiglab/csiglab/internal/jsonread"
	"github.com/csiglab/csiglab/internal/own"
)

// noGroups is what ASTRA-sim calls a configuration without groups.
const noGroups = "empty"

// initName is in the names of nodes that define groups.
const initName = "process_group:init"

// Limits of groups.
const (
	maxSidecar = 64 << 20
	maxMembers = 1 << 22 // of all groups of a file
)

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
		ranks, err := rankList(j, &members)
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

// rankList reads a list of ranks. It is not nil.
func rankList(j *jsonread.Reader, members *int) ([]int, error) {
	ranks := []int{}
	return ranks, j.Array(func(int) error {
		v, err := j.Int("rank", 0, math.MaxInt32)
		if err != nil {
			return err
		}
		if *members++; *members > maxMembers {
			return j.Errorf(j.Pos(), "more than %d ranks", maxMembers)
		}
		ranks = append(ranks, int(v))
		return nil
	})
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
	groups, err := ParseGroups(text)
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

// Group is a process group that PyTorch defines in a node of a trace.
type Group struct {
	Name string
	// ID is what nodes of older traces (before schema 1.0.3) name the group by, or 0.
	ID int64
	// Ranks are its ranks, nil: all of the job.
	Ranks []int
	// Description says what the group is for, or is empty.
	Description string
}

// ParseGroups reads the JSON of a node "## process_group:init ##": a list of objects with
// pg_name, ranks, group_size and uid or backend_id.
func ParseGroups(text string) (groups []Group, err error) {
	j := jsonread.New("groups", strings.NewReader(text))
	members := 0
	err = j.Array(func(int) error {
		var g Group
		size := int64(0)
		err := j.Object(func(key string) (err error) {
			switch key {
			case "pg_name":
				kind, err := j.Peek()
				if err != nil {
					return err
				}
				if kind == jsonread.Number {
					g.Name, err = j.Text()
					return err
				}
				g.Name, err = j.String()
				return err
			case "pg_desc":
				if kind, err := j.Peek(); err != nil || kind != jsonread.String {
					return j.Skip()
				}
				g.Description, err = j.String()
			case "backend_id", "uid":
				if kind, err := j.Peek(); err != nil || kind != jsonread.Number {
					return j.Skip()
				}
				id, err := j.Uint(key)
				g.ID = int64(id)
				return err
			case "ranks":
				kind, err := j.Peek()
				if err != nil {
					return err
				}
				if kind == jsonread.Object { // older PyTorch: rank in the job -> rank in the group
					g.Ranks, err = rankKeys(j, &members)
					return err
				}
				g.Ranks, err = rankList(j, &members)
				return err
			case "group_size":
				size, err = j.Int("group_size", 0, maxMembers)
			default:
				err = j.Skip()
			}
			return err
		})
		if err != nil {
			return err
		}
		if len(g.Ranks) == 0 {
			if g.Ranks = nil; size > 0 {
				if members += int(size); members > maxMembers {
					return j.Errorf(j.Pos(), "more than %d ranks", maxMembers)
				}
				for rank := range int(size) {
					g.Ranks = append(g.Ranks, rank)
				}
			}
		}
		groups = append(groups, g)
		return nil
	})
	return groups, err
}

// rankKeys reads an object whose keys are ranks and whose values are their places.
func rankKeys(j *jsonread.Reader, members *int) ([]int, error) {
	var ranks []int
	seen := map[int64]int{}
	err := j.Object(func(key string) error {
		at := j.Pos()
		var rank int
		if _, err := fmt.Sscan(key, &rank); err != nil || rank < 0 || rank > math.MaxInt32 {
			return j.Errorf(at, "%q is no rank", cut(key))
		}
		place, err := j.Int("place in the group", 0, maxMembers)
		if err != nil {
			return err
		}
		if _, ok := seen[place]; ok {
			return j.Errorf(j.Pos(), "two ranks have place %d", place)
		}
		if *members++; *members > maxMembers {
			return j.Errorf(at, "more than %d ranks", maxMembers)
		}
		seen[place] = rank
		return nil
	})
	if err != nil {
		return nil, err
	}
	for place := range int64(len(seen)) {
		rank, ok := seen[place]
		if !ok {
			return nil, j.Errorf(j.Pos(), "no rank has place %d", place)
		}
		ranks = append(ranks, rank)
	}
	return ranks, nil
}
