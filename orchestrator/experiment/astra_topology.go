package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Astra is a fabric from a network file of ASTRA-sim's analytical networks. In YAML also short:
// the name of the file.
type Astra struct {
	File string `yaml:"file,required,short" is:"file" doc:"'network.yml' of ASTRA-sim, with topology, npus_count, bandwidth and latency"`
}

// Names of a network file (docs/reference/references.md#astra-sim-files).
var (
	astraKeys   = []string{"topology", "npus_count", "bandwidth", "latency"}
	astraBlocks = []string{"Switch", "Ring", "FullyConnected"} // in the order of topologies.Block
)

// astraGB is what ASTRA-sim's analytical networks mean by a GB/s: 2^30 bytes in a second.
const astraGB = float64(8 << 30)

// Build implements TopologySpec.
func (f Astra) Build() (Built, error) {
	t, err := readTree(f.File)
	if err != nil {
		return Built{}, inputError{err}
	}
	r := astraReader{root: t}
	custom := r.read(fileStem(f.File))
	if len(r.errs) > 0 {
		return Built{}, inputError{sortErrors(f.File, r.errs)}
	}
	b, err := buildCustom(custom)
	if err != nil {
		return Built{}, err
	}
	note := f.File + ": a GB/s is 2^30 bytes in a second, as in ASTRA-sim's analytical networks"
	if b.Graph.Hosts() < len(b.Graph.Nodes)-1 {
		note += "; hosts do not forward in csiglab, so that a switch beside each NPU does: that of n0 is r0"
	}
	b.Notes = append(b.Notes, note)
	return b, nil
}

// astraReader reads a network file.
type astraReader struct {
	root *tree
	errs Errors
}

// fail adds an error at a place of the file.
func (r *astraReader) fail(at origin, path, format string, args ...any) {
	r.errs = append(r.errs, at.error(path, fmt.Sprintf(format, args...), ""))
}

// read returns the fabric, unless something is wrong, which it reports.
func (r *astraReader) read(name string) *topologies.Custom {
	dims := make([]topologies.Dimension, r.keys())
	if len(r.errs) > 0 {
		return nil
	}
	r.each("topology", func(i int, text string) error {
		block := slices.Index(astraBlocks, text)
		if block < 0 {
			return fmt.Errorf("%w%s", unknown("topology", text, astraBlocks), spelling.Hint(spelling.Nearest(text, astraBlocks)))
		}
		dims[i].Block = topologies.Block(block)
		return nil
	})
	r.each("npus_count", func(i int, text string) (err error) {
		if dims[i].Hosts, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		if n := dims[i].Hosts; n < 2 || n > topologies.MaxRadix {
			return fmt.Errorf("%d NPUs, want 2 to %d", n, topologies.MaxRadix)
		}
		return nil
	})
	r.each("bandwidth", func(i int, text string) error {
		n, err := number(text, "GB/s", astraGB, float64(minRate), float64(maxRate))
		dims[i].Rate = units.Rate(n)
		return err
	})
	r.each("latency", func(i int, text string) error {
		n, err := number(text, "ns", float64(units.Nanosecond), float64(topologies.LeastDelay), float64(maxDelay))
		dims[i].Delay = units.Duration(n)
		return err
	})
	if len(r.errs) > 0 {
		return nil
	}
	c, err := topologies.Dimensions(name, dims)
	if err != nil {
		r.fail(r.root.get("npus_count").at, "npus_count", "%v", err)
	}
	return c
}

// keys reports keys that are unknown or missing, and values that are no lists of one length, which it
// returns.
func (r *astraReader) keys() (dims int) {
	all := strings.Join(astraKeys, ", ")
	if r.root.kind != mapping {
		r.fail(r.root.at, "", "want a mapping with %s, got %v", all, r.root.kind)
		return 0
	}
	for _, e := range r.root.keys {
		if !slices.Contains(astraKeys, e.name) {
			r.fail(e.at, e.name, "unknown key %q; the file has %s%s", e.name, all, spelling.Hint(spelling.Nearest(e.name, astraKeys)))
		}
	}
	for _, key := range astraKeys {
		switch t := r.root.get(key); {
		case t == nil:
			r.fail(r.root.at, key, "the key %q is missing", key)
		case t.kind != sequence || len(t.items) == 0:
			r.fail(t.at, key, "want a list with a value for each dimension")
		case dims == 0:
			dims = len(t.items)
		case len(t.items) != dims:
			r.fail(t.at, key, "%s, and %s above: the lists have one for each dimension", spelling.Plural(len(t.items), "value"), spelling.Plural(dims, "value"))
		}
	}
	return dims
}

// each calls read for the values of a list, and reports its errors.
func (r *astraReader) each(key string, read func(i int, text string) error) {
	for i, t := range r.root.get(key).items {
		err := fmt.Errorf("want a single value, got %v", t.kind)
		if t.kind == scalar {
			err = read(i, t.text)
		}
		if err != nil {
			r.fail(t.at, fmt.Sprintf("%s[%d]", key, i), "%v", err)
		}
	}
}

// number returns a number of a unit, of which one is so large, rounded to a whole number from
// low to high.
func number(text, unit string, one, low, high float64) (int64, error) {
	v, err := parseNumber(text)
	if err != nil {
		return 0, err
	}
	if n := math.Round(v * one); n >= low && n <= high {
		return int64(n), nil
	}
	return 0, fmt.Errorf("%s %s, want %.4g to %.4g", text, unit, low/one, high/one)
}
