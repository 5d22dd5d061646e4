// Package profiles measures the communication profiles of jobs from the records of ports.
package profiles

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/csiglab/csiglab/metrics/phases"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Of says of what profiles are measured: a run, and jobs of it or ports.
type Of struct {
	Variant string
	Seed    uint64
	Jobs    []string // one profile for each: its NICs are looked at
	Ports   []string // without Jobs: one profile, of these ports together; a port counts once
}

// Measured is what came of one job, or of the ports.
type Measured struct {
	Profile *Profile // nil with Err
	Err     error    // wraps ErrNoProfile
}

// Profile is the communication profile of a job as the port records of a run show it.
type Profile struct {
	Name     string   `json:"name"` // of the job, or of the first port
	Variant  string   `json:"variant"`
	Seed     uint64   `json:"seed"`
	Ports    []string `json:"ports"`    // that send; those that only acknowledge are left out
	WindowUS float64  `json:"windowUs"` // of the records
	PeriodUS Estimate `json:"periodUs"`
	Bursts   []Burst  `json:"bursts"`
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
	Shares  []string `json:"shares"`
	Records *Records `json:"records,omitempty"` // nil without records of the job
}

// Estimate is a mean with its error: the true mean is within two errors in 95 of 100 cases
// (phases.Value).
type Estimate struct {
	Mean  float64  `json:"mean"`
	Error *float64 `json:"error"` // nil: not known
}

// Burst is a time of the period in which the job sends. Rates are those of one port,
// on the line.
type Burst struct {
	AtUS     Estimate `json:"atUs"` // since the period's begin, which is the end of the last burst before
	LengthUS Estimate `json:"lengthUs"`
	Gbps     Estimate `json:"gbps"`
}

// Records is what the records of the job say of the same: means over its steps.
type Records struct {
	Steps           int     `json:"steps"`
	IterationUS     float64 `json:"iterationUs"`
	CommunicationUS float64 `json:"communicationUs"` // in which a collective is under way
	// distanceUS is how far apart the ends of steps are on average. The first step, which may
	// be shorter as it waits for no slot, does not count in it. 0 of a single step.
	distanceUS float64
}

// ErrNoProfile is wrapped by the errors of Measured, and those of Measure about runs that show no profile.
var ErrNoProfile = errors.New("no profile")

// sending is the share of what the busiest port of a job sends above which a port sends
// messages, and not acknowledgements alone.
const sending = 0.1

// agree is by which share the period and the iterations of the records may differ.
const agree = 0.05

// mostWindows bounds the memory of the series of rates of all jobs.
const mostWindows = 1 << 26

