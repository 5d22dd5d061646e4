package pytorch

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/csiglab/csiglab/internal/jsonread"
	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/trace"
	"github.com/csiglab/csiglab/workloads/tracefile"
)

// maxValues bounds the values of the inputs of a node that matters.
const maxValues = 1 << 20

// file reads the trace of a rank.
func (r *reader) file(f tracefile.File, budget *tracefile.Budget) (*rank, error) {
	t := &rank{name: f.Name, number: max(f.Rank, 0)}
	in, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	defer in.Close() // opened for reading
	unpacked, err := tracefile.Unpack(in, budget)
	if err != nil {
		return nil, fmt.Errorf("%s:1:1: %w", f.Name, err)
	}
	p := &parser{reader: r, t: t, j: jsonread.New(f.Name, bufio.NewReader(unpacked)), strings: map[string]string{}}
	found := false
	err = p.j.Object(func(key string) error {
		switch key {
		case "nodes":
			found = true
			return p.j.Array(func(int) error { return p.node() })
		case "workload_graph", "traceEvents":
			return p.j.Errorf(p.j.Pos(), "%s: not an execution trace of PyTorch", key)
		}
		return p.j.Skip()
	})
	if err != nil {
		return nil, err
	}
	if kind, err := p.j.Peek(); err != nil || kind != jsonread.None {
		return nil, errors.Join(err, p.j.Errorf(p.j.Pos(), "%s follows the end", kind))
	}
	if !found {
		return nil, p.j.Errorf(p.j.Pos(), "the file has no nodes")
	}
	return t, nil
}

// parser reads one file.
type parser struct {
	*reader
	t       *rank
	j       *jsonread.Reader
	strings map[string]string // names of operators, which repeat
	values  int               // of the node
}

// value is a value of the inputs or outputs of a node.
type value struct {
	kind  jsonread.Kind
	whole int64
	text  string
	list  []value
}

// raw is what a node says, before it is known what matters.
type raw struct {
	node
	at              lines.Pos
	inputs, outputs *tensors
	// The attributes of a communication.
	comm
	dtype     string
	inElems   int64
	outElems  int64
	described bool
	category  string
}

// tensors are inputs or outputs.
type tensors struct {
	values []value
	types  []string
}

// node reads a node.
func (p *parser) node() error {
	j := p.j
	if _, err := j.Peek(); err != nil {
		return err
	}
	n := raw{at: j.Pos(), comm: comm{place: none, start: none, stride: none, in: none, out: none}, inElems: none, outElems: none}
	n.pos = tracefile.At(n.at.Line, n.at.Column)
	n.begin, n.exclusive, n.inclusive = math.NaN(), math.NaN(), math.NaN()
	if p.nodes++; p.nodes > p.o.Limits.Nodes {
		return j.Errorf(n.at, "%s", p.o.Limits.TooManyNodes())
	}
	p.values = 0
	if err := j.Object(func(key string) error { return p.member(&n, key) }); err != nil {
		return err
	}
	n.kernel = n.category != "" && n.category != "cpu_op"
	if strings.Contains(n.node.name, "process_group:init") {
		return p.define(&n)
	}
	if n.node.name == "record_param_comms" {
		if err := p.describe(&n); err != nil {
			return err
		}
		c := n.comm
		n.node.comm = &c
	}
	p.t.nodes = append(p.t.nodes, n.node)
	return nil
}

// member reads a member of a node, or one of its attributes.
func (p *parser) member(n *raw, key string) (err error) {
	j := p.j
	switch key {
	case "id":
		n.id, err = j.Uint(key)
	case "name":
		var name string
		name, err = j.String()
		n.node.name = p.intern(name)
	case "ctrl_deps", "parent":
		if kind, err := j.Peek(); err != nil || kind != jsonread.Number {
			return j.Skip()
		}
		n.parent, err = j.Uint(key)
	case "inputs":
		n.inputs, err = p.tensors(n.node.name)
	case "outputs":
		n.outputs, err = p.tensors(n.node.name)
	case "attrs":
		return j.Array(func(int) error { return p.attribute(n) })
	default:
		return p.fact(n, key)
	}
	return err
}

