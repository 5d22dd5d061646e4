package analysis

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// maxSlow is how many instances of collectives of a job have their critical paths walked:
// more than results list, as the time lost is known afterwards.
const maxSlow = 2 * MaxBlame

// slowInstances finds the instances of a job's collectives that took much longer than the
// fastest one of the same collective.
type slowInstances struct {
	fastest map[string]float64
	slowest map[string][]*CriticalPath // by collective; those that took longest first
}

// fast takes any instance, of steps that are not kept too.
func (s *slowInstances) fast(r *runfolder.InstanceRow) {
	if s.fastest == nil {
		s.fastest, s.slowest = map[string]float64{}, map[string][]*CriticalPath{}
	}
	us := r.EndUS - r.BeginUS
	if best, ok := s.fastest[r.Collective]; !ok || us < best {
		s.fastest[r.Collective] = us
	}
}

func compareSlow(a, b **CriticalPath) int {
	return cmp.Or(cmp.Compare((*b).US(), (*a).US()), cmp.Compare((*a).Step, (*b).Step), cmp.Compare((*a).FromUS, (*b).FromUS), cmp.Compare((*a).Group, (*b).Group))
}

// add takes an instance of a step that is kept.
func (s *slowInstances) add(p *CriticalPath) {
	list := s.slowest[p.Collective]
	if len(list) == maxSlow && compareSlow(&list[maxSlow-1], &p) <= 0 {
		return
	}
	own := *p // SlowestIn has its own
	s.slowest[p.Collective] = first(append(list, &own), maxSlow, compareSlow)
}

// choose returns the slowest instance of each collective, and of the others those that
// took the longest beyond the fastest instance; maxSlow in all.
func (s *slowInstances) choose() (all []*CriticalPath) {
	var others []*CriticalPath
	for _, name := range slices.Sorted(maps.Keys(s.slowest)) {
		list := s.slowest[name]
		all, others = append(all, list[0]), append(others, list[1:]...)
	}
	beyond := func(p *CriticalPath) float64 { return p.US() - s.fastest[p.Collective] }
	all = first(all, maxSlow, compareSlow)
	return append(all, first(others, maxSlow-len(all), func(a, b **CriticalPath) int {
		return cmp.Or(cmp.Compare(beyond(*b), beyond(*a)), compareSlow(a, b))
	})...)
}

// slowTransfer is a transfer that may be blamed. Its only piece is the transfer.
type slowTransfer struct {
	run
	name     string
	open     bool
	share    float64 // of the payload that arrived
	slowdown float64 // 0: not known
	lostUS   float64 // estimate
	pieces   []PathPiece
}

// slowTransfers finds the slowest transfers of the shown runs of variants without jobs.
type slowTransfers struct {
	runs      map[run]*slowRun
	order     []run
	slowdowns map[run]map[string]float64
}

type slowRun struct {
	stuck bool // a check says that transfers did not complete which should have
	endUS float64
	slow  []slowTransfer
}

func newSlowTransfers(m *runfolder.Manifest, t *totals, of *flowMetrics) slowTransfers {
	s := slowTransfers{runs: map[run]*slowRun{}, slowdowns: of.slowdowns}
	for _, v := range m.Variants {
		r := run{v.Name, t.shown[v.Name]}
		if len(m.JobsOf(v.Name)) > 0 {
			continue
		}
		one := &slowRun{endUS: t.ends[r]}
		if stop, ok := t.stops[r]; ok {
			one.endUS = stop
		}
		for _, other := range m.Runs {
			if other.Variant == r.variant && other.Seed == r.seed {
				one.stuck = slices.ContainsFunc(other.Checks, func(c runfolder.Check) bool { return c.Name == "completion" && !c.OK })
			}
		}
		s.runs[r], s.order = one, append(s.order, r)
	}
	return s
}

// add takes a transfer.
func (s *slowTransfers) add(row *runfolder.PhaseRow, size int64) {
	r := run{row.Variant, row.Seed}
	of := s.runs[r]
	if of == nil || row.StartUS == nil {
		return
	}
	one := slowTransfer{run: r, name: row.FlowName, share: 1, slowdown: s.slowdowns[r][row.FlowName]}
	to := of.endUS
	if row.SenderDoneUS != nil {
		to = *row.SenderDoneUS
	} else {
		one.open, one.share = true, min(1, float64(row.PayloadBytes)/float64(size))
	}
	one.lostUS = to - *row.StartUS
	if one.slowdown > 0 {
		one.lostUS -= one.lostUS / one.slowdown
	}
	if !(to > *row.StartUS) {
		return
	}
	compare := func(a, b *slowTransfer) int {
		if a.open != b.open {
			if a.open == of.stuck {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.lostUS, a.lostUS), cmp.Compare(a.name, b.name))
	}
	if len(of.slow) == MaxBlame && compare(&of.slow[MaxBlame-1], &one) <= 0 {
		return
	}
	one.pieces = []PathPiece{{
		Kind: pathTransfer, Rank: -1, Peer: -1, Host: row.SrcName, PeerHost: row.DstName, Flow: row.FlowName, Bytes: int64(float64(size) * one.share),
		FromUS: *row.StartUS, ToUS: to, flow: row.Flow, send: true,
	}}
	of.slow = first(append(of.slow, one), MaxBlame, compare)
}

