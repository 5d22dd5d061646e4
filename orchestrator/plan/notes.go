package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/shim"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
)

// noteRule finds what in a configuration makes results look like something that they are
// not. Each remark is a sentence without a final period that begins with the key to
// change. A rule looks only at signals that the variant uses.
type noteRule func(c *signalling) []string

// noteRules is the table of the rules about CSIG. Each has its bound and where that is from in its
// comment. Nothing is refused: each may be what a user wants to study. A new rule is an entry.
var noteRules = []noteRule{
	eachFormat(targetBeyondLastEdge),
	eachFormat(coarseQuantiser),
	eachFormat(hiddenLastHop),
	eachFormat(silentHops),
	silentSwitches,
	hiddenInTunnels,
	nothingTagged,
	nobodyReads,
	interval,
	fewFrames,
	eachFormat(sharedLocators),
	eachFormat(ambiguousLastHops),
	pausedPorts,
	onePortManyClasses,
	eachFormat(lostBandwidth),
	saturatedDepth,
	weakSteps,
	crowdedBottlenecks,
}

// Bounds of the rules.
const (
	// coarseShare: a range of the quantiser wider than 1/coarseShare of the target is coarse. Ours:
	// three-flow over five seeds has 2.12 to 2.33 with ranges up to 3 us, where a third of the target
	// is 3.5 us, 2.70 with 5 us, and 2.25 with the wide tag.
	coarseShare = 3
	// longestWindow of available bandwidth: congestion of collectives lasts less than 1 ms (CSIG
	// tutorial), and SAI's earlier revision lists intervals up to this one.
	longestWindow = 1024 * units.Microsecond
	longestRounds = 16 // the same in network RTTs, where these are longer; ours
	fewestFrames  = 10 // full ones in a window, at the slowest port: one is then a tenth of it at most; ours
)

// newNotes returns the remarks on a plan; kept is on the operations that its tables keep.
func newNotes(r *run, p *Plan, kept []string) []string {
	if p.NoPackets() {
		return append(slices.Concat(r.notes, slotNotes(r, p), serverNotes(p), kept), fluidNote)
	}
	notes := slices.Concat(r.notes, foreignNotes(r, p), slotNotes(r, p), newSignalling(r, p).notes(), recoveryNotes(r), traceNotes(p, len(r.experiment.Seeds)), serverNotes(p), classNotes(r, p), tensorNotes(r, p))
	if p.Fluid != nil {
		notes = append(notes, hybridNote(p))
	}
	if p.Format.PFC {
		notes = append(notes, flowControlNote(p))
	}
	notes = append(notes, kept...)
	if p.Untraced {
		notes = append(notes, untracedNote)
	}
	return notes
}

// signalling is what the rules see: the plan, and who uses which signals in it.
type signalling struct {
	run     *run
	plan    *Plan
	domain  *csig.Domain
	second  bool           // domain is that of the fabric's second format
	formats [2]*signalling // each format by itself; nil: the fabric has one

	customers  []customer            // of transfers
	thresholds []congestion.Constant // delays that the congestion control compares its samples with
	unloaded   units.Duration        // of a sample of Delay: what an idle hop adds to what is compared

	flows     []tagged         // as Plan.Flows
	transfers [csig.Types]bool // types that tags of transfers ask for
	programs  [csig.Types]bool // types that tags of other flows ask for: of programs, and those that ports put on
}

// customer is an algorithm of the hosts that wants types of signal.
type customer struct {
	name  string
	wants csig.Weights
}

// typeSet has a bit for each type of signal.
type typeSet uint8

func (s typeSet) has(t csig.Type) bool { return s>>t&1 != 0 }

func typesOf(w csig.Weights) (s typeSet) {
	for t, weight := range w {
		if weight > 0 {
			s |= 1 << t
		}
	}
	return s
}

// tagged is the types of a flow's tags.
type tagged struct {
	host   typeSet // that the host puts on
	fabric typeSet // that the fabric carries
}

