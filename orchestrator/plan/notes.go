package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// noteRule finds what in a configuration makes results look like something that they are
// not. Each remark is a sentence without a final period that begins with the key to
// change. A rule looks only at signals that the variant uses.
type noteRule func(c *signalling) []string

// noteRules is the table of the rules about CSIG (docs/references.md#misleading-configurations
// has the bounds and their sources). A new rule is an entry.
var noteRules = []noteRule{
	targetBeyondLastEdge,
	coarseQuantiser,
	hiddenLastHop,
	silentHops,
	nothingTagged,
	interval,
	fewFrames,
	sharedLocators,
}

// Bounds of the rules.
const (
	coarseShare   = 3                        // a range of the quantiser wider than 1/coarseShare of the target is coarse
	longestWindow = 1024 * units.Microsecond // of available bandwidth
	longestRounds = 16                       // the same in network RTTs, where these are longer
	fewestFrames  = 10                       // full ones in a window, at the slowest port
)

// signalling is what the rules see: the fabric's CSIG domain and who uses its signals.
type signalling struct {
	shape  *Shape
	domain *csig.Domain

	customers  []customer            // of transfers
	thresholds []congestion.Constant // delays that the congestion control compares its samples with
	unloaded   units.Duration        // of a sample of Delay: what an idle hop adds to what is compared

	transfers [csig.Types]bool // types that tags of transfers ask for
	programs  [csig.Types]bool // types that tags of programs' packets ask for
}

// customer is an algorithm of the hosts that wants types of signal.
type customer struct {
	name  string
	wants csig.Weights
}

// newSignalling returns nil without CSIG.
func newSignalling(s *Shape) *signalling {
	if s.tags == nil {
		return nil
	}
	domain, err := csig.NewDomain(s.tags.domain)
	if err != nil {
		panic("plan: " + err.Error()) // it was checked when the shape was made
	}
	c := &signalling{shape: s, domain: domain}
	if len(s.workload.Transfers) > 0 {
		c.addTransport()
	}
	if a := s.experiment.Applications; a != nil && s.tags.tagging.Every > 0 {
		signals, err := applicationSignals(a, s.tags)
		if err != nil {
			return nil // Plan returns the error
		}
		for _, t := range signals {
			c.programs[t] = true
		}
	}
	return c
}

// addTransport finds out what the hosts' algorithms want. Plan returns the errors of
// algorithms that cannot be built.
func (c *signalling) addTransport() {
	s, hosts := c.shape, c.shape.experiment.Hosts
	path := s.sizing.path(s.graph.Links[s.graph.Adjacency()[0][0].Link].Rate)
	if cc, ok := congestion.Table.Lookup(hosts.CC.Name); ok {
		if controller, err := cc.New(path, hosts.CC.Params); err == nil {
			c.customers = append(c.customers, customer{cc.Name, controller.Output().Wants})
			c.addThresholds(cc.ConstantsOf(path, hosts.CC.Params))
		}
	}
	if lb, ok := balance.Table.Lookup(hosts.LB.Name); ok {
		if balancer, err := lb.New(rand.New(rand.NewPCG(0, 0)), hosts.LB.Params); err == nil {
			if listener, ok := balancer.(balance.Listener); ok {
				c.customers = append(c.customers, customer{lb.Name, listener.Wants()})
			}
		}
	}
	tagging := s.tags.tagging
	if tagging.Every == 0 && tagging.Probe == 0 {
		return
	}
	wanted := tagging.Telemetry
	for _, one := range c.customers {
		wanted = wanted.Merge(one.wants)
	}
	if !wanted.Any() {
		wanted = csig.Only(tagging.Signal)
	}
	for t, weight := range wanted {
		c.transfers[t] = weight > 0
	}
}