// intern returns the one copy of a string that repeats.
func (p *parser) intern(s string) string {
	if known, ok := p.strings[s]; ok {
		return known
	}
	if len(s) > 200 {
		s = strings.Clone(s[:200])
	}
	if len(p.strings) < 1<<16 {
		p.strings[s] = s
	}
	return s
}

// attribute reads {name, type, value}. The value has to be behind the name.
func (p *parser) attribute(n *raw) error {
	var name string
	return p.j.Object(func(key string) (err error) {
		switch key {
		case "name":
			name, err = p.j.String()
			return err
		case "value":
			return p.fact(n, name)
		}
		return p.j.Skip()
	})
}

// fact reads the value of an attribute, or of a key that trace_link adds to a node.
func (p *parser) fact(n *raw, name string) (err error) {
	j := p.j
	kind, err := j.Peek()
	if err != nil {
		return err
	}
	if kind == jsonread.Null {
		return j.Skip()
	}
	switch name {
	case "ts":
		n.begin, err = p.time(name)
	case "exclusive_dur":
		n.exclusive, err = p.time(name)
	case "inclusive_dur", "dur":
		n.inclusive, err = p.time(name)
	case "cat":
		n.category, err = j.String()
	case "stream":
		n.stream, err = j.Int(name, math.MinInt64, math.MaxInt64)
	case "collective_name", "Collective name":
		n.described = true
		n.comm.name, err = j.String()
	case "dtype":
		n.dtype, err = j.String()
	case "in_msg_nelems":
		n.inElems, err = j.Int(name, 0, int64(trace.MaxBytes))
	case "out_msg_nelems":
		n.outElems, err = j.Int(name, 0, int64(trace.MaxBytes))
	case "in_split_size":
		n.split, err = p.split()
	case "global_rank_start":
		n.start, err = j.Int(name, math.MinInt32, math.MaxInt32)
	case "global_rank_stride":
		n.stride, err = j.Int(name, math.MinInt32, math.MaxInt32)
	case "pg_size":
		n.size, err = j.Int(name, 0, math.MaxInt32)
	case "pg_name":
		n.group, err = p.textOf(kind)
	default:
		err = j.Skip()
	}
	return err
}

// time reads microseconds.
func (p *parser) time(name string) (float64, error) {
	v, err := p.j.Float(name)
	if err != nil {
		return 0, err
	}
	if math.IsInf(v, 0) || math.IsNaN(v) || math.Abs(v) > 1e18 {
		return 0, p.j.Errorf(p.j.Pos(), "%s is no time in microseconds", name)
	}
	return v, nil
}

// textOf reads a string or number as text.
func (p *parser) textOf(kind jsonread.Kind) (string, error) {
	if kind == jsonread.Number {
		return p.j.Text()
	}
	return p.j.String()
}

// split reads a list of sizes, or a string that holds one, such as "[4, 8]".
func (p *parser) split() ([]int64, error) {
	kind, err := p.j.Peek()
	if err != nil {
		return nil, err
	}
	at := p.j.Pos()
	if kind == jsonread.Array {
		return p.sizes(p.j)
	}
	text, err := p.j.String()
	if err != nil || strings.TrimSpace(text) == "" {
		return nil, err
	}
	sizes, err := p.sizes(jsonread.New(p.t.name, strings.NewReader(text)))
	if err != nil {
		return nil, p.j.Errorf(at, "the split sizes are no list of whole numbers from 0")
	}
	return sizes, nil
}

