package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// Story returns one sentence on what came out of the experiment, or "".
func Story(r *analysis.Result) string {
	if len(r.Findings.Differences) > 0 {
		return storyOfVariants(r)
	}
	var parts []string
	if text := storyOfFlows(r); text != "" {
		parts = append(parts, text)
	}
	if ports := r.Findings.Ports; len(ports) > 0 {
		p := &ports[0]
		use := p.Busiest()
		if p.Full {
			parts = append(parts, fmt.Sprintf("the bottleneck is %s, %s busy with a mean queue of %s", portName(&p.Place), percent(use.Utilisation), depth(use.MeanQueueBytes, p.RateBPS)))
		} else {
			parts = append(parts, fmt.Sprintf("no port is full, the busiest, %s, is used to %s", portName(&p.Place), percent(use.Utilisation)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return capital(strings.Join(parts, "; ")) + "."
}

// storyOfFlows says how long the transfers of the first variant took.
func storyOfFlows(r *analysis.Result) string {
	v := &r.Variants[0]
	mean, ok := v.Median("fct_us.mean")
	longest, known := v.Median("fct_us.max")
	if !ok || !known {
		return ""
	}
	unit := scaleFor(longest, scalesOfDelays)
	if len(r.Completion) == 1 && len(r.Unfinished()) == 0 {
		return fmt.Sprintf("flow %s completes in %s\u00a0%s", r.Completion[0].Flow, three(longest*unit.factor), unit.unit)
	}
	who := plural(len(r.Completion), "flow") + " complete"
	if len(r.Unfinished()) > 0 {
		completed, flows := completedOf(r, v.Name)
		who = fmt.Sprintf("%s of %s flows complete", completed, flows)
	}
	return fmt.Sprintf("%s in %s\u00a0%s on average and %s\u00a0%s at most", who, three(mean*unit.factor), unit.unit, three(longest*unit.factor), unit.unit)
}

// storyOfVariants says what the first variant that differs changes, or that none
// does.
func storyOfVariants(r *analysis.Result) string {
	base := r.Variants[0].Name
	at := slices.IndexFunc(r.Findings.Differences, func(d analysis.Difference) bool { return !d.Same() })
	if at < 0 {
		var names []string
		for _, d := range r.Findings.Differences {
			names = append(names, d.Variant)
		}
		who := "Variant " + names[0]
		if len(names) > 1 {
			who = "Variants " + list(names)
		}
		if !slices.ContainsFunc(r.Findings.Differences, func(d analysis.Difference) bool { return !d.CSIG }) {
			who = "CSIG (" + list(names) + ")"
		}
		d := &r.Findings.Differences[0]
		return fmt.Sprintf("%s made no difference here against %s in %s.", who, base, quantityNames(r, d.Quantities))
	}
	d := &r.Findings.Differences[at]
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
	text := ""
	switch {
	case better == 0:
		text = "makes worse " + list(parts)
	case worse == 0:
		text = "improves " + list(parts)
	default:
		text = "improves " + list(parts[:better]) + ", at the price of " + list(parts[better:])
	}
	return fmt.Sprintf("Against %s, %s %s.", base, who, text)
}
