// Package htsim reads and writes the topology files (.topo) of the htsim
// simulator: fat trees of two or three tiers. It is stricter than htsim, which
// ignores what it does not know: here an unknown key is an error.
//
// A file has the header keys Nodes, Tiers and Podsize and one block per tier,
// from the hosts up, that begins with "Tier n". Case does not matter, "#" begins
// a comment. Source: htsim/sim/datacenter/fat_tree_topology.cpp of
// ultraethernet/uet-htsim.
package htsim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Error names a place of a file and what is wrong with it. Where the parameters
// are fine one by one and do not fit each other, it wraps a
// *topologies.ShapeError.
type Error = lines.Error

// Header keys.
const (
	keyNodes   = "Nodes"
	keyTiers   = "Tiers"
	keyPodsize = "Podsize"
	keyTier    = "Tier"
)

// headKeys are what a file may have before its first tier, and the key of that.
var headKeys = []string{keyNodes, keyTiers, keyPodsize, keyTier}

// tierKey is a key of a tier's block.
type tierKey struct {
	name     string
	field    topologies.Field
	required bool // in every tier; Radix_Up in every tier but the top
	low      int64
	high     int64
	set      func(t *topologies.FatTreeTier, v int64)
}

var tierKeys = []tierKey{
	{"Downlink_speed_Gbps", topologies.FieldRate, true, 1, int64(topologies.MaxRate / units.Gbps),
		func(t *topologies.FatTreeTier, v int64) { t.Rate = units.Rate(v) * units.Gbps }},
	{"Radix_Down", topologies.FieldRadixDown, true, 1, topologies.MaxRadix,
		func(t *topologies.FatTreeTier, v int64) { t.RadixDown = int(v) }},
	{"Radix_Up", topologies.FieldRadixUp, true, 1, topologies.MaxRadix,
		func(t *topologies.FatTreeTier, v int64) { t.RadixUp = int(v) }},
	{"Downlink_Latency_ns", topologies.FieldDelay, true, 1, int64(topologies.MaxDelay / units.Nanosecond),
		func(t *topologies.FatTreeTier, v int64) { t.Delay = units.Duration(v) * units.Nanosecond }},
	{"Switch_Latency_ns", topologies.FieldSwitchDelay, false, 0, int64(topologies.MaxDelay / units.Nanosecond),
		func(t *topologies.FatTreeTier, v int64) { t.SwitchDelay = units.Duration(v) * units.Nanosecond }},
	{"Oversubscribed", topologies.FieldOversubscribed, false, 1, topologies.MaxRadix,
		func(t *topologies.FatTreeTier, v int64) { t.Oversubscribed = int(v) }},
	{"Bundle", topologies.FieldBundle, false, 1, topologies.MaxRadix,
		func(t *topologies.FatTreeTier, v int64) { t.Bundle = int(v) }},
	{"Queue_Up", topologies.FieldQueueUp, false, 1, int64(topologies.MaxQueue),
		func(t *topologies.FatTreeTier, v int64) { t.QueueUp = units.Size(v) }},
	{"Queue_Down", topologies.FieldQueueDown, false, 1, int64(topologies.MaxQueue),
		func(t *topologies.FatTreeTier, v int64) { t.QueueDown = units.Size(v) }},
}

// reader is the state of one ReadTopology.
type reader struct {
	*lines.Reader
	header map[string]lines.Word // key -> value
	blocks []block
}

// block is one tier's block in the file.
type block struct {
	at     lines.Pos // of "Tier"
	number lines.Word
	index  int                   // number's value
	keys   map[string]lines.Word // name -> value
}

// ReadTopology reads a .topo file. name stands for the file in errors, which
// are *Error; its last element without ".topo" becomes the fabric's name. The
// result passes Check.
func ReadTopology(name string, r io.Reader) (topologies.FatTree, error) {
	rd := &reader{Reader: lines.NewReader(name, r), header: make(map[string]lines.Word)}
	if err := rd.Each(rd.line); err != nil {
		return topologies.FatTree{}, err
	}
	f, err := rd.build()
	if err != nil {
		return topologies.FatTree{}, err
	}
	f.Name = strings.TrimSuffix(path.Base(name), ".topo")
	if err := f.Check(); err != nil {
		return topologies.FatTree{}, rd.misfit(err)
	}
	return f, nil
}