// Measure measures profiles from the records of ports, in the order of the jobs. Its
// error wraps ErrNoProfile if the run, a job or a port is not there. A job or ports that show
// no profile have an error of their own.
func Measure(f *runfolder.Folder, of Of) ([]Measured, error) {
	m := &f.Manifest
	run := slices.IndexFunc(m.Runs, func(r runfolder.Run) bool { return r.Variant == of.Variant && r.Seed == of.Seed })
	if run < 0 {
		return nil, fmt.Errorf("%w: there is no run of variant %s with seed %d", ErrNoProfile, of.Variant, of.Seed)
	}
	if len(m.Runs[run].Thinned) > 0 {
		return nil, fmt.Errorf("%w: the windows of the run have become longer with their age", ErrNoProfile)
	}
	if !(m.IntervalUS > 0) {
		return nil, fmt.Errorf("%w: the folder does not say how long a window of its records is", ErrNoProfile)
	}
	var profiles []*Profile
	for _, name := range of.Jobs {
		p := &Profile{Name: name, Variant: of.Variant, Seed: of.Seed, WindowUS: m.IntervalUS, Shares: []string{}}
		if err := p.ofJob(m); err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	if len(of.Jobs) == 0 && len(of.Ports) > 0 {
		p := &Profile{Name: of.Ports[0], Variant: of.Variant, Seed: of.Seed, WindowUS: m.IntervalUS, Shares: []string{}}
		known := m.PortsOf(of.Variant)
		for _, name := range of.Ports {
			if !slices.ContainsFunc(known, func(k runfolder.Port) bool { return k.Name == name }) {
				return nil, fmt.Errorf("%w: there is no port %q", ErrNoProfile, clippedName(name))
			}
			if !slices.Contains(p.Ports, name) {
				p.Ports = append(p.Ports, name)
			}
		}
		profiles = append(profiles, p)
	}
	series, err := portRates(f, of, profiles)
	if err != nil {
		return nil, err
	}
	if len(of.Jobs) > 0 {
		if err := readSteps(f, of, profiles); err != nil {
			return nil, err
		}
	}
	all := make([]Measured, len(profiles))
	for i, p := range profiles {
		pattern, err := phases.Find(series[i])
		if err != nil {
			all[i].Err = fmt.Errorf("%w: %w", ErrNoProfile, err)
			continue
		}
		p.take(pattern)
		all[i].Profile = p
	}
	return all, nil
}

// Disagrees reports whether the job has records, whose steps end more than 5 % farther apart,
// or less far, than the period. The period is then not that of the job: it may be that of bursts
// of which an iteration has several.
func (p *Profile) Disagrees() bool {
	return p.Records != nil && p.Records.distanceUS > 0 && math.Abs(p.PeriodUS.Mean-p.Records.distanceUS) > agree*p.Records.distanceUS
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
func (p *Profile) ofJob(m *runfolder.Manifest) error {
	jobs, ports := m.JobsOf(p.Variant), m.PortsOf(p.Variant)
	at := slices.IndexFunc(jobs, func(j runfolder.Job) bool { return j.Name == p.Name })
	if at < 0 {
		return fmt.Errorf("%w: variant %s has no job %q", ErrNoProfile, p.Variant, clippedName(p.Name))
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

// portRates returns for each profile the mean rate of its ports that send, window by window, in
// Gb/s, and leaves these in its Ports. It reads the records twice, for all profiles together.
func portRates(f *runfolder.Folder, of Of, profiles []*Profile) ([][]float64, error) {
	m := &f.Manifest
	users := map[string][]int{} // of ports: indices of profiles
	for i, p := range profiles {
		for _, name := range p.Ports {
			users[name] = append(users[name], i)
		}
	}
	each := func(do func(r *runfolder.PortRow, gigabits float64)) error {
		for r, err := range f.Ports() {
			if err != nil {
				return err
			}
			if r.Variant == of.Variant && r.Seed == of.Seed && r.StartUS >= 0 && len(users[r.PortName]) > 0 {
				do(&r, r.BusyUS()/1e6*float64(r.RateBPS)/1e9)
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
	if windows > mostWindows/max(1, len(profiles)) {
		return nil, fmt.Errorf("%w: %d windows of records of %d jobs are more than %d", ErrNoProfile, windows, len(profiles), mostWindows)
	}
	clear(users)
	series := make([][]float64, len(profiles))
	for i, p := range profiles {
		most := 0.0
		for _, name := range p.Ports {
			most = max(most, sums[name])
		}
		p.Ports = slices.DeleteFunc(p.Ports, func(name string) bool { return sums[name] == 0 || sums[name] < sending*most })
		for _, name := range p.Ports {
			users[name] = append(users[name], i)
		}
		series[i] = make([]float64, windows)
	}
	err = each(func(r *runfolder.PortRow, gigabits float64) {
		for _, i := range users[r.PortName] {
			series[i][int(r.StartUS/m.IntervalUS+0.5)] += gigabits / (m.IntervalUS / 1e6) / float64(len(profiles[i].Ports))
		}
	})
	return series, err
}

// take takes the pattern of the rates.
func (p *Profile) take(found *phases.Pattern) {
	estimate := func(v phases.Value, unit float64) Estimate {
		e := Estimate{Mean: v.Mean * unit}
		if known := v.Error * unit; !math.IsNaN(known) {
			e.Error = &known
		}
		return e
	}
	us := func(v phases.Value) Estimate { return estimate(v, p.WindowUS) }
	p.PeriodUS, p.Iterations, p.Alike = us(found.Period), len(found.Begins), found.Alike
	p.LagUS, p.Correlation, p.WidthUS = found.Lag*p.WindowUS, found.Correlation, found.Width*p.WindowUS
	for _, b := range found.Bursts {
		p.Bursts = append(p.Bursts, Burst{us(b.At), us(b.Length), estimate(b.Rate, 1)})
	}
}

// readSteps reads what the records of the jobs say.
func readSteps(f *runfolder.Folder, of Of, profiles []*Profile) error {
	type step struct {
		us, end float64
		phases  []reading.Span
	}
	steps := make(map[string]map[int32]*step, len(profiles)) // of each job
	for _, p := range profiles {
		steps[p.Name] = map[int32]*step{}
	}
	for r, err := range f.Instances() {
		if err != nil {
			return err
		}
		ofJob := steps[r.JobName]
		if r.Variant != of.Variant || r.Seed != of.Seed || ofJob == nil || r.Step == 0 {
			continue
		}
		s := ofJob[r.Step]
		if s == nil {
			s = &step{us: math.NaN()}
			ofJob[r.Step] = s
		}
		if r.Collective == "" {
			s.us, s.end = r.EndUS-r.BeginUS, r.EndUS
		} else {
			s.phases = append(s.phases, reading.Span{From: r.BeginUS, To: r.EndUS})
		}
	}
	for _, p := range profiles {
		var records Records
		var first, last int32
		for _, number := range slices.Sorted(maps.Keys(steps[p.Name])) { // sums of floats depend on their order
			if s := steps[p.Name][number]; !math.IsNaN(s.us) {
				if last = number; records.Steps == 0 {
					first = number
				}
				records.Steps++
				records.IterationUS += s.us
				records.CommunicationUS += reading.Lasting(reading.Unite(s.phases))
			}
		}
		if n := float64(records.Steps); n > 0 {
			records.IterationUS, records.CommunicationUS = records.IterationUS/n, records.CommunicationUS/n
			if last > first {
				records.distanceUS = (steps[p.Name][last].end - steps[p.Name][first].end) / float64(last-first)
			}
			p.Records = &records
		}
	}
	return nil
}
