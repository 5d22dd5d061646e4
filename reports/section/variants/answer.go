package variants

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// effect is what a variant did to the topic of the answer: the quantity that the experiment is
// about.
type effect struct {
	variant string
	base    string  // the variant that it is compared with
	csig    bool    // CSIG alone is what differs
	tagged  bool    // the variant has CSIG, and the first one has not
	other   bool    // the two do not do the same work
	gain    float64 // as a share of the base; below 0 where it is worse
	outcome Effect
	topic   string   // "completion times"
	clause  string   // "flow a gets 3 instead of 2 Gb/s in base"
	figure  string   // the value in short, as a clause
	said    []string // quantities that clause is of
	price   []string // clauses on what became worse with it, beside the quantities of its Difference
}

// answerWeight is the weight of the answer, and of its price: above those that say only what
// happened.
const answerWeight = 5

// Tell implements section.Teller: it says what CSIG, or another change, did to what the
// experiment is about, and the price.
func (s *Section) Tell(story *section.Story) {
	if text := s.faultsCost(); text != "" {
		story.Say(section.Answer, answerWeight, text)
		return
	}
	effects := s.topic()
	if len(effects) == 0 {
		return
	}
	e := chosen(effects)
	d := s.of(e)
	text := s.with(s.does(e), e, effects)
	if victim := s.victim(d); victim != nil && e.outcome == Better {
		text += "; but " + s.pays(victim, e.variant)
	}
	story.Say(section.Answer, answerWeight, phrases.UnderFaults(&s.r.Facts)+text)
	story.Say(section.Price, answerWeight, s.price(e, d))
}

// does says what a variant does.
func (s *Section) does(e *effect) string {
	who, in := "variant "+e.variant, "in "+e.variant
	switch {
	case e.csig:
		who = fmt.Sprintf("CSIG (%s)", e.variant)
		in = "with " + who
	case e.tagged:
		who, in = who+" (with CSIG)", in+" (with CSIG)"
	}
	if d := s.of(e); d != nil && d.OtherFlows && len(s.Steps) == 0 { // steps are those of the same job
		who, in = who+", which has other flows,", in+", which has other flows"
	}
	if s.otherFaults(e.base, e.variant) {
		who, in = who+", which has other faults,", in+", which has other faults"
	}
	if e.outcome == Same {
		return who + " makes no difference to " + e.topic + ": " + e.clause
	}
	return in + ", " + e.clause
}

// topic returns what the variants did to what the experiment is about, those first that say it
// best: jobs; who gets how much of a bottleneck; completion times.
func (s *Section) topic() []effect {
	for _, effects := range []func() []effect{s.onJobs, s.onSharing, s.onTimes, s.onCompleted, s.onSlowest} {
		if all := effects(); len(all) > 0 {
			for i := range all {
				all[i].other = all[i].other || s.otherFaults(all[i].base, all[i].variant)
				all[i].tagged = s.r.Variants[0].CSIG == reading.NoCSIG && s.r.Variants[s.r.Variant(all[i].variant)].CSIG != reading.NoCSIG
			}
			return all
		}
	}
	return nil
}

// of returns the comparison of an effect's variant with the first one, nil if the effect is
// against another one.
func (s *Section) of(e *effect) *Difference {
	for i := range s.Differences {
		if d := &s.Differences[i]; d.Variant == e.variant && e.base == s.r.Variants[0].Name {
			return d
		}
	}
	return nil
}

const (
	// likeMost is the share of the greatest gain from which a gain is as good.
	likeMost = 0.9
	// muchMore is how many times as much another variant changes that is told in full too.
	muchMore = 3
)

// chosen returns the effect that the answer tells: that of CSIG alone, or else that of the
// variant that gains most, of those that do the same work.
func chosen(all []effect) *effect {
	among := func(is func(*effect) bool) (list []*effect) {
		for i := range all {
			if is(&all[i]) {
				list = append(list, &all[i])
			}
		}
		return list
	}
	if list := among(func(e *effect) bool { return e.csig }); len(list) > 0 {
		return cmp.Or(best(list), list[0])
	}
	return cmp.Or(best(among(func(e *effect) bool { return !e.other })), best(among(func(*effect) bool { return true })), &all[0])
}

// best returns the effect that gains most, or that loses most when none gains; nil when nothing
// changed. Of those that are nearly as good it is the first one with CSIG, or the first one.
func best(all []*effect) (found *effect) {
	greatest, least := 0.0, 0.0
	for _, e := range all {
		if e.outcome != Same {
			greatest, least = max(greatest, e.gain), min(least, e.gain)
		}
	}
	want := cmp.Or(greatest, least)
	for _, e := range all {
		if e.outcome != Same && want != 0 && e.gain/want >= likeMost && (found == nil || e.tagged && !found.tagged) {
			found = e
		}
	}
	return found
}

