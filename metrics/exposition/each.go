package exposition

import (
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Each calls yield with the value of every series now, family after family in the order of
// Families. A family without series is left out. yield must not call the Set.
func (s *Set) Each(yield func(Sample)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := emitter{yield: yield}
	s.settle(max(s.now, s.last))
	for i := range Families {
		e.family = &Families[i]
		switch name := e.family.Name; {
		case name == PortInfo || slices.Equal(e.family.Labels, portLabels):
			for k := range s.ports {
				s.eachPort(&e, name, &s.ports[k])
			}
		case name == SignalSamples:
			for _, c := range s.sampled {
				e.value(c.labels, float64(c.samples))
			}
		case name == PathSamples:
			for _, c := range s.paths {
				e.value(c.labels, float64(c.samples))
			}
		case name == PathValues:
			for _, c := range s.paths {
				e.value(c.labels, float64(c.sum)*c.scale)
			}
		case name == CCActions || slices.Equal(e.family.Labels, flowLabels):
			for k := range s.groups {
				s.eachFlow(&e, name, &s.groups[k])
			}
		default:
			s.eachOther(&e, name)
		}
		for _, v := range s.values[e.family.Name] {
			e.any(v)
		}
	}
}

// settle counts the windows without a record up to a moment as idle.
func (s *Set) settle(at units.Time) {
	if s.of.Window <= 0 {
		return
	}
	elapsed := int64(at) / int64(s.of.Window)
	for i := range s.ports {
		p := &s.ports[i]
		if idle := elapsed - p.windows; idle > p.idle {
			p.used.observe(utilisationFamily, 0, idle-p.idle)
			p.queued.observe(queueFamily, 0, idle-p.idle)
			p.idle = idle
		}
	}
}

// eachPort emits the series of a port in a family.
func (s *Set) eachPort(e *emitter, family string, p *portSeries) {
	latest := p.latest
	if p.windows == 0 || !s.recent(latest.Start) {
		latest = metrics.PortWindow{Start: s.now, ABW: int64(p.of.Rate) / 8}
	}
	seconds := s.of.Window.Seconds()
	switch family {
	case PortInfo:
		e.value(p.info, 1)
	case PortRate:
		e.value(p.labels, float64(p.of.Rate)/8)
	case PortBytes:
		e.value(p.labels, float64(p.totals.TxBytes))
	case PortPackets:
		e.value(p.labels, float64(p.totals.TxPackets))
	case PortMarked:
		e.value(p.labels, float64(p.totals.Marked))
	case PortTrimmed:
		e.value(p.labels, float64(p.totals.Trimmed))
	case PortDropped:
		e.value(p.labels, float64(p.totals.Dropped))
	case PortUtilisation:
		e.value(p.labels, s.utilisation(&latest))
	case PortAvailable:
		if p.metered && latest.ABW != metrics.Absent {
			e.value(p.labels, float64(latest.ABW))
		}
	case PortQueue:
		if seconds > 0 {
			e.value(p.labels, float64(latest.QueueByteNS)/1e9/seconds)
		}
	case PortQueuePeak:
		e.value(p.labels, float64(latest.QueueMax))
	case PortWindowUtilisation:
		e.histogram(p.labels, &p.used)
	case PortWindowQueue:
		e.histogram(p.labels, &p.queued)
	}
}

// recent reports whether no later window than the one with this start can have ended by
// now: the next one may still be open.
func (s *Set) recent(start units.Time) bool { return start.Add(2*s.of.Window) > s.now }

// eachFlow emits the series of flows with the same labels in a family.
func (s *Set) eachFlow(e *emitter, family string, g *flowSeries) {
	switch {
	case family == FlowBytes && g.received:
		e.value(g.labels, float64(g.bytes))
	case family == FlowRate && g.received:
		rate := 0.0
		if s.recent(g.windowStart) && s.of.Window > 0 {
			rate = float64(g.windowBytes) / s.of.Window.Seconds()
		}
		e.value(g.labels, rate)
	case family == FlowCwnd && g.acked:
		e.value(g.labels, float64(g.cwnd))
	case family == FlowAcks && g.acked:
		e.value(g.labels, float64(g.acks))
	case family == FlowDelay && g.delayAcks > 0 && s.recent(g.delayAt):
		e.value(g.labels, g.delay.Seconds()/float64(g.delayAcks))
	case family == CCActions:
		for _, a := range g.actions {
			e.value(a.labels, float64(a.acks))
		}
	default:
		for i, kind := range SignalGauges {
			if x := g.signals[i]; kind.Family == family && x.seen && s.recent(x.start) {
				e.value(g.labels, float64(x.value)*kind.Scale)
			}
		}
	}
}

// eachOther emits the series of the run and of jobs in a family.
func (s *Set) eachOther(e *emitter, family string) {
	info := s.of.Info
	switch {
	case family == RunInfo && info != nil:
		e.value(info.labels(), 1)
	case family == RunDilated && info != nil && info.Dilation > 0:
		e.value(nil, info.Dilation)
	case family == RunDelay && info != nil && info.Dilation > 0:
		e.value(nil, info.SmallestDelay.Seconds())
	}
	for _, j := range s.jobs {
		switch family {
		case JobStep:
			e.value(j.labels, float64(j.step))
		case JobIteration:
			e.histogram(j.labels, &j.iterations)
		case CollectiveTime:
			for _, v := range j.collectives {
				e.any(v)
			}
		}
	}
}

// emitter hands out the samples of one family.
type emitter struct {
	yield  func(Sample)
	family *Family
}

func (e *emitter) value(labels []string, value float64) {
	e.yield(Sample{Family: e.family, Labels: labels, Value: value})
}

func (e *emitter) any(v *valueSeries) {
	if v.family.Type == Histogram {
		e.histogram(v.labels, &v.counts)
		return
	}
	e.value(v.labels, v.value)
}

// histogram emits the series of a histogram, unless nothing was observed.
func (e *emitter) histogram(labels []string, h *histogram) {
	if h.counts == nil {
		return
	}
	sum := int64(0)
	for i, n := range h.counts {
		sum += n
		e.yield(Sample{Family: e.family, Labels: labels, Part: PartBucket, Bucket: i, Value: float64(sum)})
	}
	e.yield(Sample{Family: e.family, Labels: labels, Part: PartSum, Value: h.sum})
	e.yield(Sample{Family: e.family, Labels: labels, Part: PartCount, Value: float64(sum)})
}
