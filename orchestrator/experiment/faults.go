package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/units"
)

// Fault is a fault that is scheduled: from At on, for For or until Until. Which keys it
// has depends on its kind, see faultKinds.
type Fault struct {
	Name      string `yaml:"name" is:"group" doc:"in results; without: the kind and its place in the list, such as 'down-0'"`
	Kind      string `yaml:"kind,required" is:"fault" doc:"what fails, see [Kinds](../how-to/faults.md#kinds)"`
	Links     string `yaml:"links" is:"links pattern" doc:"of kinds 'down', 'rate', 'loss' and 'corruption': name of a link, such as 'tor0-agg0', or a pattern with '*', such as 'agg*-core*'. A pattern that begins with '*' stands in quotes"`
	Random    int    `yaml:"random" is:"model size or all" default:"all" doc:"how many of these, drawn by seed. Variants with the same seed draw the same"`
	Direction string `yaml:"direction" is:"fault direction" default:"both" doc:"of kinds 'rate', 'loss' and 'corruption': 'up' is away from the node that the link's name begins with, the one nearer to the hosts; 'down' is towards it; 'both'"`
	Switches  string `yaml:"switches" is:"switches pattern" doc:"of kind 'restart': name of a switch or a pattern"`
	Hosts     string `yaml:"hosts" is:"hosts pattern" doc:"of kind 'slow_nic': name of a host, such as 'h3', or a pattern"`

	At      units.Duration `yaml:"at" is:"time" default:"0s" doc:"when it begins; with 0s the fabric is so from the beginning"`
	For     units.Duration `yaml:"for" is:"span or auto" default:"auto" doc:"how long it lasts; auto: as 'until' says, and without 'until' to the end of the run"`
	Until   units.Duration `yaml:"until" is:"span or auto" default:"auto" doc:"in place of 'for': when it ends"`
	Reroute units.Duration `yaml:"reroute_delay" is:"time or never as -1" default:"never" doc:"of kinds 'down' and 'restart': how long after the beginning and the end the switches get routes without and with the links; never: routing does not learn of the fault"`

	Rate  units.Rate `yaml:"rate" is:"rate or auto" default:"auto" doc:"of kinds 'rate' and 'slow_nic': what is left; auto: by 'share'"`
	Share float64    `yaml:"share" default:"0" doc:"in place of 'rate': share of the rate that is left, '0.25' for 25 %. Of kinds 'loss' and 'corruption': share of the packets"`

	Buffers string  `yaml:"buffers" is:"fault buffers" default:"scaled" doc:"of kind 'rate': 'scaled': in the directions that are slow, ports have the queues, the thresholds of ECN, trimming and flow control and the AQM parameters of a link of the rate that is left; 'kept': those of the intact link"`
	Burst   float64 `yaml:"burst" default:"0" doc:"of kinds 'loss' and 'corruption': mean number of packets in a row that are dropped, by a Gilbert-Elliott model; 0: each packet by itself"`
}

// NoReroute is the Fault.Reroute of a fault that routing never learns of.
const NoReroute units.Duration = -1

// Kinds of fault.
const (
	LinkDown      = "down"
	LinkRate      = "rate"
	Loss          = "loss"
	Corruption    = "corruption"
	SwitchRestart = "restart"
	SlowNIC       = "slow_nic"
)

// FaultDirections are the values of Fault.Direction. Up is away from the end of the link
// that is named first.
var FaultDirections = []string{"both", "up", "down"}

// Values of Fault.Buffers. Scaled: the ports have the queues and the thresholds of a link of
// the rate that is left; kept: those of the intact link.
const (
	BuffersScaled = "scaled"
	BuffersKept   = "kept"
)

// FaultBuffers are the values of Fault.Buffers.
var FaultBuffers = []string{BuffersScaled, BuffersKept}

// faultKind is which keys a fault of a kind has besides kind, name, at, for and until.
type faultKind struct {
	name  string
	place string   // the key that says where, which is required
	needs []string // keys of which exactly one is required
	may   []string
}

// faultKinds is the table of the kinds of fault.
var faultKinds = []faultKind{
	{name: LinkDown, place: "links", may: []string{"random", "reroute_delay"}},
	{name: LinkRate, place: "links", needs: []string{"rate", "share"}, may: []string{"random", "direction", "buffers"}},
	{name: Loss, place: "links", needs: []string{"share"}, may: []string{"random", "direction", "burst"}},
	{name: Corruption, place: "links", needs: []string{"share"}, may: []string{"random", "direction", "burst"}},
	{name: SwitchRestart, place: "switches", may: []string{"random", "reroute_delay"}},
	{name: SlowNIC, place: "hosts", needs: []string{"rate", "share"}, may: []string{"random"}},
}

