package analysis

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/phases"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// ProfileOf says of what a profile is measured: a run, and a job of it or ports.
type ProfileOf struct {
	Variant string
	Seed    uint64
	Job     string   // whose NICs are looked at; "" with Ports
	Ports   []string // that are looked at together, in place of the job's NICs
}

// JobProfile is the communication profile of a job as the port records of a run show it.
// Every quantity comes with its standard error.
type JobProfile struct {
	Name     string         `json:"name"` // of the job, or of the first port
	Variant  string         `json:"variant"`
	Seed     uint64         `json:"seed"`
	Ports    []string       `json:"ports"`    // that send; those that only acknowledge are left out
	WindowUS float64        `json:"windowUs"` // of the records
	PeriodUS Estimate       `json:"periodUs"`
	Bursts   []ProfileBurst `json:"bursts"`
	// Iterations is how many were seen, Alike how many of them have as many bursts as most.
	Iterations int `json:"iterations"`
	Alike      int `json:"alike"`
	// Of the autocorrelation of the ports' rates: its first high peak, how high it is and
	// half of its width at half of its height.
	LagUS       float64 `json:"lagUs"`
	Correlation float64 `json:"correlation"`
	WidthUS     float64 `json:"widthUs"`
	// Shares are the other jobs of the run that share links with it, or use its ports: the
	// bursts may be longer than they are without them.
	Shares  []string        `json:"shares"`
	Records *ProfileRecords `json:"records,omitempty"` // nil without records of the job
}

// Estimate is a mean with its standard error.
type Estimate struct {
	Mean  float64 `json:"mean"`
	Error float64 `json:"error"`
}

// ProfileBurst is a time of the period in which the job sends. Rates are those of one port,
// on the line.
type ProfileBurst struct {
	AtUS     Estimate `json:"atUs"` // since the period's begin, which is the end of the last burst before
	LengthUS Estimate `json:"lengthUs"`
	Gbps     Estimate `json:"gbps"`
}

// ProfileRecords is what the records of the job say of the same: means over its steps.
type ProfileRecords struct {
	Steps           int     `json:"steps"`
	IterationUS     float64 `json:"iterationUs"`
	CommunicationUS float64 `json:"communicationUs"` // in which a collective is under way
}

// ErrNoProfile is wrapped by the errors of MeasureProfile about runs that show no profile.
var ErrNoProfile = errors.New("no profile")

// sending is the share of what the busiest port of a job sends above which a port sends
// messages, and not acknowledgements alone.
const sending = 0.1

// mostWindows bounds the memory of a series of rates.
const mostWindows = 1 << 26

// MeasureProfile measures a profile from the records of ports. Its error wraps ErrNoProfile
// if the run, the job or the ports are not there, or if they show no profile.
func MeasureProfile(f *runfolder.Folder, of ProfileOf) (*JobProfile, error) {
	m := &f.Manifest
	if !slices.ContainsFunc(m.Runs, func(r runfolder.Run) bool { return r.Variant == of.Variant && r.Seed == of.Seed }) {
		return nil, fmt.Errorf("%w: there is no run of variant %s with seed %d", ErrNoProfile, of.Variant, of.Seed)
	}
	p := &JobProfile{Name: of.Job, Variant: of.Variant, Seed: of.Seed, Ports: of.Ports, WindowUS: m.IntervalUS, Shares: []string{}}
	if of.Job != "" {
		if err := p.ofJob(m, of.Job); err != nil {
			return nil, err
		}
	} else if len(of.Ports) > 0 {
		p.Name = of.Ports[0]
	}
	known := m.PortsOf(of.Variant)
	for _, name := range p.Ports {
		if !slices.ContainsFunc(known, func(k runfolder.Port) bool { return k.Name == name }) {
			return nil, fmt.Errorf("%w: there is no port %q", ErrNoProfile, clippedName(name))
		}
	}
	rates, err := p.rates(f)
	if err != nil {
		return nil, err
	}
	pattern, err := phases.Find(rates)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoProfile, err)
	}
	p.take(pattern)
	if of.Job == "" {
		return p, nil
	}
	return p, p.compare(f)
}

// clippedName returns a name for an error.
func clippedName(name string) string {
	const most = 80
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}

