package experiment

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// DefaultClass is the name of the class of all data that no class matches. It need not be
// listed.
const DefaultClass = "default"

// Class is a data class: packets with a DSCP of their own, which wait in a queue of their
// own at each port.
type Class struct {
	Name string `yaml:"name,required" is:"group" doc:"of the class, as in results"`
	DSCP int    `yaml:"dscp" is:"1 to 63 or auto" default:"auto" doc:"of its packets, 1 to 63 but 11, 12 and 46, which are those of control packets; auto, of the class 'default' alone: 10"`
	// Strict classes go before all others, earlier ones first. The others share what they
	// leave by Weight, in deficit round robin.
	Strict   bool        `yaml:"strict" default:"false" doc:"goes before all classes that are not strict; among strict classes the first in the list goes first"`
	Weight   int         `yaml:"weight" is:"weight" default:"1" doc:"share of the other classes in what strict ones leave, 1 to 255: deficit round robin with a full packet per weight and round"`
	Lossless bool        `yaml:"lossless" default:"false" doc:"by priority flow control: no packet of the class is trimmed or dropped"`
	Queue    units.Size  `yaml:"queue" is:"queue or auto" default:"auto" doc:"data queue of the class at a switch port; auto: as 'links.queue'"`
	ECN      *ECN        `yaml:"ecn" doc:"marking of the class, by its own queue; without it as 'links.ecn'"`
	AQM      *Algorithm  `yaml:"aqm" is:"aqm" doc:"as 'links.aqm'; without it that one"`
	Match    *ClassMatch `yaml:"match" doc:"transfers of the class: those that fit every list that is given. Of several classes that match, the last one counts"`
}

// ClassMatch says which transfers are of a class: those that fit all lists that are not
// empty. Frames of programs and generators go by their DSCP alone.
type ClassMatch struct {
	Flows  []string `yaml:"flows" is:"flow" doc:"transfers of the class: names of flows, patterns or numbers. A transfer is of the last class of which it fits all lists"`
	Groups []string `yaml:"groups" doc:"groups of 'measure.groups'"`
	Src    []int    `yaml:"src" is:"host" doc:"hosts that send"`
	Dst    []int    `yaml:"dst" is:"host" doc:"hosts that receive"`
	Hosts  []int    `yaml:"hosts" is:"host" doc:"both ends are among them"`
	Jobs   []int    `yaml:"jobs" is:"job" doc:"jobs of the workload"`
}

// Empty reports whether no list has an item.
func (m *ClassMatch) Empty() bool {
	return len(m.Flows)+len(m.Groups)+len(m.Src)+len(m.Dst)+len(m.Hosts)+len(m.Jobs) == 0
}

// Buffer is the memory of a switch.
type Buffer struct {
	Shared   units.Size `yaml:"shared" is:"queue or none" default:"none" doc:"memory that the ports of a switch share: a queue may have 'alpha' times what is free (dynamic threshold), besides what is reserved for it. A queue whose size is given has that limit too. none: each queue has its own limit"`
	Alpha    float64    `yaml:"alpha" default:"1" doc:"of dynamic thresholds, above 0 and up to 64"`
	Reserved units.Size `yaml:"reserved" is:"threshold or auto" default:"auto" doc:"of each queue of a lossy class, and of each ingress port of a lossless one, besides 'shared'; auto: one packet"`
}

// PFC is priority flow control, of lossless classes.
type PFC struct {
	XOff     units.Size `yaml:"xoff" is:"threshold or auto" default:"auto" doc:"of priority flow control: with so many bytes of a lossless class that came in at a port and are still in the switch, the port pauses its peer. auto: 1 BDP; not used with 'links.buffer.shared', whose threshold it is then"`
	XOn      units.Size `yaml:"xon" is:"threshold or auto" default:"auto" doc:"with so many the peer may go on; with shared memory, as far below its threshold. auto: two packets below 'xoff'"`
	Headroom units.Size `yaml:"headroom" is:"threshold or auto" default:"auto" doc:"for what comes in beyond 'xoff' until the peer has stopped. auto: from delay, rate and MTU of the link: 'csiglab validate' says how much"`
	// Deadlock is for how long a paused class must have been unable to send to be looked at
	// as part of a deadlock.
	Deadlock units.Duration `yaml:"deadlock" is:"1us to 1s" default:"1ms" doc:"after which a class that was paused all the time is looked at as part of a deadlock, see [classes](../how-to/fabrics.md#classes)"`
}

// Lossless reports whether a class is.
func (e *Experiment) Lossless() bool {
	return slices.ContainsFunc(e.Classes, func(c Class) bool { return c.Lossless })
}

