package shape

import (
	"testing"

	"github.com/csiglab/csiglab/units"
)

// A shaper lets through 1.1 times the link's rate in wall time, and more by as much
// as frames are longer than what they stand for.
func TestWireRate(t *testing.T) {
	for _, c := range []struct {
		link Limit
		want units.Rate
	}{
		{Limit{Rate: 100 * units.Gbps, Dilation: 1000, Frame: 4000, Packet: 4000}, 110 * units.Mbps},
		{Limit{Rate: 100 * units.Gbps, Dilation: 1000, Frame: 4400, Packet: 4000}, 121 * units.Mbps},
		{Limit{Rate: 100 * units.Gbps, Dilation: 1000, Frame: 3000, Packet: 4000}, 110 * units.Mbps},
		{Limit{Rate: units.Gbps, Dilation: 3e9, Frame: 1, Packet: 1}, 1},
	} {
		if got := c.link.wireRate(); got < c.want || got > c.want+1 { // it is rounded up
			t.Errorf("wire rate of %+v is %v, want %v", c.link, got, c.want)
		}
	}
}
