package predict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/orchestrator/run/dilation"
	"github.com/csiglab/csiglab/units"
)

// Summary is what csiglab validate says of an experiment, and its JSON.
type Summary struct {
	Name     string   `json:"name"`
	Variants []string `json:"variants"`
	Seeds    int      `json:"seeds"`
	Hosts    int      `json:"hosts"`
	Switches int      `json:"switches"`
	Links    int      `json:"links"`
	Flows    int      `json:"flows"`
	Bytes    int64    `json:"bytes"`
	Seconds  float64  `json:"predictedSeconds,omitempty"`    // of the flows; programs are not predicted
	CPU      float64  `json:"predictedCPUSeconds,omitempty"` // in virtual time
	Memory   int64    `json:"predictedMemoryBytes,omitempty"`
	Free     int64    `json:"availableMemoryBytes,omitempty"`
	Fits     bool     `json:"fitsInMemory"`
	Programs int      `json:"programs,omitempty"` // of the variant with the most
	Streams  int      `json:"streams,omitempty"`  // of raw frames, likewise
	Notes    []string `json:"notes,omitempty"`    // as on standard error
	// Locators are those that several switch ports share.
	Locators []sharedLocators `json:"locators,omitempty"`
	Points   int              `json:"points,omitempty"` // of the key sweep
	// Cuts are how the fabric is cut into parts, with --shards: one for all variants unless
	// their traffic differs much.
	Cuts []Cut `json:"cuts,omitempty"`
	// Parameters are those of each variant, with --verbose.
	Parameters map[string]*runfolder.Parameters `json:"parameters,omitempty"`
}

// Details are what a summary has beside the prediction.
type Details struct {
	Shards     int  // cut the fabric into so many parts; 0: do not
	Parameters bool // of each variant
}

// Summarise describes an experiment by what validate finds, which is Validate but in tests. The
// error wraps failure.ErrConfiguration.
func Summarise(set *experiment.Set, d Details, validate func(*experiment.Set, Visit) (*Validation, error)) (*Summary, error) {
	s := &Summary{Name: set.Base.Name, Seeds: len(set.Base.Seeds)}
	if d.Parameters {
		s.Parameters = map[string]*runfolder.Parameters{}
	}
	var uncut error
	unkept := ""
	v, err := validate(set, func(i int, p *plan.Plan, w estimate.Work) {
		if d.Parameters {
			s.Parameters[set.Variants[i].Name] = p.Parameters()
		}
		if wall := set.Base.Wall; set.Base.Way().Has(runtimes.RealTime) && wall.Dilation > 0 && unkept == "" {
			unkept = dilation.Unkept(p, w, float64(wall.Dilation), wall.Budget.Lateness)
		}
		if d.Shards > 0 && uncut == nil {
			s.Cuts, uncut = addCut(s.Cuts, set.Variants[i].Name, set.Base.Clock, p, d.Shards)
		}
	})
	if err != nil {
		return nil, err
	}
	if uncut != nil {
		return nil, uncut
	}
	s.Notes = slices.Concat(set.Notes, v.Notes)
	if v.Shortage != nil {
		s.Notes = append(s.Notes, v.Shortage.Error())
	}
	if unkept != "" {
		s.Notes = append(s.Notes, unkept)
	}
	s.Hosts, s.Switches, s.Links, s.Flows, s.Bytes = v.Hosts, v.Switches, v.Links, v.Flows, v.Bytes
	s.Memory, s.Free, s.Fits = v.Memory, v.Available.Bytes, v.Shortage == nil
	for i := range v.Locators {
		s.Locators = append(s.Locators, newSharedLocators(&v.Locators[i]))
	}
	switch set.Base.Clock {
	case runtimes.Virtual:
		s.Seconds, s.CPU = v.Wall.Seconds(), v.CPU.Seconds()
	case runtimes.Lockstep:
		s.Seconds = v.LockstepSeconds
	case runtimes.Wall:
		s.Seconds = v.WallSeconds
	}
	for _, variant := range set.Variants {
		s.Variants = append(s.Variants, variant.Name)
		s.Streams = max(s.Streams, len(variant.Experiment.Generators))
		if hosts := variant.Experiment.Applications; hosts != nil {
			s.Programs = max(s.Programs, len(hosts.Programs))
		}
	}
	return s, nil
}

