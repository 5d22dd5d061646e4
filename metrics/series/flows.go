package series

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Limits of the series of flows.
const (
	// mostPoints is how many windows of groups of flows a run has in memory. Of a longer run
	// two windows become one, and again, until it has fewer. More groups than that cannot
	// become fewer: such a folder is refused.
	mostPoints = 1 << 20
	// lingers is after how many windows without a sample a gauge of samples ends.
	lingers = 10
)

// flows are the flows of a run, by group: a single flow in a run of few, otherwise the
// flows of a job.
type flows struct {
	run     *run
	factor  int64 // windows that are one point
	points  int
	most    int // points: mostPoints
	groups  map[[2]string]*group
	of      map[int32]*group
	cwnd    map[int32]int64
	sampled sampleSums          // by the labels of SignalSamples
	paths   sampleSums          // by those of PathSamples
	racks   map[int32][2]string // source and destination of flows
}

// sampleSums are samples by labels and point.
type sampleSums map[[5]string]map[int64]sampleSum

// sampleSum is samples and the sum of their values.
type sampleSum struct {
	samples int64
	sum     float64
}

// add counts samples, and returns how many points there are more.
func (s sampleSums) add(key [5]string, number int64, of sampleSum) (more int) {
	points := s[key]
	if points == nil {
		points = map[int64]sampleSum{}
		s[key] = points
	}
	before := len(points)
	points[number] = sampleSum{points[number].samples + of.samples, points[number].sum + of.sum}
	return len(points) - before
}

// halve makes one point of two, and returns how many there are then.
func (s sampleSums) halve() (points int) {
	for key, sums := range s {
		half := make(map[int64]sampleSum, len(sums)/2+1)
		for n, sum := range sums {
			half[n/2] = sampleSum{half[n/2].samples + sum.samples, half[n/2].sum + sum.sum}
		}
		s[key] = half
		points += len(half)
	}
	return points
}

// keys returns the labels, sorted.
func (s sampleSums) keys() [][5]string {
	return slices.SortedFunc(maps.Keys(s), func(a, b [5]string) int { return slices.Compare(a[:], b[:]) })
}

// group are flows with the same labels.
type group struct {
	labels          []string
	points          map[int64]*point // by number
	actions         map[string]map[int64]int64
	received, acked bool
	ends            []flowEnd
}

// point is what a group did in a window, or several.
type point struct {
	bytes   int64
	acks    int64
	delay   float64 // us, summed over acks
	cwnd    int64   // by how much it grew
	windows bool    // with a change of cwnd
	more    int64   // points that it goes on for: windows of labs become longer with their age
	signals [len(exposition.SignalGauges)]extreme
}

type extreme struct {
	seen  bool
	value int64
}

// flowEnd is the end of a transfer.
type flowEnd struct {
	at                      int64 // ps
	retransmitted, timeouts int64
}

// newFlows puts the flows of a run into groups.
func newFlows(r *run) flows {
	f := flows{run: r, factor: 1, most: mostPoints, groups: map[[2]string]*group{}, of: map[int32]*group{}, cwnd: map[int32]int64{}, sampled: sampleSums{}, paths: sampleSums{}, racks: map[int32][2]string{}}
	list := r.f.Manifest.FlowsOfRun(r.Variant, r.Seed)
	jobs := map[int32]string{}
	for _, j := range r.f.Manifest.JobsOf(r.Variant) {
		jobs[j.Job] = j.Name
	}
	racks, block := runfolder.Racks(r.f.Manifest.NodesOf(r.Variant), r.f.Manifest.PortsOf(r.Variant), exposition.MostRacks)
	rack := func(host int32) string {
		if at, ok := block[host]; ok {
			return racks.Blocks[at].Name
		}
		return ""
	}
	for i := range list {
		one := &list[i]
		f.racks[one.Flow] = [2]string{rack(one.Src), rack(one.Dst)}
		key := [2]string{f.job(one, list, jobs), ""}
		if len(list) <= exposition.MostFlows {
			key[1] = one.Name
		}
		g := f.groups[key]
		if g == nil {
			g = &group{labels: key[:], points: map[int64]*point{}, actions: map[string]map[int64]int64{}}
			f.groups[key] = g
		}
		f.of[one.Flow] = g
	}
	return f
}

