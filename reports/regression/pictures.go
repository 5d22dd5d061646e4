package regression

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/verdict"
	"github.com/csiglab/csiglab/reports"
)

// class is the class of what is drawn of an outcome.
var class = map[verdict.Outcome]string{verdict.Pass: "pass", verdict.Fail: "fail", verdict.Inconclusive: "open", verdict.Invalid: "void"}

// axis maps values to places of a drawing.
type axis struct {
	low, high   float64 // values at its ends
	left, right float64 // their places
	curve       func(float64) float64
}

// at returns the place of a value, or of the end beyond which it is.
func (a *axis) at(v float64) float64 {
	curve := a.curve
	if curve == nil {
		curve = func(v float64) float64 { return v }
	}
	v = min(max(v, a.low), a.high)
	low := curve(a.low)
	return a.left + (curve(v)-low)/(curve(a.high)-low)*(a.right-a.left)
}

// beyond reports whether a value is not on the axis.
func (a *axis) beyond(v float64) bool { return v < a.low || v > a.high }

// Measures of a dot plot, in units of its view box.
const (
	dotsWidth   = 400.0
	dotsMargin  = 14.0
	dotRadius   = 3.2
	dotStep     = 7.0 // between dots above each other
	mostStacked = 12
	mostDots    = 500
)

// dots draws the pairs of a metric as dots at their effects, and below them the effect and
// its interval against the limit.
func (m *metric) dots(confidence string) template.HTML {
	var effects []float64
	var pairs []verdict.Pair
	for _, p := range m.Pairs {
		effect := p.Candidate - p.Baseline
		if !m.Absolute {
			effect /= math.Abs(p.Baseline)
		}
		if !math.IsNaN(effect) && !math.IsInf(effect, 0) && len(pairs) < mostDots {
			effects, pairs = append(effects, effect), append(pairs, p)
		}
	}
	limit := m.ofEffect(m.Delta)
	shown := append(slices.Clone(effects), 0, limit)
	for _, v := range []float64{m.low, m.high, m.worse} {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			shown = append(shown, m.ofEffect(v))
		}
	}
	x := axis{low: slices.Min(shown), high: slices.Max(shown), left: dotsMargin, right: dotsWidth - dotsMargin}
	pad := (x.high - x.low) * 0.06
	if !(pad > 0) {
		pad = 0.01
	}
	x.low, x.high = x.low-pad, x.high+pad

	stacks := stacked(effects, &x)
	tallest := 1
	for _, s := range stacks {
		tallest = max(tallest, s+1)
	}
	ground := 24 + dotStep*float64(tallest) // below the dots
	bar, base := ground+12, ground+26
	pen := reports.NewPen(dotsWidth, base+34)
	from, to := x.at(limit), x.right
	if m.Better == verdict.Higher {
		from, to = x.left, x.at(limit)
	}
	pen.Put(`<rect class="worse" x="%v" y="16" width="%v" height="%v"/>`, from, to-from, base-16)
	unit, factor := m.effectUnit(x.low, x.high)
	for _, tick := range ticks(x.low*factor, x.high*factor, 5) {
		at := x.at(tick / factor)
		pen.Put(`<path class="rule" d="M%v 16V%v"/><text class="tick" x="%v" y="%v">%s</text>`, at, base, at, base+11, signed(significant(tick)))
	}
	pen.Put(`<path class="zero" d="M%v 16V%v"/><path class="limit" d="M%v 12V%v"/>`, x.at(0), base, x.at(limit), base)
	anchor, place := "start", x.at(limit)+4
	if place > dotsWidth/2 {
		anchor, place = "end", x.at(limit)-4
	}
	pen.Put(`<text class="limit-name %s" x="%v" y="9">allowed %s</text>`, anchor, place, template.HTMLEscapeString(m.allowed()))
	for i, effect := range effects {
		pen.Put(`<circle class="dot" cx="%v" cy="%v" r="%v"><title>%s</title></circle>`, x.at(effect), ground-dotStep*float64(stacks[i]), dotRadius, template.HTMLEscapeString(m.pair(pairs[i], effect)))
	}
	drawInterval(pen, m, &x, bar, m.ofEffect)
	name := "change"
	if unit != "" {
		name += " (" + unit + ")"
	}
	pen.Text("tick", dotsWidth/2, base+26, dotsWidth, name)
	return pen.SVG(m.Name+" of "+m.experiment.name, m.describe(confidence))
}

