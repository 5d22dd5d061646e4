// Package detection says how soon an incident is found that slows a link in the middle of a
// run: by CSIG tags at the hosts, which name the port, against polls of the counters of
// switches. It looks at the records with a detector that does not know of the incident, and
// then compares what it says with the truth.
package detection

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
)

// Section is the section. It has nothing to say of runs without such an incident.
type Section struct {
	Detections []Detection // by incident, variant and way

	r       *reading.Reading
	runs    map[reading.RunID]*run
	links   map[string]map[reading.PortID]string // names of links by variant
	cells   int
	tooMany bool
}

// Detection is how one way of looking found an incident in the runs of a variant.
type Detection struct {
	Variant string  `json:"variant"`
	Fault   string  `json:"fault"`
	Link    string  `json:"link"`
	FromUS  float64 `json:"fromUs"`
	By      string  `json:"by"` // "tags", or "polls each 10 s"
	// PeriodUS is the time between polls in the time of the run, in which a scaled job is so
	// much shorter; 0 of tags.
	PeriodUS float64 `json:"periodUs,omitempty"`
	// Looks is how often it looked: once for each seed, polls at several phases of each. Found is
	// how often the first name after the incident was right, and Wrong how many wrong names
	// there were before and after it, together.
	Looks int `json:"looks"`
	Found int `json:"found"`
	Wrong int `json:"wrong"`
	// After is the time from the incident to its right name, in microseconds, and Steps the
	// same as a share of a step of the first job; over the looks that found it.
	After reading.Median `json:"afterUs"`
	Steps reading.Median `json:"steps"`
	// Waiting are the hosts whose tags named the link after it was found, most often first.
	Waiting []string `json:"waiting,omitempty"`
}

// run is what was recorded of a run.
type run struct {
	tags   map[int]map[reading.PortID]*mean // by window
	bytes  map[reading.PortID]map[int]int64 // by interval: what uplinks sent
	rates  map[reading.PortID]float64       // of uplinks, in bytes per microsecond
	from   map[string]int64                 // samples that named a port of an incident's link after it, by host
	faults []*runfolder.Fault
}

// maxCells bounds the windows of ports that are kept: of longer runs nothing is said.
const maxCells = 8e6

// New makes the section.
func New(r *reading.Reading) section.Section { return &Section{r: r} }

// Pass implements reading.Reader.
func (s *Section) Pass(n int, p *reading.Pass) error {
	if n != 0 {
		return nil
	}
	s.runs, s.links = map[reading.RunID]*run{}, map[string]map[reading.PortID]string{}
	for _, v := range s.r.Manifest.Variants {
		s.links[v.Name] = map[reading.PortID]string{}
		for _, p := range s.r.Manifest.PortsOf(v.Name) {
			s.links[v.Name][reading.PortID{Node: p.Node, Port: p.Port}] = p.Link
		}
	}
	var ids []reading.RunID
	for i := range s.r.Manifest.Runs {
		of := &s.r.Manifest.Runs[i]
		if len(of.Thinned) > 0 {
			continue // windows of a poll are of one length
		}
		for k := range of.Faults {
			if f := &of.Faults[k]; f.Kind == "rate" && f.Happened && f.FromUS > 0 && len(f.Where) == 1 {
				id := reading.RunID{Variant: of.Variant, Seed: of.Seed}
				if s.runs[id] == nil {
					s.runs[id] = &run{tags: map[int]map[reading.PortID]*mean{}, bytes: map[reading.PortID]map[int]int64{}, rates: map[reading.PortID]float64{}, from: map[string]int64{}}
					ids = append(ids, id)
				}
				s.runs[id].faults = append(s.runs[id].faults, f)
			}
		}
	}
	if len(ids) > 0 {
		p.Signals(s.sample, ids...)
		p.Ports(s.sent, ids...)
	}
	return nil
}

// worse is the sign of what is worse, by the name of a signal.
var worse = map[string]float64{"delay": 1, "nqd": 1, "abw": -1, "abw-c": -1}