// list returns the transfers, by variant.
func (s *slowTransfers) list() (all []slowTransfer) {
	for _, r := range s.order {
		all = append(all, s.runs[r].slow...)
	}
	return all
}

// blamed is a Blame in the making.
type blamed struct {
	Blame
	run    run
	piece  *PathPiece // that waited the longest at Port
	key    hopKey     // its flow
	nodes  map[int32]runfolder.Node
	route  *route
	faults map[string]string // name of a fault, by the link or node that it touched
	port   *runfolder.Port
	others []*runfolder.Port
	sole   []*runfolder.Port // behind port, that all paths of the transfer take; in their order
	sent   map[string]int64  // bytes to Dst, by source host
}

// blame says where the slow collectives and transfers lost their time.
func (w *jobReader) blame() error {
	m := &w.folder.Manifest
	var all []*blamed
	for i := range m.Variants {
		variant := m.Variants[i].Name
		var own []*blamed
		for k := range w.jobs {
			if j := &w.jobs[k]; j.Variant == variant {
				for _, p := range w.wanted[k].slow {
					if b := blameCollective(j, p, w.wanted[k].fastest[p.Collective]); b != nil {
						own = append(own, b)
					}
				}
			}
		}
		for k := range w.transfers {
			if t := &w.transfers[k]; t.variant == variant {
				if b := blameTransfer(t); b != nil {
					own = append(own, b)
				}
			}
		}
		if len(m.JobsOf(variant)) > 0 { // transfers are in their order
			slices.SortStableFunc(own, func(a, b *blamed) int { return cmp.Compare(b.LostUS, a.LostUS) })
		}
		own = own[:min(MaxBlame, len(own))]
		w.places(variant, own)
		all = append(all, own...)
	}
	if err := w.readUse(all); err != nil {
		return err
	}
	if err := w.readSources(all); err != nil {
		return err
	}
	for _, b := range all {
		w.blames = append(w.blames, b.Blame)
	}
	return nil
}

// blameCollective returns where an instance lost its time; nil if it is not slow.
func blameCollective(j *Job, p *CriticalPath, fastest float64) *blamed {
	b := &blamed{run: run{j.Variant, j.Seed}, Blame: Blame{
		Variant: j.Variant, Seed: j.Seed, Job: j.Name, Step: p.Step, Collective: p.Collective, Group: p.Group,
		FromUS: p.FromUS, ToUS: p.ToUS, FastestUS: fastest, Rank: -1,
	}}
	places := map[blamePlace]*waits{}
	wait := func(at blamePlace, us float64, s *PathPiece) {
		of := places[at]
		if of == nil {
			of = &waits{from: math.Inf(1)}
			places[at] = of
		}
		of.us += us
		if s != nil {
			of.from, of.to = min(of.from, s.FromUS), max(of.to, s.ToUS)
		}
		if s != nil && (of.longest == nil || s.waitUS() > of.longest.waitUS()) {
			of.longest = s
		}
	}
	late := blamePlace{rank: p.LateRank, node: p.LateHost}
	for i := range p.pieces {
		s := &p.pieces[i]
		own := s.Collective == p.Collective
		transfer := s.Kind == pathTransfer || s.Kind == pathLocal
		if own && s.Kind != pathIdle {
			b.UnloadedUS += min(s.us(), s.UnloadedUS)
		}
		switch {
		case transfer && s.waitUS() > 0:
			at := blamePlace{rank: -1, port: s.Hop}
			if s.Hop == "" {
				at.node = s.Host
			}
			wait(at, s.waitUS()*s.hopShare, s)
		case own && s.Kind == pathCompute:
			wait(blamePlace{rank: s.Rank, node: s.Host}, s.waitUS(), nil)
		}
		if !own && s.Kind != pathIdle && p.LateUS > 0 { // before the last rank came
			rest := s.us()
			if transfer {
				rest -= s.waitUS()
			}
			wait(late, rest, nil)
		}
	}
	if len(p.pieces) == 0 {
		return nil
	}
	b.LostUS = p.US() - b.UnloadedUS
	return b.choose(places)
}

