package congestion_test

import (
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/algorithm/algorithmtest"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/congestion/congestiontest"
	"github.com/csiglab/csiglab/units"
)

// limits has the largest window of each algorithm of the table.
var limits = map[string]congestiontest.Limit{
	// 1.5 BDP of the network RTT, since base RTT only falls (docs/reference/references.md#window-limits).
	"nscc": func(p congestion.Path) units.Size { return 3 * p.LinkRate.Volume(p.NetworkRTT) / 2 },
	// The default window, which its suite does not change.
	"constant": func(p congestion.Path) units.Size { return p.LinkRate.Volume(p.NetworkRTT) },
	"dctcp":    func(p congestion.Path) units.Size { return 3 * p.LinkRate.Volume(p.NetworkRTT) },
	// Limited by credit.
	"rccc": func(p congestion.Path) units.Size { return 100 * p.LinkRate.Volume(p.NetworkRTT) },
	// Limited by its rate: 100 BDP are never in flight.
	"dcqcn":     func(p congestion.Path) units.Size { return 100 * p.LinkRate.Volume(p.NetworkRTT) },
	"poseidon":  func(p congestion.Path) units.Size { return 2 * p.LinkRate.Volume(p.NetworkRTT) },
	"csig-hpcc": func(p congestion.Path) units.Size { return p.LinkRate.Volume(p.NetworkRTT) },
	// The largest of what it wraps.
	"mltcp":      func(p congestion.Path) units.Size { return 100 * p.LinkRate.Volume(p.NetworkRTT) },
	"csig-share": func(p congestion.Path) units.Size { return 100 * p.LinkRate.Volume(p.NetworkRTT) },
	"swift":      func(p congestion.Path) units.Size { return 2 * p.LinkRate.Volume(p.NetworkRTT) },
}

func TestSuite(t *testing.T) {
	checkout.SkipSlowRace(t)
	congestiontest.RunTable(t, congestion.Table, limits, "nodes/host/congestion/suite_test.go")
}

func TestTable(t *testing.T) { algorithmtest.Table(t, congestion.Table) }

// A controller starts at its largest window and shrinks it when a packet is
// trimmed.
func ExampleAlgorithm_New() {
	nscc, ok := congestion.Table.Lookup("nscc")
	if !ok {
		fmt.Println("no such algorithm")
		return
	}
	path := congestion.Path{
		LinkRate:   100 * units.Gbps,
		NetworkRTT: 14_022_720 * units.Picosecond,
		MTU:        4150,
		Header:     64,
		Trim:       true,
	}
	controller, err := nscc.New(path, algorithm.Values{"csig": "max-delay"})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := controller.Output()
	fmt.Println(out.Window, out.Wants)
	controller.OnNack(0, &congestion.Nack{Size: 4150, Inflight: 41500})
	fmt.Println(out.Window)
	for _, c := range nscc.ConstantsOf(path, nil) {
		fmt.Println(c.Name, c.Value)
	}
	_, err = nscc.New(path, algorithm.Values{"gama": "0.5"})
	fmt.Println(err)
	// Output:
	// 262.926kB delay:1
	// 258.776kB
	// target_qdelay_us 10.51704
	// nscc has no parameter "gama"
}
