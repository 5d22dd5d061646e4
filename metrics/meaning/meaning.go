// Package meaning says of each metric of a run, by its name, in which unit it is and in
// which direction it improves.
package meaning

// Better is the direction in which a metric improves.
type Better int

// Directions. Many counts are neither good nor bad.
const (
	Neutral Better = iota
	Lower
	Higher
)

// Meaning of a metric.
type Meaning struct {
	Unit   string // for people, such as µs, Gb/s, packets; empty: a bare number
	Better Better
	Share  bool // between 0 and 1
}
