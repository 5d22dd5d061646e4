package blame

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

// Tell implements section.Teller.
func (s *Section) Tell(story *section.Story) {
	all := s.told()
	if !s.ofJobs() {
		story.Say(section.Why, 2, s.incast(all))
		story.Also(section.Why, s.otherPaths(all))
		if len(all) > 0 && len(s.reading.Completion) > 1 {
			story.Say(section.Whom, 1, s.worstTransfer(all[0]))
		}
		return
	}
	if len(all) == 0 {
		return
	}
	story.Say(section.Why, 3, s.lostAt(all))
	story.Say(section.Whom, 3, all[0].worstCollective())
	if slices.ContainsFunc(all, func(b *Blame) bool { return b.By == ByQueues }) {
		story.Also(section.Sure, fmt.Sprintf("places in %s are those of the deepest queues, as it has no CSIG samples", s.reading.Told))
	}
}

// ofJobs reports whether the run has jobs.
func (s *Section) ofJobs() bool { return len(s.waits.Jobs) > 0 }

// told returns the blames of the variant that sentences on places are of.
func (s *Section) told() (all []*Blame) {
	for i := range s.Blame {
		if s.Blame[i].Variant == s.reading.Told {
			all = append(all, &s.Blame[i])
		}
	}
	return all
}

// worstCollective says how long it takes, and because of what.
func (b *Blame) worstCollective() string {
	text := fmt.Sprintf("the worst of them, %s, takes %s instead of %s on an idle fabric", b.name(), words.Short(b.US()), words.Short(b.UnloadedUS))
	switch {
	case b.Kind == Rank:
		text += fmt.Sprintf(", because rank %d (%s) comes late or computes long", b.Rank, b.Node)
	case b.Src != "":
		text += fmt.Sprintf("; messages from %s to %s wait longest", b.Src, b.Dst)
	}
	return text
}

// worstTransfer says how long it takes, and in which run.
func (s *Section) worstTransfer(b *Blame) string {
	hosts, in := "", phrases.In(&s.reading.Facts, b.Variant)
	if len(s.reading.Setup.Seeds) > 1 {
		in += fmt.Sprintf(" (seed %d)", b.Seed)
	}
	if b.Src != "" {
		hosts = fmt.Sprintf(" (%s to %s)", b.Src, b.Dst)
	}
	if b.Open {
		return fmt.Sprintf("flow %s%s fares worst%s: it is not done after %s", b.Transfer, hosts, in, words.Short(b.US()))
	}
	return fmt.Sprintf("flow %s%s fares worst%s: it takes %s instead of %s on an idle fabric", b.Transfer, hosts, in, words.Short(b.US()), words.Short(b.UnloadedUS))
}

// incast says that most of the slow transfers wait at one receiver, if its last link is full.
func (s *Section) incast(all []*Blame) string {
	sources, receiver := receiverOf(all)
	if receiver == "" || len(s.reading.Limits) == 0 {
		return ""
	}
	p := &s.reading.Limits[0]
	if !p.Full || p.To != receiver {
		return ""
	}
	use := p.Busiest()
	if first, ok := p.In(s.reading.Variants[0].Name); ok {
		use = first
	}
	return fmt.Sprintf("%d hosts send to %s at once (incast), and the last link to it, %s, is %s busy%s",
		sources, receiver, phrases.Port(&p.Place), words.Percent(use.Utilisation), phrases.Queue(&use, ", with a mean queue of ", p.RateBPS))
}

// receiverOf returns the receiver that most of the slow transfers are for, if its last hop is
// an incast, and how many hosts send to it.
func receiverOf(all []*Blame) (sources int, receiver string) {
	counts := map[string]int{}
	for _, b := range all {
		if b.Kind == Incast {
			counts[b.Dst]++
			if 2*counts[b.Dst] > len(all) {
				receiver = b.Dst
			}
		}
	}
	for _, b := range all {
		if b.Kind == Incast && b.Dst == receiver {
			sources = max(sources, b.Sources)
		}
	}
	return sources, receiver
}

// lostAt says where slow collectives, or transfers, lost their time. There is at least one.
func (s *Section) lostAt(all []*Blame) string {
	lost, count := map[Kind]float64{}, map[Kind]int{}
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
	var most *Blame
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
	if len(s.reading.Variants) > 1 {
		in = "in " + most.Variant + " "
	}
	what := "collective"
	if most.Transfer != "" {
		what = "transfer"
	}
	who := fmt.Sprintf("%d of the %d slowest %ss wait longest", count[kind], len(all), what)
	switch {
	case len(all) == 1:
		who = fmt.Sprintf("the slowest %s waits longest", what)
	case count[kind] == 1:
		who = fmt.Sprintf("1 of the %d slowest %ss waits longest", len(all), what)
	case count[kind] == len(all):
		who = fmt.Sprintf("the %d slowest %ss wait longest", len(all), what)
	}
	text := in + who + " "
	switch kind {
	case Rank:
		return text + fmt.Sprintf("for a rank that comes late or computes longer than others, most of all for rank %d (%s)", most.Rank, most.Node)
	case NIC:
		return text + "in the sender's own NIC, behind its other messages, most of all at " + most.Node
	case Incast:
		return text + "on the last link to a receiver to which several hosts send at once (incast), most of all on " + most.port()
	case Edge:
		return text + "on the last link to the receiver, most of all on " + most.port()
	}
	text += "at ports within the fabric, most of all at " + most.port() + s.alike(most)
	switch {
	case most.Short:
	case free > 0:
		text += fmt.Sprintf("; in %s another path was free", words.Plural(free, "case"))
	case most.Other == 0:
		text += "; there is no other path"
	default:
		text += "; no other path was free"
	}
	return text
}

// otherPaths says for how many of the slow transfers another path was free; "" for none.
func (s *Section) otherPaths(all []*Blame) string {
	free := 0
	for _, b := range all {
		if b.Free > 0 && !b.Short {
			free++
		}
	}
	switch free {
	case 0:
		return ""
	case len(all):
		return fmt.Sprintf("for all of the %s%s another path was free", words.Plural(free, "slowest transfer"), phrases.In(&s.reading.Facts, s.reading.Told))
	}
	return fmt.Sprintf("for %d of the %s%s another path was free", free, words.Plural(len(all), "slowest transfer"), phrases.In(&s.reading.Facts, s.reading.Told))
}

// likeIt is by how much the use of ports may differ that are alike.
const likeIt = 0.01

// alike says how many ports of the same tier and direction are about as busy as the one of a
// blame: it is then an example. It is "" if hardly any is.
func (s *Section) alike(b *Blame) string {
	use := func(p *reading.Port) float64 {
		u, _ := p.In(b.Variant)
		return u.Utilisation
	}
	ports := s.reading.Ports
	at := slices.IndexFunc(ports, func(p reading.Port) bool { return p.From+"-"+p.To == b.Port })
	if at < 0 || b.Fault != "" {
		return ""
	}
	count := 0
	for i := range ports {
		if p := &ports[i]; p.Tier == ports[at].Tier && p.Direction == ports[at].Direction && math.Abs(use(p)-use(&ports[at])) <= likeIt {
			count++
		}
	}
	if count < 3 {
		return ""
	}
	return fmt.Sprintf(" (%d such ports are alike, %s busy)", count, words.Percent(use(&ports[at])))
}

// port returns the port's name as other sentences have it: with an arrow, unless several
// links join the two nodes.
func (b *Blame) port() string {
	if peer, ok := strings.CutPrefix(b.Port, b.Node+"-"); ok {
		return b.Node + " → " + peer
	}
	return b.Port
}
