// Package experiment reads experiment files: strict YAML in, a resolved Experiment
// out. It knows the keys with their units, defaults and ranges, and it builds the
// topology and the workload that they describe. It deploys nothing and runs
// nothing. Every error names file, line and column. Commands load experiments, the
// orchestrator compiles them.
package experiment

import (
	"fmt"
	"math"
	"strconv"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/transport"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/units"
)

// Schema is the version of the file format that this package reads.
const Schema = 1

// Experiment is one resolved experiment: every default filled in, every unit
// parsed. Field names in YAML are given in backquotes.
type Experiment struct {
	Schema      int      `yaml:"schema,required" is:"1 to 1" doc:"version of this format"`
	Name        string   `yaml:"name,required" is:"name" doc:"up to 64 of 'a-z 0-9 -'; names the run's folder"`
	Description string   `yaml:"description" doc:"for the report"`
	Topology    Topology `yaml:"topology,required" doc:"the fabric: exactly one of the kinds below"`
	Links       Links    `yaml:"links" doc:"queues, sizes and marking of every link"`
	Classes     []Class  `yaml:"classes" doc:"up to 7 data classes. The class 'default' has what no other class has, and need not be listed"`
	// Routing is how switches choose among the paths to a host.
	Routing  Algorithm `yaml:"routing" is:"routing" default:"ecmp" doc:"how switches choose among the paths to a host: 'ecmp', or '{name: adaptive, ties: round-robin}'"`
	CSIG     CSIG      `yaml:"csig" doc:"what tags hold, and what hosts and switch ports do with them"`
	Hosts    Hosts     `yaml:"hosts" doc:"the transport of hosts: congestion control, load balancing, recovery"`
	Workload Workload  `yaml:"workload,required" unless:"applications generators jobs" doc:"the traffic: exactly one of the kinds below; it may be left out beside applications, generators or jobs"`
	Jobs     []Job     `yaml:"jobs" doc:"jobs, which run at the same time"`
	// Scheduler is nil without: jobs take free hosts in their order.
	Scheduler *Scheduler `yaml:"scheduler" doc:"places the jobs that name no hosts as in a cluster that jobs share: on what is free after others have come and gone. Without it they take the first free hosts"`
	// Applications are programs over the kernel's TCP/IP; nil without.
	Applications *Applications `yaml:"applications" doc:"hosts that run programs, unmodified and over the kernel's TCP/IP"`
	Generators   []Generator   `yaml:"generators" doc:"streams of frames; a host may send several"`
	// Nodes are those that are none of csiglab's.
	Nodes     []ForeignNode  `yaml:"nodes" doc:"nodes of the fabric that are foreign: a switch, router or host under test, which csiglab wires and whose inside it does not know; see [foreign.md](../how-to/foreign.md). Clock wall alone has them"`
	Tunnels   *Tunnels       `yaml:"tunnels" doc:"what hosts of one rack send to another crosses the fabric in VXLAN tunnels between their switches, 50 B longer; see [Tunnels](../explanation/csig.md#tunnels)"`
	Faults    []Fault        `yaml:"faults" doc:"faults; several may hit the same link, of several rates the lowest counts"`
	Telemetry Telemetry      `yaml:"telemetry" doc:"what is recorded"`
	Trace     *Trace         `yaml:"trace" doc:"flows of which every event is recorded; without it, tracing costs nothing"`
	Capture   []string       `yaml:"capture" is:"link" doc:"links whose packets are written to the run's folder as pcapng, such as '[tor0-agg0]'; see [wire.md](wire.md#reading-captures)"`
	Fidelity  Fidelity       `yaml:"fidelity" default:"packets" doc:"how messages cross the fabric: 'packets', each of them; 'flow': as a fluid, whose flows divide the links by max-min fairness, for jobs of which the packets are too many. It knows no queue, mark, loss, signal or congestion control; see [jobs.md](../explanation/jobs.md#without-packets). 'hybrid': those of 'packets' as packets, the others as a fluid; see [jobs.md](../explanation/jobs.md#a-part-as-packets)"`
	Packets   PacketChoice   `yaml:"packets" doc:"under fidelity hybrid: which messages are packets, those for which all that is given holds"`
	Measure   Measure        `yaml:"measure" doc:"the measuring window, and groups of flows that metrics are computed over"`
	End       units.Duration `yaml:"end" is:"span or auto" default:"auto" doc:"the run is cut off here; auto: it ends when nothing is left to do"`
	Variants  []Variant      `yaml:"variants" doc:"without them there is one, 'run', see [Variants](#variants)"`
	Baseline  string         `yaml:"baseline" doc:"the variant that the others are compared with, which stands before them everywhere; without it the first one"`
	Sweep     *Sweep         `yaml:"sweep" doc:"the points at which 'csiglab sweep' runs the experiment, see [Sweep](#sweep)"`
	Seeds     []uint64       `yaml:"seeds" default:"1" doc:"a run of each variant for each seed: '[1, 2, 5]' or '1..5', at most 10000"`
	TieSeed   uint64         `yaml:"tie_seed" default:"0" doc:"permutes packets that reach a node at the very same picosecond; 0: in port order"`
	Derived   []Derived      `yaml:"derived" doc:"metrics made of metrics, computed for every run, in order"`
	Expect    []string       `yaml:"expect" doc:"assertions, see [Results](#results)"`
	Robust    []Promise      `yaml:"robust" doc:"which expectations hold under which other settings; 'csiglab stress' checks it ([sweep.md](../how-to/sweep.md#stress)). It decides nothing about a run, and without it nothing is promised but the experiment as it is"`
	Tuned     []Tuned        `yaml:"tuned" doc:"values that were chosen so that the experiment shows its effect, but for those of a publication, defaults and the question itself. 'csiglab stress --setting tuned' halves and doubles them ([tuning.md](tuning.md)). It decides nothing about a run"`
	Published []Published    `yaml:"published" doc:"figures to compare medians with; they decide nothing"`
	Runtime   string         `yaml:"runtime" is:"runtime" default:"inproc" doc:"'inproc': this process; 'netns': real frames, a network namespace per node; 'containerlab': a container per node; 'kubernetes': a pod per part of the fabric, a network namespace per node"`
	Clock     string         `yaml:"clock" is:"clock" default:"virtual" doc:"'virtual' with inproc; 'lockstep' or 'wall' with the others. Where one of the two alone is written, the other follows ('clock: wall' means netns). A flag that names one of them keeps the other where the two fit"`
	Wall      Wall           `yaml:"wall" doc:"of clock wall: how model time is stretched, and when a run is too late to count"`
}

