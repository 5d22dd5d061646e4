// Package astra reads the system files of ASTRA-sim, JSON that says how a simulated system does its
// collectives: by which algorithms in each dimension of its network, and in how many pieces. It takes
// from a file what csiglab's collectives can do alike, and says what it does not take. Sources:
// docs/reference/references.md#astra-sim-files.
package astra

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/jsonread"
	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/workloads/collective"
)

// System is what a file says of collectives.
type System struct {
	Algorithms []collective.Algorithm // by kind; Auto of what the file says nothing of
	Channels   int                    // see collective.Call; of all kinds but all-to-all
	Peers      int                    // Channels of all-to-all
	Notes      []string               // what is not used, or done in another way
}

// Keys of a file that System has something of. Those of kinds have a list with an algorithm for each
// dimension.
const (
	splitsKey = "preferred-dataset-splits"    // the pieces of a buffer, which is 1 without it
	activeKey = "active-chunks-per-dimension" // how many of these are on the way in a dimension
	suffix    = "-implementation"
)

var kinds = map[string]collective.Kind{
	"all-reduce" + suffix: collective.AllReduce, "reduce-scatter" + suffix: collective.ReduceScatter,
	"all-gather" + suffix: collective.AllGather, "all-to-all" + suffix: collective.AllToAll,
}

// algorithms are the names of algorithms. The direct ones may have a window behind them, such as direct4.
var algorithms = map[string]choice{
	"ring": {algorithm: collective.Ring}, "oneRing": {algorithm: collective.Ring, all: true},
	"direct": {algorithm: collective.Direct}, "oneDirect": {algorithm: collective.Direct, all: true},
	"halvingDoubling": {algorithm: collective.HalvingDoubling}, "oneHalvingDoubling": {algorithm: collective.HalvingDoubling, all: true},
	"doubleBinaryTree": {algorithm: collective.Tree},
}

// choice is an algorithm as a file names it.
type choice struct {
	algorithm collective.Algorithm
	window    int  // messages on the way; 0: to all
	all       bool // for all dimensions together
}

// MaxChannels bounds System.Channels and System.Peers.
const MaxChannels = 64

// reader is the state of one Read.
type reader struct {
	*jsonread.Reader
	name           string
	local          int
	s              System
	splits, active int64
	unused         []string
}

// Read reads a file. name stands for it in errors, which are *lines.Error. local is the number of ranks
// of the first of two dimensions, 0 if it is not known.
func Read(name string, in io.Reader, local int) (*System, error) {
	r := &reader{Reader: jsonread.New(name, in), name: name, local: local, splits: 1, active: 1}
	r.s = System{Algorithms: make([]collective.Algorithm, len(collective.Kind(0).Names())), Channels: 1, Peers: 1}
	if err := r.Want(jsonread.Object, "a system file of ASTRA-sim"); err != nil {
		return nil, err
	}
	begin, seen, lists := r.Pos(), map[string]bool{}, slices.Sorted(maps.Keys(kinds))
	known := append([]string{splitsKey, activeKey}, lists...)
	err := r.Object(func(key string) (err error) {
		at := r.Pos()
		kind, list := kinds[key]
		near := spelling.Nearest(key, known)
		switch {
		case seen[key]:
			return r.Errorf(at, "the key %q is there twice", key)
		case list:
			err = r.implementation(key, kind)
		case key == splitsKey:
			r.splits, err = r.Int(key, 1, math.MaxInt32)
		case key == activeKey:
			r.active, err = r.Int(key, 1, math.MaxInt32)
		case strings.HasSuffix(key, suffix+"-custom"), key == "per-node-custom"+suffix:
			return r.Errorf(at, "%s names a trace of one collective, and csiglab does not put such a trace into another; it can be a job of its own", key)
		case near != "":
			return r.Errorf(at, "unknown key %q%s", key, spelling.Hint(near))
		default:
			r.unused, err = append(r.unused, key), r.Skip()
		}
		seen[key] = true
		return err
	})
	if err != nil {
		return nil, err
	}
	if kind, err := r.Peek(); err != nil || kind != jsonread.None {
		return nil, cmp.Or(err, error(r.Errorf(r.Pos(), "%v follows the end", kind)))
	}
	if !slices.ContainsFunc(lists, func(key string) bool { return seen[key] }) {
		return nil, r.Errorf(begin, "the file names no algorithms; want one or more of %s", strings.Join(lists, ", "))
	}
	if r.splits <= min(r.active, MaxChannels) {
		r.s.Channels = int(r.splits)
	} else {
		r.note("%s %d with %s %d is not used: csiglab has the pieces of a buffer all at the same time, up to %d, or one piece, as here", splitsKey, r.splits, activeKey, r.active, MaxChannels)
	}
	if len(r.unused) > 0 {
		r.note("not used: %s", strings.Join(r.unused, ", "))
	}
	return &r.s, nil
}

