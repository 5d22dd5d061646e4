package plan

import (
	"cmp"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// mostFlowClasses is from how many classes on flows with different base RTTs share one.
const mostFlowClasses = 24

// Parameters returns the values with which the nodes of the plan run, as a manifest has them.
func (p *Plan) Parameters() *runfolder.Parameters {
	flows := p.flowClasses(true)
	if len(flows) > mostFlowClasses {
		flows = p.flowClasses(false)
	}
	return &runfolder.Parameters{Ports: p.portClasses(), Flows: flows}
}

func (p *Plan) portClasses() []runfolder.PortClass {
	type key struct {
		tier, peer topologies.Tier
		up         bool
		rate       units.Rate
	}
	classes := map[key]*runfolder.PortClass{}
	order := []key{}
	for _, port := range Ports(p.Graph) {
		k := key{p.Graph.Nodes[port.Node].Tier, p.Graph.Nodes[port.Peer.Node].Tier, port.Direction == "up", port.Rate}
		if c, ok := classes[k]; ok {
			c.Ports++
			continue
		}
		c := &runfolder.PortClass{
			Tier: port.Tier, Direction: port.Direction, PeerTier: k.peer.String(), Ports: 1, RateBPS: int64(port.Rate),
			BDPBytes: int64(wholeBDP(port.Rate, p.Path.NetworkRTT, p.Path.MTU)),
		}
		if s := p.Switch(port.Node); s != nil {
			at := s.Ports[port.Port]
			c.QueueBytes, c.ControlQueueBytes, c.AQM = int64(at.Buffer.Data), int64(at.Buffer.Control), s.AQM.Name
			policy, _ := aqm.Table.Lookup(s.AQM.Name)
			c.AQMParameters = checked(policy.Resolve(policyPort(at.Rate, at.Buffer.Data, at.ECN), s.AQM.Params))
			c.ECNLowBytes, c.ECNHighBytes = int64(at.ECN.Low), int64(at.ECN.High)
		}
		classes[k] = c
		order = append(order, k)
	}
	slices.SortStableFunc(order, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.peer, b.peer), cmp.Compare(a.rate, b.rate))
	})
	all := make([]runfolder.PortClass, len(order))
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
func (p *Plan) flowClasses(byRTT bool) []runfolder.FlowClass {
	type key struct {
		rate units.Rate
		rtt  units.Duration
		own  *algorithm.Choice // of hosts.policies
	}
	var all []runfolder.FlowClass
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
			class.BaseRTTUS, class.BaseRTTMaxUS = min(class.BaseRTTUS, rtt.Microseconds()), max(class.BaseRTTMaxUS, rtt.Microseconds())
			continue
		}
		at[k] = len(all)
		chosen := c.CCOf(&host.Flow{CC: k.own})
		cc, _ := congestion.Table.Lookup(chosen.Name)
		lb, _ := balance.Table.Lookup(c.LB.Name)
		controller := checked(cc.New(c.Path, chosen.Params))
		class := runfolder.FlowClass{
			Flows: 1, First: f.Name, RateBPS: int64(c.Rate),
			NetworkRTTUS: c.Path.NetworkRTT.Microseconds(), BaseRTTUS: rtt.Microseconds(), BaseRTTMaxUS: rtt.Microseconds(), RTOUS: c.RTO.Microseconds(),
			CC: c.CC.Name, CCParameters: checked(cc.Resolve(c.Path, chosen.Params)), Constants: map[string]float64{},
			LB: c.LB.Name, LBParameters: checked(lb.Resolve(sampleFlow(c.Path, c.CSIG), c.LB.Params)),
			WindowBytes: int64(controller.Output().Window), MTUBytes: int64(c.MTU), HeaderBytes: int64(c.Path.Header), MSSBytes: int64(c.MTU - c.Path.Header),
			AckEveryBytes: int64(c.AckEvery),
		}
		for _, constant := range cc.ConstantsOf(c.Path, chosen.Params) {
			class.Constants[constant.Name] = constant.Value
		}
		if w, ok := cc.WindowsOf(c.Path, chosen.Params); ok {
			class.WindowMinBytes, class.WindowMaxBytes = int64(w.Min), int64(w.Max)
		}
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