// addThresholds adds the delays that the congestion control, the first customer,
// compares with what its samples say. Unless its parameter csig_unloaded says otherwise,
// it compares them with samples less the residence in the slowest idle hop.
func (c *signalling) addThresholds(constants []congestion.Constant) {
	s := c.shape
	if c.customers[0].wants[csig.Delay] == 0 {
		return
	}
	for _, constant := range constants {
		if constant.Chart == congestion.ChartDelays {
			c.thresholds = append(c.thresholds, constant)
		}
	}
	if s.experiment.Hosts.CC.Params["csig_unloaded"] == "keep" {
		return
	}
	for _, t := range s.workload.Transfers {
		c.unloaded = max(c.unloaded, s.paths.between(t.Src, t.Dst).Unloaded)
	}
}

// used reports whether tags ask for a type.
func (c *signalling) used(t csig.Type) bool { return c.transfers[t] || c.programs[t] }

// notes returns the remarks of all rules.
func (c *signalling) notes() (all []string) {
	if c == nil {
		return nil
	}
	for _, rule := range noteRules {
		all = append(all, rule(c)...)
	}
	return all
}

// delayThresholds calls visit for each delay that CC compares its CSIG samples with, and
// the range of the quantiser that holds it.
func (c *signalling) delayThresholds(visit func(name string, threshold units.Duration, s csig.Sample)) {
	if !c.transfers[csig.Delay] {
		return
	}
	for _, constant := range c.thresholds {
		threshold := units.Duration(constant.Value*float64(units.Microsecond)) / units.Nanosecond * units.Nanosecond
		name := fmt.Sprintf("the %s of %s, %v", constant.Label, c.customers[0].name, threshold)
		if threshold += c.unloaded; c.unloaded > 0 {
			name += fmt.Sprintf(" and %v of an idle hop", c.unloaded)
		}
		visit(name, threshold, c.domain.Quantise(csig.Delay, uint64(threshold/units.Nanosecond)))
	}
}

func nanoseconds(ns uint64) units.Duration { return units.Duration(ns) * units.Nanosecond }

// targetBeyondLastEdge finds a threshold that lies in the quantiser's open last range: no
// sample says whether a hop exceeds it.
func targetBeyondLastEdge(c *signalling) (notes []string) {
	c.delayThresholds(func(name string, threshold units.Duration, s csig.Sample) {
		if edge := nanoseconds(s.Low); s.Saturated && edge < threshold {
			notes = append(notes, fmt.Sprintf("csig.quantisers.delay: %s, lies beyond the last edge of the quantiser, %v; every greater delay reads as %v, "+
				"CC cannot see that a hop exceeds the target, and rates that look fair are so for no other reason; use greater steps, or csig.format: wide", name, edge, nanoseconds(s.Point)))
		}
	})
	return notes
}

// coarseQuantiser finds a threshold that the quantiser does not resolve.
func coarseQuantiser(c *signalling) (notes []string) {
	c.delayThresholds(func(name string, threshold units.Duration, s csig.Sample) {
		low, high := nanoseconds(s.Low), nanoseconds(s.High+1)
		if !s.Saturated && (high-low)*coarseShare > threshold-c.unloaded {
			notes = append(notes, fmt.Sprintf("csig.quantisers.delay: %s, lies in a range of the quantiser that goes from %v to %v, all of which reads as %v; "+
				"CC cannot tell delays below the target from delays above; use smaller steps, or csig.format: wide", name, low, high, nanoseconds(s.Point)))
		}
	})
	return notes
}

// policies calls visit for every switch port.
func (c *signalling) policies(visit func(node, port int, p *dataplane.Port)) {
	s := c.shape
	adjacency := s.graph.Adjacency()
	for n := s.graph.Hosts(); n < len(s.graph.Nodes); n++ {
		for i, a := range adjacency[n] {
			port := dataplane.Port{LastHop: s.graph.Nodes[a.Peer.Node].Kind == topologies.Host}
			if err := applyPortRules(s.experiment.CSIG, place(s.graph, n, i, a.Peer), &port); err != nil {
				return // Plan returns the error
			}
			visit(n, i, &port)
		}
	}
}

// portSet is the ports that one remark is about.
type portSet struct {
	signal csig.Type
	policy dataplane.Policy
	names  []string
}