// Wall is the wall clock's dilation, and how far from real time a run may be.
type Wall struct {
	Dilation int    `yaml:"dilation" is:"1 to 1000000000 or auto" default:"auto" doc:"with clock wall: wall seconds for a model second; auto: the least that this machine keeps, see [wall.md](../explanation/wall.md)"`
	Datapath string `yaml:"datapath" is:"machine|ebpf" default:"machine" doc:"what switches forward with: 'machine': a node program each; 'ebpf': [programs in the kernel](../explanation/wall.md#switches-in-the-kernel), which runtime netns as root has"`
	Budget   Budget `yaml:"budget" doc:"how far from real time a run may be; beyond that it is invalid"`
}

// DatapathEBPF is the value of Wall.Datapath for switches in the kernel.
const DatapathEBPF = "ebpf"

// Budget is the limits of a run in real time. A run that exceeds one of them is
// invalid. Values are shares: 0.05 is 5 %.
type Budget struct {
	Lateness  float64 `yaml:"lateness" default:"0.25" doc:"the run is invalid when the 99th percentile of lateness is a larger share of the smallest delay"`
	Displaced float64 `yaml:"displaced" default:"0.01" doc:"or a larger share of packets came too late for their moment"`
	Rate      float64 `yaml:"rate" default:"0.05" doc:"or a busy link was off its rate by a larger share"`
	Underlay  float64 `yaml:"underlay" default:"0.5" doc:"or, of a run in parts on several machines, the way between two of them and the distance of their clocks took a larger share of the smallest delay of a link that is cut there"`
}

