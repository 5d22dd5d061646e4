package worsthop

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/congestion/congestiontest"
)

// TestSuite runs csiglab's suite for congestion controllers.
func TestSuite(t *testing.T) {
	a, ok := congestion.Table.Lookup("worst-hop")
	if !ok {
		t.Fatal("worst-hop is not registered: ", congestion.Table.Names())
	}
	congestiontest.Run(t, a, nil)
}
