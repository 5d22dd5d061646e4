package chakra

import (
	"io"
	"math"
	"strings"

	"github.com/csiglab/csiglab/internal/jsonread"
	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/workloads/tracefile"
)

// maxDeps bounds the dependencies of a node.
const maxDeps = 1 << 22

// json reads the nodes of a file of JSON: that of Chakra's feeder, an object with workload_graph,
// or that of its jsonizer, the messages of the protobuf form one after the other.
func (r *reader) json(in io.Reader) error {
	j := jsonread.New(r.name, in)
	kind, err := j.Peek()
	if err != nil {
		return err
	}
	if kind != jsonread.Object {
		return j.Errorf(j.Pos(), "%s, want an object", kind)
	}
	f := &jsonFile{reader: r, j: j, texts: interner{}}
	for first := true; ; first = false {
		kind, err := j.Peek()
		if err != nil {
			return err
		}
		if kind == jsonread.None {
			return end(j)
		}
		if f.graph {
			return j.Errorf(j.Pos(), "%s follows the end", kind)
		}
		n := node{pos: pos(j.Pos())}
		at, isNode := j.Pos(), false
		err = j.Object(func(key string) error {
			switch {
			case first && key == "workload_graph":
				f.graph = true
				return f.list()
			case first && key == "nodes":
				return j.Errorf(at, "an execution trace of PyTorch itself, not one of Chakra")
			case first && key == "version", key == "attr" && !isNode && first:
				return j.Skip()
			case first && f.graph:
				f.assembler.Loss.Add("keys "+cut(key), tracefile.Place(r.name, pos(j.Pos())))
				return j.Skip()
			}
			isNode = true
			return f.member(&n, key)
		})
		if err != nil {
			return err
		}
		if first && isNode && !f.graph {
			return j.Errorf(at, "the file begins with a node, want metadata or workload_graph")
		}
		if first {
			continue
		}
		if err := f.addNode(&n, at); err != nil {
			return err
		}
	}
}

// pos returns a place as tracefile has it.
func pos(at lines.Pos) int64 { return tracefile.At(at.Line, at.Column) }

// jsonFile is the state of one file.
type jsonFile struct {
	*reader
	j     *jsonread.Reader
	graph bool
	texts interner
}

func (f *jsonFile) addNode(n *node, at lines.Pos) error {
	if err := f.take(); err != nil {
		return f.j.Errorf(at, "%v", err)
	}
	return f.add(n)
}

// list reads the nodes of workload_graph.
func (f *jsonFile) list() error {
	var n node
	return f.j.Array(func(int) error {
		if _, err := f.j.Peek(); err != nil {
			return err
		}
		at := f.j.Pos()
		n.reset(pos(at))
		if err := f.j.Object(func(key string) error { return f.member(&n, key) }); err != nil {
			return err
		}
		return f.addNode(&n, at)
	})
}

// member reads a member of a node. The names of keys differ between the forms in case and
// underscores.
func (f *jsonFile) member(n *node, key string) (err error) {
	j := f.j
	switch strings.ToLower(strings.ReplaceAll(key, "_", "")) {
	case "id":
		n.id, err = j.Uint(key)
	case "name":
		name, err := j.String()
		n.called([]byte(name), f.texts)
		return err
	case "type", "nodetype":
		kind, err := j.Peek()
		if err != nil {
			return err
		}
		if kind != jsonread.String {
			n.kind, err = j.Int(key, math.MinInt32, math.MaxInt32)
			return err
		}
		name, err := j.String()
		if err != nil {
			return err
		}
		for i, known := range typeNames {
			if name == known {
				n.kind = int64(i)
				return nil
			}
		}
		return j.Errorf(j.Pos(), "unknown type %q", cut(name))
	case "ctrldeps":
		n.control, err = f.deps(n.control[:0])
	case "datadeps":
		n.data, err = f.deps(n.data[:0])
	case "runtime", "durationmicros":
		n.duration, err = j.Uint(key)
	case "starttimemicros", "outputs":
		err = j.Skip()
	case "inputs":
		if kind, err := j.Peek(); err != nil || kind != jsonread.Object {
			return j.Skip()
		}
		return j.Object(func(key string) (err error) {
			if key != "values" {
				return j.Skip()
			}
			n.inputs, err = j.String()
			return err
		})
	case "attr":
		return j.Array(func(int) error { return f.attribute(n) })
	default:
		v, err := f.value()
		if err != nil {
			return err
		}
		return f.set(n, key, v)
	}
	return err
}

// set takes an attribute that has just been read.
func (f *jsonFile) set(n *node, name string, v value) error {
	if err := n.set(name, v, 0); err != nil {
		return f.j.Errorf(f.j.Pos(), "%v", err)
	}
	return nil
}

// deps reads a list of ids.
func (f *jsonFile) deps(ids []uint64) ([]uint64, error) {
	err := f.j.Array(func(i int) error {
		id, err := f.j.Uint("dependency")
		if err != nil {
			return err
		}
		if i >= maxDeps {
			return f.j.Errorf(f.j.Pos(), "more than %d dependencies of a node", maxDeps)
		}
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// attribute reads an attribute of protobuf's form: its name, and a value under the name of its
// type, such as int64Val.
func (f *jsonFile) attribute(n *node) error {
	j := f.j
	var name string
	var v value
	if _, err := j.Peek(); err != nil {
		return err
	}
	at := j.Pos()
	err := j.Object(func(key string) (err error) {
		switch kind := strings.ToLower(strings.ReplaceAll(key, "_", "")); {
		case kind == "name":
			name, err = j.String()
		case kind == "docstring":
			err = j.Skip()
		case strings.HasSuffix(kind, "val"):
			v, err = f.value()
		case kind == "boollist":
			v = value{kind: list}
			return j.Object(func(string) error {
				return j.Array(func(int) error {
					b, err := j.Bool()
					v.some = v.some || !b
					return err
				})
			})
		case strings.HasSuffix(kind, "list"):
			v = value{kind: list}
			err = j.Skip()
		default:
			err = j.Errorf(j.Pos(), "unknown key %q of an attribute", cut(key))
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := n.set(name, v, 0); err != nil {
		return j.Errorf(at, "%v", err)
	}
	return nil
}

// value reads a value of any type.
func (f *jsonFile) value() (value, error) {
	j := f.j
	kind, err := j.Peek()
	if err != nil {
		return value{}, err
	}
	switch kind {
	case jsonread.True, jsonread.False:
		b, err := j.Bool()
		if b {
			return integer(1), err
		}
		return integer(0), err
	case jsonread.String:
		s, err := j.String()
		return value{kind: text, text: s}, err
	case jsonread.Number:
		// What does not fit is an error only if the attribute matters.
		number, err := j.Text()
		if err != nil {
			return value{}, err
		}
		v, err := jsonread.Whole(number)
		if err != nil {
			return value{kind: fraction}, nil
		}
		return integer(v), nil
	case jsonread.Null:
		return value{}, j.Skip()
	default:
		return value{kind: list}, j.Skip()
	}
}