// line takes a line, which is a key and its value; it checks names, places and repetitions.
func (r *reader) line(words []lines.Word) error {
	key := words[0]
	canonical := canonicalKey(key.Text)
	switch {
	case canonical == "":
		return r.unknown(key)
	case len(words) == 1:
		return r.Errorf(key.End(), "%s has no value", key.Text)
	case len(words) > 2:
		return r.Errorf(words[2].Pos, "unexpected %q after the value of %s", words[2].Text, key.Text)
	}
	switch value := words[1]; {
	case canonical == keyTier:
		for _, b := range r.blocks {
			if b.number.Text == value.Text {
				return r.Errorf(value.Pos, "tier %s was described in line %d", value.Text, b.at.Line)
			}
		}
		r.blocks = append(r.blocks, block{at: key.Pos, number: value, keys: make(map[string]lines.Word)})
	case slices.Contains(headKeys, canonical):
		if earlier, ok := r.header[canonical]; ok {
			return r.Errorf(key.Pos, "%s was set in line %d", canonical, earlier.Line)
		}
		if len(r.blocks) > 0 {
			return r.Errorf(key.Pos, "%s belongs before the first tier", canonical)
		}
		r.header[canonical] = value
	case len(r.blocks) == 0:
		return r.Errorf(key.Pos, "%s belongs to a tier; write Tier 0 before it", canonical)
	default:
		b := r.blocks[len(r.blocks)-1]
		if earlier, ok := b.keys[canonical]; ok {
			return r.Errorf(key.Pos, "%s was set for tier %s in line %d", canonical, b.number.Text, earlier.Line)
		}
		b.keys[canonical] = value
	}
	return nil
}

