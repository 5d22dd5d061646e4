package csig_test

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// A delay tag crosses three switches; the second one has the longest queue.
func ExampleNewDomain() {
	domain, err := csig.NewDomain(csig.Config{
		Format:     csig.FormatCompact,
		MaxRate:    100 * units.Gbps,
		Quantisers: [csig.Types]csig.Quantiser{csig.Delay: {Name: "delay-lin-500ns"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ports, err := domain.Locators().Assign([]csig.Place{
		{Tier: csig.TierToR, Dir: csig.Up, Port: 1},
		{Tier: csig.TierAgg, Dir: csig.Down, Port: 2},
		{Tier: csig.TierToR, Dir: csig.Down, Port: 3},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	tag := make([]byte, domain.Format().Size())
	domain.Init(tag, csig.Delay)
	for hop, delay := range []uint64{332, 10_521, 664} {
		fmt.Println(domain.Update(tag, delay, ports.Locators[hop]))
	}
	sample, _ := domain.Decode(tag)
	fmt.Println(sample.Point, ports.Ports(sample.Locator)[0])
	// Output:
	// kept
	// updated
	// kept
	// 10750 agg switch 0 port 2 (down)
}

// A registry names ports by any label.
func ExampleScheme_Assign() {
	uplink := csig.Place{Tier: csig.TierToR, Dir: csig.Up, Switch: 3, Port: 16, Rate: 800 * units.Gbps}
	domain, err := csig.NewDomain(csig.Config{
		Format:   csig.FormatWide,
		Locators: csig.LocatorConfig{Kind: csig.Registry, Labels: []csig.Label{{Locator: 700, Place: uplink}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	directory, err := domain.Locators().Assign([]csig.Place{uplink})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(directory.Locators[0], directory.Ports(700))
	// Output: 700 [tor switch 3 port 16 (up)]
}
