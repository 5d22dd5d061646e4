package blame

import (
	"cmp"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/waits"
)

// find finds what was slow in the shown run of a variant, and asks who used the ports there.
func (s *Section) find(variant string, p *reading.Pass) {
	run := s.reading.ShownRun(variant)
	s.waits.Settle(run)
	var all []*blamed
	for _, j := range s.waits.Jobs {
		if j.Run != run {
			continue
		}
		for _, path := range j.Slow {
			if b := ofCollective(j, path); b != nil {
				all = append(all, b)
			}
		}
	}
	transfers := s.waits.Transfers(run)
	for i := range transfers { // which are in their order
		if b := ofTransfer(run, &transfers[i]); b != nil {
			all = append(all, b)
		}
	}
	if transfers == nil {
		slices.SortStableFunc(all, func(a, b *blamed) int { return cmp.Compare(b.LostUS, a.LostUS) })
	}
	all = all[:min(maxBlame, len(all))]
	s.place(run, all)
	s.found[variant] = all
	s.ask(run, all, p)
	if slices.ContainsFunc(all[:min(maxSaves, len(all))], func(b *blamed) bool { return b.Job != "" }) {
		s.replays[variant] = waits.NewReplay(s.reading, waits.MostOfReport, run)
		s.replays[variant].AskOperations(p)
	}
}

// place finds the ports of blames.
func (s *Section) place(run reading.RunID, all []*blamed) {
	m := s.reading.Manifest
	ports, nodes := map[string]*runfolder.Port{}, map[int32]runfolder.Node{}
	nics := map[string]string{} // links, by host
	list := m.PortsOf(run.Variant)
	for i := range list {
		if list[i].Name != "" {
			ports[list[i].Name] = &list[i]
		}
	}
	for _, n := range m.NodesOf(run.Variant) {
		nodes[n.Node] = n
	}
	for i := range list {
		if n := nodes[list[i].Node]; n.Kind == runfolder.KindHost {
			nics[n.Name] = list[i].Link
		}
	}
	for _, b := range all {
		b.faults, b.nodes = faults(m, b), nodes
		b.Short = b.Port != "" && b.WaitToUS-b.WaitFromUS < m.IntervalUS
		if p := ports[b.Port]; p != nil {
			b.route = s.waits.Route(run, b.piece.FlowNumber)
			b.at(p)
		} else if b.Kind == NIC {
			b.Link = nics[b.Node]
		}
	}
}

// faults returns the faults in the time of a blame, by what they touched.
func faults(m *runfolder.Manifest, b *blamed) map[string]string {
	touched := map[string]string{}
	for _, r := range m.Runs {
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

// ask asks how much the ports of blames were used, and those that were not taken; and who sent
// to the receivers.
func (s *Section) ask(run reading.RunID, all []*blamed, p *reading.Pass) {
	use, receive := map[reading.PortID][]*blamed{}, map[string][]*blamed{}
	for _, b := range all {
		if b.port == nil {
			continue
		}
		b.busyUS, b.sent = map[reading.PortID]float64{}, map[string]int64{}
		receive[b.Dst] = append(receive[b.Dst], b)
		for _, port := range slices.Concat([]*runfolder.Port{b.port}, b.others, b.sole) {
			use[idOf(port)] = append(use[idOf(port)], b)
		}
	}
	if len(use) == 0 {
		return
	}
	interval := s.reading.Manifest.IntervalUS
	p.Ports(func(row *runfolder.PortRow) {
		id := reading.PortID{Node: row.Node, Port: row.Port}
		for _, b := range use[id] {
			if within := min(b.WaitToUS, row.StartUS+interval) - max(b.WaitFromUS, row.StartUS); within > 0 {
				b.busyUS[id] += row.BusyUS() * within / interval
			}
		}
	}, run)
	p.Flows(func(row *runfolder.FlowRow) {
		for _, b := range receive[row.DstName] {
			if row.StartUS < b.WaitToUS && row.StartUS+interval > b.WaitFromUS && row.WireBytes > 0 {
				b.sent[row.SrcName] += row.WireBytes
			}
		}
	}, run)
}

func idOf(p *runfolder.Port) reading.PortID { return reading.PortID{Node: p.Node, Port: p.Port} }

// use returns the share of the time of the blame that a port was sending.
func (b *blamed) use(p *runfolder.Port) float64 {
	if b.WaitToUS > b.WaitFromUS {
		return min(1, b.busyUS[idOf(p)]/(b.WaitToUS-b.WaitFromUS))
	}
	return 0
}

// settle sets what follows from the use of ports, and from who sent.
func (b *blamed) settle() {
	if b.port == nil {
		return
	}
	// A queue behind a port that has time to send is held back by a port further on.
	if b.Kind == Core && b.Fault == "" && b.use(b.port) < freeBelow && !b.Short {
		for _, p := range b.sole {
			if b.use(p) >= busyFrom {
				b.HeldBack = b.Port
				b.at(p)
				break
			}
		}
	}
	b.PortUse = b.use(b.port)
	for i, o := range b.others {
		use := b.use(o)
		if use < freeBelow {
			b.Free++
		}
		if i == 0 || use < b.FreestUse {
			b.Freest, b.FreestUse = o.Name, use
		}
	}
	if b.Kind != Edge {
		return
	}
	b.SourceNames = slices.SortedFunc(maps.Keys(b.sent), func(x, y string) int { return cmp.Or(cmp.Compare(b.sent[y], b.sent[x]), cmp.Compare(x, y)) })
	b.Sources = len(b.SourceNames)
	b.SourceNames = b.SourceNames[:min(maxSources, len(b.SourceNames))]
	if b.Sources > 1 {
		b.Kind = Incast
	}
}
