package dilation

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
	"github.com/csiglab/csiglab/units"
)

// The fluid bound counts the line overhead of each packet, and so does the bound of
// the packets of programs.
func TestPredictionsCountOverhead(t *testing.T) {
	const text = "schema: 1\nname: t\ntopology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}\nlinks: {overhead: 24B}\n"
	transfers := text + "workload: {transfers: [0 -> 13 2MB]}\n"
	// 490 packets carry 2 MB.
	if got, want := estimate.Of(backendtest.Compile(t, transfers), nil).ModelTime, (100 * units.Gbps).Serialisation(2*units.MB+490*24); got != want {
		t.Errorf("model time %v, want %v", got, want)
	}
	programs := text + "applications: {hosts: [0, 13]}\nruntime: netns\nclock: wall\n"
	with, without := programLoad(backendtest.Compile(t, programs)), programLoad(backendtest.Compile(t, strings.Replace(programs, "24B", "0B", 1)))
	// A full frame of a program takes 1518 B, on the line 1542.
	if ratio := with / without * 1542 / 1518; ratio < 0.999999 || ratio > 1.000001 {
		t.Errorf("programs cause %v frame-hops per second with overhead, %v without", with, without)
	}
}
