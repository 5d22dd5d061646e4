package fairness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Tell implements section.Teller: what limits the flows, and who suffers. Of runs with jobs
// other sections say that.
func (s *Section) Tell(story *section.Story) {
	for _, v := range s.r.Variants {
		if len(s.r.Manifest.JobsOf(v.Name)) > 0 {
			return
		}
	}
	story.Say(section.Why, 1, s.limited())
	if of := s.r.Sharing; of != nil && len(of.Rates) > 0 {
		if of.Even {
			story.Say(section.Whom, 0, fmt.Sprintf("the flows share evenly: the slowest, %s, gets %s of the mean of the others", of.Slowest, words.Percent(of.Rates[0].SlowestGbps/of.Rates[0].OthersGbps)))
		} else {
			story.Say(section.Whom, 2, s.suffers())
		}
	}
}

// limited says which links limit the flows of the first variant.
func (s *Section) limited() string {
	ports := s.r.Limits
	if len(ports) == 0 {
		return ""
	}
	p := &ports[0]
	use := p.Busiest()
	in := ""
	if first, ok := p.In(s.r.Variants[0].Name); ok && (first.Utilisation > reading.FullShare || !p.Full) {
		use = first
	} else if len(s.r.Variants) > 1 {
		in = " in " + use.Variant
	}
	load := fmt.Sprintf("%s busy%s%s", words.Percent(use.Utilisation), in, phrases.Queue(&use, ", with a mean queue of ", p.RateBPS))
	switch {
	case p.Full && len(ports) > 1:
		return fmt.Sprintf("two links limit the flows: %s, %s, and %s", phrases.Port(&p.Place), load, phrases.Port(&ports[1].Place))
	case p.Full:
		return fmt.Sprintf("the bottleneck is %s, %s", phrases.Port(&p.Place), load)
	}
	return s.bursts("link")
}

// suffers says how much the slowest flow gets in the first variant, and the others.
func (s *Section) suffers() string {
	of := s.r.Sharing
	rates := of.Rates[0]
	unit := words.ScaleFor(max(rates.SlowestGbps, rates.OthersGbps), words.BitRates)
	whom := fmt.Sprintf("the other %d get on average", of.Flows-1)
	if of.Flows == 2 {
		whom = "the other one gets"
	}
	while := ""
	if w := s.r.Setup.Measure; w.FromUS > 0 || w.ToUS > 0 {
		while = "from " + phrases.MeasuredFrom(&s.r.Facts) + " "
	}
	text := fmt.Sprintf("flow %s%s suffers most: %sit gets %s\u00a0%s, and %s %s\u00a0%s", of.Slowest, s.hosts(of.Slowest), while,
		tenths(rates.SlowestGbps*unit.Factor), unit.Unit, whom, tenths(rates.OthersGbps*unit.Factor), unit.Unit)
	if c := s.r.Crossings; c != nil && slices.Contains(c.All, of.Slowest) {
		text += ", because it has to cross both links"
	}
	if of.OwnTimes {
		text += ", each while it sends"
	}
	return text
}

// hosts says between which hosts a flow is; "" if its name does.
func (s *Section) hosts(flow string) string {
	first := s.r.Manifest.Variants[0].Name
	names := map[int32]string{}
	for _, n := range s.r.Manifest.NodesOf(first) {
		names[n.Node] = n.Name
	}
	for _, f := range s.r.Manifest.FlowsOf(first) {
		if f.Name == flow && !named(flow, names[f.Src], names[f.Dst]) {
			return fmt.Sprintf(" (%s to %s)", names[f.Src], names[f.Dst])
		}
	}
	return ""
}

// named reports whether a flow's name has those of its hosts, or whether these are not known.
func named(flow, src, dst string) bool {
	return strings.Contains(flow, src) && strings.Contains(flow, dst) || src == "" || dst == ""
}
