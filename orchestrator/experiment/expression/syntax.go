package expression

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nodeKind is what a node of a syntax tree is.
type nodeKind uint8

const (
	literal     nodeKind = iota // a number
	truth                       // true or false
	text                        // in quotation marks
	name                        // an identifier
	member                      // variant.metric or variant["metric"]; both in args
	call                        // of the function in word
	unary                       // word is the operator
	binary                      // word is the operator
	conditional                 // args[0] ? args[1] : args[2]
)

// node is a node of a syntax tree.
type node struct {
	kind   nodeKind
	word   string // operator, name, or the text without quotation marks
	number float64
	args   []*node
	// Place in the source, in bytes: without the parentheses around it, and with them.
	from, to    int
	open, close int
}

// newNode returns a node without parentheses around it.
func newNode(kind nodeKind, word string, from, to int, args ...*node) *node {
	return &node{kind: kind, word: word, args: args, from: from, to: to, open: from, close: to}
}

// token is a token of the source. Its word is an operator as it is, "" at the end.
type token struct {
	kind     tokenKind
	word     string
	from, to int
}

type tokenKind uint8

const (
	end tokenKind = iota
	operator
	number
	quoted
	identifier
)

// operators in the order in which they are looked for: longer ones first.
var operators = []string{"**", "==", "!=", "<=", ">=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "!", "(", ")", "[", "]", ",", ".", "?", ":"}

// spelled are operators with another spelling.
var spelled = map[string]string{"&&": "and", "||": "or", "!": "not"}

// precedence of binary operators; ** binds to the right, the others to the left.
var precedence = map[string]int{
	"or": 1, "and": 2, // not: 3
	"==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
	"+": 5, "-": 5, "*": 6, "/": 6, "%": 6, // a sign: 7
	"**": 8,
}

const (
	notPrecedence  = 3
	signPrecedence = 7
)

// Limits of an expression: its length, and how deep it may be nested. They bound the
// stack: operators in a row make a tree as deep as they are many.
const (
	maxBytes = 10_000
	maxDepth = 500
)

// parser turns a source into a tree, by precedence climbing. It stops at the first
// error.
type parser struct {
	source string
	at     token
	depth  int
	err    *Error
}

// parse returns the tree of a source.
func parse(source string) (*node, *Error) {
	p := &parser{source: source}
	p.next()
	if p.at.kind == end && p.err == nil {
		return nil, placed(source, 0, "the expression is empty", "")
	}
	n := p.expression(0)
	if p.err == nil && p.at.kind != end {
		p.unexpected()
	}
	return n, p.err
}

func (p *parser) fail(at int, msg, suggestion string) {
	if p.err == nil {
		p.err = placed(p.source, at, msg, suggestion)
	}
	p.at = token{kind: end, from: len(p.source), to: len(p.source)}
}

func (p *parser) unexpected() {
	switch {
	case p.at.kind == end:
		p.fail(p.at.from, "the expression ends too soon", "")
	case p.at.kind == operator && p.at.word != "not":
		p.fail(p.at.from, fmt.Sprintf("%q does not fit here", p.at.word), "")
	default:
		p.fail(p.at.from, fmt.Sprintf("%q does not fit here; is an operator missing before it?", p.source[p.at.from:p.at.to]), "")
	}
}

// next reads the next token.
func (p *parser) next() {
	from := p.at.to
	for from < len(p.source) && strings.IndexByte(" \t\r\n", p.source[from]) >= 0 {
		from++
	}
	p.at = token{from: from, to: from}
	rest := p.source[from:]
	if rest == "" {
		return
	}
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case first == '"' || first == '\'' || first == '`':
		p.quoted(rest, from)
	case '0' <= first && first <= '9' || first == '.' && len(rest) > 1 && '0' <= rest[1] && rest[1] <= '9':
		length := numberLength(rest)
		p.at = token{number, rest[:length], from, from + length}
	case first == '_' || unicode.IsLetter(first):
		length := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if length < 0 {
			length = len(rest)
		}
		p.at = token{identifier, rest[:length], from, from + length}
		if w := p.at.word; w == "and" || w == "or" || w == "not" {
			p.at.kind = operator
		}
	default:
		for _, o := range operators {
			if strings.HasPrefix(rest, o) {
				p.at = token{operator, o, from, from + len(o)}
				if other, ok := spelled[o]; ok {
					p.at.word = other
				}
				return
			}
		}
		wrong := rest[:size]
		p.fail(from, fmt.Sprintf("%q is no operator", wrong), map[string]string{"=": "==", "&": "and", "|": "or", "^": "**"}[wrong])
	}
}