func (p *parser) sizes(j *jsonread.Reader) (sizes []int64, err error) {
	return sizes, j.Array(func(i int) error {
		v, err := j.Int("split size", 0, int64(trace.MaxBytes)>>16)
		if err == nil && i >= maxRanks {
			err = j.Errorf(j.Pos(), "more than %d split sizes", maxRanks)
		}
		sizes = append(sizes, v)
		return err
	})
}

// tensors reads {values, shapes, types} of a node, if they may matter. Older schemas have the
// values alone, as a list.
func (p *parser) tensors(name string) (*tensors, error) {
	if name != "" && name != "record_param_comms" && !strings.Contains(name, "process_group:init") {
		return nil, p.j.Skip()
	}
	t := &tensors{}
	kind, err := p.j.Peek()
	if err != nil {
		return nil, err
	}
	if kind == jsonread.Array {
		v, err := p.value()
		t.values = v.list
		return t, err
	}
	return t, p.j.Object(func(key string) error {
		switch key {
		case "values":
			v, err := p.value()
			t.values = v.list
			return err
		case "types":
			return p.j.Array(func(int) error {
				s, err := p.j.String()
				t.types = append(t.types, s)
				return err
			})
		}
		return p.j.Skip()
	})
}

// value reads a value with everything in it.
func (p *parser) value() (v value, err error) {
	j := p.j
	if v.kind, err = j.Peek(); err != nil {
		return v, err
	}
	if p.values++; p.values > maxValues {
		return v, j.Errorf(j.Pos(), "more than %d values of a node", maxValues)
	}
	switch v.kind {
	case jsonread.String:
		v.text, err = j.String()
	case jsonread.Number:
		text, err := j.Text()
		if err != nil {
			return v, err
		}
		if v.whole, err = jsonread.Whole(text); err != nil {
			v.kind = jsonread.Null // a fraction
		}
	case jsonread.Array:
		err = j.Array(func(int) error {
			e, err := p.value()
			v.list = append(v.list, e)
			return err
		})
	default:
		err = j.Skip()
	}
	return v, err
}

// define reads a node that defines groups. One that PyTorch has cut off is lost.
func (p *parser) define(n *raw) error {
	if n.inputs == nil {
		return nil
	}
	for _, v := range n.inputs.values {
		if v.kind != jsonread.String || strings.TrimSpace(v.text) == "" {
			continue
		}
		if !strings.HasSuffix(strings.TrimSpace(v.text), "]") {
			p.t.cutOff = append(p.t.cutOff, n.pos)
			continue
		}
		groups, err := ParseGroups(v.text)
		if err != nil {
			return p.j.Errorf(n.at, "node %d: its groups: %v", n.id, err)
		}
		if p.t.groups = append(p.t.groups, groups...); len(p.t.groups) > maxGroups {
			return p.j.Errorf(n.at, "more than %d groups", maxGroups)
		}
	}
	return nil
}

// maxGroups bounds the groups of a trace.
const maxGroups = 1 << 14

// describe finds what a node record_param_comms communicates: what its attributes do not say
// is in its inputs, at places that depend on the schema, before and behind the name.
func (p *parser) describe(n *raw) error {
	if n.inputs != nil {
		v := n.inputs.values
		at := -1
		for i := range v {
			if v[i].kind == jsonread.String {
				at = i
				break
			}
		}
		whole := func(i int) int64 {
			if i < 0 || i >= len(v) {
				return none
			}
			if v[i].kind == jsonread.Array && len(v[i].list) > 0 { // (number, whether it is point to point)
				return v[i].list[0].whole
			}
			if v[i].kind != jsonread.Number {
				return none
			}
			return v[i].whole
		}
		if at >= 0 {
			if n.comm.name == "" {
				n.comm.name = v[at].text
			}
			n.place, n.seq = whole(at-1), whole(at-3)
			if at >= 2 {
				switch g := v[at-2]; {
				case g.kind == jsonread.Array && len(g.list) > 0 && n.group == "": // (name, description)
					n.group = g.list[0].text
				case g.kind == jsonread.Number && n.group == "":
					n.groupID = g.whole
				}
			}
			if at+1 < len(v) && n.split == nil {
				for _, s := range v[at+1].list {
					if s.kind != jsonread.Number || s.whole < 0 || s.whole > int64(trace.MaxBytes)>>16 || len(n.split) >= maxRanks {
						return p.j.Errorf(n.at, "node %d: its split sizes are no list of whole numbers from 0", n.id)
					}
					n.split = append(n.split, s.whole)
				}
			}
			p.group(n, v[at+1:])
		}
	}
	element := elementSize(n.dtype)
	var err error
	if n.in, err = p.bytes(n, n.inElems, element, n.inputs); err != nil {
		return err
	}
	n.out, err = p.bytes(n, n.outElems, element, n.outputs)
	return err
}

