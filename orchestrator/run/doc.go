// Package run has no code of its own. In its folders one changes how variants and seeds become a
// run folder (campaign), what makes a run invalid (check), which metrics there are (measure), how
// packets become captures (packets), what a run is expected to cost (predict), and how much slower
// than the model real time goes (dilation).
package run
