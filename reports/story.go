package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// story returns at most five sentences on what came out of the experiment: what happened,
// where, to whom, what another variant changed, and how sure that is. A reader needs to know
// nothing of the experiment. What the numbers do not say has no sentence.
func story(r *analysis.Result) []string {
	var told []string
	for _, tell := range []func(*analysis.Result) string{happened, limited, suffers, changed, sure} {
		if text := tell(r); text != "" {
			told = append(told, capital(text)+".")
		}
	}
	if len(told) == 1 { // how sure nothing is
		return nil
	}
	return told
}

// maxNamedVariants is how many variants a sentence names.
const maxNamedVariants = 4

// happened says how long steps of jobs, or transfers, take.
func happened(r *analysis.Result) string {
	if text := stepsTake(r); text != "" {
		return text
	}
	v := &r.Variants[0]
	mean, ok := v.Median("fct_us.mean")
	longest, known := v.Median("fct_us.max")
	in := ""
	if len(r.Variants) > 1 {
		in = "in variant " + v.Name + " "
	}
	completed, flows := completedOf(r, v.Name)
	open := slices.ContainsFunc(r.Unfinished(), func(p analysis.Progress) bool { return p.Variant == v.Name })
	switch unit := scaleFor(longest, scalesOfDelays); {
	case !ok || !known:
		return ""
	case len(r.Completion) == 1 && !open:
		return fmt.Sprintf("%sflow %s completes in %s\u00a0%s", in, r.Completion[0].Flow, three(longest*unit.factor), unit.unit)
	case open:
		return fmt.Sprintf("%s%s of %s flows complete, on average in %s\u00a0%s and at the latest in %s\u00a0%s", in, completed, flows, three(mean*unit.factor), unit.unit, three(longest*unit.factor), unit.unit)
	default:
		return fmt.Sprintf("%sall %s flows complete, on average in %s\u00a0%s and at the latest in %s\u00a0%s", in, completed, three(mean*unit.factor), unit.unit, three(longest*unit.factor), unit.unit)
	}
}

// stepsTake says how long the steps of the first job take.
func stepsTake(r *analysis.Result) string {
	var times []string
	var first *analysis.Job
	left := 0
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if first == nil {
			first = j
		}
		if j.Name != first.Name || j.IterationUS == nil {
			continue
		}
		if len(times) == maxNamedVariants {
			left++
			continue
		}
		text := short(j.IterationUS.Mean)
		if len(r.Variants) > 1 {
			text += " in variant " + j.Variant
			if len(times) > 0 {
				text = short(j.IterationUS.Mean) + " in " + j.Variant
			}
		}
		times = append(times, text)
	}
	if len(times) == 0 {
		return ""
	}
	more := ""
	if left > 0 {
		more = fmt.Sprintf(" (and %d more variants)", left)
	}
	text := fmt.Sprintf("a step of job %s on %s takes %s%s", first.Name, plural(first.Ranks, "rank"), list(times), more)
	if j := r.SlowestJob(); j != nil && j.Parts != nil {
		in := ""
		if len(r.Variants) > 1 {
			in = "in " + j.Variant + " "
		}
		words := partWords(j)
		if len(words) == 0 {
			words = []string{"all of it computing"}
		}
		text += fmt.Sprintf("; %sthe ranks spend %s", in, list(words))
	}
	return text
}

// short prints a time in microseconds with three digits.
func short(us float64) string {
	unit := scaleFor(us, scalesOfDelays)
	return three(us*unit.factor) + "\u00a0" + unit.unit
}

// toldBlame returns the blame of the variant that sentences on places are of.
func toldBlame(r *analysis.Result) (all []*analysis.Blame) {
	variant := r.Told()
	for i := range r.Blame {
		if r.Blame[i].Variant == variant {
			all = append(all, &r.Blame[i])
		}
	}
	return all
}

