package promserver

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/strutil"
)

// limitedParser refuses texts beyond the limits before Prometheus' parser sees them: that
// parser, and all that walks its trees, takes time and memory that grow with the square of
// the depth.
type limitedParser struct {
	parser.Parser
	limits *Limits
	turn   chan struct{} // as many texts are parsed at a time as it has room for
}

func newParser(l *Limits) *limitedParser {
	return &limitedParser{parser.NewParser(parser.Options{}), l, make(chan struct{}, l.Queries)}
}

// ParseExpr implements parser.Parser.
func (p *limitedParser) ParseExpr(text string) (parser.Expr, error) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if err := p.limits.check(text); err != nil {
		return nil, err
	}
	expr, err := p.Parser.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	if !shallow(expr, p.limits.Depth) {
		return nil, p.limits.depthError("expressions")
	}
	return expr, nil
}

// ParseMetricSelectors implements parser.Parser.
func (p *limitedParser) ParseMetricSelectors(texts []string) ([][]*labels.Matcher, error) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if err := p.limits.check(texts...); err != nil {
		return nil, err
	}
	return p.Parser.ParseMetricSelectors(texts)
}

// check refuses texts that are too long, too deep or have too many nodes. It takes a time
// and a memory that do not grow faster than the texts.
func (l *Limits) check(texts ...string) error {
	length, nodes := 0, 0
	for _, text := range texts {
		if length += len(text); length > int(l.Length) {
			return &LimitError{"the query is too long", l.Length, FlagLength, tooLarge}
		}
	}
	for _, text := range texts {
		depth := 0
		lexer := parser.Lex(text)
		for item := (parser.Item{}); ; {
			lexer.NextItem(&item)
			switch item.Typ {
			case parser.LEFT_PAREN, parser.LEFT_BRACE, parser.LEFT_BRACKET:
				depth++
			case parser.RIGHT_PAREN, parser.RIGHT_BRACE, parser.RIGHT_BRACKET:
				depth--
			case parser.STRING:
				nodes += states(item.Val, l.Nodes)
			}
			if depth > l.Depth {
				return l.depthError("brackets")
			}
			if nodes++; nodes > l.Nodes {
				return &LimitError{"the query has too many words, signs and repetitions", l.Nodes, FlagNodes, tooLarge}
			}
			if item.Typ == parser.EOF || item.Typ == parser.ERROR {
				break // the parser says what is wrong
			}
		}
	}
	return nil
}

func (l *Limits) depthError(of string) error {
	return &LimitError{fmt.Sprintf("the query has too many levels of %s in each other", of), l.Depth, FlagDepth, tooLarge}
}

// shallow reports whether a tree has at most so many levels.
func shallow(node parser.Node, levels int) bool {
	for child := range parser.ChildrenIter(node) {
		if levels <= 1 || !shallow(child, levels-1) {
			return false
		}
	}
	return true
}

// states returns about how many states of a regular expression can be active at a time, which
// is what a match costs per byte. Whether a literal is a regular expression is known only
// after parsing, which compiles it; other strings have few.
func states(literal string, limit int) int {
	// Each of these becomes a table of kilobytes.
	if classes := strings.Count(literal, `\p`) + strings.Count(literal, `\P`); classes > limit {
		return classes
	}
	text, err := strutil.Unquote(literal)
	if err != nil {
		return 0
	}
	re, err := syntax.Parse(text, syntax.Perl|syntax.DotNL)
	if err != nil {
		return 0
	}
	_, active := sizes(re)
	return active
}

// sizes returns how many states a regular expression has, and how many of them can be active
// at a time: only one of a literal, however long, but all of what is repeated.
func sizes(re *syntax.Regexp) (all, active int) {
	for _, sub := range re.Sub {
		a, b := sizes(sub)
		all, active = all+a, active+b
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune), 0
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		return all + 1, active + 1
	case syntax.OpRepeat:
		all = max(re.Min+1, re.Max) * (all + 1)
		return all, all
	}
	return all + 1, active
}
