//go:build !race

package checkout

// RaceDetector reports that the tests run under the race detector, which makes them many
// times slower.
const RaceDetector = false