// sharedLocators are the locators of variants that stand for several switch ports each.
type sharedLocators struct {
	Variants []string        `json:"variants"`
	Format   string          `json:"format,omitempty"` // of the tags, in a fabric of two formats
	Scheme   string          `json:"scheme"`
	Ports    int             `json:"ports"`    // of all switches
	Sharing  int             `json:"sharing"`  // that share a locator
	Distinct int             `json:"distinct"` // locators that the ports have
	Locators []sharedLocator `json:"locators"`
	Remedy   string          `json:"remedy,omitempty"`
}

type sharedLocator struct {
	Locator uint32   `json:"locator"`
	Ports   []string `json:"ports"`
}

func newSharedLocators(l *Locators) sharedLocators {
	s := sharedLocators{Variants: l.Variants, Format: l.Table.FormatName(), Scheme: l.Table.Scheme.String(), Ports: l.Table.Ports, Distinct: len(l.Table.Locators), Remedy: l.Table.Remedy}
	s.Sharing, _ = l.Table.SharedPorts()
	for _, one := range l.Table.Locators {
		if one.Shared() {
			s.Locators = append(s.Locators, sharedLocator{one.Locator, one.Ports})
		}
	}
	return s
}

// Limits of the list of shared locators in words; JSON has them all.
const (
	shownLocators = 16
	shownPorts    = 6 // of a locator
)

// text returns the locators in words. It names the variants if there are several.
func (s *sharedLocators) text(variants int) string {
	of := ""
	if variants > 1 {
		of = " of " + strings.Join(s.Variants, ", ")
	}
	kind := ""
	if s.Format != "" {
		kind = s.Format + " "
	}
	text := fmt.Sprintf("%slocators%s: %s have %s; %d of the ports share theirs with others\n", kind, of, spelling.Plural(s.Ports, "switch port"), spelling.Plural(s.Distinct, "locator"), s.Sharing)
	for i, l := range s.Locators {
		if i == shownLocators {
			text += fmt.Sprintf("  … and %d more; --json lists all\n", len(s.Locators)-i)
			break
		}
		names := strings.Join(l.Ports[:min(len(l.Ports), shownPorts)], " ")
		if more := len(l.Ports) - shownPorts; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		text += fmt.Sprintf("  %5d  %s\n", l.Locator%metrics.SecondFormat, names)
	}
	if s.Remedy != "" {
		text += fmt.Sprintf("  each port has a locator of its own with %s\n", s.Remedy)
	}
	return text
}

// Text returns the summary in words; where names the runtime and the clock.
func (s *Summary) Text(where string) string {
	var load []string
	if s.Flows > 0 {
		load = append(load, spelling.Plural(s.Flows, "flow"), units.Size(s.Bytes).String())
	}
	if s.Streams > 0 {
		load = append(load, spelling.Plural(s.Streams, "stream")+" of raw frames")
	}
	if s.Programs > 0 {
		load = append(load, spelling.Plural(s.Programs, "program"))
	}
	predicted := "predicted: " + Roughly(time.Duration(s.Seconds*float64(time.Second)))
	if cpu := time.Duration(s.CPU * float64(time.Second)); cpu >= 500*time.Millisecond {
		predicted += fmt.Sprintf(" (%s of CPU time), %s,", Roughly(cpu), Accuracy)
	}
	switch {
	case s.Programs > 0 && s.Seconds > 0:
		predicted += ", longer if its programs take longer,"
	case s.Programs > 0:
		predicted = "takes as long as its programs,"
	case s.Seconds == 0:
		load = append(load, "no traffic")
		predicted = "ends at once; csiglab up holds it as a lab,"
	}
	memory := ""
	if s.Memory > 0 {
		memory = "memory: about " + Gigabytes(s.Memory)
		if s.Free < NoLimit {
			memory += " of " + Gigabytes(s.Free)
		}
		memory += "\n"
	}
	text := fmt.Sprintf("%s is valid: %s x %s; %s, %s, %s; %s\n%s with %s\n%s", s.Name,
		spelling.Plural(len(s.Variants), "variant"), spelling.Plural(s.Seeds, "seed"), spelling.Plural(s.Hosts, "host"), spelling.Plural(s.Switches, "switch"),
		spelling.Plural(s.Links, "link"), strings.Join(load, ", "), predicted, where, memory)
	if s.Points > 0 {
		text += fmt.Sprintf("a sweep of %s, all valid: %s; csiglab sweep runs them\n", spelling.Plural(s.Points, "point"), spelling.Plural(s.Points*len(s.Variants)*s.Seeds, "trial"))
	}
	for i := range s.Locators {
		text += s.Locators[i].text(len(s.Variants))
	}
	for i := range s.Cuts {
		text += s.Cuts[i].text(len(s.Variants))
	}
	return text
}
