package promserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	postings "github.com/prometheus/prometheus/tsdb/index"

	"github.com/csiglab/csiglab/metrics/promserver/limits"
)

// What a query is expected to cost.
const (
	// quickWork is the work of a query that is done within about 0.02 s.
	quickWork = 20_000
	// usualLabel is the length of a label's value, in bytes, if no function has made it.
	usualLabel = 256
	// compareTime is the time, in seconds, in which a state of a regular expression is compared
	// with a label of usualLabel bytes, of which few have so many.
	compareTime = 1e-6
	// sampleTime is the time, in seconds, in which a function looks at a sample of a range.
	sampleTime = 1e-8
	// usualWindow is the time between two samples of a series, at least.
	usualWindow = 100 * time.Millisecond
)

// weight is what a query is expected to cost: an upper bound that takes no look at samples.
type weight struct {
	ctx    context.Context
	both   both
	limits *limits.Limits
	work   float64 // samples, and values of single nodes of the query
	deaf   float64 // seconds in which the query does not hear that it should end
	err    error   // the first limit that is exceeded
}

// weigh returns the work of a query, or the limit that it certainly exceeds.
func weigh(ctx context.Context, b both, l *limits.Limits, s *parser.EvalStmt) (float64, error) {
	w := weight{ctx: ctx, both: b, limits: l}
	if s.Interval != 0 && s.Interval < time.Millisecond {
		return 0, errors.New("the step is less than a millisecond")
	}
	w.add(s.Expr, s.End.Sub(s.Start), s.Interval)
	return w.work, w.err
}

// add adds the work of a node that is evaluated over a span of time at each step, once if
// step is 0. It returns bounds of how many series the node has, and how long, in bytes, the
// value of a label of theirs is.
func (w *weight) add(node parser.Node, span, step time.Duration) (series, label float64) {
	steps := 1.0
	if step > 0 {
		steps += float64(span / step)
	}
	if steps > float64(w.limits.Samples) {
		w.refuse(&LimitError{fmt.Sprintf("the query has %.0f steps, in a subquery or as a whole", steps), w.limits.Samples, limits.FlagSamples, tooMuch})
		return 0, 0
	}
	switch n := node.(type) {
	case *parser.VectorSelector:
		series = float64(w.both.most(w.ctx, n.LabelMatchers))
		for _, m := range n.LabelMatchers {
			if m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp {
				w.work += float64(w.both.series()) * float64(1+active(m.Value)) / 10
			}
		}
		label = usualLabel
	case *parser.MatrixSelector:
		series, label = w.add(n.VectorSelector, 0, 0)
		w.window(series, steps, min(float64(n.Range/usualWindow), 1e4))
	case *parser.SubqueryExpr:
		inner := n.Step
		if inner == 0 {
			inner = subqueryStep
		}
		series, label = w.add(n.Expr, span+n.Range, inner)
		w.window(series, steps, float64(n.Range/inner))
	case *parser.StepInvariantExpr:
		series, label = w.add(n.Expr, 0, 0)
	default:
		series, label = 1, 0
		for child := range parser.ChildrenIter(node) {
			s, l := w.add(child, span, step)
			series, label = max(series, s), max(label, l)
		}
	}
	if call, ok := node.(*parser.Call); ok {
		label = w.made(call, series, label)
	}
	w.work += series * steps
	return series, label
}

// window adds the work of a function of ranges, which looks at each step at all samples of
// the range before it. The engine looks between two series whether it should end.
func (w *weight) window(series, steps, samples float64) {
	w.work += series * steps * samples
	w.hold(steps * samples * sampleTime)
}

// hold adds seconds in which the query does not hear that it should end.
func (w *weight) hold(seconds float64) {
	if w.deaf += seconds; w.deaf > w.limits.Time.Seconds() {
		w.refuse(&LimitError{fmt.Sprintf("label_replace or functions of ranges are expected to take %.1f s in one go", w.deaf), w.limits.Time, limits.FlagTime, tooMuch})
	}
}

// made returns the length of a label's value after a function that makes labels. All labels
// that it makes are made in one go, in which no query can be ended.
func (w *weight) made(call *parser.Call, series, label float64) float64 {
	made := label
	switch call.Func.Name {
	case "label_replace":
		made = float64(len(text(call.Args[2]))) + float64(strings.Count(text(call.Args[2]), "$"))*label
		compare := series * label / usualLabel * float64(active(text(call.Args[4]))) * compareTime
		w.work += compare * 1e6
		w.hold(compare)
	case "label_join":
		made = float64(len(call.Args)-3) * (float64(len(text(call.Args[2]))) + label)
	default:
		return label
	}
	if most := float64(w.limits.Memory) / 4; series*made > most {
		w.refuse(memoryError(w.limits, fmt.Sprintf("%s makes labels of up to %.0f bytes for up to %.0f series, which is more than a quarter of the memory of queries", call.Func.Name, made, series)))
	}
	return max(label, made)
}

// text returns the string that an argument is, as the engine finds it.
func text(arg parser.Expr) string {
	switch a := arg.(type) {
	case *parser.StringLiteral:
		return a.Val
	case *parser.ParenExpr:
		return text(a.Expr)
	case *parser.StepInvariantExpr:
		return text(a.Expr)
	}
	return ""
}

func (w *weight) refuse(err error) {
	if w.err == nil {
		w.err = err
	}
}

// series returns how many series both storages have.
func (b both) series() (n uint64) {
	for _, db := range []*tsdb.DB{b.loaded, b.scraped} {
		n += db.Head().NumSeries()
		for _, block := range db.Blocks() {
			n += block.Meta().Stats.NumSeries
		}
	}
	return n
}

// most returns a bound of how many series match: as many as have the rarest of the labels
// that the matchers name with their value.
func (b both) most(ctx context.Context, matchers []*labels.Matcher) uint64 {
	if len(b.loaded.Blocks())+len(b.scraped.Blocks()) > 0 {
		return b.series()
	}
	most := b.series()
	for _, m := range matchers {
		if m.Type != labels.MatchEqual || m.Value == "" {
			continue
		}
		var n uint64
		for _, db := range []*tsdb.DB{b.loaded, b.scraped} {
			head, err := db.Head().Index()
			if err != nil {
				return most
			}
			list, err := head.Postings(ctx, m.Name, m.Value)
			if err != nil {
				return most
			}
			all, err := postings.ExpandPostings(list)
			if err != nil {
				return most
			}
			n += uint64(len(all))
		}
		most = min(most, n)
	}
	return most
}