// pair says the values of a pair.
func (m *metric) pair(p verdict.Pair, effect float64) string {
	unit, factor := reports.ScaleOf(m.Unit, p.Baseline, p.Candidate)
	return fmt.Sprintf("seed %d: %s → %s, %s", p.Seed, number(p.Baseline*factor), join(number(p.Candidate*factor), unit), m.change(m.ofEffect(effect)))
}

// describe says what a drawing of the metric shows.
func (m *metric) describe(confidence string) string {
	return fmt.Sprintf("%s: %s, %s %s, allowed %s, %s. %s.", word(m.outcome), m.change(m.worse), confidence, m.between(), m.allowed(), plural(len(m.Pairs), "pair"), m.values())
}

// drawInterval draws the effect and its interval, with arrows where they go on beyond the
// axis. Values of the axis are what place makes of worsenings.
func drawInterval(pen *reports.Pen, m *metric, x *axis, y float64, place func(float64) float64) {
	mark := class[m.outcome]
	low, high := place(m.low), place(m.high)
	if low > high {
		low, high = high, low
	}
	if (!math.IsInf(low, -1) || !math.IsInf(high, 1)) && low <= x.high && high >= x.low {
		pen.Put(`<path class="interval %s" d="M%v %vH%v"/>`, mark, x.at(low), y, x.at(high))
		for i, end := range []float64{low, high} {
			at, way := x.at(end), 5.0
			if i == 0 {
				way = -5
			}
			if x.beyond(end) {
				pen.Put(`<path class="interval %s" d="M%v %vl%v 4l%v 4"/>`, mark, at-way, y-4, way, -way)
			} else {
				pen.Put(`<path class="interval %s" d="M%v %vv8"/>`, mark, at, y-4)
			}
		}
	}
	if math.IsNaN(m.worse) {
		return
	}
	at := x.at(place(m.worse))
	if effect := place(m.worse); x.beyond(effect) { // it is further on
		pen.Put(`<path class="effect %s" d="M%v %vv12l%v -6z"/>`, mark, at, y-6, math.Copysign(9, effect-x.high))
		return
	}
	switch m.outcome { // told apart without colours
	case verdict.Fail:
		pen.Put(`<path class="effect %s" d="M%v %vl5.5 5.5l-5.5 5.5l-5.5 -5.5z"/>`, mark, at, y-5.5)
	case verdict.Pass:
		pen.Put(`<circle class="effect %s" cx="%v" cy="%v" r="4"/>`, mark, at, y)
	default:
		pen.Put(`<circle class="effect hollow %s" cx="%v" cy="%v" r="4"/>`, mark, at, y)
	}
}

// stacked returns how high above the ground each dot has to be to touch no other.
func stacked(values []float64, x *axis) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	heights := make([]int, len(values))
	var ends [mostStacked]float64 // of the last dot of each height
	for i := range ends {
		ends[i] = math.Inf(-1)
	}
	for _, i := range order {
		at := x.at(values[i])
		h := 0
		for h < mostStacked-1 && ends[h] > at-dotStep {
			h++
		}
		heights[i], ends[h] = h, at
	}
	return heights
}

// ticks returns at most n multiples of 1, 2 or 5 times a power of ten between two values.
func ticks(low, high float64, n int) []float64 {
	span := high - low
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(span/float64(n))))
	for _, f := range []float64{1, 2, 5, 10} {
		if math.Floor(high/(f*step))-math.Ceil(low/(f*step)) < float64(n) {
			step *= f
			break
		}
	}
	var all []float64
	for i := math.Ceil(low / step); i*step <= high && len(all) < 2*n; i++ {
		all = append(all, i*step)
	}
	return all
}

// Measures of the picture of all effects.
const (
	effectsWide, effectsNarrow = 1000.0, 390.0
	effectsRow, effectsNamed   = 22.0, 36.0 // with the name beside and above
	mostEffects                = 80
	mostLimits                 = 63 // at the ends of the axis
)

// effects is the picture of the effects of all metrics.
type effects struct {
	SVG, Narrow template.HTML
	Caption     string
}