// Links are the queues and sizes of every link.
type Links struct {
	MTU          units.Size `yaml:"mtu" is:"256B to 65000B" default:"4150B" doc:"a full data packet on the wire, header included"`
	Header       units.Size `yaml:"header" is:"16B to 1024B" default:"64B" doc:"charged for the headers of a packet; also what an ACK, a NACK and a trimmed packet take"`
	Queue        units.Size `yaml:"queue" is:"queue or auto" default:"auto" doc:"data queue of a switch port; auto: one bandwidth-delay product (BDP) with trimming, five without"`
	ControlQueue units.Size `yaml:"control_queue" is:"queue or auto" default:"auto" doc:"queue of ACKs, NACKs and trimmed packets, which goes first; auto: twice the data queue"`
	Trim         bool       `yaml:"trim" default:"true" doc:"a packet that does not fit loses its payload instead of being dropped"`
	// TrimThreshold is from which data queue on packets are trimmed; 0 or "auto": Queue.
	// Packets that cannot be trimmed have Queue. LastHopTrim is how many times that it is
	// at ports that lead to hosts; default 1.
	TrimThreshold units.Size `yaml:"trim_threshold" is:"queue or auto" default:"auto" doc:"from which data queue on packets are trimmed; what cannot be trimmed has 'links.queue'. auto: 'links.queue'"`
	LastHopTrim   float64    `yaml:"last_hop_trim" default:"1" doc:"times the threshold of trimming at ports that lead to hosts, from 1; UEC expects 1.5"`
	Buffer        Buffer     `yaml:"buffer" doc:"memory of a switch that its ports share"`
	PFC           PFC        `yaml:"pfc" doc:"priority flow control, of lossless classes"`

	AQM      Algorithm `yaml:"aqm" is:"aqm" default:"linear" doc:"how switch ports mark packets as these leave: 'linear', or '{name: linear, high: 100kB}'"`
	ECN      ECN       `yaml:"ecn" doc:"marks, and the thresholds of AQM policies that have none of their own"`
	CountTag bool      `yaml:"count_tag" default:"false" doc:"charge the bytes of the CSIG tag too"`
	// Rates are links with another rate than the topology gives them; in order.
	Rates    []LinkRates `yaml:"rates" doc:"links of another rate than the topology gives them, in both directions; of several items for one link the last counts"`
	Overhead units.Size  `yaml:"overhead" is:"0B to 1024B" default:"0B" doc:"what every packet takes on the line beyond its size: 24 B for preamble, gap and frame check sequence (20 B for frames of programs, whose size has the check sequence). It takes time, also in the round trip that 'auto' values use, and is in no queue, rate or available bandwidth"`
}

// LinkRates is the rate of the links that a pattern names.
type LinkRates struct {
	Links string     `yaml:"links,required" is:"links pattern" doc:"name of a link, such as 'tor0-agg0', or a pattern with '*', such as 'agg*-core*'"`
	Rate  units.Rate `yaml:"rate,required" is:"rate" doc:"of each of these links"`
}

// MaxTransfer returns the size of the largest transfer that sequence numbers of
// 32 bits can number: one per packet, of MTU less header.
func (l Links) MaxTransfer() units.Size { return (1<<32 - 2) * (l.MTU - l.Header) }

// ECN says whether switch ports mark, and the thresholds of AQM policies that
// have none of their own. Policy linear marks no packet at or below Low, every
// one at or above High.
type ECN struct {
	Enabled bool       `yaml:"enabled" default:"true" doc:"packets are marked; false: the AQM policy is 'none', whatever it says"`
	Low     units.Size `yaml:"low" is:"threshold or auto" default:"auto" doc:"lower threshold of AQM policies; auto: 0.2 BDP, or 0.2 of a data queue that is given and shorter than a BDP. A threshold that is given and lies above the end of a queue that is given cannot act, and is refused"`
	High    units.Size `yaml:"high" is:"threshold or auto" default:"auto" doc:"upper threshold of AQM policies; auto: 0.8 BDP, likewise"`
}