// limited says where time was lost.
func limited(r *analysis.Result) string {
	all := toldBlame(r)
	if len(r.Jobs) > 0 {
		return lostAt(r, all)
	}
	text := ""
	if ports := r.Findings.Ports; len(ports) > 0 {
		p := &ports[0]
		use := p.Busiest()
		if first, ok := p.In(r.Variants[0].Name); ok {
			use = first
		}
		load := fmt.Sprintf("%s busy, with a mean queue of %s", percent(use.Utilisation), depth(use.MeanQueueBytes, p.RateBPS))
		switch sources, receiver := incast(all); {
		case p.Full && receiver != "" && p.To == receiver:
			text = fmt.Sprintf("%d hosts send to %s at once (incast), and the last link to it, %s, is %s", sources, receiver, portName(&p.Place), load)
		case p.Full && len(ports) > 1:
			text = fmt.Sprintf("two links limit the flows: %s, %s, and %s", portName(&p.Place), load, portName(&ports[1].Place))
		case p.Full:
			text = fmt.Sprintf("the bottleneck is %s, %s", portName(&p.Place), load)
		default:
			text = bursts(r, "link")
		}
	}
	if fault := faulty(r); fault != "" {
		if text == "" {
			return fault
		}
		text += "; " + fault
	}
	return text
}

// faulty says what faults happened to which variants.
func faulty(r *analysis.Result) string {
	var whats []string
	variants := map[string][]string{}
	for i := range r.Faults {
		f := &r.Faults[i]
		if !f.Happened {
			continue
		}
		if variants[f.What] == nil {
			whats = append(whats, f.What)
		}
		if !slices.Contains(variants[f.What], f.Variant) {
			variants[f.What] = append(variants[f.What], f.Variant)
		}
	}
	var parts []string
	for _, what := range whats[:min(2, len(whats))] {
		text := what
		if len(r.Variants) > 1 {
			text += " in " + list(variants[what])
		}
		parts = append(parts, text)
	}
	if more := len(whats) - len(parts); more > 0 {
		parts = append(parts, plural(more, "more fault"))
	}
	if len(parts) == 0 {
		return ""
	}
	word := "fault"
	if len(whats) > 1 {
		word = "faults"
	}
	return word + ": " + strings.Join(parts, ", ")
}

// incast returns the receiver that most of the slow transfers are for, if its last hop is an
// incast, and how many hosts send to it.
func incast(all []*analysis.Blame) (sources int, receiver string) {
	counts := map[string]int{}
	for _, b := range all {
		if b.Kind == analysis.BlameIncast {
			counts[b.Dst]++
			if 2*counts[b.Dst] > len(all) {
				receiver = b.Dst
			}
		}
	}
	for _, b := range all {
		if b.Kind == analysis.BlameIncast && b.Dst == receiver {
			sources = max(sources, b.Sources)
		}
	}
	return sources, receiver
}

// lostAt says where slow collectives lost their time.
func lostAt(r *analysis.Result, all []*analysis.Blame) string {
	if len(all) == 0 {
		return ""
	}
	lost, count := map[analysis.BlameKind]float64{}, map[analysis.BlameKind]int{}
	for _, b := range all {
		lost[b.Kind] += b.WaitUS
		count[b.Kind]++
	}
	kind := all[0].Kind
	for k := range lost {
		if cmp.Or(cmp.Compare(lost[k], lost[kind]), cmp.Compare(kind, k)) > 0 {
			kind = k
		}
	}
	var most *analysis.Blame
	free := 0
	for _, b := range all {
		if b.Kind != kind {
			continue
		}
		if most == nil || b.WaitUS > most.WaitUS {
			most = b
		}
		if b.Free > 0 && !b.Short {
			free++
		}
	}
	in := ""
	if len(r.Variants) > 1 {
		in = "in " + most.Variant + " "
	}
	who := fmt.Sprintf("%d of the %d slowest collectives wait longest", count[kind], len(all))
	if len(all) == 1 {
		who = "the slowest collective waits longest"
	}
	where := ""
	switch kind {
	case analysis.BlameRank:
		return fmt.Sprintf("%s%s for a rank that comes late or computes longer than others, most of all for rank %d (%s)", in, who, most.Rank, most.Node)
	case analysis.BlameNIC:
		return fmt.Sprintf("%s%s in the sender's own NIC, behind its other messages, most of all at %s", in, who, most.Node)
	case analysis.BlameIncast:
		where = fmt.Sprintf("on the last link to a receiver to which several hosts send at once (incast), most of all on %s", blamedPort(most))
	case analysis.BlameEdge:
		where = "on the last link to the receiver, most of all on " + blamedPort(most)
	default:
		where = "at ports within the fabric, most of all at " + blamedPort(most)
	}
	text := in + who + " " + where
	if kind == analysis.BlameCore && !most.Short {
		switch {
		case free > 0:
			text += fmt.Sprintf("; in %s another path was free", plural(free, "case"))
		case most.Other == 0:
			text += "; there is no other path"
		default:
			text += "; no other path was free"
		}
	}
	return text
}