// ofJob finds the NICs of a job, and the jobs that may disturb it.
func (p *JobProfile) ofJob(m *runfolder.Manifest, name string) error {
	jobs, ports := m.JobsOf(p.Variant), m.PortsOf(p.Variant)
	at := slices.IndexFunc(jobs, func(j runfolder.Job) bool { return j.Name == name })
	if at < 0 {
		return fmt.Errorf("%w: variant %s has no job %q", ErrNoProfile, p.Variant, clippedName(name))
	}
	j := &jobs[at]
	for i := range ports {
		if slices.Contains(j.Ranks, ports[i].Node) {
			p.Ports = append(p.Ports, ports[i].Name)
		}
	}
	for i := range jobs {
		if i == at {
			continue
		}
		if slices.ContainsFunc(j.Shares, func(s runfolder.Share) bool { return s.Job == jobs[i].Job }) ||
			slices.ContainsFunc(jobs[i].Ranks, func(host int32) bool { return slices.Contains(j.Ranks, host) }) {
			p.Shares = append(p.Shares, jobs[i].Name)
		}
	}
	return nil
}

// rates returns the mean rate of the ports that send, window by window, in Gb/s, and leaves
// these in p.Ports.
func (p *JobProfile) rates(f *runfolder.Folder) ([]float64, error) {
	m := &f.Manifest
	overhead := int64(0)
	for i := range m.Variants {
		if m.Variants[i].Name == p.Variant {
			overhead = m.Variants[i].Overhead
		}
	}
	if !(m.IntervalUS > 0) {
		return nil, fmt.Errorf("%w: the folder does not say how long a window of its records is", ErrNoProfile)
	}
	each := func(do func(r *runfolder.PortRow, gigabits float64)) error {
		for r, err := range f.Ports() {
			if err != nil {
				return err
			}
			if r.Variant == p.Variant && r.Seed == p.Seed && r.StartUS >= 0 && slices.Contains(p.Ports, r.PortName) {
				do(&r, r.BusyUS(overhead)/1e6*float64(r.RateBPS)/1e9)
			}
		}
		return nil
	}
	sums, windows := map[string]float64{}, 0
	err := each(func(r *runfolder.PortRow, gigabits float64) {
		sums[r.PortName] += gigabits
		windows = max(windows, int(min(r.StartUS/m.IntervalUS, 2*mostWindows)+0.5)+1)
	})
	if err != nil {
		return nil, err
	}
	if windows > mostWindows {
		return nil, fmt.Errorf("%w: %d windows of records are more than %d", ErrNoProfile, windows, mostWindows)
	}
	most := 0.0
	for _, name := range p.Ports {
		most = max(most, sums[name])
	}
	p.Ports = slices.DeleteFunc(slices.Clone(p.Ports), func(name string) bool { return sums[name] == 0 || sums[name] < sending*most })
	rates := make([]float64, windows)
	err = each(func(r *runfolder.PortRow, gigabits float64) {
		rates[int(r.StartUS/m.IntervalUS+0.5)] += gigabits / (m.IntervalUS / 1e6) / float64(len(p.Ports))
	})
	return rates, err
}

// take takes the pattern of the rates.
func (p *JobProfile) take(found *phases.Pattern) {
	us := func(v phases.Value) Estimate { return Estimate{v.Mean * p.WindowUS, v.Error * p.WindowUS} }
	p.PeriodUS, p.Iterations, p.Alike = us(found.Period), len(found.Begins), found.Alike
	p.LagUS, p.Correlation, p.WidthUS = found.Lag*p.WindowUS, found.Correlation, found.Width*p.WindowUS
	for _, b := range found.Bursts {
		p.Bursts = append(p.Bursts, ProfileBurst{us(b.At), us(b.Length), Estimate{b.Rate.Mean, b.Rate.Error}})
	}
}

// compare reads what the records of the job say.
func (p *JobProfile) compare(f *runfolder.Folder) error {
	type step struct {
		us     float64
		phases []span
	}
	steps := map[int32]*step{}
	for r, err := range f.Instances() {
		if err != nil {
			return err
		}
		if r.Variant != p.Variant || r.Seed != p.Seed || r.JobName != p.Name || r.Step == 0 {
			continue
		}
		s := steps[r.Step]
		if s == nil {
			s = &step{us: math.NaN()}
			steps[r.Step] = s
		}
		if r.Collective == "" {
			s.us = r.EndUS - r.BeginUS
		} else {
			s.phases = append(s.phases, span{r.BeginUS, r.EndUS})
		}
	}
	var records ProfileRecords
	for _, s := range steps {
		if !math.IsNaN(s.us) {
			records.Steps++
			records.IterationUS += s.us
			records.CommunicationUS += lasting(unite(s.phases))
		}
	}
	if n := float64(records.Steps); n > 0 {
		records.IterationUS, records.CommunicationUS = records.IterationUS/n, records.CommunicationUS/n
		p.Records = &records
	}
	return nil
}