// classes checks the data classes.
func (d *decoder) classes(e *Experiment, hosts int) {
	if len(e.Classes) > class.Max {
		d.failAt("classes", fmt.Sprintf("%d classes; want at most %d", len(e.Classes), class.Max), "")
		return
	}
	names, dscps := map[string]int{}, map[int]int{}
	weighted, listed := false, false
	for i := range e.Classes {
		c := &e.Classes[i]
		path := fmt.Sprintf("classes[%d]", i)
		if !d.sound(path) {
			return
		}
		if other, ok := names[c.Name]; ok {
			d.failAt(path+".name", fmt.Sprintf("%q is the name of classes[%d] too", c.Name, other), "")
		}
		names[c.Name] = i
		if c.Name == DefaultClass {
			listed = true
			d.defaultClass(c, path)
		} else {
			d.ownClass(c, path)
		}
		dscp := c.Codepoint()
		if other, ok := dscps[dscp]; ok {
			d.failAt(path+".dscp", fmt.Sprintf("%d is the DSCP of classes[%d] too", dscp, other), "")
		}
		dscps[dscp] = i
		if c.Strict && c.Weight != 1 {
			d.failAt(path+".weight", "excludes strict; a strict class goes before all with a weight", "")
		}
		weighted = weighted || !c.Strict
		if c.Queue != 0 && c.Queue < e.Links.MTU && d.sound("links.mtu") {
			d.failAt(path+".queue", fmt.Sprintf("%v does not hold one packet of %v", c.Queue, e.Links.MTU), "")
		}
		if c.Lossless && c.Queue != 0 {
			d.failAt(path+".queue", "a lossless class has no limit of its queue; links.pfc.xoff says from when on it pauses its sources", "")
		}
		d.classMatch(e, c.Match, path+".match", hosts)
	}
	if i, ok := dscps[wire.DSCPTrimmable]; ok && !listed {
		d.failAt(fmt.Sprintf("classes[%d].dscp", i), fmt.Sprintf("%d is the DSCP of the class %s", wire.DSCPTrimmable, DefaultClass), "")
	}
	if e.Lossless() && (e.Applications != nil || len(e.Generators) > 0) && d.sound("applications", "generators") {
		d.failAt("classes", "a lossless class needs hosts with the transport alone: programs and generators do not obey pause frames", "")
	}
}

// Codepoint returns the DSCP of a class.
func (c *Class) Codepoint() int {
	if c.Name == DefaultClass && c.DSCP == 0 {
		return wire.DSCPTrimmable
	}
	return c.DSCP
}

func (d *decoder) defaultClass(c *Class, path string) {
	if c.DSCP != 0 && c.DSCP != wire.DSCPTrimmable {
		d.failAt(path+".dscp", fmt.Sprintf("the class %s has DSCP %d", DefaultClass, wire.DSCPTrimmable), "")
	}
	if c.Match != nil {
		d.failAt(path+".match", fmt.Sprintf("the class %s has what no other class matches", DefaultClass), "")
	}
}

func (d *decoder) ownClass(c *Class, path string) {
	if c.DSCP == 0 {
		d.failAt(path+".dscp", fmt.Sprintf("only the class %s may leave it out; want 1 to 63", DefaultClass), "")
	} else if wire.ControlDSCP(uint8(c.DSCP)) {
		d.failAt(path+".dscp", fmt.Sprintf("%d is a DSCP of control packets, with %d and %d; take another", c.DSCP, wire.DSCPControl, wire.DSCPTrimmed), "")
	}
}

// classMatch checks which transfers are of a class. Whether flows of the given names exist
// shows when the plan is made.
func (d *decoder) classMatch(e *Experiment, m *ClassMatch, path string, hosts int) {
	if m == nil {
		return
	}
	if m.Empty() {
		d.failAt(path, "the lists are empty; want flows, groups, src, dst, hosts or jobs", "")
	}
	for k, name := range m.Groups {
		if _, ok := e.Measure.Groups[name]; !ok && d.sound("measure") {
			d.failAt(fmt.Sprintf("%s.groups[%d]", path, k), fmt.Sprintf("no group %q in measure.groups", name), "")
		}
	}
	d.matchedHosts(path, m.Src, m.Dst, m.Hosts, hosts)
}

// buffers checks the memory of switches and priority flow control.
func (d *decoder) buffers(e *Experiment) {
	l := &e.Links
	if !d.sound("links") {
		return
	}
	if b := l.Buffer; b.Alpha <= 0 || b.Alpha > maxAlpha {
		d.failAt("links.buffer.alpha", fmt.Sprintf("%v is no share of free memory; want more than 0 and at most %d", b.Alpha, maxAlpha), "")
	} else if b.Shared == 0 && (b.Reserved != 0 || b.Alpha != 1) {
		d.failAt("links.buffer", "reserved and alpha need shared, the memory of a switch, such as 16MB", "")
	} else if b.Shared != 0 && b.Shared < l.MTU {
		d.failAt("links.buffer.shared", fmt.Sprintf("%v does not hold one packet of %v", b.Shared, l.MTU), "")
	}
	if p := l.PFC; p.XOff != 0 && p.XOn != 0 && p.XOn > p.XOff {
		d.failAt("links.pfc.xon", fmt.Sprintf("%v lies above links.pfc.xoff, %v", p.XOn, p.XOff), "")
	}
	if l.LastHopTrim < 1 {
		d.failAt("links.last_hop_trim", fmt.Sprintf("%v; want 1 or more times the threshold of other ports, such as 1.5", l.LastHopTrim), "")
	}
	if l.TrimThreshold != 0 && l.TrimThreshold < l.MTU {
		d.failAt("links.trim_threshold", fmt.Sprintf("%v does not hold one packet of %v", l.TrimThreshold, l.MTU), "")
	}
}

// maxAlpha is the largest factor of a dynamic threshold that switches offer.
const maxAlpha = 64
