package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// origin is where a piece of the tree was written.
type origin struct {
	file         string // shown in messages
	line, column int    // 0 for options and variables
	dir          string // relative file names are taken from here
	via          string // "variants.NAME." for a variant's override
}

// error returns an error at this place of a file.
func (at origin) error(path, msg, suggestion string) *Error {
	return &Error{File: at.file, Line: at.line, Column: at.column, Path: path, Msg: msg, Suggestion: suggestion}
}

type kind uint8

const (
	scalar kind = iota
	mapping
	sequence
	null
	broken // could not be read; an error says why
)

func (k kind) String() string {
	return [...]string{"a single value", "a mapping", "a list", "nothing", "nothing that can be read"}[k]
}

// tree is a YAML value with the place it was written at. Layers (file,
// environment, options, variants) are merged as trees, so that every value of
// the result still knows its origin.
type tree struct {
	kind   kind
	at     origin
	text   string // of a scalar
	quoted bool
	// verbatim: the file has the text as it is, in one line, so that a place in the text
	// is a place in the file.
	verbatim bool
	// comment stands behind a scalar on its line; it is not read.
	comment string
	keys    []entry // of a mapping, in order
	items   []*tree // of a sequence
	// instead is the path of the kind of topology or workload that an override replaced
	// by this one; empty if it replaced none.
	instead string
	whole   bool // a mapping written in a short form, which replaces another as a whole
}

type entry struct {
	name  string
	at    origin
	value *tree
}

func (t *tree) get(name string) *tree {
	if t == nil {
		return nil
	}
	for _, e := range t.keys {
		if e.name == name {
			return e.value
		}
	}
	return nil
}

func (t *tree) put(name string, at origin, value *tree) {
	for i := range t.keys {
		if t.keys[i].name == name {
			t.keys[i] = entry{name, at, value}
			return
		}
	}
	t.keys = append(t.keys, entry{name, at, value})
}

func (t *tree) remove(names ...string) {
	t.keys = slices.DeleteFunc(t.keys, func(e entry) bool { return slices.Contains(names, e.name) })
}

func (t *tree) clone() *tree {
	c := *t
	c.keys = slices.Clone(t.keys)
	for i := range c.keys {
		c.keys[i].value = c.keys[i].value.clone()
	}
	c.items = slices.Clone(t.items)
	for i := range c.items {
		c.items[i] = c.items[i].clone()
	}
	return &c
}

// mark sets the via of t and of everything in it.
func (t *tree) mark(via string) {
	t.at.via = via
	for i := range t.keys {
		t.keys[i].at.via = via
		t.keys[i].value.mark(via)
	}
	for _, item := range t.items {
		item.mark(via)
	}
}