// job returns the label job of a flow. A folder has no names of groups of transfers:
// these have their number, unless there is one group. A flow without a size stands for
// programs and is in no group. Labs have the same labels for groups without names
// (orchestrator/plan).
func (f *flows) job(of *runfolder.Flow, all []runfolder.Flow, jobs map[int32]string) string {
	if of.Messages > 0 {
		return jobs[of.Job]
	}
	if of.Size == 0 {
		return ""
	}
	for i := range all {
		if one := &all[i]; one.Messages == 0 && one.Size > 0 && one.Job != of.Job {
			return fmt.Sprintf("job-%d", of.Job)
		}
	}
	return ""
}

// at returns the point of a window of a length in ps. The error is that of coarsen.
func (f *flows) at(g *group, start, length int64) (*point, error) {
	n := f.number(start)
	p, more := g.points[n], max(0, length/f.run.interval/f.factor-1)
	if p != nil {
		p.more = max(p.more, more)
		return p, nil
	}
	p = &point{more: more}
	g.points[n] = p
	if f.points++; f.points > f.most {
		if err := f.coarsen(); err != nil {
			return nil, err
		}
		p = g.points[f.number(start)] // which the new one may have been merged into
	}
	return p, nil
}

func (f *flows) number(start int64) int64 { return start / f.run.interval / f.factor }

// coarsen makes one point of two, until there are no more than most. If all windows
// are one and there still are more, the error wraps runfolder.ErrDamaged: no run has as
// many flows and bottlenecks.
func (f *flows) coarsen() error {
	for f.points > f.most {
		if len(f.sampled)+len(f.paths) > f.most || f.factor > f.run.end/f.run.interval {
			return fmt.Errorf("%w: variant %s, seed %d has records of more than %d combinations of flow, signal and bottleneck",
				runfolder.ErrDamaged, f.run.Variant, f.run.Seed, f.most)
		}
		f.halve()
	}
	return nil
}

// halve makes one point of two.
func (f *flows) halve() {
	f.factor, f.points = 2*f.factor, 0
	halved := func(counts map[int64]int64) map[int64]int64 {
		half := make(map[int64]int64, len(counts)/2+1)
		for n, count := range counts {
			half[n/2] += count
		}
		return half
	}
	for _, g := range f.groups {
		half := make(map[int64]*point, len(g.points)/2+1)
		for n, p := range g.points {
			p.more /= 2
			if q := half[n/2]; q != nil {
				q.merge(p)
			} else {
				half[n/2] = p
			}
		}
		g.points = half
		f.points += len(half)
		for name, counts := range g.actions {
			g.actions[name] = halved(counts)
		}
	}
	f.points += f.sampled.halve() + f.paths.halve()
}

// merge adds another point of the same group.
func (p *point) merge(q *point) {
	p.bytes, p.acks, p.delay, p.cwnd, p.windows = p.bytes+q.bytes, p.acks+q.acks, p.delay+q.delay, p.cwnd+q.cwnd, p.windows || q.windows
	p.more = max(p.more, q.more)
	for i, e := range q.signals {
		if e.seen {
			p.signals[i].add(e.value, exposition.SignalGauges[i].Least)
		}
	}
}

func (e *extreme) add(value int64, least bool) {
	if e.seen && (value < e.value) != least {
		return
	}
	*e = extreme{true, value}
}

// readFlows reads the tables of flows.
func (r *reader) readFlows() error {
	for _, one := range r.list {
		one.flows = newFlows(one)
	}
	for row, err := range r.f.Flows() {
		g, start, length, err := r.group(row.Variant, row.Seed, row.Flow, row.StartUS, row.WindowUS, err)
		if err != nil {
			return err
		}
		if g != nil {
			g.received = true
			p, err := r.of(row.Variant, row.Seed).flows.at(g, start, length)
			if err != nil {
				return err
			}
			p.bytes += row.PayloadBytes
		}
	}
	for row, err := range r.f.CC() {
		g, start, length, err := r.group(row.Variant, row.Seed, row.Flow, row.StartUS, row.WindowUS, err)
		if err != nil {
			return err
		}
		if g != nil {
			if err := r.of(row.Variant, row.Seed).flows.addCC(g, start, length, &row); err != nil {
				return err
			}
		}
	}
	for row, err := range r.f.Signals() {
		g, start, length, err := r.group(row.Variant, row.Seed, row.Flow, row.StartUS, row.WindowUS, err)
		if err != nil {
			return err
		}
		if g != nil {
			if err := r.of(row.Variant, row.Seed).flows.addSamples(g, start, length, &row); err != nil {
				return err
			}
		}
	}
	for _, one := range r.list {
		one.flows.write()
	}
	return r.err
}

