package congestion

import (
	"fmt"
	"math"
	"strings"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/units"
)

// Register adds an algorithm to Table. It is for the init functions of modules that
// csiglab build compiles in (docs/how-to/extend.md). An algorithm whose name is taken, or that
// lacks something, is not added; csiglab and the node programs then say so and do not
// start (modules.Check).
func Register(a Algorithm) {
	lacks := a.Lacks()
	if a.Windows == nil {
		lacks = append(lacks, fmt.Sprintf("%s has no Windows: return the least and the largest Output.Window on a path; a run ends when a window is outside", a.Name))
	}
	lacks = append(lacks, algorithm.Taken(Table, a.Name)...)
	var ok bool
	if a.Module, ok = modules.Register(modules.Caller(1), "cc", a.Name, lacks); ok {
		Table = append(Table, a)
	}
}

// samplePath is what Lacks builds a controller for: the 3-tier fat tree at 100 Gbps of
// docs/reference/references.md#network-constants.
var samplePath = Path{LinkRate: 100 * units.Gbps, NetworkRTT: 14_022_720, MTU: 4150, Header: 64, Trim: true}

// Lacks returns what an algorithm lacks, in sentences that say where it goes. It builds a
// controller and gives it an event of each kind; the suite congestiontest tries more.
func (a Algorithm) Lacks() []string {
	lacks, sound := a.Spec.BuilderLacks(a.Build != nil, "a controller")
	if !sound {
		return lacks
	}
	c, lack := algorithm.BuildLacks(a.Spec, nil, func() (Controller, error) { return a.New(samplePath, nil) })
	if lack != "" {
		return append(lacks, lack)
	}
	lacks = append(lacks, a.RecordLacks(samplePath)...)
	if lack := a.firstEvents(c); lack != "" {
		lacks = append(lacks, lack)
	}
	return lacks
}

// firstEvents gives a controller an event of each kind and returns what is wrong with its
// answers, "" if nothing is.
func (a Algorithm) firstEvents(c Controller) (lack string) {
	event := "before the first event"
	defer func() {
		if p := recover(); p != nil {
			lack = fmt.Sprintf("the controller of %s panics %s: %v", a.Name, event, p)
		}
	}()
	w, ok := a.WindowsOf(samplePath, nil)
	if !ok {
		w = Windows{Max: math.MaxInt64}
	}
	out := c.Output()
	if out == nil {
		return "Output returns nil: return the address of an Output that the controller holds"
	}
	ack := Ack{Acked: samplePath.MTU, AckedPackets: 1, Inflight: samplePath.MTU, RTT: samplePath.NetworkRTT, HasRTT: true, Penalty: 255}
	marked := ack
	marked.ECN, marked.RTT = true, 2*samplePath.NetworkRTT
	now := units.Time(0)
	for _, e := range []struct {
		name  string
		event func()
	}{
		{event, func() {}},
		{"after an ACK", func() { c.OnAck(now, &ack) }},
		{"after an ACK of a marked packet", func() { c.OnAck(now, &marked) }},
		{"after a NACK", func() { c.OnNack(now, &Nack{Size: samplePath.MTU, RTT: samplePath.NetworkRTT, HasRTT: true}) }},
		{"after a timeout", func() { c.OnTimeout(now, &Timeout{Size: samplePath.MTU}) }},
	} {
		event = e.name
		e.event()
		if wrong := a.Misuse(samplePath, out, w); wrong != "" {
			return event + ": " + wrong
		}
		now = now.Add(2 * samplePath.NetworkRTT)
	}
	return ""
}