// parseTree reads one YAML document. at is its origin. With inline set the text is
// a value from the command line, and its lines are not recorded. The tree is nil if
// the text as a whole cannot be read. With other errors, what they are about is broken
// in the tree, or left out.
func parseTree(data []byte, at origin, inline bool) (*tree, Errors) {
	b := treeBuilder{at: at, inline: inline}
	if i := slices.Index(data, 0); i >= 0 {
		line := 1 + strings.Count(string(data[:i]), "\n")
		return nil, b.fail(&token.Position{Line: line, Column: i - strings.LastIndex(string(data[:i]), "\n")}, "a zero byte; this is not a text file")
	}
	tokens := lexer.Tokenize(string(data))
	if at, limit := checkTokens(tokens); at != nil {
		return nil, b.fail(at.Position, limit)
	}
	for _, at := range tabsWithin(tokens) {
		b.fail(at, "a tab within a value; write a blank")
	}
	if len(b.errs) > 0 {
		return nil, b.errs
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	var syntax *yaml.SyntaxError
	switch {
	case errors.As(err, &syntax):
		if at, msg := tabbed(string(data), syntax.Token.Position.Line); at != nil && !inline {
			return nil, b.fail(at, msg)
		}
		return nil, b.fail(syntax.Token.Position, "not valid YAML: "+syntax.Message)
	case err != nil:
		return nil, b.fail(nil, "not valid YAML: "+err.Error())
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	switch {
	case len(docs) == 0 && inline:
		return &tree{kind: null, at: at}, nil
	case len(docs) == 0:
		return nil, b.fail(&token.Position{Line: 1, Column: 1}, "the file is empty")
	case len(docs) > 1:
		second := b.build(docs[1].Body).at
		return nil, Errors{second.error("", "a second document; a file holds one", "")}
	}
	t := b.build(docs[0].Body)
	return t, b.errs
}

// tabbed returns the place of a tab in the indentation of a line, and a message about
// it and the lines after it that have one too. It returns nil if the line has none.
func tabbed(text string, line int) (*token.Position, string) {
	tab := func(line string) int {
		indentation := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		return strings.IndexByte(indentation, '\t')
	}
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) || tab(lines[line-1]) < 0 {
		return nil, ""
	}
	more := 0
	for _, other := range lines[line:] {
		if tab(other) >= 0 {
			more++
		}
	}
	also := ""
	switch {
	case more == 1:
		also = ", 1 more line too"
	case more > 1:
		also = fmt.Sprintf(", %d more lines too", more)
	}
	what := "begins with"
	column := tab(lines[line-1]) + 1
	if column > 1 {
		what = "is indented with"
	}
	return &token.Position{Line: line, Column: column}, fmt.Sprintf("line %d %s a tab%s; YAML indents with blanks", line, what, also)
}

// tabsWithin returns the places of values that have a tab in them, of each value the
// first. The parser would leave out a tab without quotes, so that "1<tab>0us" became 10us,
// and would count the columns after one in quotes wrongly. In block texts tabs are kept.
func tabsWithin(tokens token.Tokens) []*token.Position {
	var places []*token.Position
	for _, t := range tokens {
		block := t.Prev != nil && (t.Prev.Type == token.LiteralType || t.Prev.Type == token.FoldedType)
		// A comment may stand between the header of a block text and the text.
		for p := t.Prev; p != nil && p.Type == token.CommentType && !block; p = p.Prev {
			block = p.Prev != nil && (p.Prev.Type == token.LiteralType || p.Prev.Type == token.FoldedType)
		}
		text := strings.TrimLeft(t.Origin, " \t\r\n")
		tab := strings.IndexByte(strings.TrimRight(text, " \t\r\n"), '\t')
		if block || tab < 0 || t.Type == token.CommentType {
			continue
		}
		at := *t.Position
		at.Line += strings.Count(text[:tab], "\n")
		if start := strings.LastIndexByte(text[:tab], '\n'); start >= 0 {
			at.Column = tab - start
		} else {
			at.Column += utf8.RuneCountInString(text[:tab])
		}
		places = append(places, &at)
	}
	return places
}

// treeBuilder turns the nodes of a YAML document into a tree.
type treeBuilder struct {
	at     origin
	inline bool
	path   []step // of the node under construction
	errs   Errors
}

// step is a part of a path: a key, or the index of an item if name is empty.
type step struct {
	name  string
	index int
}

// where returns the path of the node under construction.
func (b *treeBuilder) where() string {
	path := ""
	for _, s := range b.path {
		if s.name == "" {
			path += fmt.Sprintf("[%d]", s.index)
		} else {
			path = join(path, s.name)
		}
	}
	return path
}

func (b *treeBuilder) place(p *token.Position) origin {
	at := b.at
	if !b.inline && p != nil {
		at.line, at.column = p.Line, p.Column
	}
	return at
}

// fail adds an error at a place and the path of the node under construction. Of errors
// that no message lists, the path is not computed.
func (b *treeBuilder) fail(p *token.Position, msg string) Errors {
	at, path := b.place(p), ""
	if len(b.errs) < maxListed {
		path = b.where()
	}
	b.errs = append(b.errs, at.error(path, msg, ""))
	return b.errs
}

func (b *treeBuilder) build(n ast.Node) *tree {
	t := &tree{at: b.place(n.GetToken().Position)}
	switch n := n.(type) {
	case *ast.MappingNode:
		t.kind = mapping
		b.entries(t, n.Values)
	case *ast.MappingValueNode:
		t.kind = mapping
		b.entries(t, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		t.kind = sequence
		t.items = make([]*tree, 0, len(n.Values))
		for i, v := range n.Values {
			b.path = append(b.path, step{index: i})
			t.items = append(t.items, b.build(v))
			b.path = b.path[:len(b.path)-1]
		}
		if len(n.Values) > 0 {
			t.at = t.items[0].at
		}
	case *ast.NullNode:
		t.kind = null
	case *ast.StringNode:
		t.text = n.Value
		t.quoted = n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
		t.verbatim = strings.Contains(n.Token.Origin, t.text) && !strings.Contains(t.text, "\n")
	case *ast.LiteralNode:
		t.text, t.quoted = n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		t.text = n.GetToken().Value
	default:
		t.kind = broken
		b.fail(n.GetToken().Position, fmt.Sprintf("the %s of YAML is not used here; write the value out", strings.ToLower(n.Type().String())))
	}
	return t
}

func (b *treeBuilder) entries(t *tree, values []*ast.MappingValueNode) {
	lines := make(map[string]int, len(values)) // of the keys so far
	for i, v := range values {
		key := v.Key.GetToken()
		name := key.Value
		if i == 0 {
			t.at = b.place(key.Position)
		}
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			b.fail(key.Position, "the merge key of YAML is not used here; write the values out")
			continue
		}
		b.path = append(b.path, step{name: name})
		if line, ok := lines[name]; ok {
			msg := "the key is given twice"
			if line > 0 {
				msg += fmt.Sprintf("; the first is in line %d", line)
			}
			b.fail(key.Position, msg)
		} else {
			at := b.place(key.Position)
			lines[name] = at.line
			t.keys = append(t.keys, entry{name, at, b.build(v.Value)})
		}
		b.path = b.path[:len(b.path)-1]
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// dots returns a path with a dot in front of each index: a.1 for a[1].
func dots(path string) string { return strings.NewReplacer("[", ".", "]", "").Replace(path) }

// isIndex reports whether a part of a dotted path is an index of a list.
func isIndex(name string) bool { return name != "" && strings.Trim(name, "0123456789") == "" }

// brackets returns a dotted path with [] in place of each index, as general does.
func brackets(path string) string {
	text := ""
	for name := range strings.SplitSeq(path, ".") {
		if isIndex(name) {
			text += "[]"
		} else {
			text = join(text, name)
		}
	}
	return text
}

// find returns the value at a dotted path, or nil. A name that stands for a mapping has
// the key that is short for the mapping.
func (t *tree) find(path string) *tree {
	at := ""
	for name := range strings.SplitSeq(path, ".") {
		switch {
		case t.kind == sequence:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(t.items) {
				return nil
			}
			t, at = t.items[i], fmt.Sprintf("%s[%d]", at, i)
			continue
		case t.kind == scalar && name == keyAt(at).short && name != "":
		case t.get(name) == nil:
			return nil
		default:
			t = t.get(name)
		}
		at = join(at, name)
	}
	return t
}

// merge applies an override at a dotted path. Numbers in the path are indexes of a
// list. Mappings merge key by key, but the name of an algorithm drops the parameters
// that were given before it; see ownerKey. The decoder checks the path.
func (t *tree) merge(path string, at origin, value *tree) *Error {
	return t.overlay("", strings.Split(path, "."), at, value)
}

func (t *tree) overlay(path string, rest []string, at origin, value *tree) *Error {
	wrong := func(at origin, path, msg string) *Error {
		return at.error(at.via+path, msg, "")
	}
	named, owner := keyAt(path).short, ownerKey(path)
	if len(rest) == 0 {
		fresh := value.kind != mapping || value.whole || owner != "" && value.get(owner) != nil
		if fresh || t.kind != mapping {
			was := t.instead
			*t = *value.clone()
			t.instead = was
			return nil
		}
		group, first := alternatives(path), ""
		for _, e := range value.keys {
			if slices.Contains(group, e.name) {
				if first != "" {
					return wrong(e.at, join(path, e.name), fmt.Sprintf("excludes %s; give one of them", join(path, first)))
				}
				first = e.name
			}
		}
		for _, e := range value.keys {
			if err := t.overlay(path, []string{e.name}, e.at, e.value); err != nil {
				return err
			}
		}
		return nil
	}
	name := rest[0]
	if t.kind == sequence {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(t.items) {
			return wrong(at, join(path, name), fmt.Sprintf("%q is not one of the list's %d items; the first is 0", name, len(t.items)))
		}
		return t.items[i].overlay(fmt.Sprintf("%s[%d]", path, i), rest[1:], at, value)
	}
	switch {
	case isIndex(name) && path != "":
		return wrong(at, join(path, name), fmt.Sprintf("%q is the index of an item, and %s is no list here; give the whole list", name, path))
	case t.kind == scalar && named != "":
		value := t.clone()
		*t = tree{kind: mapping, at: t.at, keys: []entry{{named, t.at, value}}}
	case t.kind != mapping:
		*t = tree{kind: mapping, at: at, instead: t.instead}
	}
	if owner != "" && name == owner {
		t.keys = nil
	}
	instead := ""
	if group := alternatives(path); slices.Contains(group, name) {
		for _, other := range group {
			if other != name && t.get(other) != nil {
				instead = join(path, other)
				t.remove(other)
			}
		}
	}
	child := t.get(name)
	if child == nil {
		child = &tree{kind: null, at: at, instead: instead}
	}
	t.put(name, at, child)
	return child.overlay(join(path, name), rest[1:], at, value)
}