// blamedPort returns the port's name as other sentences have it: with an arrow, unless
// several links join the two nodes.
func blamedPort(b *analysis.Blame) string {
	if peer, ok := strings.CutPrefix(b.Port, b.Node+"-"); ok {
		return b.Node + " → " + peer
	}
	return b.Port
}

// hostsOf says between which hosts a flow is; "" if no blame of it says so.
func hostsOf(all []*analysis.Blame, flow string) string {
	for _, b := range all {
		if b.Flow == flow && b.Src != "" {
			return fmt.Sprintf(" (%s to %s)", b.Src, b.Dst)
		}
	}
	return ""
}

// whileMeasured says when rates are measured; "" if that is the whole run.
func whileMeasured(r *analysis.Result) string {
	if w := r.Setup.Measure; w.FromUS > 0 || w.ToUS > 0 {
		return "from " + measured(w) + " "
	}
	return ""
}

// suffers says who fares worst.
func suffers(r *analysis.Result) string {
	all := toldBlame(r)
	if len(r.Jobs) > 0 {
		if len(all) == 0 {
			return ""
		}
		b := all[0]
		text := fmt.Sprintf("the worst of them, %s, takes %s instead of %s on an idle fabric", blamedName(b), short(b.US()), short(b.UnloadedUS))
		switch {
		case b.Kind == analysis.BlameRank:
			text += fmt.Sprintf(", because rank %d (%s) comes late or computes long", b.Rank, b.Node)
		case b.Src != "":
			text += fmt.Sprintf("; messages from %s to %s wait longest", b.Src, b.Dst)
		}
		return text
	}
	if s := r.Findings.Sharing; s != nil && len(s.Rates) > 0 && !s.Even {
		rates := s.Rates[0]
		slow, others := rates.SlowestGbps, rates.OthersGbps
		unit := scaleFor(max(slow, others), scalesOfRates)
		whom := fmt.Sprintf("the other %d get on average", s.Flows-1)
		if s.Flows == 2 {
			whom = "the other one gets"
		}
		text := fmt.Sprintf("flow %s%s suffers most: %sit gets %s\u00a0%s, and %s %s\u00a0%s", s.Slowest, hostsOf(all, s.Slowest), whileMeasured(r), number(math.Round(slow*unit.factor*10)/10), unit.unit, whom, number(math.Round(others*unit.factor*10)/10), unit.unit)
		if c := r.Findings.Crossings; c != nil && slices.Contains(c.All, s.Slowest) {
			text += ", because it has to cross both links"
		}
		text += ownTimes(s, ", each while it sends")
		return text
	}
	if len(all) > 0 && len(r.Completion) > 1 {
		b := all[0]
		if b.Open {
			return fmt.Sprintf("flow %s%s fares worst: it is not done after %s", b.Transfer, hostsOf(all, b.Transfer), short(b.US()))
		}
		return fmt.Sprintf("flow %s%s fares worst: it takes %s instead of %s on an idle fabric", b.Transfer, hostsOf(all, b.Transfer), short(b.US()), short(b.UnloadedUS))
	}
	if s := r.Findings.Sharing; s != nil && len(s.Rates) > 0 {
		return fmt.Sprintf("the flows share evenly: the slowest, %s, gets %s of the mean of the others", s.Slowest, percent(s.Rates[0].SlowestGbps/s.Rates[0].OthersGbps))
	}
	return ""
}