// with adds to what the chosen variant does what the others do that do the same work: in full
// what one changes much more, which comes first if the chosen one changes nothing, and how many
// gain and lose.
func (s *Section) with(text string, e *effect, all []effect) string {
	var others []*effect
	most := -1
	for i := range all {
		o := &all[i]
		if o.variant == e.variant || o.other != e.other {
			continue
		}
		others = append(others, o)
		if o.outcome != Same && math.Abs(o.gain) >= muchMore*math.Abs(e.gain) && (most < 0 || math.Abs(o.gain) > math.Abs(others[most].gain)) {
			most = len(others) - 1
		}
	}
	if rival := rivalOf(e, others); rival >= 0 && rival != most {
		o := others[rival]
		text += fmt.Sprintf("; without CSIG, in %s, %s", o.variant, o.figure)
		others = slices.Delete(others, rival, rival+1)
		if rival < most {
			most--
		}
	}
	if most >= 0 {
		o := others[most]
		switch {
		case e.outcome == Same:
			what, _, _ := strings.Cut(text, ": ")
			if who, _, _ := strings.Cut(what, " makes no"); e.base == o.variant {
				what = who + " does not change that"
			}
			text = fmt.Sprintf("%s; %s: %s", s.does(o), what, e.figure)
		case e.outcome == o.outcome:
			text += "; " + s.does(o)
		default:
			text += "; but " + s.does(o)
		}
		others = slices.Delete(others, most, most+1)
	}
	counts := map[Effect]int{}
	for _, o := range others {
		counts[o.outcome]++
	}
	switch n := len(others); {
	case n == 0:
		return text
	case n == 1:
		return fmt.Sprintf("%s; in %s %s", text, others[0].variant, others[0].figure)
	case counts[Same] == n:
		return fmt.Sprintf("%s; the other %d variants make no difference", text, n)
	case counts[Better] == n && e.outcome == Better:
		return fmt.Sprintf("%s; the other %d variants gain too", text, n)
	}
	var parts []string
	for _, of := range []struct {
		effect Effect
		verb   string
	}{{Better, "gain"}, {Worse, "lose"}} {
		switch n := counts[of.effect]; n {
		case 0:
		case 1:
			parts = append(parts, "1 "+of.verb+"s")
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, of.verb))
		}
	}
	return fmt.Sprintf("%s; of the other %d variants %s", text, len(others), strings.Join(parts, " and "))
}

// rivalOf returns the place of the effect without CSIG that gains most, if the one that is told has
// CSIG and gains less; -1 otherwise.
func rivalOf(e *effect, others []*effect) int {
	rival := -1
	for i, o := range others {
		if e.tagged && !o.tagged && o.outcome == Better && o.gain > e.gain && (rival < 0 || o.gain > others[rival].gain) {
			rival = i
		}
	}
	return rival
}

// maxFaults bounds the faults whose cost is told one by one.
const maxFaults = 3

// faultsCost says what faults cost that the first variant does not have; "" if there are none,
// or completion times do not tell. Of several variants with a fault the best is told.
func (s *Section) faultsCost() string {
	base := s.r.Variants[0].Name
	if len(s.Steps) > 0 || len(phrases.FaultsOf(&s.r.Facts, base)) > 0 {
		return ""
	}
	var whats []string
	best := map[string]*Difference{}
	for i := range s.Differences {
		d := &s.Differences[i]
		what, q := strings.Join(phrases.FaultsOf(&s.r.Facts, d.Variant), " and "), d.quantity("fct_us.p99")
		if what == "" || q == nil {
			continue
		}
		if best[what] == nil {
			whats = append(whats, what)
		}
		if best[what] == nil || q.Value.Median < best[what].quantity(q.Name).Value.Median {
			best[what] = d
		}
	}
	if len(whats) == 0 {
		return ""
	}
	var parts []string
	without := 0.0
	for _, what := range whats[:min(maxFaults, len(whats))] {
		d := best[what]
		q := d.quantity("fct_us.p99")
		without = q.Base.Median
		parts = append(parts, fmt.Sprintf("%s with %s (%s, %s)", words.Short(q.Value.Median), what, d.Variant, words.Change(q.Change)))
	}
	return fmt.Sprintf("without a fault, in %s, the tail completion time (p99) is %s; the best variant has %s", base, words.Short(without), words.List(parts))
}