// FaultKinds returns the names of the kinds of fault.
func FaultKinds() []string {
	names := make([]string, len(faultKinds))
	for i, k := range faultKinds {
		names[i] = k.name
	}
	return names
}

// FaultName returns the name of a fault in results.
func (e *Experiment) FaultName(i int) string {
	if f := &e.Faults[i]; f.Name != "" {
		return f.Name
	}
	return fmt.Sprintf("%s-%d", e.Faults[i].Kind, i)
}

// End returns when the fault ends; 0: with the run.
func (f *Fault) End() units.Duration {
	if f.For != 0 {
		return f.At + f.For
	}
	return f.Until
}

// faultOptions are the keys that not every kind of fault has.
var faultOptions = []string{"links", "switches", "hosts", "random", "direction", "reroute_delay", "rate", "share", "burst", "buffers"}

// faults checks the faults against the rest. Whether links, switches and hosts of the
// given names exist shows when the plan is made.
func (d *decoder) faults(e *Experiment) {
	names := map[string]int{}
	for i := range e.Faults {
		f := &e.Faults[i]
		path := fmt.Sprintf("faults[%d]", i)
		if !d.sound(path) {
			continue
		}
		if other, ok := names[e.FaultName(i)]; ok {
			d.failAt(path+".name", fmt.Sprintf("faults[%d] has the name %q too", other, e.FaultName(i)), "")
		}
		names[e.FaultName(i)] = i
		k := faultKinds[slices.IndexFunc(faultKinds, func(k faultKind) bool { return k.name == f.Kind })]
		d.faultKeys(path, &k)
		if f.Burst != 0 && f.Burst < 1 {
			d.failAt(path+".burst", fmt.Sprintf("%v is too small; the least is 1 packet", f.Burst), "")
		}
		switch share := path + ".share"; {
		case !d.set(share):
		case f.Share <= 0 || f.Share > 1:
			d.failAt(share, fmt.Sprintf("%v is not a share; want more than 0 and at most 1, such as 0.25 for 25 %%", f.Share), "")
		case f.Burst >= 1 && f.Share >= float64(f.Burst/(1+f.Burst)):
			d.failAt(path+".burst", fmt.Sprintf("bursts of %v packets with one packet between them are less than a share of %v; want longer bursts", f.Burst, f.Share), "")
		}
		d.faultTimes(e, f, path)
	}
}

// set reports whether the file gives a value at a path, and not the word that stands for
// none.
func (d *decoder) set(path string) bool {
	t := d.node[path]
	unset := keyAt(path).rule.word
	if unset == "" {
		unset = "0"
	}
	return t != nil && (t.kind != scalar || t.text != unset)
}

// faultKeys checks which keys a fault has.
func (d *decoder) faultKeys(path string, k *faultKind) {
	if !d.set(path + "." + k.place) {
		d.failAt(path, fmt.Sprintf("kind %s needs the key %s", k.name, k.place), "")
	}
	given := 0
	for _, key := range k.needs {
		if d.set(path + "." + key) {
			given++
		}
	}
	if len(k.needs) > 0 && given != 1 {
		d.failAt(path, fmt.Sprintf("kind %s needs %s", k.name, strings.Join(k.needs, " or ")), "")
	}
	for _, key := range faultOptions {
		at := path + "." + key
		if key == k.place || slices.Contains(k.needs, key) || slices.Contains(k.may, key) || !d.set(at) || d.node[at].text == defaultOption(key) {
			continue
		}
		d.failAt(at, fmt.Sprintf("kind %s does not have it; its keys: %s", k.name,
			strings.Join(slices.Concat([]string{"name", "at", "for", "until", k.place}, k.needs, k.may), " ")), "")
	}
}

// defaultOption returns the default of an option of faults, as a resolved experiment has
// it.
func defaultOption(key string) string {
	switch key {
	case "direction":
		return FaultDirections[0]
	case "buffers":
		return BuffersScaled
	}
	return ""
}

// faultTimes checks when a fault begins and ends.
func (d *decoder) faultTimes(e *Experiment, f *Fault, path string) {
	switch {
	case f.For != 0 && f.Until != 0:
		d.failAt(path+".until", fmt.Sprintf("excludes %s.for; give one of them", path), "")
	case f.Until != 0 && f.Until <= f.At:
		d.failAt(path+".until", fmt.Sprintf("the fault ends at %v, not after it begins at %v", f.Until, f.At), "")
	case f.Kind == SwitchRestart && f.End() == 0:
		d.failAt(path, "kind restart needs for or until: how long the switch is away", "")
	}
	if e.End != 0 && f.At >= e.End && d.sound("end") {
		d.failAt(path+".at", fmt.Sprintf("begins at %v, not before the run's end %v", f.At, e.End), "")
	}
}