// changed says what another variant changes, or that none does.
func changed(r *analysis.Result) string {
	if len(r.Findings.Steps) > 0 {
		return changedSteps(r)
	}
	if len(r.Findings.Differences) == 0 {
		return ""
	}
	base := r.Variants[0].Name
	at := slices.IndexFunc(r.Findings.Differences, func(d analysis.Difference) bool { return d.CSIG && !d.Same() })
	if at < 0 {
		at = slices.IndexFunc(r.Findings.Differences, func(d analysis.Difference) bool { return !d.Same() })
	}
	if at < 0 {
		var names []string
		for _, d := range r.Findings.Differences {
			names = append(names, d.Variant)
		}
		who := "variant " + names[0]
		if len(names) > 1 {
			who = "variants " + list(names)
		}
		if !slices.ContainsFunc(r.Findings.Differences, func(d analysis.Difference) bool { return !d.CSIG }) {
			who = "CSIG (" + list(names) + ")"
		}
		d := &r.Findings.Differences[0]
		return fmt.Sprintf("%s made no difference here against %s in %s", who, base, inWords(quantityNames(r, d.Quantities)))
	}
	d := &r.Findings.Differences[at]
	text := fmt.Sprintf("against %s, %s", base, inWords(clause(r, d)))
	text += victim(r, d)
	if most := mostChanged(r.Findings.Differences); most != nil && most.Variant != d.Variant {
		text += "; the greatest change is in " + most.Variant + ": " + inWords(arrow(r, leading(most)))
	}
	return text
}

// victimTimes is how many times as long a transfer takes that pays for a change.
const victimTimes = 2

// victim names the transfer that takes the most times as long as in the first variant; "" if
// none takes much longer. Means hide it where most transfers gain.
func victim(r *analysis.Result, d *analysis.Difference) string {
	at := slices.IndexFunc(r.Variants, func(v analysis.Variant) bool { return v.Name == d.Variant })
	most, text := float64(victimTimes), ""
	for i := range r.Completion {
		c := &r.Completion[i]
		if at < 0 || at >= len(c.Variants) {
			continue
		}
		base, now := c.Variants[0].MedianUS, c.Variants[at].MedianUS
		if base != nil && now != nil && *base > 0 && *now / *base >= most {
			most = *now / *base
			text = fmt.Sprintf("; but flow %s takes %s in place of %s", c.Flow, short(*now), short(*base))
		}
	}
	return text
}

// inWords spells out what readers may not know.
func inWords(text string) string { return strings.ReplaceAll(text, "FCT", "completion time") }

// clause says in one clause what a variant changes.
func clause(r *analysis.Result, d *analysis.Difference) string {
	who := "variant " + d.Variant
	if d.CSIG {
		who = fmt.Sprintf("CSIG (%s)", d.Variant)
	}
	if d.OtherFlows {
		who += ", which has other flows,"
	}
	var parts []string
	for _, q := range slices.Concat(d.With(analysis.Better), d.With(analysis.Worse)) {
		parts = append(parts, arrow(r, &q))
	}
	better, worse := len(d.With(analysis.Better)), len(d.With(analysis.Worse))
	switch {
	case better == 0:
		return who + " makes worse " + list(parts)
	case worse == 0:
		return who + " improves " + list(parts)
	}
	return who + " improves " + list(parts[:better]) + ", at the price of " + list(parts[better:])
}

// leading returns the time of a difference that changed the most, nil if none did.
func leading(d *analysis.Difference) (most *analysis.Quantity) {
	for i := range d.Quantities {
		q := &d.Quantities[i]
		if q.Outcome != analysis.Same && strings.HasPrefix(q.Name, "fct_us.") && (most == nil || math.Abs(q.Change) > math.Abs(most.Change)) {
			most = q
		}
	}
	return most
}

// muchMore is how many times as much the times of a variant change that is named too.
const muchMore = 3

