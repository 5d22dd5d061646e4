package experiment

import (
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
)

// Fidelity is how messages cross the fabric.
type Fidelity uint8

// Fidelities.
const (
	Packets Fidelity = iota // each packet of them
	Flow                    // as a fluid
	Hybrid                  // some of them as packets, see PacketChoice, the others as a fluid
)

var fidelities = []string{Packets: "packets", Flow: "flow", Hybrid: "hybrid"}

// Names returns the names of all fidelities.
func (Fidelity) Names() []string { return slices.Clone(fidelities) }

// String returns the name.
func (f Fidelity) String() string { return fidelities[f] }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Fidelity) UnmarshalText(text []byte) error {
	return spelling.Enum(f, "fidelity", text, fidelities)
}

// PacketChoice is which messages are packets under fidelity Hybrid: those for which all that is
// given holds.
type PacketChoice struct {
	Nodes  []string       `yaml:"nodes" is:"nodes pattern" doc:"of flows that begin or end at these hosts, or at hosts on these switches: names or patterns with '*', such as '[tor0]' for a rack; without: of all flows"`
	Steps  []int          `yaml:"steps" is:"model size" doc:"of these steps of jobs, from 1; without: of all"`
	Phases []string       `yaml:"phases" doc:"of these phases of jobs, such as 'forward', which tables name; without: of all"`
	From   units.Duration `yaml:"from" is:"time" default:"0s" doc:"that begin then or later"`
	To     units.Duration `yaml:"to" is:"time" default:"0s" doc:"that begin before then; 0s: whenever"`
}

// None reports whether nothing is given.
func (c *PacketChoice) None() bool {
	return len(c.Nodes)+len(c.Steps)+len(c.Phases) == 0 && c.From == 0 && c.To == 0
}

// NoPackets is why a run of fidelity Flow lacks a metric.
const NoPackets = "its fidelity is flow, which has no packets"
