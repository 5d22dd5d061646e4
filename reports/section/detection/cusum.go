package detection

import (
	"math"
	"slices"
)

// Parameters of the detector of slow links by tags. It knows no rate and no threshold of a
// signal: only ranks among peers.
const (
	// window is how long samples are collected, in microseconds of model time.
	window = 100
	// leastSamples is how many samples a port needs in a window, and leastPeers how many such
	// ports a window needs.
	leastSamples, leastPeers = 5, 8
	// drift is taken off each score, whose mean is 1 where all ports are alike: a port must be
	// among the worst seventh for long.
	drift = 2
	// alarm is the sum at which a port is named. If windows were independent, a port that is like
	// its peers would come there once in 8 million windows: a sum of scores less 2 grows to x with
	// a chance of exp(-0.797 x), as 0.797 solves exp(-2 θ) = 1 - θ (Page's test; Lorden 1971).
	alarm = 20
)

// scores is Page's test on ranks: for each port the sum of how far it stands up among its
// peers, window after window, and never below 0.
type scores[Port comparable] map[Port]float64

// mean is what samples of a window say of a port; more is worse.
type mean struct {
	samples int64
	sum     float64
}

// add takes a window and returns the ports whose sums reach alarm in it; these begin anew.
func (s scores[Port]) add(ports map[Port]*mean) (named []Port) {
	var peers []float64
	for _, m := range ports {
		if m.samples >= leastSamples {
			peers = append(peers, m.sum/float64(m.samples))
		}
	}
	if len(peers) < leastPeers {
		return nil
	}
	slices.Sort(peers)
	for port, m := range ports {
		if m.samples < leastSamples {
			continue
		}
		of := m.sum / float64(m.samples)
		low, _ := slices.BinarySearch(peers, of)
		high, _ := slices.BinarySearchFunc(peers, of, func(peer, of float64) int {
			if peer <= of {
				return -1
			}
			return 1
		})
		rank := float64(low+high) / 2 / float64(len(peers)) // the middle of those that are equal
		s[port] = max(0, s[port]-math.Log(1-rank)-drift)
		if s[port] >= alarm {
			named = append(named, port)
			s[port] = 0
		}
	}
	return named
}