// CSIG is the domain's configuration. Names are those that the packages csig, meter
// and dataplane read.
type CSIG struct {
	Format       csig.Format         `yaml:"format" default:"none" doc:"tag of 4 bytes, 'compact', or 8, 'wide'; 'none': no CSIG"`
	Dialect      csig.Dialect        `yaml:"dialect" default:"uec-0.50" doc:"'uec-0.50': locator of 6 or 15 bits and the D bit; 'draft-01': 7 or 16 bits, no D bit"`
	TPIDCompact  uint16              `yaml:"tpid_compact" is:"0x0600 to 0xFFFF" default:"0x88B5" doc:"EtherType of compact tags"`
	TPIDWide     uint16              `yaml:"tpid_wide" is:"0x0600 to 0xFFFF" default:"0x88B6" doc:"EtherType of wide tags"`
	Locators     Locators            `yaml:"locators" doc:"how switch ports are named in tags: 'structured', by tier, direction, switch and port; 'registry', by a number of their own; or a mapping with the keys below. See [Locators](../explanation/csig.md#locators)"`
	Signal       csig.Type           `yaml:"signal" is:"signal" default:"delay" doc:"what hosts ask for unless CC, LB or a policy asks: 'delay', 'abw', 'abw-c', 'nqd', or one of a [module](../how-to/extend.md#signals)"`
	Interval     units.Duration      `yaml:"interval" is:"100ns to 1s" default:"128us" doc:"window over which available bandwidth is measured"`
	Meter        meter.Mode          `yaml:"meter" default:"tumbling" doc:"the last whole window, or 'sliding': eighths of one"`
	Phase        meter.Phase         `yaml:"phase" default:"seeded" doc:"where the windows of a port begin: 'seeded', at a time within an interval that the seed gives to each port; 'aligned', at the start of the run at every port, so that a traffic pattern with the interval's period reads the same wrong value everywhere"`
	CountTrimmed bool                `yaml:"count_trimmed" default:"false" doc:"trimmed packets count as used bandwidth too"`
	ABW          meter.Scope         `yaml:"abw" default:"raw" doc:"whose available bandwidth tags hold: 'raw', the port's; 'pause-aware', *ours*: the port's less the time in which a packet's class was paused and the port idle, needs a lossless class; 'per-class', *ours*: what a packet's class could get beside the others, needs 'classes'. [References](references.md#available-bandwidth) has the definitions"`
	OverrideD    []csig.Type         `yaml:"override_d" is:"abw|abw-c" doc:"types whose tags switches go on updating after one has set D, because it trimmed the packet: 'abw', 'abw-c' (SAI-CSIG §5.3). Not of 'csig.dialect: draft-01', which has no D"`
	Delay        dataplane.DelayMode `yaml:"delay" default:"residence" doc:"'residence': first bit in to first bit out, that is serialisation at the rate of the link it came from, the switch's own delay and waiting; 'wait': waiting alone"`
	NQD          meter.DepthMode     `yaml:"nqd" default:"occupancy" doc:"queue depth as a share of the queue, 'occupancy', or of the network RTT's worth of draining, 'drain'"`
	Quantisers   map[string]string   `yaml:"quantisers" doc:"what the codes of a signal mean: '{delay: delay-lin-500ns}', see [Signals](../explanation/csig.md#signals)"`
	Decode       csig.DecodeMode     `yaml:"decode" default:"auto" doc:"the point of a code's range: 'lower', 'midpoint', 'geometric'; auto: lower for abw, geometric for delay-geo, else midpoint"`
	TrimRule     csig.TrimRule       `yaml:"trim_rule" default:"force_local" doc:"a switch that trims writes the worst code and its own locator ('force_local'), the value that the packet would have met in the queue if that is worse ('measured'), or 'none'"`
	Init         string              `yaml:"init" is:"init" default:"every" doc:"packets that start with a tag: 'every'; 'none'; '1/N', one of each N data packets of a flow, drawn; 'stride/N', every Nth; '1/20us', at most one in that time; or 'probe/20us': probes of each flow that has data to send, which queue with data and are answered. If only some packets have tags, each of these asks for an ACK of its own"`
	MaxAge       units.Duration      `yaml:"max_age" is:"link delay or auto" default:"auto" doc:"up to this age of its packet a sample of delay or queue depth is used for ACKs that bring none; auto: twice the flow's last RTT, so that it is used for one RTT after it has come. Samples of available bandwidth are used up to twice the RTT or 'csig.interval', whichever is longer"`
	PortDown     dataplane.PortDown  `yaml:"port_down" default:"silent" doc:"what the sender hears of a data packet that a switch drops because the link of the port is down: nothing, 'silent', or at once a NACK with the port's locator, 'notify' (see [faults.md](../how-to/faults.md#links-that-go-down))"`
	Second       *CSIGSecond         `yaml:"second" doc:"tags of the format that 'csig.format' is not; without it there are none"`
	Policies     []CSIGPolicy        `yaml:"policies" doc:"exceptions from 'csig.init', 'csig.signal' and 'csig.format' for some flows or packets. A policy is for the packets that fit all lists of its 'match', each by one of its items; one that no flow fits is an error. Later ones win, 'init', 'signals' and 'format' each by itself"`
	Speakers     Speakers            `yaml:"speakers" doc:"switches that speak CSIG; the others pass tags on untouched, and no rule of 'ports' holds there. A share of all switches, '0.3', or a mapping with the keys below. See [Switches without CSIG](../explanation/csig.md#switches-without-csig)"`
	Ports        []CSIGPort          `yaml:"ports" doc:"what some switch ports do to tags, see [Ports](../explanation/csig.md#ports)"`
	Collector    *Collector          `yaml:"collector" doc:"host to which switches send samples of tags that end at their ports; without it to nobody"`
}

