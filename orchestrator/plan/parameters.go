package plan

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Parameters are the values with which the nodes of a plan run, by classes of ports and
// flows: what a paper lists.
type Parameters struct {
	Ports []PortClass // by tier from the hosts up, direction and rate
	Flows []FlowClass // in the order of the first flow of each
}

// PortClass is ports with the same role and the same values.
type PortClass struct {
	Tier, Direction string // as Port
	PeerTier        string // of the nodes that they lead to
	Ports           int
	Rate            units.Rate
	BDP             units.Size // rate times network RTT, in whole packets
	// Queue and the next fields are of switches; 0 and "" of the NICs of hosts, which
	// have no limit and do not mark.
	Queue, ControlQueue units.Size
	AQM                 string
	Marking             algorithm.Values // the policy's parameters
	ECNLow, ECNHigh     units.Size       // thresholds of links.ecn
}

// FlowClass is transfers whose senders have the same values.
type FlowClass struct {
	Flows int
	First string     // name of the first
	Rate  units.Rate // of the sender's link
	// NetworkRTT is that of a full packet and its ACK over the longest idle path of the
	// fabric, from which the other values follow.
	NetworkRTT units.Duration
	// BaseRTT and BaseRTTMax are the same over the flows' own paths: the least and the
	// greatest of the class. Of several shortest paths it is the slowest.
	BaseRTT, BaseRTTMax units.Duration
	RTO                 units.Duration
	CC                  Controller
	LB                  string
	LBParameters        algorithm.Values
	MTU, Header         units.Size
	MSS                 units.Size // payload of a full packet
	AckEvery            units.Size
}

// Controller is the congestion control of a class of flows.
type Controller struct {
	Name       string
	Parameters algorithm.Values
	Constants  []congestion.Constant
	Window     units.Size          // the first one
	Windows    *congestion.Windows // its bounds; nil if the congestion control states none
}

// mostFlowClasses is from how many classes on flows with different base RTTs share one.
const mostFlowClasses = 24

// Parameters returns the parameters of the plan's nodes.
func (p *Plan) Parameters() Parameters {
	flows := p.flowClasses(true)
	if len(flows) > mostFlowClasses {
		flows = p.flowClasses(false)
	}
	return Parameters{Ports: p.portClasses(), Flows: flows}
}

func (p *Plan) portClasses() []PortClass {
	type key struct {
		tier, peer topologies.Tier
		up         bool
		rate       units.Rate
	}
	classes := map[key]*PortClass{}
	order := []key{}
	for _, port := range Ports(p.Graph) {
		k := key{p.Graph.Nodes[port.Node].Tier, p.Graph.Nodes[port.Peer.Node].Tier, port.Direction == "up", port.Rate}
		if c, ok := classes[k]; ok {
			c.Ports++
			continue
		}
		c := &PortClass{Tier: port.Tier, Direction: port.Direction, PeerTier: k.peer.String(), Ports: 1, Rate: port.Rate}
		c.BDP = wholeBDP(port.Rate, p.Path.NetworkRTT, p.Path.MTU)
		if s := p.Switch(port.Node); s != nil {
			at := s.Ports[port.Port]
			c.Queue, c.ControlQueue, c.AQM = at.Buffer.Data, at.Buffer.Control, s.AQM.Name
			policy, _ := aqm.Table.Lookup(s.AQM.Name)
			c.Marking = checked(policy.Resolve(policyPort(at.Rate, at.Buffer.Data, at.ECN), s.AQM.Params))
			c.ECNLow, c.ECNHigh = at.ECN.Low, at.ECN.High
		}
		classes[k] = c
		order = append(order, k)
	}
	slices.SortStableFunc(order, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.peer, b.peer), cmp.Compare(a.rate, b.rate))
	})
	all := make([]PortClass, len(order))
	for i, k := range order {
		all[i] = *classes[k]
	}
	return all
}

// checked returns what an algorithm says of parameters that were checked when the plan was made.
func checked[T any](value T, err error) T {
	if err != nil {
		panic("plan: " + err.Error())
	}
	return value
}