// newSignallingOf returns what the rules see of the tags of one format.
func newSignallingOf(r *run, p *Plan, domain *csig.Domain, second bool) *signalling {
	c := &signalling{run: r, plan: p, domain: domain, second: second, flows: make([]tagged, len(p.Flows))}
	if p.Transfers > 0 {
		c.addCustomers(r.experiment.Hosts)
	}
	for h := range p.Nodes[:p.Hosts()] {
		if host := p.Nodes[h].Host; host != nil {
			c.addTransfers(host)
		}
		if edge := p.Nodes[h].Edge(); edge != nil {
			c.addPrograms(h, edge)
		}
	}
	for i := range c.flows {
		c.enter(i)
		uses := &c.transfers
		if i >= p.Transfers {
			uses = &c.programs
		}
		for t := range csig.Types {
			uses[t] = uses[t] || c.flows[i].fabric.has(t)
		}
	}
	return c
}

// addCustomers finds out what the algorithms of the transport want.
func (c *signalling) addCustomers(hosts experiment.Hosts) {
	path := c.plan.Path
	if cc, ok := congestion.Table.Lookup(hosts.CC.Name); ok {
		if controller, err := cc.New(path, hosts.CC.Params); err == nil {
			c.customers = append(c.customers, customer{cc.Name, controller.Output().Wants})
		}
	}
	if lb, ok := balance.Table.Lookup(hosts.LB.Name); ok {
		if balancer, err := lb.New(sampleFlow(path, c.plan.CSIG), hosts.LB.Params); err == nil {
			if listener, ok := balancer.(balance.Listener); ok {
				c.customers = append(c.customers, customer{lb.Name, listener.Wants()})
			}
		}
	}
	if c.customers[0].wants[csig.Delay] > 0 {
		for _, constant := range c.plan.Constants {
			if constant.Chart == congestion.ChartDelays {
				c.thresholds = append(c.thresholds, constant)
			}
		}
	}
}

// addTransfers adds the tags of what a host sends. The congestion control compares its
// thresholds with samples less the residence in the slowest idle hop, unless its
// parameter csig_unloaded says otherwise.
func (c *signalling) addTransfers(h *host.Config) {
	for i := range h.Sends {
		f := &h.Sends[i]
		tagging := h.TaggingOf(f)
		if h.CC.Params["csig_unloaded"] != "keep" {
			c.unloaded = max(c.unloaded, f.Paths.Unloaded)
		}
		if tagging.Every == 0 && tagging.Probe == 0 || !c.has(tagging.Format) {
			continue
		}
		wanted := tagging.Telemetry
		for _, one := range c.customers {
			wanted = wanted.Merge(one.wants)
		}
		if !wanted.Any() {
			wanted = csig.Only(tagging.Signal)
		}
		c.flows[f.ID].host = typesOf(wanted)
	}
}

// addPrograms adds the tags of what the programs of a host send.
func (c *signalling) addPrograms(h int, edge *shim.EdgeConfig) {
	for _, pair := range edge.Pairs {
		if int(pair.Source) == h && edge.Init.Every > 0 && c.has(edge.Init.Format) {
			c.flows[pair.Flow].host |= typesOf(edge.Init.Signals)
		}
	}
	for _, class := range edge.Classes {
		if class.Every > 0 && c.has(class.Format) {
			c.flows[class.Flow].host |= typesOf(class.Signals)
		}
	}
}

// enter applies what the first port of a flow's path does to its tags.
func (c *signalling) enter(flow int) {
	f := &c.flows[flow]
	at := c.run.fabric.up(int(c.plan.Flows[flow].Src)).Peer
	in := &c.plan.Switch(at.Node).Ports[at.Port].Ingress
	if f.fabric = f.host; in.Outside {
		f.fabric = 0
	}
	refuses := &in.Refuses
	if c.second {
		refuses = &in.RefusesSecond
	}
	for t, refused := range refuses {
		if refused {
			f.fabric &^= 1 << t
		}
	}
	if in.Init.Every > 0 && c.has(in.Format) && (f.host == 0 || f.fabric != f.host) {
		for _, t := range in.Signals {
			f.fabric |= 1 << t
		}
	}
}

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
// sample says whether a hop exceeds it. In three-flow 32 ranges of 250 ns end below the target and
// give 1.37:1, ranges of 500 ns 2.27:1 (the reference rules: 1.37 and 2.29).
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