// Locators is how switch ports get their locators. In YAML it is the name of a scheme,
// or a mapping with the key scheme.
type Locators struct {
	Scheme csig.SchemeKind `yaml:"scheme,owner" default:"structured" doc:"the same; naming it drops the widths or labels that were given before"`
	Widths *LocatorWidths  `yaml:"widths" doc:"of scheme structured: bits of each field, most significant first; their sum is the locator's length"`
	Labels []LocatorLabel  `yaml:"labels" doc:"of 'registry': the locator of every switch port. Without: ports are numbered from 1 in the order of switches and ports"`
}

// LocatorWidths are the bits of the fields of a structured locator, the most
// significant first. Their sum is the locator's length.
type LocatorWidths struct {
	Tier      int `yaml:"tier,required" is:"locator bits" doc:"tor 0, agg 1, core 2, other 3; with 0 bits it is left out, as are the next two"`
	Direction int `yaml:"direction,required" is:"0 to 1" doc:"up 0, down 1"`
	Switch    int `yaml:"switch,required" is:"locator bits" doc:"number of the switch in its tier, from 0, modulo 2^bits"`
	Port      int `yaml:"port,required" is:"port bits" doc:"number of the port, from 1, folded onto 1 to 2^bits - 1; at least one bit"`
}

// LocatorLabel gives a switch port its locator.
type LocatorLabel struct {
	Locator int    `yaml:"locator,required" is:"locator" doc:"from 1; no two ports share one"`
	Switch  string `yaml:"switch,required" is:"switch" doc:"such as tor0"`
	Port    int    `yaml:"port,required" is:"0 to 65536" doc:"port of the switch, from 0"`
}

// Collector is a host to which switches send samples of tags that end at their ports, as
// packets.
type Collector struct {
	Host     int            `yaml:"host,required" is:"host" doc:"the collector, to which switches send the samples of tags that end at their ports as [postcards](wire.md#postcard)"`
	Interval units.Duration `yaml:"interval" is:"1us to 10s" default:"100us" doc:"a switch sends at most one postcard of each flow and signal in this time: its first sample. All postcards of a switch together take 1 % of its slowest port at most"`
	Loop     string         `yaml:"loop" is:"loop" default:"none" doc:"what the collector does with postcards: 'none': it counts them; 'abw': it sets the weights of 'routing: wcmp' by available bandwidth, see [Postcards](../explanation/csig.md#postcards)"`
	Period   units.Duration `yaml:"period" is:"1us to 10s" default:"500us" doc:"least time between two settings"`
}

// Loops returns the values of Collector.Loop: a collector only counts, or sets the weights
// of routing wcmp by available bandwidth.
func Loops() []string { return []string{"none", "abw"} }

// CSIGPort says what some switch ports do to tags: those that Switch, Tier, Port and To
// together select.
type CSIGPort struct {
	Switch  string      `yaml:"switch" is:"switch pattern" default:"*" doc:"a switch's name or a pattern: 'tor0', 'agg*'; one that matches nothing is an error"`
	Tier    string      `yaml:"tier" is:"tor|agg|core" doc:"switches of one tier only: 'tor', 'agg', 'core'"`
	Port    int         `yaml:"port" is:"0 to 65536 or all as -1" default:"all" doc:"port of the switch, from 0"`
	To      string      `yaml:"to" is:"host|switch" doc:"ports that lead to a 'host' or to a 'switch' only"`
	Type    string      `yaml:"type" is:"signal or all" default:"all" doc:"signal that 'policy' is for"`
	Format  string      `yaml:"format" is:"tag format or all" default:"all" doc:"format of the tags that 'policy' is for: 'compact', 'wide' or both, 'all'. Also of those that 'init' puts on; with 'all' that is 'csig.format'"`
	Policy  string      `yaml:"policy" is:"port policy" doc:"of tags that leave by the port: 'update', 'pass' untouched, 'strip', or 'terminate': update, record the sample and strip"`
	Outside *bool       `yaml:"outside" doc:"true: no tag comes in by the port; false: every tag does; without: as 'policy' says"`
	Init    string      `yaml:"init" is:"sampling" doc:"frames that come in by the port without a tag and get one: 'every', 'none', '1/N', 'stride/N', '1/TIME' as in 'csig.init'"`
	Signals []csig.Type `yaml:"signals" is:"signal" doc:"types of the tags that 'init' puts on, in turn; empty: 'csig.signal'"`
}

