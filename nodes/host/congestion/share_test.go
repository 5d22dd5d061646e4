package congestion_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/host/congestion"
)

// Each congestion control whose rates follow the network says how flows share a link.
func TestShares(t *testing.T) {
	// A constant rate shares nothing; rccc gets what receivers grant.
	without := map[string]bool{"constant": true, "rccc": true}
	for _, a := range congestion.Table {
		s, ok := a.ShareOf(nil)
		if ok == without[a.Name] {
			t.Errorf("%s says how flows share a link: %v, want %v", a.Name, ok, !without[a.Name])
		}
		if ok && s.Unknown == "" && (s.Words == "" || s.Weight <= 0 || s.Intercept <= 0 || s.Slope < 0 || s.Low < 0 || s.Low > 1) {
			t.Errorf("%s: %+v", a.Name, s)
		}
	}
}
