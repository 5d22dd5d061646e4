package congestion

import "github.com/csiglab/csiglab/nodes/algorithm"

// Share is what a flow of an algorithm gets of a link that it shares with others, as a fluid: a
// part of its capacity in proportion to
//
//	Weight * (Low + (1-Low)*free) * (Intercept + Slope*sent)
//
// where sent is how much of the phase's bytes is, and free the share of the link that was free
// when the phase began.
type Share struct {
	Weight           float64 // 0: 1
	Intercept, Slope float64
	Low              float64 // 0: 1
	// By says what Weight is, if flows may differ in it, and Own names the parameters that
	// it follows from.
	By  string
	Own []string
	// Words say it in short.
	Words string
	// Unknown is why the share is not known with these parameters; empty if it is.
	Unknown string
}

// equalShares is Algorithm.Share of an algorithm whose flows get the same.
func equalShares(*algorithm.Reader) Share { return Share{Intercept: 1, Words: "fair"} }

// ShareOf returns the share with parameters that New takes. ok is false if the algorithm
// states none.
func (a Algorithm) ShareOf(params algorithm.Values) (s Share, ok bool) {
	if a.Share == nil {
		return s, false
	}
	s = a.Share(a.Read(params))
	if s.Weight == 0 {
		s.Weight = 1
	}
	return s, true
}