func numberLength(rest string) int {
	digits := func(i int) int {
		for i < len(rest) && ('0' <= rest[i] && rest[i] <= '9' || rest[i] == '_') {
			i++
		}
		return i
	}
	i := digits(0)
	if i < len(rest) && rest[i] == '.' {
		i = digits(i + 1)
	}
	if i < len(rest) && (rest[i] == 'e' || rest[i] == 'E') {
		j := i + 1
		if j < len(rest) && (rest[j] == '+' || rest[j] == '-') {
			j++
		}
		if exponent := digits(j); exponent > j {
			i = exponent
		}
	}
	for i < len(rest) { // 3ms, 0x10: all of it is wrong
		r, size := utf8.DecodeRuneInString(rest[i:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		i += size
	}
	return i
}

// quoted reads a text in quotation marks. A backslash takes the next character as it
// is, except in backquotes.
func (p *parser) quoted(rest string, from int) {
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == rest[0]:
			p.at = token{quoted, b.String(), from, from + i + 1}
			return
		case rest[i] == '\\' && rest[0] != '`' && i+1 < len(rest):
			i++
		}
		b.WriteByte(rest[i])
	}
	p.fail(from, fmt.Sprintf("the text is not closed with %c", rest[0]), "")
}

// is reports whether the next token is an operator, and reads it if so.
func (p *parser) is(word string) bool {
	if p.at.kind != operator || p.at.word != word {
		return false
	}
	p.next()
	return true
}

func (p *parser) want(word string) {
	if !p.is(word) && p.err == nil {
		if p.at.kind == end {
			p.fail(p.at.from, fmt.Sprintf("the expression ends too soon; %q is missing", word), "")
			return
		}
		p.unexpected()
	}
}

// expression reads an expression whose binary operators have at least the given
// precedence; 0: any expression.
func (p *parser) expression(least int) *node {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.at.from, fmt.Sprintf("the expression is nested more than %d deep", maxDepth), "")
	}
	defer func() { p.depth-- }()
	left := p.operand()
	for p.err == nil && p.at.kind == operator {
		word := p.at.word
		rank := precedence[word]
		if rank == 0 || rank < least {
			break
		}
		p.next()
		after := rank + 1
		if word == "**" {
			after = rank
		}
		right := p.expression(max(after, 1))
		left = newNode(binary, word, left.open, right.close, left, right)
	}
	if least == 0 && p.err == nil && p.is("?") {
		yes := p.expression(0)
		p.want(":")
		no := p.expression(0)
		left = newNode(conditional, "?", left.open, no.close, left, yes, no)
	}
	return left
}

// operand reads what stands between binary operators. It never returns nil.
func (p *parser) operand() *node {
	t := p.at
	prefix := func(least int) *node {
		p.next()
		of := p.expression(least)
		return newNode(unary, t.word, t.from, of.close, of)
	}
	n := newNode(literal, t.word, t.from, t.to)
	switch {
	case t.kind == operator && t.word == "not" && p.source[t.from] == '!':
		return prefix(signPrecedence)
	case t.kind == operator && t.word == "not":
		return prefix(notPrecedence)
	case t.kind == operator && (t.word == "-" || t.word == "+"):
		return prefix(signPrecedence)
	case t.kind == operator && t.word == "(":
		p.next()
		n = p.expression(0)
		n.open, n.close = t.from, p.at.to
		p.want(")")
		return n
	case t.kind == number:
		var err error
		if n.number, err = strconv.ParseFloat(strings.ReplaceAll(t.word, "_", ""), 64); err != nil {
			p.fail(t.from, fmt.Sprintf("%q is no number", t.word), "")
			return n
		}
	case t.kind == quoted:
		n.kind = text
	case t.kind == identifier && (t.word == "true" || t.word == "false"):
		n.kind = truth
	case t.kind == identifier:
		n.kind = name
	default:
		p.unexpected()
		return n
	}
	p.next()
	return p.postfix(n)
}

// postfix reads what may follow a name: .metric, ["metric"] or (arguments).
func (p *parser) postfix(n *node) *node {
	for p.err == nil && p.at.kind == operator {
		switch p.at.word {
		case ".":
			p.next()
			if p.at.kind != identifier {
				p.unexpected()
				return n
			}
			property := newNode(text, p.at.word, p.at.from, p.at.to)
			n = newNode(member, ".", n.from, p.at.to, n, property)
			p.next()
		case "[":
			p.next()
			property, to := p.expression(0), p.at.to
			p.want("]")
			n = newNode(member, "[", n.from, to, n, property)
		case "(":
			if n.kind != name {
				p.unexpected()
				return n
			}
			p.next()
			n = newNode(call, n.word, n.from, n.to)
			for p.err == nil && (p.at.kind != operator || p.at.word != ")") {
				if n.args = append(n.args, p.expression(0)); p.at.kind != operator || p.at.word != ")" {
					p.want(",")
				}
			}
			n.to, n.close = p.at.to, p.at.to
			p.want(")")
		default:
			return n
		}
	}
	return n
}
