// Package balance holds the load balancers of the host's transport, one file
// each, and the table that names them. A balancer chooses the entropy value (EV)
// of each packet, which the switches' ECMP turns into a path, and learns from
// what comes back. The transport drives it.
package balance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/units"
)

// Balancer chooses entropy values for one flow. It belongs to one goroutine.
type Balancer interface {
	// Next returns the EV of the next packet, below wire.EntropyRange.
	Next(now units.Time) uint16
	// OnFeedback tells what became of a packet.
	OnFeedback(now units.Time, f Feedback)
}

// Outcome is what became of a packet.
type Outcome uint8

// Outcomes.
const (
	Good    Outcome = iota // acknowledged, not marked
	Marked                 // acknowledged, marked CE
	Trimmed                // refused by a NACK
	Lost                   // timed out
)

// Feedback is the outcome of a packet that was sent with an EV.
type Feedback struct {
	EV      uint16
	Outcome Outcome
}

// Config is what a balancer is built from.
type Config struct {
	Paths  int // number of EVs, a power of two from 1 to 4096
	Random *rand.Rand
}

// DefaultPaths is the number of EVs of the reference simulator.
const DefaultPaths = 64

// MaxPaths is the largest number of EVs.
const MaxPaths = 4096

// Algorithm is an entry of the table. All take the parameter paths.
type Algorithm struct {
	Name string
	Doc  string
	New  func(Config) Balancer
}

// Table is every algorithm, by name.
var Table = []Algorithm{
	{"single", "one EV for the whole flow", newSingle},
	{"oblivious", "every EV in turn, whatever comes back", newOblivious},
	{"mixed", "EVs that came back clean first, else the walk that skips penalised ones (the reference's default)", newMixed},
}

// Lookup returns the algorithm of the given name.
func Lookup(name string) (Algorithm, bool) {
	for _, a := range Table {
		if a.Name == name {
			return a, true
		}
	}
	return Algorithm{}, false
}

// Parse reads the parameters that every algorithm takes: paths, the number of
// EVs, a power of two.
func Parse(params map[string]string) (Config, error) {
	cfg := Config{Paths: DefaultPaths}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		text := params[name]
		if name != "paths" {
			return cfg, fmt.Errorf("unknown parameter %q", name)
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > MaxPaths || n&(n-1) != 0 {
			return cfg, fmt.Errorf("parameter paths: %q is not a power of two from 1 to %d", text, MaxPaths)
		}
		cfg.Paths = n
	}
	return cfg, nil
}
