package meaning

import "testing"

func TestOf(t *testing.T) {
	for metric, want := range map[string]Meaning{
		"fct_us.p99":               {Unit: "µs", Better: Lower},
		"fct_us.0-1":               {Unit: "µs", Better: Lower},
		"goodput_gbps.h0-h3 app#2": {Unit: "Gb/s", Better: Higher},
		"jain.all":                 {Better: Higher, Share: true},
		"flows.incomplete":         {Unit: "flows", Better: Lower},
		"packets.new":              {Unit: "packets"},
		"packets.retransmitted":    {Unit: "packets", Better: Lower},
		"programs.arp_answered":    {Unit: "packets"},
		"tags.updated":             {Unit: "tags"},
		"drops":                    {Unit: "packets", Better: Lower},
		"class_bytes.bulk":         {Unit: "B"},
		"pauses.storage.tor0-agg0": {Unit: "frames", Better: Lower},
		"cpu_seconds":              {Unit: "s", Better: Lower, Machine: true},
		// Derived metrics have the unit that their names say, and no direction.
		"worst_fct_us":   {Unit: "µs"},
		"lost_packets":   {Unit: "packets"},
		"fairness_ratio": {},
		"":               {},
	} {
		if got := Of(metric); got != want {
			t.Errorf("%q: %+v, want %+v", metric, got, want)
		}
	}
	for metric, want := range map[string]bool{"packets.new": true, "packets.lost": false, "packets": false, "jain.train": true, "fct": false, "lost_packets": false} {
		if _, got := Known(metric); got != want {
			t.Errorf("%q is known: %v, want %v", metric, got, want)
		}
	}
}