// build reads the values into a FatTree, each within its own limits.
func (r *reader) build() (topologies.FatTree, error) {
	var f topologies.FatTree
	if len(r.header) == 0 && len(r.blocks) == 0 {
		return f, r.Errorf(r.Last(), "the file is empty")
	}
	end := r.Last()
	if len(r.blocks) > 0 {
		end = r.blocks[0].at
	}
	var tiers, hosts, podsize int64
	for _, h := range []struct {
		key       string
		low, high int64
		into      *int64
	}{{keyNodes, 2, topologies.MaxHosts, &hosts}, {keyTiers, 2, 3, &tiers}, {keyPodsize, 1, topologies.MaxHosts, &podsize}} {
		value, ok := r.header[h.key]
		if !ok {
			return f, r.Errorf(end, "%s is missing", h.key)
		}
		v, err := r.Int(h.key, value, h.low, h.high)
		if err != nil {
			return f, err
		}
		*h.into = v
	}
	f.Hosts, f.PodSize, f.Tiers = int(hosts), int(podsize), make([]topologies.FatTreeTier, tiers)
	byTier := make([]*block, tiers)
	for i := range r.blocks {
		b := &r.blocks[i]
		n, err := r.Int(keyTier, b.number, 0, tiers-1)
		if err != nil {
			return f, err
		}
		if byTier[n] != nil { // "0" and "00"
			return f, r.Errorf(b.number.Pos, "tier %d was described in line %d", n, byTier[n].at.Line)
		}
		b.index, byTier[n] = int(n), b
	}
	for n, b := range byTier {
		if b == nil {
			return f, r.Errorf(r.Last(), "tier %d of %d is missing", n, tiers)
		}
		if err := r.buildTier(&f.Tiers[n], b, n == len(byTier)-1); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (r *reader) buildTier(t *topologies.FatTreeTier, b *block, top bool) error {
	t.Oversubscribed, t.Bundle = 1, 1
	for _, k := range tierKeys {
		value, ok := b.keys[k.name]
		switch up := k.field == topologies.FieldRadixUp || k.field == topologies.FieldQueueUp; {
		case up && top && ok:
			return r.Errorf(value.Pos, "%s: tier %s is the top and has no up links", k.name, b.number.Text)
		case up && top:
			continue
		case !ok && k.required:
			return r.Errorf(b.at, "tier %s: %s is missing", b.number.Text, k.name)
		case !ok:
			continue
		}
		v, err := r.Int(k.name, value, k.low, k.high)
		if err != nil {
			return err
		}
		k.set(t, v)
	}
	return nil
}

// misfit turns a ShapeError into an Error at the key it names, or at the
// tier's beginning when the file leaves the key to its default.
func (r *reader) misfit(err error) error {
	var shape *topologies.ShapeError
	if !errors.As(err, &shape) {
		return err
	}
	at, name, prefix := r.Last(), string(shape.Field), ""
	if shape.Tier == topologies.NoTier {
		switch shape.Field {
		case topologies.FieldHosts:
			name = keyNodes
		case topologies.FieldPodSize:
			name = keyPodsize
		case topologies.FieldTiers:
			name = keyTiers
		}
		if value, ok := r.header[name]; ok {
			at = value.Pos
		}
	} else {
		prefix = fmt.Sprintf("tier %d: ", shape.Tier)
		for _, k := range tierKeys {
			if k.field == shape.Field {
				name = k.name
			}
		}
		for _, b := range r.blocks {
			if b.index != shape.Tier {
				continue
			}
			at = b.at
			if value, ok := b.keys[name]; ok {
				at = value.Pos
			}
		}
	}
	e := r.Errorf(at, "%s", prefix+shape.Describe(name))
	e.Cause = err
	return e
}

func (r *reader) unknown(key lines.Word) error {
	names := make([]string, 0, len(tierKeys)+len(headKeys))
	for _, k := range tierKeys {
		names = append(names, k.name)
	}
	if len(r.blocks) > 0 {
		names = append(names, keyTier)
	} else {
		names = slices.Concat(headKeys, names)
	}
	return r.Unknown("key", key, names...)
}

// canonicalKey returns the key as this package writes it, or "".
func canonicalKey(text string) string {
	for _, k := range headKeys {
		if strings.EqualFold(k, text) {
			return k
		}
	}
	for _, k := range tierKeys {
		if strings.EqualFold(k.name, text) {
			return k.name
		}
	}
	return ""
}

// WriteTopology writes f as a .topo file that ReadTopology reads back to the
// same fabric. Rates must be whole Gbit/s and delays whole nanoseconds, as the
// format has nothing finer; oversubscription must be a whole number.
func WriteTopology(w io.Writer, f topologies.FatTree) error {
	if err := f.Check(); err != nil {
		return fmt.Errorf("htsim topology: %w", err)
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s %d\n%s %d\n%s %d\n", keyNodes, f.Hosts, keyTiers, len(f.Tiers), keyPodsize, f.PodSize)
	for i, t := range f.Tiers {
		if t.Rate%units.Gbps != 0 {
			return fmt.Errorf("htsim topology: tier %d: rate %v is not a whole number of Gbps", i, t.Rate)
		}
		if t.Delay%units.Nanosecond != 0 || t.SwitchDelay%units.Nanosecond != 0 {
			return fmt.Errorf("htsim topology: tier %d: delays %v and %v must be whole nanoseconds", i, t.Delay, t.SwitchDelay)
		}
		fmt.Fprintf(out, "\n%s %d\n", keyTier, i)
		top := i == len(f.Tiers)-1
		over := max(1, t.Oversubscribed)
		if !top && t.Oversubscribed == 0 {
			down, up := int64(t.RadixDown)*int64(t.Rate), int64(t.RadixUp)*int64(f.Tiers[i+1].Rate)
			if down%up != 0 || down/up > topologies.MaxRadix {
				return fmt.Errorf("htsim topology: tier %d: oversubscription %v over %v is not a whole number up to %d", i, units.Rate(down), units.Rate(up), topologies.MaxRadix)
			}
			over = int(down / up)
		}
		fmt.Fprintf(out, "Downlink_speed_Gbps %d\nRadix_Down %d\n", t.Rate/units.Gbps, t.RadixDown)
		if !top {
			fmt.Fprintf(out, "Radix_Up %d\n", t.RadixUp)
		}
		fmt.Fprintf(out, "Oversubscribed %d\nBundle %d\n", over, max(1, t.Bundle))
		fmt.Fprintf(out, "Downlink_Latency_ns %d\nSwitch_Latency_ns %d\n", t.Delay/units.Nanosecond, t.SwitchDelay/units.Nanosecond)
		if t.QueueUp > 0 {
			fmt.Fprintf(out, "Queue_Up %d\n", t.QueueUp)
		}
		if t.QueueDown > 0 {
			fmt.Fprintf(out, "Queue_Down %d\n", t.QueueDown)
		}
	}
	return out.Flush()
}