// exceptions returns the ports on the paths of packets with tags whose policy for the
// type is not update, by type and policy. lastHop says whether the ports lead to hosts.
func (c *signalling) exceptions(lastHop bool) (sets []portSet) {
	if len(c.shape.experiment.CSIG.Ports) == 0 {
		return nil
	}
	var crossed [csig.Types]map[[2]int]bool
	adjacency := c.shape.graph.Adjacency()
	c.policies(func(node, port int, p *dataplane.Port) {
		for t, policy := range p.Policies {
			signal := csig.Type(t)
			if policy == dataplane.Update || p.LastHop != lastHop || !c.used(signal) {
				continue
			}
			if crossed[t] == nil {
				crossed[t] = c.crossed(signal)
			}
			if !crossed[t][[2]int{node, port}] {
				continue
			}
			i := slices.IndexFunc(sets, func(s portSet) bool { return s.signal == signal && s.policy == policy })
			if i < 0 {
				i = len(sets)
				sets = append(sets, portSet{signal: signal, policy: policy})
			}
			sets[i].names = append(sets[i].names, PortName(c.shape.graph, adjacency, node, port))
		}
	})
	return sets
}

// crossed returns the switch ports, by node and number, on the paths of packets whose
// tags ask for a type.
func (c *signalling) crossed(t csig.Type) map[[2]int]bool {
	s := c.shape
	sources := map[int][]int{} // by destination
	if c.transfers[t] {
		for _, one := range s.workload.Transfers {
			sources[one.Dst] = append(sources[one.Dst], one.Src)
		}
	}
	if a := s.experiment.Applications; a != nil && c.programs[t] {
		for _, dst := range a.Hosts {
			sources[dst] = append(sources[dst], a.Hosts...)
		}
	}
	adjacency := s.graph.Adjacency()
	ports := map[[2]int]bool{}
	for dst, from := range sources { // order: a set
		seen := map[int]bool{}
		var next []int
		for _, src := range from {
			if src != dst {
				next = append(next, adjacency[src][0].Peer.Node)
			}
		}
		for ; len(next) > 0; next = next[1:] {
			node := next[0]
			if node < s.graph.Hosts() || seen[node] {
				continue
			}
			seen[node] = true
			for _, port := range s.routes[node].To(dst) {
				ports[[2]int{node, int(port)}] = true
				next = append(next, adjacency[node][port].Peer.Node)
			}
		}
	}
	return ports
}

// where returns the policy and the ports in words: the first few names.
func (p *portSet) where() string {
	const shown = 3
	text := fmt.Sprintf("with policy %s at ", dataplane.Policies()[p.policy])
	if len(p.names) == 1 {
		return text + "port " + p.names[0]
	}
	text += fmt.Sprintf("%d ports (%s", len(p.names), strings.Join(p.names[:min(shown, len(p.names))], ", "))
	if len(p.names) > shown {
		text += ", …"
	}
	return text + ")"
}

// hiddenLastHop finds ports that lead to receivers and do not report their own queue,
// which is where an incast builds up.
func hiddenLastHop(c *signalling) (notes []string) {
	for _, p := range c.exceptions(true) {
		text := fmt.Sprintf("csig.ports: %s, towards receivers, %v samples do not cover the last hop: an incast there is in none of them", p.where(), p.signal)
		if p.policy != dataplane.Pass && c.transfers[p.signal] {
			text += ", and the receiver has no tag to return to the sender"
		}
		notes = append(notes, text+"; use update there")
	}
	return notes
}

// silentHops finds the other ports of paths that do not report.
func silentHops(c *signalling) (notes []string) {
	for _, p := range c.exceptions(false) {
		text := fmt.Sprintf("csig.ports: %s, %v samples do not cover the queues there", p.where(), p.signal)
		if p.policy != dataplane.Pass {
			text = fmt.Sprintf("csig.ports: %s, %v tags end inside the fabric: packets that leave there bring no sample to their receiver", p.where(), p.signal)
		}
		notes = append(notes, text+"; use update there")
	}
	return notes
}

