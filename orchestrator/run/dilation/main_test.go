package dilation

import (
	"os"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/backend/netns"
)

// TestMain lets the test binary be the supervisor of the nodes of a calibration.
func TestMain(m *testing.M) {
	netns.Supervise()
	os.Exit(m.Run())
}
