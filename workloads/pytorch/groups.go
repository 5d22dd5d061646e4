package pytorch

import (
	"fmt"
	"math"
	"strings"

	"github.com/csiglab/csiglab/internal/jsonread"
)

// maxMembers bounds the ranks of all groups of a trace.
const maxMembers = 1 << 22

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
				g.Ranks, err = ReadRanks(j, &members)
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
			return j.Errorf(at, "%q is no rank", clip(key))
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

// ReadRanks reads a list of ranks, which is not nil, and adds their number to members, the
// ranks of all groups so far, of which there are at most 4 Mi.
func ReadRanks(j *jsonread.Reader, members *int) ([]int, error) {
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