// sample takes the samples of a flow.
func (s *Section) sample(row *runfolder.SignalRow) {
	sign, known := worse[row.Type]
	if !known || row.Node == nil || row.Port == nil || row.Samples <= 0 || s.tooMany || row.Tier == "tor" && row.Direction == "down" {
		return // or it leads to a host, whose senders decide what waits there
	}
	of := s.runs[reading.RunID{Variant: row.Variant, Seed: row.Seed}]
	at, port := int(row.StartUS/window), reading.PortID{Node: *row.Node, Port: *row.Port}
	ports := of.tags[at]
	if ports == nil {
		ports = map[reading.PortID]*mean{}
		of.tags[at] = ports
	}
	m := ports[port]
	if m == nil {
		m = &mean{}
		ports[port] = m
		s.count()
	}
	m.samples, m.sum = m.samples+row.Samples, m.sum+sign*float64(row.PointSum)
	for _, f := range of.faults {
		if row.StartUS >= f.FromUS && s.links[row.Variant][port] == f.Where[0] {
			of.from[row.SrcName] += row.Samples
		}
	}
}

// sent takes the window of a port: that of an uplink of a switch.
func (s *Section) sent(row *runfolder.PortRow) {
	if row.Direction != "up" || row.Tier == "host" || s.tooMany {
		return
	}
	of, port := s.runs[reading.RunID{Variant: row.Variant, Seed: row.Seed}], reading.PortID{Node: row.Node, Port: row.Port}
	if of.bytes[port] == nil {
		of.bytes[port], of.rates[port] = map[int]int64{}, float64(row.RateBPS)/8e6
	}
	of.bytes[port][int(row.StartUS/s.r.Manifest.IntervalUS+0.5)] += row.TxBytes
	s.count()
}

// count bounds what is kept: too much is not looked at.
func (s *Section) count() {
	if s.cells++; s.cells > maxCells {
		s.tooMany, s.runs = true, nil
	}
}

// Settle implements section.Section.
func (s *Section) Settle() error {
	defer func() { s.runs, s.links = nil, nil }()
	type key struct{ variant, fault, by string }
	found := map[key]*looks{}
	var order []key
	for _, v := range s.r.Manifest.Variants {
		links := s.links[v.Name]
		for _, id := range s.r.RunsOf(v.Name) {
			of := s.runs[id]
			if of == nil {
				continue
			}
			ways := append([]way{of.byTags()}, of.byPolls(s.r.Manifest.IntervalUS, s.timeScale(v.Name))...)
			for _, f := range of.faults {
				for _, w := range ways {
					k := key{v.Name, f.Name, w.by}
					if found[k] == nil {
						found[k] = &looks{Detection: Detection{Variant: v.Name, Fault: f.Name, Link: f.Where[0], FromUS: f.FromUS, By: w.by, PeriodUS: w.periodUS}, waiting: map[string]int64{}}
						order = append(order, k)
					}
					found[k].add(w, f, links, s.stepUS(v.Name, id.Seed), of)
				}
			}
		}
	}
	for _, k := range order {
		s.Detections = append(s.Detections, found[k].settled())
	}
	slices.SortStableFunc(s.Detections, func(a, b Detection) int { return cmp.Compare(a.Fault, b.Fault) })
	return nil
}

// stepUS is the mean time of the steps of the first job of a run, 0 without.
func (s *Section) stepUS(variant string, seed uint64) float64 {
	jobs := s.r.Manifest.JobsOf(variant)
	if len(jobs) == 0 {
		return 0
	}
	us, _ := s.r.Summary.Metric(variant, seed, "iteration_us.mean."+jobs[0].Name)
	return us
}

// timeScale is that of the first job: polls of a scaled run are so much more often.
func (s *Section) timeScale(variant string) float64 {
	if jobs := s.r.Manifest.JobsOf(variant); len(jobs) > 0 && jobs[0].TimeScale > 0 {
		return jobs[0].TimeScale
	}
	return 1
}

// way is a way of looking, and what it named when: lists of looks.
type way struct {
	by       string
	periodUS float64
	looks    [][]name
}

// name is a port that was named at a time.
type name struct {
	atUS float64
	port reading.PortID
}