// group takes what stands behind the name of a communication: the splits of what is sent and of what
// is received, since schema 1.0.2 the number of ranks, and since 1.0.3 the first rank and the
// distance between ranks in front of it. Without a number of ranks, an all-to-all has as many
// as splits.
func (p *parser) group(n *raw, v []value) {
	size := 2
	if len(v) >= 5 {
		size = 4
	}
	if n.size == 0 && size < len(v) && v[size].kind == jsonread.Number && v[size].whole > 0 && v[size].whole <= math.MaxInt32 {
		n.size = v[size].whole
		if size == 4 && !n.described && v[2].kind == jsonread.Number && v[3].kind == jsonread.Number {
			n.start, n.stride = v[2].whole, v[3].whole
		}
	}
	if _, kind := n.comm.kind(); n.size == 0 && kind == collective.AllToAll && len(v) >= 2 {
		n.size = int64(max(len(v[0].list), len(v[1].list)))
	}
}

// bytes returns the size of elements or, if these are not known, of the tensors in t.
func (p *parser) bytes(n *raw, elements, size int64, t *tensors) (int64, error) {
	if elements < 0 || size == 0 {
		elements, size = 0, 1
		if t != nil && len(t.values) > 0 {
			elements = tensorBytes(&t.values[0])
		}
	}
	if elements < 0 || elements > int64(trace.MaxBytes)/size {
		return 0, p.j.Errorf(n.at, "node %d %q: more than %d bytes", n.id, n.comm.name, int64(trace.MaxBytes))
	}
	return elements * size, nil
}

// tensorBytes returns the size of a tensor, or of all in a list; negative if it is too large. A
// tensor is [id, storage, offset, elements, bytes of an element, device].
func tensorBytes(v *value) int64 {
	if len(v.list) == 6 && v.list[0].kind == jsonread.Number && v.list[5].kind == jsonread.String {
		n, size := v.list[3].whole, v.list[4].whole
		if n < 0 || size < 0 || size > 1<<10 || n > int64(trace.MaxBytes) {
			return -1
		}
		return n * size
	}
	var sum int64
	for i := range v.list {
		b := tensorBytes(&v.list[i])
		if b < 0 || sum+b > int64(trace.MaxBytes) {
			return -1
		}
		sum += b
	}
	return sum
}

// elementSize returns the size of an element of a type, as PyTorch names it; 0: unknown.
func elementSize(dtype string) int64 {
	name := strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(dtype, "torch."), "c10::"))
	switch name {
	case "byte", "char", "bool", "uint8", "int8", "qint8", "quint8", "unsigned char", "signed char":
		return 1
	case "half", "bfloat16", "float16", "short", "int16", "uint16":
		return 2
	case "float", "int", "float32", "int32", "uint32":
		return 4
	case "double", "long", "long int", "float64", "int64", "uint64", "complexfloat", "complex64":
		return 8
	case "complexdouble", "complex128":
		return 16
	}
	if strings.HasPrefix(name, "float8") {
		return 1
	}
	return 0
}