// price says what else changed with the chosen variant: what became worse, and what better.
func (s *Section) price(e *effect, d *Difference) string {
	worse, better, same := slices.Clone(e.price), []string(nil), []string(nil)
	if d != nil {
		rest := slices.DeleteFunc(slices.Clone(d.Quantities), func(q Quantity) bool { return slices.Contains(e.said, q.Name) })
		worse = append(s.moved(rest, Worse), worse...)
		better = s.moved(rest, Better)
		if victim := s.victim(d); victim != nil && e.outcome != Better {
			worse = append([]string{s.pays(victim, e.variant)}, worse...)
		}
		for i := range rest {
			same = append(same, s.named(&rest[i]))
		}
	}
	labels := map[Effect][2]string{Better: {"the price: ", "better too: "}, Worse: {"worse too: ", "in return "}, Same: {"worse in " + e.variant + ": ", "better in " + e.variant + ": "}}[e.outcome]
	var parts []string
	if len(worse) > 0 {
		parts = append(parts, labels[0]+words.List(worse))
	} else if e.outcome == Better && len(same) > 0 && len(better) == 0 {
		parts = append(parts, "no price is seen: "+words.List(same)+isNot(same)+"worse")
	}
	if len(better) > 0 {
		parts = append(parts, labels[1]+words.List(better))
	}
	return strings.Join(parts, "; ")
}

// isNot returns the verb of names.
func isNot(names []string) string {
	if last := names[len(names)-1]; len(names) > 1 || strings.HasSuffix(last, "s") {
		return " are not "
	}
	return " is not "
}

// moved says how the quantities with an outcome change. Those with the same figures are said
// together, such as trims and retransmissions.
func (s *Section) moved(all []Quantity, o Effect) (texts []string) {
	for i := 0; i < len(all); i++ {
		q := &all[i]
		if q.Outcome != o {
			continue
		}
		names := []string{s.named(q)}
		for i+1 < len(all) && all[i+1].Outcome == o && all[i+1].Unit == q.Unit && all[i+1].Base == q.Base && all[i+1].Value == q.Value {
			i++
			names = append(names, s.named(&all[i]))
		}
		verb := "rise"
		if q.Value.Median < q.Base.Median {
			verb = "fall"
		}
		if len(names) == 1 && q.Unit != "packets" {
			verb += "s"
		}
		base, value, unit := q.Texts()
		text := fmt.Sprintf("%s %s from %s to %s", words.List(names), verb, base, value)
		if unit != "" {
			text += "\u00a0" + unit
		}
		if change := q.change(); change != "" && q.Value.Median != 0 {
			text += " (" + change + ")"
		}
		texts = append(texts, text)
	}
	return texts
}

// named names a quantity for readers who do not know abbreviations.
func (s *Section) named(q *Quantity) string {
	switch q.Name {
	case "fct_us.mean":
		return "the mean completion time"
	case "fct_us.p99":
		return "the tail completion time (p99)"
	}
	return s.quantityName(q)
}

// victimTimes is how many times as long a transfer takes that pays for a change.
const victimTimes = 2

// victim returns the transfer that takes the most times as long as in the first variant; nil if
// none takes much longer. Means hide it where most transfers gain.
func (s *Section) victim(d *Difference) (victim *reading.Completion) {
	if d == nil {
		return nil
	}
	at, most := s.r.Variant(d.Variant), float64(victimTimes)
	for i := range s.r.Completion {
		c := &s.r.Completion[i]
		if at < 0 || at >= len(c.Variants) {
			continue
		}
		base, now := c.Variants[0].MedianUS, c.Variants[at].MedianUS
		if base != nil && now != nil && *base > 0 && *now / *base >= most {
			most, victim = *now / *base, c
		}
	}
	return victim
}

// pays says how long a transfer takes in a variant, in the first one, and in the first of the
// others in which it takes hardly longer than there.
func (s *Section) pays(c *reading.Completion, variant string) string {
	const hardly = 1.1
	base := *c.Variants[0].MedianUS
	text := fmt.Sprintf("flow %s takes %s in %s instead of %s", c.Flow, words.Short(*c.Variants[s.r.Variant(variant)].MedianUS), variant, words.Short(base))
	for i := 1; i < len(c.Variants); i++ {
		if now := c.Variants[i].MedianUS; now != nil && *now < hardly*base {
			return fmt.Sprintf("%s (in %s %s)", text, s.r.Variants[i].Name, words.Short(*now))
		}
	}
	return text
}