// byTags names ports by the tags of a run.
func (r *run) byTags() way {
	w := way{by: ByTags}
	if len(r.tags) == 0 {
		return w
	}
	all, names := scores[reading.PortID]{}, []name{}
	for _, at := range slices.Sorted(maps.Keys(r.tags)) {
		for _, port := range all.add(r.tags[at]) {
			names = append(names, name{float64(at+1) * window, port})
		}
	}
	w.looks = [][]name{names}
	return w
}

// ByTags is Detection.By of tags.
const ByTags = "tags"

// byPolls is Detection.By of polls with a period, in seconds of the real job.
func byPolls(period float64) string { return fmt.Sprintf("polls each %g s", period) }

// periods are those of polls, in seconds of the real job, and phases how many times within a
// period the first poll may be.
var periods = []float64{1, 10, 30}

const (
	phases = 10
	// An uplink that sent less than half of what the median of the others of its switch sent is
	// named, if that is a tenth of the link's rate or more.
	ofPeers, ofRate = 0.5, 0.1
)

// byPolls names uplinks by what counters say at polls.
func (r *run) byPolls(intervalUS, scale float64) (ways []way) {
	bySwitch, end := map[int32][]reading.PortID{}, 0
	for port, sent := range r.bytes {
		bySwitch[port.Node] = append(bySwitch[port.Node], port)
		for at := range sent {
			end = max(end, at+1)
		}
	}
	switches := slices.Sorted(maps.Keys(bySwitch))
	for _, period := range periods {
		each := max(1, int(period*1e6*scale/intervalUS+0.5)) // intervals
		w := way{by: byPolls(period), periodUS: float64(each) * intervalUS}
		for phase := range phases {
			names := []name{}
			for from := each*phase/phases - each; from+each <= end; from += each {
				for _, node := range switches {
					if port, ok := r.least(bySwitch[node], max(0, from), from+each, intervalUS); ok {
						names = append(names, name{float64(from+each) * intervalUS, port})
					}
				}
			}
			w.looks = append(w.looks, names)
		}
		ways = append(ways, w)
	}
	return ways
}

// least returns the uplink of a switch that sent too little between two polls.
func (r *run) least(ports []reading.PortID, from, to int, intervalUS float64) (least reading.PortID, ok bool) {
	if len(ports) < 2 {
		return least, false
	}
	sums := make([]float64, len(ports))
	at := 0
	for i, p := range ports {
		for k := from; k < to; k++ {
			sums[i] += float64(r.bytes[p][k])
		}
		if sums[i] < sums[at] {
			at = i
		}
	}
	others := slices.Delete(slices.Clone(sums), at, at+1)
	median := runfolder.Median(others)
	busy := median / (float64(to-from) * intervalUS) // bytes per microsecond
	return ports[at], busy >= ofRate*r.rates[ports[at]] && sums[at] < ofPeers*median
}

// looks collects what a way named in the runs of a variant.
type looks struct {
	Detection
	after, steps []float64
	waiting      map[string]int64
}

// add takes the looks at a run.
func (l *looks) add(w way, f *runfolder.Fault, links map[reading.PortID]string, stepUS float64, of *run) {
	for _, names := range w.looks {
		l.Looks++
		done := false
		for _, n := range names {
			switch right := links[n.port] == f.Where[0]; {
			case !right:
				l.Wrong++
			case done || n.atUS <= f.FromUS:
			default:
				done = true
				l.Found++
				l.after = append(l.after, n.atUS-f.FromUS)
				if stepUS > 0 {
					l.steps = append(l.steps, (n.atUS-f.FromUS)/stepUS)
				}
			}
		}
	}
	if w.by == ByTags {
		for host, samples := range of.from {
			l.waiting[host] += samples
		}
	}
}

// settled returns the detection.
func (l *looks) settled() Detection {
	d := l.Detection
	d.After, d.Steps = reading.MedianOf(l.after), reading.MedianOf(l.steps)
	d.Waiting = slices.SortedFunc(maps.Keys(l.waiting), func(a, b string) int {
		return cmp.Or(cmp.Compare(l.waiting[b], l.waiting[a]), cmp.Compare(a, b))
	})
	return d
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any {
	if len(s.Detections) == 0 {
		return nil
	}
	return map[string]any{"detections": s.Detections}
}
