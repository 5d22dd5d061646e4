package experiment

import (
	"fmt"
	"math"
	"strconv"
)

// Seed is the seed of what is random in a workload: runSeed, or a whole number, with which
// the traffic is the same under all seeds of the run. The zero value is runSeed.
type Seed string

// runSeed is the seed of the run.
const runSeed Seed = "run"

// ofRun reports whether the seed is that of the run.
func (s Seed) ofRun() bool { return s == runSeed || s == "" }

// number returns the seed, which has been checked, in a run with a seed.
func (s Seed) number(run uint64) uint64 {
	if s.ofRun() {
		return run
	}
	n, _ := strconv.ParseUint(string(s), 10, 64) // checkSeed
	return n
}

// checkSeed refuses a text that is no Seed.
func checkSeed(text string) error {
	if _, err := strconv.ParseUint(text, 10, 64); err != nil && text != string(runSeed) {
		return fmt.Errorf("%q is neither run nor a whole number from 0 to %d", text, uint64(math.MaxUint64))
	}
	return nil
}
