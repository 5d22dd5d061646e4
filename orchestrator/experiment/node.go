package experiment

import "fmt"

// Node is a value of a YAML file that is no experiment, such as a suite or settings, with the
// place at which it was written.
type Node struct {
	File         string
	Line, Column int
	Path         string // dotted, such as experiments[0].metrics
	Kind         NodeKind
	Text         string      // of a Single
	Quoted       bool        // a Single in quotes, which is text whatever it looks like
	Keys         []NodeEntry // of a Mapping, in order; no name is there twice
	Items        []*Node
}

// NodeEntry is a key of a mapping and its value.
type NodeEntry struct {
	Name         string
	Line, Column int // of the name
	Value        *Node
}

// NodeKind is what a value is.
type NodeKind uint8

// Kinds of values. Nothing is a key without a value.
const (
	Single NodeKind = iota
	Mapping
	List
	Nothing
)

// String returns the kind in words.
func (k NodeKind) String() string { return kind(k).String() }

// ParseNode reads a YAML file that is no experiment, with the limits and the messages of
// experiments. Its error is an Errors.
func ParseNode(file string, data []byte) (*Node, error) {
	t, errs := parseTree(data, origin{file: file}, false)
	if len(errs) > 0 {
		return nil, errs
	}
	return newNode(t, file, ""), nil
}

func newNode(t *tree, file, path string) *Node {
	n := &Node{File: file, Line: t.at.line, Column: t.at.column, Path: path, Kind: NodeKind(t.kind), Text: t.text, Quoted: t.quoted}
	for _, e := range t.keys {
		n.Keys = append(n.Keys, NodeEntry{e.name, e.at.line, e.at.column, newNode(e.value, file, join(path, e.name))})
	}
	for i, item := range t.items {
		n.Items = append(n.Items, newNode(item, file, fmt.Sprintf("%s[%d]", path, i)))
	}
	return n
}

// Get returns the value of a key, or nil.
func (n *Node) Get(name string) *Node {
	for _, k := range n.Keys {
		if k.Name == name {
			return k.Value
		}
	}
	return nil
}

// Wrong returns an error at the place of the value.
func (n *Node) Wrong(msg, suggestion string) *Error {
	return &Error{File: n.File, Line: n.Line, Column: n.Column, Path: n.Path, Msg: msg, Suggestion: suggestion}
}

// WrongKey returns an error at the place of a key of the mapping.
func (n *Node) WrongKey(k NodeEntry, msg, suggestion string) *Error {
	return &Error{File: n.File, Line: k.Line, Column: k.Column, Path: join(n.Path, k.Name), Msg: msg, Suggestion: suggestion}
}
