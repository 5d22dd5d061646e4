package stress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// change returns the overrides that bring a variant into a setting, or why the setting
// changes nothing in it.
type change func(e *experiment.Experiment) (list []experiment.Override, unchanged string, err error)

// dimensions are the changes by the names of experiment.StressDimensions. A dimension gets the
// value behind its name.
var dimensions = map[string]func(value string) change{
	"rate":     func(value string) change { return rates(factor(value)) },
	"rtt":      func(value string) change { return delays(factor(value)) },
	"mtu":      mtu,
	"queue":    func(value string) change { return queues(factor(value)) },
	"format":   format,
	"sampling": sampling,
}

// changeOf returns the change of a setting in a variant, nil for the seeds.
func changeOf(of *experiment.Set, setting string) func(v *experiment.Resolved) ([]experiment.Override, string, error) {
	for _, t := range of.Base.Tuned {
		for _, by := range experiment.TunedFactors {
			if setting == t.Setting(by) {
				return tuned(t.Path, by)
			}
		}
	}
	name, value, found := strings.Cut(setting, " ")
	if !found {
		return nil
	}
	c := dimensions[name](value)
	return func(v *experiment.Resolved) ([]experiment.Override, string, error) { return c(v.Experiment) }
}

// tuned multiplies a value that was chosen.
func tuned(path string, by float64) func(v *experiment.Resolved) ([]experiment.Override, string, error) {
	return func(v *experiment.Resolved) ([]experiment.Override, string, error) {
		list := v.Scaled(path, by)
		switch {
		case len(list) > 0:
			return list, "", nil
		case len(v.Given(path)) > 0:
			return nil, path + " is no number there", nil
		}
		return nil, "it is not given " + path, nil
	}
}

// factor reads x0.25.
func factor(value string) float64 {
	f, err := strconv.ParseFloat(strings.TrimPrefix(value, "x"), 64)
	if err != nil {
		panic("stress: " + err.Error()) // of the table of dimensions
	}
	return f
}

// set returns an override.
func set(path string, value any) experiment.Override {
	return experiment.Override{Path: path, Value: fmt.Sprint(value)}
}

// rates multiplies the rates of links, of faults and of the load. Times at which something is
// sent or fails, the measuring window and the end are divided, so that the same transfers are
// in them. With jobs, which compute for as long as before, no time becomes shorter.
func rates(by float64) change {
	return func(e *experiment.Experiment) ([]experiment.Override, string, error) {
		list, err := e.Topology.Scale(experiment.Scaling{Rate: by, Delay: 1})
		if err != nil {
			return nil, "", err
		}
		times := 1 / by
		if len(e.Jobs) > 0 || e.Applications != nil {
			times = max(times, 1)
		}
		at := func(path string, d units.Duration) {
			if d > 0 && times != 1 {
				list = append(list, set(path, scaled(d, times)))
			}
		}
		list = append(list, e.Workload.Scale(by, times)...)
		at("end", e.End)
		at("measure.from", e.Measure.From)
		at("measure.to", e.Measure.To)
		for i, f := range e.Faults {
			path := fmt.Sprintf("faults[%d].", i)
			if f.Rate > 0 {
				list = append(list, set(path+"rate", scaled(f.Rate, by)))
			}
			at(path+"at", f.At)
			at(path+"for", f.For)
			at(path+"until", f.Until)
		}
		for i, g := range e.Generators {
			path := fmt.Sprintf("generators[%d].", i)
			if g.Rate > 0 {
				list = append(list, set(path+"rate", scaled(g.Rate, by)))
			}
			at(path+"start", g.Start)
			at(path+"every", g.Every)
		}
		return list, "", nil
	}
}

// delays multiplies the delays of links.
func delays(by float64) change {
	return func(e *experiment.Experiment) ([]experiment.Override, string, error) {
		list, err := e.Topology.Scale(experiment.Scaling{Rate: 1, Delay: by})
		if d := e.Workload.ControlDelay; d > 0 {
			list = append(list, set("workload.control_delay", scaled(d, by)))
		}
		return list, "", err
	}
}

// scaled multiplies a value with a unit.
func scaled[T units.Duration | units.Rate | units.Size](v T, by float64) T {
	return T(float64(v)*by + 0.5)
}

// mtu sets the size of full packets.
func mtu(value string) change {
	size, err := units.ParseSize(value)
	if err != nil {
		panic("stress: " + err.Error()) // of the table of dimensions
	}
	return func(e *experiment.Experiment) ([]experiment.Override, string, error) {
		if e.Links.MTU == size {
			return nil, "it has that MTU already", nil
		}
		return []experiment.Override{set("links.mtu", value)}, "", nil
	}
}