// group returns the group of a row, nil if it is not read, and the beginning and the length of
// its window.
func (r *reader) group(variant string, seed uint64, flow int32, startUS, lengthUS float64, err error) (g *group, start, length int64, _ error) {
	if err == nil {
		err = r.check()
	}
	one := r.of(variant, seed)
	if err != nil || one == nil {
		return nil, 0, 0, err
	}
	start, length, err = one.window(startUS, lengthUS)
	return one.flows.of[flow], start, length, err
}

func (f *flows) addCC(g *group, start, length int64, row *runfolder.CCRow) error {
	g.acked = true
	p, err := f.at(g, start, length)
	if err != nil {
		return err
	}
	p.acks += row.Acks
	p.delay += row.DelaySumUS
	if row.Cwnd >= 0 {
		p.cwnd += row.Cwnd - f.cwnd[row.Flow]
		p.windows = true
		f.cwnd[row.Flow] = row.Cwnd
	}
	for name, n := range row.Actions {
		counts := g.actions[name]
		if counts == nil {
			counts = map[int64]int64{}
			g.actions[name] = counts
		}
		counts[f.number(start)] += n
	}
	return nil
}

func (f *flows) addSamples(g *group, start, length int64, row *runfolder.SignalRow) error {
	port := row.PortName
	if row.Shared > 1 {
		port = fmt.Sprintf("locator-%d", row.Locator)
	}
	p, err := f.at(g, start, length)
	if err != nil {
		return err
	}
	scale := 1.0
	if i := exposition.SignalGauge(row.Type); i >= 0 {
		scale = exposition.SignalGauges[i].Scale
		least, value := exposition.SignalGauges[i].Least, row.PointMax
		if least {
			value = row.PointMin
		}
		p.signals[i].add(value, least)
	}
	n, racks, samples := f.number(start), f.racks[row.Flow], sampleSum{row.Samples, float64(row.PointSum) * scale}
	f.points += f.sampled.add([5]string{g.labels[0], g.labels[1], row.Type, port, row.Tier}, n, samples)
	f.points += f.paths.add([5]string{racks[0], racks[1], row.Type, port, row.Tier}, n, samples)
	return f.coarsen()
}

// write writes the series of the windows, and forgets them.
func (f *flows) write() {
	for _, key := range f.sampled.keys() {
		samples := f.run.counter(exposition.SignalSamples, key[:]...)
		for _, n := range slices.Sorted(maps.Keys(f.sampled[key])) {
			from, _, end := f.span(n)
			samples.add(from, end, float64(f.sampled[key][n].samples))
		}
	}
	for _, key := range f.paths.keys() {
		samples, values := f.run.counter(exposition.PathSamples, key[:]...), f.run.counter(exposition.PathValues, key[:]...)
		for _, n := range slices.Sorted(maps.Keys(f.paths[key])) {
			from, _, end := f.span(n)
			samples.add(from, end, float64(f.paths[key][n].samples))
			values.add(from, end, f.paths[key][n].sum)
		}
	}
	for _, key := range f.keys() {
		g := f.groups[key]
		numbers := slices.Sorted(maps.Keys(g.points))
		if g.received {
			f.writeReceived(g, numbers)
		}
		if g.acked {
			f.writeAcked(g, numbers)
		}
		f.writeSignals(g, numbers)
		g.points, g.actions = nil, nil
	}
	f.sampled, f.paths = nil, nil
}

// keys returns the labels of the groups, sorted.
func (f *flows) keys() [][2]string {
	return slices.SortedFunc(maps.Keys(f.groups), func(a, b [2]string) int { return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1])) })
}

// span returns the milliseconds of a point: those of its beginning and its end for gauges,
// and that of its end for counters.
func (f *flows) span(n int64) (from, to, end int64) {
	width := f.run.interval * f.factor
	return f.run.floor(n * width), f.run.floor((n + 1) * width), f.run.ceil((n + 1) * width)
}

// spanOf is the span of a point with all of its windows.
func (f *flows) spanOf(n int64, p *point) (from, to, end int64) {
	from, _, _ = f.span(n)
	_, to, end = f.span(n + p.more)
	return from, to, end
}

// count writes a counter.
func (f *flows) count(c *counter, points map[int64]int64) {
	for _, n := range slices.Sorted(maps.Keys(points)) {
		from, _, end := f.span(n)
		c.add(from, end, float64(points[n]))
	}
}

func (f *flows) writeReceived(g *group, numbers []int64) {
	total, rate := f.run.counter(exposition.FlowBytes, g.labels...), f.run.gauge(exposition.FlowRate, 0, highest, g.labels...)
	seconds := float64(f.run.interval*f.factor) / 1e12
	for _, n := range numbers {
		if p := g.points[n]; p.bytes > 0 {
			from, to, end := f.spanOf(n, p)
			total.add(from, end, float64(p.bytes))
			rate.window(from, to, float64(p.bytes)/(seconds*float64(1+p.more)))
		}
	}
	rate.rest(f.run.ceil(f.run.end))
}