// effects draws the effects of all metrics, in limits, worst first. It returns nil where
// there is none to draw.
func (v *view) effects() *effects {
	var list []*metric
	same := 0
	for i := range v.experiments {
		for k := range v.experiments[i].metrics {
			m := &v.experiments[i].metrics[k]
			switch {
			case math.IsNaN(m.worse):
			case m.worse == 0 && m.low == 0 && m.high == 0:
				same++
			default:
				list = append(list, m)
			}
		}
	}
	rank := map[verdict.Outcome]int{verdict.Fail: 0, verdict.Inconclusive: 1, verdict.Invalid: 2, verdict.Pass: 3}
	slices.SortStableFunc(list, func(a, b *metric) int {
		return cmp.Or(cmp.Compare(rank[a.outcome], rank[b.outcome]), cmp.Compare(b.severity(), a.severity()))
	})
	if len(list) == 0 {
		return nil
	}
	e := &effects{Caption: "The change of each metric and its " + v.interval() + ", in multiples of what is allowed: 0 is no change, right of it is worse, beyond 1 it is worse than allowed."}
	if same > 0 {
		e.Caption += fmt.Sprintf(" Not drawn: %s with equal values on both sides.", plural(same, "metric"))
	}
	if n := len(list) - mostEffects; n > 0 {
		e.Caption += fmt.Sprintf(" %d more that are no worse than these are in the tables below.", n)
		list = list[:mostEffects]
	}
	e.SVG, e.Narrow = v.drawEffects(list, effectsWide), v.drawEffects(list, effectsNarrow)
	return e
}

func (v *view) drawEffects(list []*metric, width float64) template.HTML {
	narrow := width < 600
	row, left := effectsRow, 330.0
	if narrow {
		row, left = effectsNamed, 12.0
	}
	x := axis{low: -1, high: 1.6, left: left, right: width - 90}
	if narrow {
		x.right = width - 12
	}
	for _, m := range list {
		for _, worse := range []float64{m.low, m.high, m.worse} {
			if limits := m.inLimits(worse); !math.IsInf(limits, 0) {
				x.low, x.high = min(x.low, limits), max(x.high, limits)
			} else if limits > 0 {
				x.high = max(x.high, 3)
			}
		}
	}
	x.low, x.high = max(x.low, -mostLimits)*1.04, min(x.high, mostLimits)*1.04
	x.curve = func(v float64) float64 { return math.Copysign(math.Log2(1+math.Abs(v)), v) }
	const top = 22.0
	bottom := top + row*float64(len(list))
	pen := reports.NewPen(width, bottom+40)
	pen.Put(`<rect class="worse" x="%v" y="%v" width="%v" height="%v"/>`, x.at(1), top-4, x.right-x.at(1), bottom-top+4)
	last := math.Inf(-1)
	for _, tick := range []float64{-63, -31, -15, -7, -3, -1, 0, 1, 3, 7, 15, 31, 63} {
		if x.beyond(tick) {
			continue
		}
		at := x.at(tick)
		pen.Put(`<path class="rule" d="M%v %vV%v"/>`, at, top-4, bottom)
		if at-last > 24 {
			pen.Put(`<text class="tick" x="%v" y="%v">%s</text>`, at, bottom+10, reports.Number(tick))
			last = at
		}
	}
	pen.Put(`<path class="zero" d="M%v %vV%v"/><path class="limit" d="M%v %vV%v"/>`, x.at(0), top-4, bottom, x.at(1), top-8, bottom)
	pen.Put(`<text class="limit-name start" x="%v" y="9">worse than allowed</text><text class="tick" x="%v" y="%v">change, in multiples of what is allowed</text>`, x.at(1)+4, (x.left+x.right)/2, bottom+27)
	var words []string
	for i, m := range list {
		y := top + row*float64(i)
		name := m.experiment.name + "  " + m.Name
		pen.Put(`<g><title>%s</title>`, template.HTMLEscapeString(m.describe(v.interval())))
		if narrow {
			pen.Text("start", x.left, y+10, width*0.56, name)
			pen.Text("value", x.right, y+10, width*0.3, m.change(m.worse))
			y += 25
		} else {
			y += row / 2
			pen.Text("name", left-14, y, (left-20)*0.85, name)
			pen.Text("value", width-4, y, 84, m.change(m.worse))
		}
		drawInterval(pen, m, &x, y, m.inLimits)
		pen.Put("</g>")
		if i < 12 {
			words = append(words, name+": "+m.change(m.worse))
		}
	}
	return pen.SVG("Changes of all metrics, worst first", strings.Join(words, "; "))
}