func (r *reader) note(format string, args ...any) {
	r.s.Notes = append(r.s.Notes, r.name+": "+fmt.Sprintf(format, args...))
}

// implementation reads the list of a kind.
func (r *reader) implementation(key string, kind collective.Kind) error {
	var dims []choice
	var names []string
	var at lines.Pos
	err := r.Array(func(i int) error {
		name, err := r.String()
		if err != nil {
			return err
		}
		if i == 0 {
			at = r.Pos()
		}
		c, ok := parse(name)
		if !ok {
			known := slices.Sorted(maps.Keys(algorithms))
			return r.Errorf(r.Pos(), "unknown algorithm %q; known: %s%s", name, strings.Join(known, " "), spelling.Hint(spelling.Nearest(name, known)))
		}
		if c.algorithm == collective.Tree && kind != collective.AllReduce || c.algorithm == collective.HalvingDoubling && kind == collective.AllToAll {
			return r.Errorf(r.Pos(), "there is no %s of %s", name, strings.TrimSuffix(key, suffix))
		}
		dims, names = append(dims, c), append(names, name)
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(dims) == 0:
		return r.Errorf(r.Pos(), "%s is empty; it has an algorithm for each dimension", key)
	}
	if dims[0].all {
		dims = dims[:1]
	}
	r.choose(key, kind, dims, names)
	if r.s.Algorithms[kind] == collective.Hierarchical && r.local == 0 {
		return r.Errorf(at, "%s has two dimensions; the key local says how many ranks the first one has", key)
	}
	return nil
}

// choose takes the algorithms of the dimensions of a kind, or what comes near to them, with a note.
func (r *reader) choose(key string, kind collective.Kind, dims []choice, names []string) {
	first, alike := dims[0], true
	for _, d := range dims {
		alike = alike && d == first
	}
	has := collective.AlgorithmsOf(kind)
	chosen := has[0]
	if slices.Contains(has, first.algorithm) {
		chosen = first.algorithm
	}
	// All-reduce by dimensions is rings in csiglab, all-to-all is direct.
	byDims := len(dims) == 2 && alike && slices.Contains(has, collective.Hierarchical) && chosen == has[0]
	if byDims {
		chosen = collective.Hierarchical
	}
	r.s.Algorithms[kind] = chosen
	list := fmt.Sprintf("%s [%s]", key, strings.Join(names, ", "))
	switch {
	case kind == collective.AllToAll && first.algorithm == collective.Ring:
		r.note("%s: csiglab has no all-to-all that ranks pass on around a ring: each rank sends to one after the other", list)
	case first.window > 0 && kind != collective.AllToAll:
		r.note("%s: the window is not used: each rank sends to all others at once", list)
	}
	if len(dims) > 1 && !byDims {
		r.note("%s: csiglab does not have it by these dimensions: %s over all ranks", list, chosen)
	}
	if kind == collective.AllToAll && first.algorithm == collective.Direct {
		r.s.Peers = MaxChannels
		if first.window > 0 {
			r.s.Peers = min(first.window, MaxChannels)
		}
	}
}

// parse returns the algorithm of a name.
func parse(name string) (choice, bool) {
	base := strings.TrimRight(name, "0123456789")
	c, ok := algorithms[base]
	if base == name {
		return c, ok
	}
	n, err := strconv.ParseUint(name[len(base):], 10, 31)
	c.window = int(n)
	return c, ok && err == nil && n > 0 && c.algorithm == collective.Direct
}