// blameTransfer returns where a transfer lost its time; nil if it is not slow.
func blameTransfer(t *slowTransfer) *blamed {
	p := &t.pieces[0]
	b := &blamed{run: t.run, Blame: Blame{
		Variant: t.variant, Seed: t.seed, Transfer: t.name, FromUS: p.FromUS, ToUS: p.ToUS, Open: t.open, UnloadedUS: min(p.UnloadedUS, p.us()), Rank: -1,
	}}
	if t.slowdown >= 1 && !t.open {
		b.UnloadedUS = p.us() / t.slowdown
	}
	p.UnloadedUS = b.UnloadedUS
	b.LostUS = p.us() - b.UnloadedUS
	at := blamePlace{rank: -1, port: p.Hop}
	if p.Hop == "" {
		at.node = p.Host
	}
	return b.choose(map[blamePlace]*waits{at: {p.waitUS() * p.hopShare, p, p.FromUS, p.ToUS}})
}

// blamePlace is a place where time is lost: a port, or, without one, a rank, or the NIC of
// a host.
type blamePlace struct {
	rank int32
	node string
	port string
}

// waits is the time that is lost at a place.
type waits struct {
	us       float64
	longest  *PathPiece
	from, to float64
}

// choose sets the place where the most time was lost. It returns nil if too little was.
func (b *blamed) choose(places map[blamePlace]*waits) *blamed {
	var at blamePlace
	var most *waits
	for p, of := range places {
		if of.us > 0 && (most == nil || cmp.Or(cmp.Compare(of.us, most.us), cmp.Compare(at.port, p.port), cmp.Compare(at.rank, p.rank), cmp.Compare(at.node, p.node)) > 0) {
			at, most = p, of
		}
	}
	if most == nil || !(b.LostUS >= leastBlame*b.US()) {
		return nil
	}
	b.Kind, b.Port, b.Node, b.Rank, b.WaitUS, b.Share = BlameNIC, at.port, at.node, at.rank, most.us, most.us/b.US()
	if at.rank >= 0 {
		b.Kind = BlameRank
		return b
	}
	p := most.longest
	b.piece, b.key = p, hopKey{b.run, p.flow}
	b.Flow, b.Src, b.Dst, b.WaitFromUS, b.WaitToUS = p.Flow, p.Host, p.PeerHost, most.from, most.to
	switch {
	case at.port == "":
	case p.sampled:
		b.By = ByCSIG
	default:
		b.By = ByQueues
	}
	return b
}

// places finds the ports of blames of a variant, what else their transfers could have taken,
// and what they could not avoid.
func (w *jobReader) places(variant string, all []*blamed) {
	m := &w.folder.Manifest
	ports := map[string]*runfolder.Port{}
	list := m.PortsOf(variant)
	for i := range list {
		if list[i].Name != "" {
			ports[list[i].Name] = &list[i]
		}
	}
	nodes := map[int32]runfolder.Node{}
	for _, n := range m.NodesOf(variant) {
		nodes[n.Node] = n
	}
	for _, b := range all {
		b.faults = w.faults(b)
		b.nodes, b.Short = nodes, b.Port != "" && b.WaitToUS-b.WaitFromUS < m.IntervalUS
		if p := ports[b.Port]; p != nil {
			b.at(p, w.routed[b.key])
		}
	}
}

// faults returns the faults in the time of a blame.
func (w *jobReader) faults(b *blamed) map[string]string {
	touched := map[string]string{}
	for _, r := range w.folder.Manifest.Runs {
		if r.Variant != b.Variant || r.Seed != b.Seed {
			continue
		}
		for _, f := range r.Faults {
			if f.Happened && f.FromUS < b.WaitToUS && (f.UntilUS == nil || *f.UntilUS > b.WaitFromUS) {
				for _, name := range f.Where {
					touched[name] = f.Name
				}
			}
		}
	}
	return touched
}

// fault returns the name of the fault that touched a port, "" without.
func (b *blamed) fault(p *runfolder.Port) string {
	return cmp.Or(b.faults[p.Link], b.faults[b.nodes[p.Node].Name], b.faults[b.nodes[p.Peer].Name])
}