func (f *flows) writeAcked(g *group, numbers []int64) {
	acks, window, delay := f.run.counter(exposition.FlowAcks, g.labels...), f.run.line(exposition.FlowCwnd, g.labels...), f.run.passing(exposition.FlowDelay, highest, g.labels...)
	cwnd, last := int64(0), int64(0)
	for _, n := range numbers {
		p := g.points[n]
		from, to, end := f.spanOf(n, p)
		acks.add(from, end, float64(p.acks))
		if p.acks > 0 {
			last = end
		}
		if cwnd += p.cwnd; p.windows {
			window.set(from, float64(cwnd))
		}
		if p.acks > 0 {
			delay.window(from, to, p.delay/float64(p.acks)/1e6)
		}
	}
	delay.end()
	if last > 0 && last < f.run.ceil(f.run.end) {
		window.suspend(last) // no ACK will come
	}
	for _, name := range slices.Sorted(maps.Keys(g.actions)) {
		f.count(f.run.counter(exposition.CCActions, g.labels[0], g.labels[1], name), g.actions[name])
	}
}

func (f *flows) writeSignals(g *group, numbers []int64) {
	for i, k := range exposition.SignalGauges {
		var series *passing
		worst := highest
		if k.Least {
			worst = lowest
		}
		for _, n := range numbers {
			e := g.points[n].signals[i]
			if !e.seen {
				continue
			}
			if series == nil {
				series = f.run.passing(k.Family, worst, g.labels...)
			}
			from, to, _ := f.spanOf(n, g.points[n])
			series.window(from, to, float64(e.value)*k.Scale)
		}
		if series != nil {
			series.end()
		}
	}
}

// passing is a gauge that ends some windows after the latest value, and comes again with
// the next one.
type passing struct {
	*line
	until int64
}

func (r *run) passing(name string, worst func(a, b float64) float64, values ...string) *passing {
	p := &passing{line: r.line(name, values...)}
	p.worst = worst
	return p
}

func (p *passing) window(from, to int64, value float64) {
	if p.until > 0 && p.until < from {
		p.suspend(p.until)
	}
	p.set(from, value)
	p.until = from + lingers*max(1, to-from)
}

// end ends the gauge if the run goes on for long enough.
func (p *passing) end() {
	if p.until > 0 && p.until < p.run.ceil(p.run.end) {
		p.suspend(p.until)
	}
}

// readPhases reads the ends of transfers. One that did not end ends with the run.
func (r *reader) readPhases() error {
	for row, err := range r.f.Phases() {
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return err
		}
		one := r.of(row.Variant, row.Seed)
		if one == nil || one.flows.of[row.Flow] == nil {
			continue
		}
		end := flowEnd{at: -1, retransmitted: row.Retransmitted, timeouts: row.Timeouts}
		if row.SenderDoneUS != nil {
			if end.at, err = ps(*row.SenderDoneUS); err != nil {
				return err
			}
			one.end = max(one.end, end.at)
		}
		g := one.flows.of[row.Flow]
		g.ends = append(g.ends, end)
	}
	for _, one := range r.list {
		one.flows.writeEnds()
	}
	return r.err
}

// writeEnds writes the series of what is known at the end of transfers.
func (f *flows) writeEnds() {
	for _, key := range f.keys() {
		g := f.groups[key]
		if len(g.ends) == 0 {
			continue
		}
		slices.SortStableFunc(g.ends, func(a, b flowEnd) int { return cmp.Compare(uint64(a.at), uint64(b.at)) }) // -1 last
		again, timeouts := f.run.counter(exposition.FlowRetransmitted, g.labels...), f.run.counter(exposition.FlowTimeouts, g.labels...)
		for _, e := range g.ends {
			if e.at < 0 {
				e.at = f.run.end
			}
			at := f.run.ceil(e.at)
			again.add(at-1, at, float64(e.retransmitted))
			timeouts.add(at-1, at, float64(e.timeouts))
		}
		g.ends = nil
	}
}

// observe counts and writes an observation. It opens the histogram at the first one.
func (r *run) observe(d *distribution, name string, at int64, value float64, labels []string) *distribution {
	if d == nil {
		d = r.distribution(name, labels...)
	}
	d.observe(value, 1)
	d.write(at)
	return d
}