// Speakers chooses the switches that speak CSIG: of those that Tiers and Switches together
// select, a share. In YAML it is the share, or a mapping.
type Speakers struct {
	Share    float64  `yaml:"share,short" default:"1" doc:"from 0 to 1: so many of the switches that 'tiers' and 'switches' together select speak, to the nearest whole number. Those of a smaller share speak with a greater one too"`
	Seed     uint64   `yaml:"seed" default:"1" doc:"draws them, alike for all seeds of the run"`
	Tiers    []string `yaml:"tiers" is:"tor|agg|core" doc:"switches of these tiers only: 'tor', 'agg', 'core'"`
	Switches []string `yaml:"switches" is:"switch pattern" doc:"these switches only, by name or pattern: 'tor0', 'agg*'; one that matches nothing is an error"`
	// Negotiated says what neighbours would have agreed on by LLDP.
	Negotiated bool `yaml:"negotiated" default:"false" doc:"false: tags go through switches that do not speak; true: neighbours have agreed on tags, as by LLDP: a port to a switch that does not speak strips them, and what comes from there has none"`
}

// Some reports whether there may be switches that do not speak.
func (s *Speakers) Some() bool { return s.Share < 1 || len(s.Tiers) > 0 || len(s.Switches) > 0 }

// Hosts is the transport with its CC and LB.
type Hosts struct {
	CC       Algorithm          `yaml:"cc" is:"cc" default:"nscc" doc:"congestion control: 'nscc', or '{name: nscc, gamma: 0.5}'"`
	LB       Algorithm          `yaml:"lb" is:"lb" default:"mixed" doc:"load balancing"`
	AckEvery units.Size         `yaml:"ack_every" is:"1B to 1GB" default:"16384B" doc:"data between coalesced ACKs"`
	Credits  bool               `yaml:"credits" default:"false" doc:"receivers grant credit for what they are sent ([RCCC](references.md#receiver-credits)), beside the window of 'hosts.cc'; 'hosts.cc: rccc' has credits and no window. Thresholds 'auto' of ports that lead to hosts then lie beyond their queues: the receiver answers for its link"`
	Recovery transport.Recovery `yaml:"recovery" default:"selective" doc:"what a flow does about losses: 'selective' takes packets in any order and sends again those that are missing; 'go_back_n' takes them in order alone, as RoCE does, and sends everything again from the first one missing; 'sleek' is selective and sends again before 'min_rto' what ACKs show to be missing, for networks that drop ([SLEEK](references.md#loss-recovery))"`
	// TrimPlace says how a sender knows whether a packet was trimmed at the last hop.
	TrimPlace transport.TrimPlace `yaml:"trim_place" default:"dscp" doc:"what says that a packet was trimmed at the last hop, so that neither the path nor, with receiver credits, the window is at fault: 'dscp', the DSCP of the trimmed packet, of which there is one for the last hop; or 'locator', the one in its CSIG tag, which needs 'csig.trim_rule: force_local'. A trimmed packet without a tag then counts as trimmed inside the fabric"`
	MinRTO    units.Duration      `yaml:"min_rto" is:"1us to 10s or auto" default:"auto" doc:"retransmission timeout; auto: 15 us and the time to drain six full queues"`
	// Policies change parameters of CC for some transfers; of two for one the later wins.
	Policies []HostPolicy `yaml:"policies" doc:"other parameters of the congestion control for some transfers; of two for one transfer the later wins, parameter by parameter"`
}

// Algorithm names an algorithm of a table and sets its parameters, each a text
// that is checked against the table. In YAML it is a name, or a mapping with the
// key name and one key per parameter, which are those that the table declares.
type Algorithm = algorithm.Choice