// at sets the port.
func (b *blamed) at(p *runfolder.Port, r *route) {
	b.port, b.route, b.Port, b.Node = p, r, p.Name, b.nodes[p.Node].Name
	b.others, b.sole, b.Fault = nil, nil, b.fault(p)
	switch {
	case b.nodes[p.Node].Kind == runfolder.KindHost:
		b.Kind = BlameNIC
	case b.nodes[p.Peer].Kind == runfolder.KindHost:
		b.Kind = BlameEdge // incast, if others send there too
	default:
		b.Kind = BlameCore
	}
	if r == nil {
		return
	}
	at := slices.IndexFunc(r.ports, func(o *runfolder.Port) bool { return o.Node == p.Node && o.Port == p.Port })
	if at < 0 {
		return
	}
	var far []*runfolder.Port
	count := map[int32]int{}
	for i, o := range r.ports {
		count[r.hops[i]]++
		switch {
		case i == at || o.RateBPS <= 0 || b.fault(o) != "":
		case o.Node == p.Node:
			b.others = append(b.others, o)
		case r.hops[i] == r.hops[at]:
			far = append(far, o)
		case r.hops[i] > r.hops[at]:
			b.sole = append(b.sole, o)
		}
	}
	if len(b.others) == 0 {
		b.others = far
	}
	b.Other = len(b.others)
	hop := map[PortID]int32{}
	for i, o := range r.ports {
		hop[PortID{o.Node, o.Port}] = r.hops[i]
	}
	of := func(o *runfolder.Port) int32 { return hop[PortID{o.Node, o.Port}] }
	b.sole = slices.DeleteFunc(b.sole, func(o *runfolder.Port) bool { return count[of(o)] > 1 })
	slices.SortFunc(b.sole, func(x, y *runfolder.Port) int { return cmp.Compare(of(x), of(y)) })
}

// used is how many bytes, line overhead included, a port sent in the time of a blame.
type used struct {
	*blamed
	busyUS float64
}

// readUse reads how much the ports of blames were used, and those that were not taken.
func (w *jobReader) readUse(all []*blamed) error {
	uses := map[portKey][]*used{}
	by := map[*blamed]map[PortID]*used{}
	for _, b := range all {
		if b.port == nil {
			continue
		}
		by[b] = map[PortID]*used{}
		for _, p := range slices.Concat([]*runfolder.Port{b.port}, b.others, b.sole) {
			id, u := PortID{p.Node, p.Port}, &used{blamed: b}
			by[b][id] = u
			uses[portKey{b.run, id}] = append(uses[portKey{b.run, id}], u)
		}
	}
	if len(uses) == 0 {
		return nil
	}
	interval := w.folder.Manifest.IntervalUS
	for r, err := range w.folder.Ports() {
		if err != nil {
			return err
		}
		for _, u := range uses[portKey{run{r.Variant, r.Seed}, PortID{r.Node, r.Port}}] {
			if within := min(u.WaitToUS, r.StartUS+interval) - max(u.WaitFromUS, r.StartUS); within > 0 {
				u.busyUS += r.BusyUS() * within / interval
			}
		}
	}
	for _, b := range all {
		if b.port == nil {
			continue
		}
		share := func(p *runfolder.Port) float64 {
			if u := by[b][PortID{p.Node, p.Port}]; u != nil && b.WaitToUS > b.WaitFromUS {
				return min(1, u.busyUS/(b.WaitToUS-b.WaitFromUS))
			}
			return 0
		}
		// A queue behind a port that has time to send is held back by a port further on.
		if b.Kind == BlameCore && b.Fault == "" && share(b.port) < FreeBelow && !b.Short {
			for _, p := range b.sole {
				if share(p) >= busyFrom {
					b.HeldBack = b.Port
					b.at(p, b.route)
					break
				}
			}
		}
		b.PortUse = share(b.port)
		for i, o := range b.others {
			use := share(o)
			if use < FreeBelow {
				b.Free++
			}
			if i == 0 || use < b.FreestUse {
				b.Freest, b.FreestUse = o.Name, use
			}
		}
	}
	return nil
}

// readSources counts who sent to the receivers of blames at their last hops.
func (w *jobReader) readSources(all []*blamed) error {
	type receiver struct {
		run
		host string
	}
	at := map[receiver][]*blamed{}
	for _, b := range all {
		if b.Kind == BlameEdge {
			k := receiver{b.run, b.Dst}
			at[k] = append(at[k], b)
			b.sent = map[string]int64{}
		}
	}
	if len(at) == 0 {
		return nil
	}
	interval := w.folder.Manifest.IntervalUS
	for r, err := range w.folder.Flows() {
		if err != nil {
			return err
		}
		for _, b := range at[receiver{run{r.Variant, r.Seed}, r.DstName}] {
			if r.StartUS < b.WaitToUS && r.StartUS+interval > b.WaitFromUS && r.WireBytes > 0 {
				b.sent[r.SrcName] += r.WireBytes
			}
		}
	}
	for _, b := range all {
		if b.Kind != BlameEdge {
			continue
		}
		b.SourceNames = slices.SortedFunc(maps.Keys(b.sent), func(x, y string) int { return cmp.Or(cmp.Compare(b.sent[y], b.sent[x]), cmp.Compare(x, y)) })
		b.Sources = len(b.SourceNames)
		b.SourceNames = b.SourceNames[:min(MaxBlameSources, len(b.SourceNames))]
		if b.Sources > 1 {
			b.Kind = BlameIncast
		}
	}
	return nil
}
