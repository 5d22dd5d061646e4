package reading

import (
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Run is how one seed of one variant went.
type Run struct {
	Variant     string            `json:"variant"`
	Seed        uint64            `json:"seed"`
	DataPackets int64             `json:"dataPackets"`
	WallSeconds float64           `json:"wallSeconds"`
	CPUSeconds  float64           `json:"cpuSeconds"`
	TraceHash   string            `json:"traceHash,omitempty"`
	Valid       bool              `json:"valid"`
	Passed      []runfolder.Check `json:"passed,omitempty"`
	Failed      []runfolder.Check `json:"failed,omitempty"`
	Reasons     []string          `json:"reasons,omitempty"` // why it is not valid, beside the checks that failed
}

func runs(m *runfolder.Manifest) []Run {
	all := make([]Run, 0, len(m.Runs))
	for _, r := range m.Runs {
		run := Run{Variant: r.Variant, Seed: r.Seed, DataPackets: r.DataPackets, WallSeconds: r.WallSeconds, CPUSeconds: r.CPUSeconds,
			TraceHash: r.TraceHash, Valid: r.Valid, Reasons: r.Reasons}
		for _, c := range r.Checks {
			if c.OK {
				run.Passed = append(run.Passed, c)
				continue
			}
			run.Failed = append(run.Failed, c)
		}
		all = append(all, run)
	}
	return all
}

// Fidelity summarises how well the runs kept real time.
type Fidelity struct {
	LatenessP99US float64 `json:"latenessP99Us"` // of the worst run, in microseconds of wall time
	LatenessShare float64 `json:"latenessShare"` // the same as a share of the smallest delay
	Frames        int64   `json:"frames"`        // of all runs
	Lost          int64   `json:"lost"`          // frames that the harness lost on links or between programs and nodes
	Displaced     int64   `json:"displaced"`     // packets that came too late
}

// fidelity returns nil when no run was in real time.
func fidelity(m *runfolder.Manifest) *Fidelity {
	var all *Fidelity
	for _, r := range m.Runs {
		f := r.Fidelity
		if f == nil {
			continue
		}
		if all == nil {
			all = &Fidelity{LatenessP99US: f.LatenessP99US, LatenessShare: f.LatenessShare}
		}
		if f.LatenessShare > all.LatenessShare {
			all.LatenessP99US, all.LatenessShare = f.LatenessP99US, f.LatenessShare
		}
		all.Frames += f.Frames
		all.Lost += f.Lost + f.Unread
		all.Displaced += f.Displaced
	}
	return all
}

// Program is one program of one run. Times are microseconds of model time.
type Program struct {
	Variant string   `json:"variant"`
	Seed    uint64   `json:"seed"`
	Host    string   `json:"host"`
	Args    []string `json:"args"`
	StartUS *float64 `json:"startUs,omitempty"` // nil: it was not started
	EndUS   *float64 `json:"endUs,omitempty"`
	Ending  Ending   `json:"ending"`
	Code    int      `json:"code"`              // when Ending is Exited
	Signal  string   `json:"signal,omitempty"`  // when Ending is Killed
	Failure string   `json:"failure,omitempty"` // when Ending is Failed
}

// Ending is how a program ended.
type Ending string

// Endings of programs.
const (
	Failed     Ending = "failed"      // it could not be started
	NotStarted Ending = "not started" // the run ended before
	Stopped    Ending = "stopped"     // it was ended together with the run
	Killed     Ending = "killed"      // by a signal
	Exited     Ending = "exited"
)

// Good reports whether the program exited with code 0.
func (p *Program) Good() bool { return p.Ending == Exited && p.Code == 0 }

func programs(m *runfolder.Manifest) []Program {
	all := []Program{}
	for _, r := range m.Runs {
		for _, p := range r.Programs {
			program := Program{Variant: r.Variant, Seed: r.Seed, Host: p.Host, Args: p.Args, StartUS: p.StartUS, EndUS: p.EndUS, Ending: Exited}
			switch {
			case p.Failure != "":
				program.Ending, program.Failure = Failed, p.Failure
			case p.StartUS == nil:
				program.Ending = NotStarted
			case p.Stopped:
				program.Ending = Stopped
			case p.Signal != "":
				program.Ending, program.Signal = Killed, p.Signal
			default:
				program.Code = p.Code
			}
			all = append(all, program)
		}
	}
	return all
}

// Fault is one fault of one run.
type Fault struct {
	Variant string `json:"variant"`
	Seed    uint64 `json:"seed"`
	runfolder.Fault
}

// Dropped returns how many packets the fault dropped.
func (f *Fault) Dropped() int64 { return f.Arriving + f.Queued }

// Slowed returns the names of the ports of links whose rate a fault lowered in a run.
func Slowed(m *runfolder.Manifest, run RunID) map[string]bool {
	links := map[string]bool{}
	for i := range m.Runs {
		for _, f := range m.Runs[i].Faults {
			if m.Runs[i].Variant == run.Variant && m.Runs[i].Seed == run.Seed && f.Happened && f.Kind == "rate" {
				for _, link := range f.Where {
					links[link] = true
				}
			}
		}
	}
	ports := map[string]bool{}
	for _, p := range m.PortsOf(run.Variant) {
		if links[p.Link] {
			ports[p.Name] = true
		}
	}
	return ports
}

func faults(m *runfolder.Manifest) []Fault {
	all := []Fault{}
	for _, r := range m.Runs {
		for _, f := range r.Faults {
			all = append(all, Fault{r.Variant, r.Seed, f})
		}
	}
	return all
}