// nobodyReads finds a variant whose tags no algorithm reads, beside one without tags: a comparison
// of the two shows nothing of CSIG.
func nobodyReads(c *signalling) []string {
	if !c.run.rival || c.transfers == [csig.Types]bool{} || slices.ContainsFunc(c.customers, func(one customer) bool { return one.wants.Any() }) {
		return nil
	}
	hosts := &c.run.experiment.Hosts
	return []string{fmt.Sprintf("csig: neither congestion control %s nor load balancing %s reads the tags with these parameters: they are for telemetry alone, and change no result against a variant without CSIG", hosts.CC.Name, hosts.LB.Name)}
}

// nothingTagged finds algorithms that want signals which no packet of some of their flows
// carries.
func nothingTagged(c *signalling) (notes []string) {
	for _, one := range c.customers {
		for t := range csig.Types {
			if one.wants[t] == 0 {
				continue
			}
			untagged, removed := 0, portSet{signal: t}
			for i := range c.flows[:c.plan.Transfers] {
				f := &c.flows[i]
				switch {
				case f.fabric.has(t):
				case f.host.has(t):
					at := c.run.fabric.up(int(c.plan.Flows[i].Src)).Peer
					if name := c.run.fabric.portName(at); !slices.Contains(removed.names, name) {
						removed.names = append(removed.names, name)
					}
				default:
					untagged++
				}
			}
			switch all := c.plan.Transfers; untagged {
			case 0:
			case all:
				notes = append(notes, fmt.Sprintf("csig.init: %s asks for %v, but no packet starts with a tag, so that it never gets a sample; use every, 1/N or probe/INTERVAL", one.name, t))
			default:
				notes = append(notes, fmt.Sprintf("csig.policies: %s asks for %v, but no packet of %d of %d transfers starts with a tag, so that these never get a sample; use every, 1/N or probe/INTERVAL", one.name, t, untagged, all))
			}
			if len(removed.names) > 0 {
				notes = append(notes, fmt.Sprintf("csig.ports: %s asks for %v, but the tags of hosts outside the domain are removed at %s, so that these hosts never get a sample; use outside: false", one.name, t, removed.ports()))
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
// The RTT of programs is that of their kernels, which the plan does not know. Senders that increase
// by available bandwidth stay below what is free, together, if the window holds one RTT or more.
func interval(c *signalling) []string {
	signal, ok := available(c.transfers)
	window, rtt := c.plan.CSIG.Interval, c.plan.Path.NetworkRTT
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
	var frame units.Size
	signal, ok := available(c.transfers)
	if ok {
		frame = c.run.experiment.Links.MTU
	}
	if t, programs := available(c.programs); programs {
		if c.plan.ApplicationMTU > 0 {
			frame = max(frame, c.plan.ApplicationMTU+ethernet)
		}
		for _, s := range c.plan.Streams() {
			frame = max(frame, s.Size)
		}
		if !ok {
			signal, ok = t, true
		}
	}
	if !ok {
		return nil
	}
	slowest := c.slowest()
	least := fewestFrames * slowest.Serialisation(frame+c.plan.Format.Overhead)
	window := c.plan.CSIG.Interval
	if window >= least {
		return nil
	}
	return []string{fmt.Sprintf("csig.interval: a window of %v is shorter than %d full frames of %v at the slowest port, %v; %v there takes few values; use at least %v", window, fewestFrames, frame, slowest, signal, least)}
}

// ethernet is what a programs' frame has beside its IP packet: header and FCS.
const ethernet = 18 * units.Byte

// sharedLocators finds locators that several ports share where results name ports by them.
func sharedLocators(c *signalling) []string {
	table := c.locators()
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

// ambiguousLastHops finds ports to hosts that share their locators with other ports, where
// senders go by the locator: they then count as inside the fabric.
func ambiguousLastHops(c *signalling) []string {
	used := len(c.customers) > 1 // the load balancer
	var known csig.LocatorSet
	for i := range c.plan.Nodes[:c.plan.Hosts()] {
		if h := c.plan.Nodes[i].Host; h != nil {
			used, known = used || h.Place == transport.ByLocator, h.LastHops
		}
	}
	if !used || c.plan.Transfers == 0 {
		return nil
	}
	ports := portSet{}
	for at, p := range c.plan.switchPorts {
		if p.LastHop && !known.Has(c.label(p)) {
			ports.names = append(ports.names, c.run.fabric.portName(at))
		}
	}
	if len(ports.names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("csig.locators: %s towards receivers and other ports have the same locators, so that senders take a bottleneck, or a trim, there for one inside the fabric; give the tier and the direction bits", ports.ports())}
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