// Applications are hosts that run programs, unmodified and over the kernel's
// TCP/IP, beside the transport or instead of it.
type Applications struct {
	Hosts    []int       `yaml:"hosts,required" is:"host" doc:"numbers of the hosts; host 3 has the address 10.0.0.4 on its interface 'csig0'"`
	Signals  []csig.Type `yaml:"signals" is:"signal" doc:"what tags ask for, packet by packet in turn, such as '[abw, delay]'; a signal that is given twice comes twice as often; empty: 'csig.signal'"`
	Queue    units.Size  `yaml:"queue" is:"queue or auto" default:"auto" doc:"queue of a host's programs towards the fabric; auto: as 'links.queue' of a port with the rate of the host's link"`
	MTU      units.Size  `yaml:"mtu" is:"packet" default:"1500B" doc:"of 'csig0': the longest IP packet; with 18 B more it must fit in 'links.mtu'"`
	Image    string      `yaml:"image" is:"image" doc:"with runtime containerlab, the image of the container that a host's programs run in; without, and in netns, they see this machine's files"`
	Programs []Program   `yaml:"programs" doc:"programs to start"`
}

// Program is a command that a host runs.
type Program struct {
	Host       int            `yaml:"host,required" is:"host" doc:"host that runs it, one of 'hosts'"`
	Run        string         `yaml:"run,required" is:"command" doc:"command line; quotes and backslashes keep spaces, and nothing is expanded: 'sh -c \"…\"' asks for a shell"`
	Start      units.Duration `yaml:"start" is:"time" default:"0s" doc:"when it starts, in model time"`
	Background bool           `yaml:"background" default:"false" doc:"the run does not wait for it; it is ended with the run"`
}

// Generator is raw frames that a host sends to another, in even steps. The host has no
// transport.
type Generator struct {
	Host  int            `yaml:"host,required" is:"host" doc:"host that sends"`
	To    int            `yaml:"to,required" is:"host" doc:"host that receives. If it has neither transfers nor programs, it checks and counts the frames; otherwise it drops them ('unexpected kind', or 'not my address' with programs)"`
	Size  units.Size     `yaml:"size" is:"frame" default:"1500B" doc:"of a frame on the wire without its stack, from the Ethernet header to the check sequence; at least 64 B and 'links.header', and with the stack at most 'links.mtu'"`
	Count int            `yaml:"count" is:"frames or auto" default:"auto" doc:"frames; auto: without end, which needs 'end'"`
	Start units.Duration `yaml:"start" is:"time" default:"0s" doc:"when the first frame is ready"`
	Every units.Duration `yaml:"every" is:"span or auto" default:"auto" doc:"from one frame to the next"`
	Rate  units.Rate     `yaml:"rate" is:"frame rate or auto" default:"auto" doc:"in place of 'every': mean rate in wire bytes, exact in the long run"`
	Stack string         `yaml:"stack" doc:"tags in front of the network layer, from the outermost inwards, such as 's-tag c-tag csig:delay'; see [Generators](../how-to/applications.md#generators)"`
	DSCP  int            `yaml:"dscp" is:"dscp" default:"0" doc:"of the IPv4 header"`
	Paths int            `yaml:"paths" is:"paths" default:"1" doc:"UDP source ports that the frames take in turn, so that ECMP spreads them"`
}

// Telemetry is what is recorded.
type Telemetry struct {
	Interval units.Duration `yaml:"interval" is:"1us to 1s or auto" default:"auto" doc:"length of the windows in the run folder's tables. 'auto': at most 100us, and so short that the predicted length has 80 windows or more, see [telemetry.md](telemetry.md#what-is-recorded)"`
	// TraceHash is full, every packet in and out of every node enters the trace hash, or
	// none, which clock virtual alone has: no trace hash.
	TraceHash  string     `yaml:"trace_hash" is:"trace hash" default:"full" doc:"'full': every packet in and out of every node enters the [trace hash](run-folder.md#checks); 'none': no trace hash, for sweeps (clock virtual)"`
	Operations Operations `yaml:"operations" default:"auto" doc:"which operations of jobs [operations.parquet](telemetry.md#operationsparquet) has: 'all', 'none', or so many steps from the first one, and the last one. 'auto': all, up to 2 million rows per run"`
	// Truth has one of so many tagged data packets recorded with the exact values of the hops
	// beside its sample; 0: none.
	Truth int  `yaml:"truth" is:"one in or none" default:"none" doc:"one of so many tagged data packets is recorded with the exact values of its hops, beside the sample that it brings: [signal truth](telemetry.md#signal-truth). 1: all"`
	Thin  Thin `yaml:"thin" default:"auto" doc:"of [labs](telemetry.md#labs): how windows become longer with their age, such as '10ms after 5min, 1s after 1h': a length is at most 1/100 of the age. 'auto': this, and 1min after 24h; 'none': all stay as they are"`
	// Disk is the most that the windows of a lab take while it is up.
	Disk units.Size `yaml:"disk" is:"disk or auto" default:"auto" doc:"of labs: the most that the windows take on disk while the lab is up, in equal parts for each length of windows; the oldest of a length go first. auto: 128MB"`
}