// Misuse returns what is wrong with what a controller asks for, "" if nothing is. w has
// the bounds of its window on the path.
func (a Algorithm) Misuse(p Path, out *Output, w Windows) string {
	switch {
	case out.Window < 0:
		return fmt.Sprintf("Output.Window is %v, less than nothing", out.Window)
	case out.Window < p.MTU && out.PacingRate == 0:
		return fmt.Sprintf("Output.Window is %v, less than a packet of %v: the flow could send nothing any more; keep it at Path.MTU or above, or set Output.PacingRate", out.Window, p.MTU)
	case out.Window < w.Min:
		return fmt.Sprintf("Output.Window is %v, below the least that Algorithm.Windows of %s declares, %v: bound the window, or correct Windows", out.Window, a.Name, w.Min)
	case out.Window > w.Max:
		return fmt.Sprintf("Output.Window is %v, above the limit %v, the least of what Algorithm.Windows and the test of %s give: bound the window, or correct the limit there", out.Window, w.Max, a.Name)
	case len(a.Actions) == 0 && out.Action != 0:
		return fmt.Sprintf("Output.Action is %d, and %s declares no actions: add them to Algorithm.Actions, from index 0", out.Action, a.Name)
	case len(a.Actions) > 0 && int(out.Action) >= len(a.Actions):
		return fmt.Sprintf("Output.Action is %d, which Algorithm.Actions of %s does not declare; it has %q, from index 0", out.Action, a.Name, a.ActionNames())
	case out.BaseRTT <= 0:
		return fmt.Sprintf("Output.BaseRTT is %v: set it to Path.NetworkRTT at first, and to the least RTT seen later", out.BaseRTT)
	case out.Delay < 0:
		return fmt.Sprintf("Output.Delay is %v: it is the delay that the last ACK was judged by, 0 or more", out.Delay)
	case out.PacingRate < 0:
		return fmt.Sprintf("Output.PacingRate is %v: 0 means as fast as the link", out.PacingRate)
	}
	return ""
}

// RecordLacks returns what an algorithm lacks of what it declares for records and reports,
// on a path.
func (a Algorithm) RecordLacks(p Path) (lacks []string) {
	lack := func(format string, args ...any) { lacks = append(lacks, fmt.Sprintf(format, args...)) }
	seen := map[string]bool{}
	for _, action := range a.Actions {
		if !algorithm.Identifier(action.Name, '_') || seen[action.Name] {
			lack("Algorithm.Actions of %s has the name %q: want a name of its own of lower-case letters, digits and _, such as fair_increase, which becomes a part of metrics", a.Name, action.Name)
		}
		seen[action.Name] = true
		if action.Label == "" {
			lack("action %s of %s has no Label, which legends of charts show, such as \"fair increase (FI)\"", action.Name, a.Name)
		}
		if action.Short == "" {
			lack("action %s of %s has no Short, which bars of charts show, such as \"FI\"", action.Name, a.Name)
		}
	}
	for _, c := range a.ConstantsOf(p, nil) {
		if wrong := c.lacks(); wrong != "" {
			lack("constant %q of %s %s", c.Name, a.Name, wrong)
		}
	}
	return lacks
}

// unitOf has the unit of a constant by the end of its name.
var unitOf = []struct{ suffix, unit string }{
	{"_ns", "ns"}, {"_us", "µs"}, {"_ms", "ms"}, {"_gbps", "Gb/s"}, {"_bytes", "B"}, {"_packets", "packets"},
}

// lacks returns what is wrong with a constant, "" if nothing is.
func (c Constant) lacks() string {
	unit := ""
	var suffixes []string
	for _, u := range unitOf {
		if suffixes = append(suffixes, u.suffix); strings.HasSuffix(c.Name, u.suffix) {
			unit = u.unit
		}
	}
	switch {
	case !algorithm.Identifier(c.Name, '_'):
		return "has no name of lower-case letters, digits and _, such as target_qdelay_us, which becomes that of a metric"
	case c.Label == "":
		return "has no Label, which texts show, such as \"target queueing delay\""
	case unit != c.Unit && unit != "":
		return fmt.Sprintf("has the Unit %q, and its name says that it is in %s: set Constant.Unit to %q, or change the name", c.Unit, unit, unit)
	case unit != c.Unit:
		return fmt.Sprintf("has the Unit %q, which the end of its name does not say; names end in one of %v", c.Unit, suffixes)
	case math.IsNaN(c.Value) || math.IsInf(c.Value, 0):
		return fmt.Sprintf("is %v", c.Value)
	case c.Chart != "" && c.Short == "":
		return fmt.Sprintf("has no Short, which names its level in the chart %s, such as \"target\"", c.Chart)
	}
	return ""
}
