package experiment

import (
	"slices"

	"github.com/csiglab/csiglab/internal/spelling"
)

// Fidelity is how messages cross the fabric.
type Fidelity uint8

// Fidelities.
const (
	Packets Fidelity = iota // each packet of them
	Flow                    // as a fluid
)

var fidelities = []string{Packets: "packets", Flow: "flow"}

// Names returns the names of all fidelities.
func (Fidelity) Names() []string { return slices.Clone(fidelities) }

// String returns the name.
func (f Fidelity) String() string { return fidelities[f] }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Fidelity) UnmarshalText(text []byte) error {
	return spelling.Enum(f, "fidelity", text, fidelities)
}

// NoPackets is why a run of fidelity Flow lacks a metric.
const NoPackets = "its fidelity is flow, which has no packets"
