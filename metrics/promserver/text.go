package promserver

import (
	"regexp/syntax"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/strutil"

	"github.com/csiglab/csiglab/metrics/promserver/limits"
)

// limitedParser refuses texts beyond the limits before Prometheus' parser sees them: that
// parser, and all that walks its trees, takes time and memory that grow with the square of
// the depth.
type limitedParser struct {
	parser.Parser
	limits *limits.Limits
	turn   chan struct{} // as many texts are parsed at a time as it has room for
}

func newParser(l *limits.Limits) *limitedParser {
	return &limitedParser{parser.NewParser(parser.Options{}), l, make(chan struct{}, l.Queries)}
}

// ParseExpr implements parser.Parser.
func (p *limitedParser) ParseExpr(text string) (parser.Expr, error) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if err := check(p.limits, text); err != nil {
		return nil, err
	}
	return p.Parser.ParseExpr(text)
}

// ParseMetricSelectors implements parser.Parser.
func (p *limitedParser) ParseMetricSelectors(texts []string) ([][]*labels.Matcher, error) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if err := check(p.limits, texts...); err != nil {
		return nil, err
	}
	return p.Parser.ParseMetricSelectors(texts)
}

// check refuses texts that are too long, too deep or have too many nodes. It takes a time
// and a memory that do not grow faster than the texts.
func check(l *limits.Limits, texts ...string) error {
	length, nodes := 0, 0
	for _, text := range texts {
		if length += len(text); length > int(l.Length) {
			return &LimitError{"the query is too long", l.Length, limits.FlagLength, tooLarge}
		}
	}
	for _, text := range texts {
		levels := []int{0} // of brackets that are open; each with its operators since a comma
		depth := 0
		lexer := parser.Lex(text)
		for item := (parser.Item{}); ; {
			lexer.NextItem(&item)
			last := len(levels) - 1
			switch {
			case item.Typ == parser.LEFT_PAREN, item.Typ == parser.LEFT_BRACE, item.Typ == parser.LEFT_BRACKET:
				levels = append(levels, 0)
				depth++
			case (item.Typ == parser.RIGHT_PAREN || item.Typ == parser.RIGHT_BRACE || item.Typ == parser.RIGHT_BRACKET) && last > 0:
				depth -= 1 + levels[last]
				levels = levels[:last]
			case item.Typ == parser.COMMA:
				depth -= levels[last]
				levels[last] = 0
			case item.Typ.IsOperator(): // 1+1+1 is (1+1)+1
				levels[last]++
				depth++
			case item.Typ == parser.STRING:
				nodes += states(item.Val, l.Nodes)
			}
			if depth > l.Depth {
				return &LimitError{"the query has too many levels of brackets and operators", l.Depth, limits.FlagDepth, tooLarge}
			}
			if nodes++; nodes > l.Nodes {
				return &LimitError{"the query has too many words, signs and repetitions", l.Nodes, limits.FlagNodes, tooLarge}
			}
			if item.Typ == parser.EOF || item.Typ == parser.ERROR {
				break // the parser says what is wrong
			}
		}
	}
	return nil
}

// states returns about how many states a string would have as a regular expression. Whether a
// literal is one is known only after parsing, which compiles it; other strings have few.
func states(literal string, limit int) int {
	// Each of these becomes a table of kilobytes.
	if classes := strings.Count(literal, `\p`) + strings.Count(literal, `\P`); classes > limit {
		return classes
	}
	text, err := strutil.Unquote(literal)
	if err != nil {
		return 0
	}
	return active(text)
}

// active returns about how many states of a regular expression can be active at a time, which
// is what a match costs per byte; 0 if it is none.
func active(expression string) int {
	re, err := syntax.Parse(expression, syntax.Perl|syntax.DotNL)
	if err != nil {
		return 0
	}
	_, n := sizes(re)
	return n
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