// Values of Telemetry.TraceHash.
const (
	traceHashFull = "full"
	traceHashNone = "none"
)

// Operations is from the first one how many steps of each job the tables keep the operations
// of, besides those of the last one.
type Operations int

// Operations beside a number of steps.
const (
	NoOperations   Operations = 0
	AutoOperations Operations = -1 // as many as fit
	AllOperations  Operations = math.MaxInt32
)

var operationWords = map[Operations]string{NoOperations: "none", AutoOperations: algorithm.Auto, AllOperations: "all"}

// String returns auto, all, none or the number.
func (o Operations) String() string {
	if word, ok := operationWords[o]; ok {
		return word
	}
	return strconv.Itoa(int(o))
}

// UnmarshalText implements encoding.TextUnmarshaler: what String returns.
func (o *Operations) UnmarshalText(text []byte) error {
	for value, word := range operationWords {
		if word == string(text) {
			*o = value
			return nil
		}
	}
	steps, err := strconv.Atoi(string(text))
	if err != nil || steps < 1 || steps > math.MaxInt32 {
		return fmt.Errorf("%q: want auto, all, none or a number of steps from 1", text)
	}
	*o = Operations(steps)
	return nil
}

// Untraced reports whether runs have no trace hash.
func (t Telemetry) Untraced() bool { return t.TraceHash == traceHashNone }

// Trace is the flows that are traced: their events are recorded one by one.
type Trace struct {
	// Flows are names of flows, patterns with *, numbers, or ranges of numbers such as
	// 0..9 (see ParseFlowNumbers). Empty: none.
	Flows  []string `yaml:"flows" is:"flow" doc:"flows whose events are recorded one by one, see [telemetry.md](telemetry.md#what-is-recorded)"`
	Events []string `yaml:"events" is:"event" doc:"events to record, of 'ack', 'sample' and 'send'; without, all three"`
}

// Measure is the measuring window, a span of model time, and the groups of flows that
// metrics are computed over.
type Measure struct {
	From units.Duration `yaml:"from" is:"time" default:"0s" doc:"rates and shares of actions are measured from here"`
	To   units.Duration `yaml:"to" is:"span or auto" default:"auto" doc:"and to here; auto: for each flow, to its end, for ports to that of the run"`
	// Groups are names of flows, patterns and numbers, as in Trace.Flows, by the name of
	// the group.
	Groups map[string][]string `yaml:"groups" doc:"groups of flows with their names, for [Jain's index](metrics.md#fairness): '{victims: [0-8, \"1-*\"]}'; items are as in 'trace.flows'. 'all' and 'job-0', 'job-1', …, by their names in 'workload.traffic', are always there"`
}

// Variant is a named set of overrides: dotted path -> YAML value, applied to
// the file before it is resolved.
type Variant struct {
	Name string
	Set  map[string]any
}

// Derived is a metric computed from a variant's metrics, such as
// fairness_ratio.
type Derived struct {
	Name string `yaml:"name,required" is:"metric" doc:"letters, digits and '_'"`
	Expr string `yaml:"expr,required" doc:"the metric's value, see [Results](#results)"`
}

// Published is a figure from a publication to compare a metric with.
type Published struct {
	Variant string  `yaml:"variant,required" doc:"variant that the figure is compared with"`
	Metric  string  `yaml:"metric,required" doc:"metric of it"`
	Value   float64 `yaml:"value,required" doc:"the figure"`
	Low     float64 `yaml:"low,required" doc:"the median is called reproduced from here"`
	High    float64 `yaml:"high,required" doc:"to here"`
	Source  string  `yaml:"source,required" doc:"where the figure is from"`
	Note    string  `yaml:"note" doc:"the known cause when the median lies outside"`
}