// flowClasses returns the classes of the transfers. byRTT keeps those with different base
// RTTs apart.
func (p *Plan) flowClasses(byRTT bool) []FlowClass {
	type key struct {
		rate units.Rate
		rtt  units.Duration
		own  *algorithm.Choice // of hosts.policies
	}
	var all []FlowClass
	at := map[key]int{}
	own := p.ownCC()
	rttOf := p.idleRTTs()
	for _, f := range p.Flows[:p.Transfers] {
		c := p.Nodes[f.Src].Host
		rtt := rttOf(int(f.Src), int(f.Dst))
		k := key{rate: c.Rate, own: own[f.Flow]}
		if byRTT {
			k.rtt = rtt
		}
		if i, ok := at[k]; ok {
			class := &all[i]
			class.Flows++
			class.BaseRTT, class.BaseRTTMax = min(class.BaseRTT, rtt), max(class.BaseRTTMax, rtt)
			continue
		}
		at[k] = len(all)
		class := FlowClass{
			Flows: 1, First: f.Name, Rate: c.Rate, NetworkRTT: c.Path.NetworkRTT, BaseRTT: rtt, BaseRTTMax: rtt, RTO: c.RTO,
			LB: c.LB.Name, MTU: c.MTU, Header: c.Path.Header, MSS: c.MTU - c.Path.Header, AckEvery: c.AckEvery,
		}
		chosen := c.CCOf(&host.Flow{CC: k.own})
		cc, _ := congestion.Table.Lookup(chosen.Name)
		lb, _ := balance.Table.Lookup(c.LB.Name)
		controller := checked(cc.New(c.Path, chosen.Params))
		class.CC = Controller{
			Name: c.CC.Name, Parameters: checked(cc.Resolve(c.Path, chosen.Params)), Constants: cc.ConstantsOf(c.Path, chosen.Params), Window: controller.Output().Window,
		}
		if w, ok := cc.WindowsOf(c.Path, chosen.Params); ok {
			class.CC.Windows = &w
		}
		class.LBParameters = checked(lb.Resolve(sampleFlow(c.Path, c.CSIG), c.LB.Params))
		all = append(all, class)
	}
	return all
}

// ownCC returns the congestion controls of the transfers that have their own, by flow.
func (p *Plan) ownCC() map[int32]*algorithm.Choice {
	own := map[int32]*algorithm.Choice{}
	for h := range p.Nodes[:p.Hosts()] {
		if c := p.Nodes[h].Host; c != nil {
			for i := range c.Sends {
				if f := &c.Sends[i]; f.CC != nil {
					own[int32(f.ID)] = f.CC
				}
			}
		}
	}
	return own
}

// idleRTTs returns the function of the RTT of a full packet and its ACK between two hosts. It
// computes each once for hosts with the same switches and links alike.
func (p *Plan) idleRTTs() func(src, dst int) units.Duration {
	paths, adjacency, oneWay := topologies.NewPaths(p.Graph), p.Graph.Adjacency(), p.Graph.OneWay()
	type end struct {
		up    int // switch
		rate  units.Rate
		delay units.Duration
	}
	endOf := func(h int) end {
		up := adjacency[h][0]
		link := &p.Graph.Links[up.Link]
		return end{up.Peer.Node, link.Rate, link.Delay}
	}
	trip := func(src, dst int, size units.Size) units.Duration {
		_, delay := paths.Between(src, dst)
		for _, id := range paths.Links(src, dst) {
			delay += p.Graph.Links[id].Rate.Serialisation(size + p.Format.Overhead)
		}
		return delay
	}
	known := map[[2]end]units.Duration{}
	return func(src, dst int) units.Duration {
		key := [2]end{endOf(src), endOf(dst)}
		rtt, ok := known[key]
		if !ok {
			rtt = trip(src, dst, p.Path.MTU)
			if oneWay {
				src, dst = dst, src
			}
			rtt += trip(src, dst, p.Path.Header) // the ACK comes back the same way elsewhere
			known[key] = rtt
		}
		return rtt
	}
}