// mostChanged returns the difference whose times changed much more than those of the first
// one that changed; nil without.
func mostChanged(all []analysis.Difference) (most *analysis.Difference) {
	first := 0.0
	for i := range all {
		q := leading(&all[i])
		switch {
		case q == nil:
		case first == 0:
			first = math.Abs(q.Change)
		case math.Abs(q.Change) >= muchMore*first && (most == nil || math.Abs(q.Change) > math.Abs(leading(most).Change)):
			most = &all[i]
		}
	}
	return most
}

// changedSteps says what other variants make of the steps of the first job.
func changedSteps(r *analysis.Result) string {
	job := r.Jobs[0].Name
	var parts []string
	against := func(s *analysis.StepChange) string {
		who := "variant " + s.Variant
		if s.CSIG {
			who = fmt.Sprintf("CSIG (%s)", s.Variant)
		}
		times := fmt.Sprintf("(%s → %s, %s)", short(s.Quantity.Base.Median), short(s.Value.Median), change(s.Change))
		switch s.Outcome {
		case analysis.Better:
			return fmt.Sprintf("%s makes steps shorter than in %s %s", who, s.Base, times)
		case analysis.Worse:
			return fmt.Sprintf("%s makes steps longer than in %s %s", who, s.Base, times)
		}
		return fmt.Sprintf("%s makes no difference to steps against %s %s", who, s.Base, times)
	}
	has := map[string]bool{} // variants that are compared by CSIG alone
	for i := range r.Findings.Steps {
		if s := &r.Findings.Steps[i]; s.CSIG && s.Job == job {
			has[s.Variant] = true
		}
	}
	for _, csig := range []bool{true, false} {
		for i := range r.Findings.Steps {
			if s := &r.Findings.Steps[i]; s.Job == job && s.CSIG == csig && (csig || !has[s.Variant]) && len(parts) < 2 {
				parts = append(parts, against(s))
			}
		}
	}
	return strings.Join(parts, "; ")
}

// sure says how much the figures are worth.
func sure(r *analysis.Result) string {
	var parts []string
	v, runs := &r.Verdict, len(r.Runs)
	seeds := math.MaxInt
	for i := range r.Variants {
		seeds = min(seeds, r.Variants[i].Seeds)
	}
	invalid := 0
	for i := range r.Runs {
		if !r.Runs[i].Valid {
			invalid++
		}
	}
	switch {
	case !v.Valid && invalid > 0:
		parts = append(parts, fmt.Sprintf("do not rely on these figures: %d of %s not valid", invalid, pluralAre(runs, "run")))
	case !v.Valid:
		parts = append(parts, "do not rely on these figures: the run is not valid")
	}
	if i := v.Incomplete; i != nil {
		parts = append(parts, fmt.Sprintf("only %d of %d runs have finished", i.Finished, i.Runs))
	}
	if n := r.DroppedRecords; n > 0 {
		parts = append(parts, fmt.Sprintf("%s found no room and the charts lack them", plural(int(n), "record")))
	}
	valid := ""
	if v.Valid && runs > 0 {
		valid = fmt.Sprintf("all %d runs are valid; ", runs)
		if runs == 1 {
			valid = "the run is valid; "
		}
	}
	switch {
	case seeds == math.MaxInt || seeds == 0:
	case seeds == 1:
		parts = append(parts, valid+"with one seed, how much of this is chance is not known")
	case len(r.Variants) > 1:
		parts = append(parts, fmt.Sprintf("%sthe figures are medians of %d seeds, and two variants differ where all seeds of one lie beyond all of the other", valid, seeds))
	default:
		parts = append(parts, fmt.Sprintf("%sthe figures are medians of %d seeds", valid, seeds))
	}
	if slices.ContainsFunc(toldBlame(r), func(b *analysis.Blame) bool { return b.By == analysis.ByQueues }) && len(r.Jobs) > 0 {
		parts = append(parts, fmt.Sprintf("places in %s are those of the deepest queues, as it has no CSIG samples", r.Told()))
	}
	return strings.Join(parts, "; ")
}

// pluralAre prints a count with its verb, such as "2 runs are".
func pluralAre(n int, word string) string {
	if n == 1 {
		return plural(n, word) + " is"
	}
	return plural(n, word) + " are"
}