// queues multiplies the data queues of switch ports, the memory that ports share, and the
// thresholds of trimming and pauses. Thresholds of ECN stay.
func queues(by float64) change {
	return func(e *experiment.Experiment) (list []experiment.Override, unchanged string, err error) {
		size := func(path string, s units.Size) {
			if s > 0 {
				list = append(list, set(path, scaled(s, by)))
			}
		}
		queue := e.Links.Queue
		if queue == 0 {
			if queue, unchanged, err = autoQueue(e); err != nil || unchanged != "" {
				return nil, unchanged, err
			}
		}
		size("links.queue", queue)
		size("links.trim_threshold", e.Links.TrimThreshold)
		size("links.buffer.shared", e.Links.Buffer.Shared)
		size("links.pfc.xoff", e.Links.PFC.XOff)
		size("links.pfc.xon", e.Links.PFC.XOn)
		for i, c := range e.Classes {
			size(fmt.Sprintf("classes[%d].queue", i), c.Queue)
		}
		return list, "", nil
	}
}

// autoQueue returns the data queue of the switch ports of an experiment that does not give
// it, or why there is not one.
func autoQueue(e *experiment.Experiment) (queue units.Size, lacks string, err error) {
	p, err := plan.Compile(e, e.Seeds[0])
	if err != nil {
		return 0, "", err
	}
	for n := range p.Nodes {
		if s := p.Nodes[n].Switch; s != nil {
			for i := range s.Ports {
				size := s.Ports[i].Buffer.Data
				if queue != 0 && queue != size {
					return 0, fmt.Sprintf("links.queue is auto, which is %v at some ports and %v at others", queue, size), nil
				}
				queue = size
			}
		}
	}
	if queue == 0 {
		return 0, "it has no switches", nil
	}
	return queue, "", nil
}

const noCSIG = "it has no CSIG"

// everyPacket is the default of csig.init.
const everyPacket = "every"

// format sets the format of tags. Quantisers that are given are of the other format; the
// default ones take their place.
func format(value string) change {
	return func(e *experiment.Experiment) ([]experiment.Override, string, error) {
		switch {
		case e.CSIG.Format == csig.FormatNone:
			return nil, noCSIG, nil
		case e.CSIG.Second != nil:
			return nil, "it has tags of both formats", nil
		case e.CSIG.Format.String() == value:
			return nil, "its tags are " + value + " already", nil
		}
		list := []experiment.Override{set("csig.format", value)}
		for _, signal := range slices.Sorted(maps.Keys(e.CSIG.Quantisers)) {
			list = append(list, set("csig.quantisers."+signal, `""`))
		}
		return list, "", nil
	}
}

// sampling sets which packets hosts tag.
func sampling(value string) change {
	return func(e *experiment.Experiment) ([]experiment.Override, string, error) {
		switch {
		case e.CSIG.Format == csig.FormatNone:
			return nil, noCSIG, nil
		case e.CSIG.Init != everyPacket:
			return nil, "its hosts do not tag every packet, but " + e.CSIG.Init, nil
		}
		return []experiment.Override{set("csig.init", value)}, "", nil
	}
}

// Setting is what csiglab stress changes at once.
type Setting struct {
	Name string
	// Overrides bring each variant into the setting that Unchanged lacks.
	Overrides []experiment.Override
	Unchanged map[string]string // by variant: why the setting changes nothing in it
}

// settingOf returns a setting of an experiment. Overrides that all variants have alike are
// written without a variant.
func settingOf(of *experiment.Set, name string) (Setting, error) {
	s := Setting{Name: name, Unchanged: map[string]string{}}
	change := changeOf(of, name)
	if change == nil {
		return s, nil
	}
	lists := make([][]experiment.Override, len(of.Variants))
	alike := true
	for i := range of.Variants {
		v := &of.Variants[i]
		list, unchanged, err := change(v)
		if err != nil {
			return s, fmt.Errorf("variant %s: %w", v.Name, err)
		}
		if unchanged != "" {
			s.Unchanged[v.Name] = unchanged
		}
		lists[i] = list
		alike = alike && slices.Equal(list, lists[0])
	}
	if alike {
		s.Overrides = lists[0]
	} else {
		for i, list := range lists {
			for _, o := range list {
				o.Path = "variants." + of.Variants[i].Name + "." + o.Path
				s.Overrides = append(s.Overrides, o)
			}
		}
	}
	for i := range s.Overrides {
		s.Overrides[i].Origin = cmp.Or(s.Overrides[i].Origin, name+": "+s.Overrides[i].Path)
	}
	return s, nil
}