// nothingTagged finds algorithms that want signals which no packet carries.
func nothingTagged(c *signalling) (notes []string) {
	for _, one := range c.customers {
		for t, weight := range one.wants {
			if signal := csig.Type(t); weight > 0 && !c.transfers[signal] {
				notes = append(notes, fmt.Sprintf("csig.init: %s asks for %v, but no packet starts with a tag, so that it never gets a sample; use every, 1/N or probe/INTERVAL", one.name, signal))
			}
		}
	}
	return notes
}

// available returns the first type of available bandwidth that uses has.
func available(uses [csig.Types]bool) (t csig.Type, ok bool) {
	for _, t := range []csig.Type{csig.ABW, csig.ABWC} {
		if uses[t] {
			return t, true
		}
	}
	return 0, false
}

// interval compares the window of available bandwidth with the network RTT of transfers.
// The RTT of programs is that of their kernels, which the plan does not know.
func interval(c *signalling) []string {
	signal, ok := available(c.transfers)
	window, rtt := c.shape.tags.domain.Interval, c.shape.sizing.rtt
	switch {
	case !ok:
	case window < rtt:
		return []string{fmt.Sprintf("csig.interval: a window of %v is shorter than the network RTT, %v; %v swings with the bursts of a window's worth of packets in each RTT; use at least one RTT", window, rtt, signal)}
	case window > max(longestWindow, longestRounds*rtt):
		return []string{fmt.Sprintf("csig.interval: a window of %v averages over %d network RTTs of %v; congestion that lasts less than that is not in %v; use less than %v",
			window, window/rtt, rtt, signal, max(longestWindow, longestRounds*rtt))}
	}
	return nil
}

// fewFrames finds a window in which the slowest port sends so few packets that
// available bandwidth is one of a few values.
func fewFrames(c *signalling) []string {
	s := c.shape
	var frame units.Size
	signal, ok := available(c.transfers)
	if ok {
		frame = s.experiment.Links.MTU
	}
	if t, programs := available(c.programs); programs {
		frame = max(frame, s.experiment.Applications.MTU+ethernet)
		if !ok {
			signal, ok = t, true
		}
	}
	if !ok {
		return nil
	}
	slowest := slices.MinFunc(s.graph.Links, func(a, b topologies.Link) int { return cmp.Compare(a.Rate, b.Rate) }).Rate
	least := fewestFrames * slowest.Serialisation(frame+s.experiment.Links.Overhead)
	window := s.tags.domain.Interval
	if window >= least {
		return nil
	}
	return []string{fmt.Sprintf("csig.interval: a window of %v is shorter than %d full frames of %v at the slowest port, %v; %v there takes few values; use at least %v", window, fewestFrames, frame, slowest, signal, least)}
}

// ethernet is what a programs' frame has beside its IP packet: header and FCS.
const ethernet = 18 * units.Byte

// sharedLocators finds locators that several ports share where results name ports by them.
func sharedLocators(c *signalling) []string {
	table := c.shape.tags.table
	sharing, _ := table.SharedPorts()
	if sharing == 0 || c.programs == [csig.Types]bool{} {
		return nil
	}
	text := fmt.Sprintf("csig.locators: %d of %d switch ports share their locators with others, so that bottleneck_share cannot say which of them is the bottleneck", sharing, table.Ports)
	if table.Remedy != "" {
		text += "; use " + table.Remedy
	}
	return []string{text}
}

// Attribute joins the notes of variants for the user, each text once. A text that is not
// of every variant begins with the names of its variants.
func Attribute(variants []string, notes [][]string) []string {
	var texts, all []string
	of := map[string][]string{}
	for i, list := range notes {
		for _, text := range list {
			if of[text] == nil {
				texts = append(texts, text)
			}
			if !slices.Contains(of[text], variants[i]) {
				of[text] = append(of[text], variants[i])
			}
		}
	}
	for _, text := range texts {
		switch names := of[text]; {
		case len(names) == len(variants):
		case len(names) == 1:
			text = fmt.Sprintf("variant %s: %s", names[0], text)
		default:
			text = fmt.Sprintf("variants %s: %s", strings.Join(names, ", "), text)
		}
		all = append(all, text)
	}
	return all
}
