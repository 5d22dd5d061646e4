package measure

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/host/congestion"
)

// The table of laws names congestion controls that exist, and of each one whose rates follow
// the network it says how flows share a link.
func TestLawsOfCongestionControls(t *testing.T) {
	for name := range laws {
		if _, ok := congestion.Table.Lookup(name); !ok {
			t.Errorf("a law for the unknown congestion control %s", name)
		}
	}
	// A constant rate shares nothing; rccc gets what receivers grant.
	without := map[string]bool{"constant": true, "rccc": true}
	for _, a := range congestion.Table {
		if (laws[a.Name] == nil) != without[a.Name] {
			t.Errorf("%s has a law: %v, want %v", a.Name, laws[a.Name] != nil, !without[a.Name])
		}
	}
}
