package chakra_test

import (
	"fmt"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/chakra"
	"github.com/csiglab/csiglab/workloads/graph"
)

// A trace is read, and played over links of 100 Gb/s without congestion.
func ExampleOpen() {
	source, loss, err := chakra.Open("../../orchestrator/experiment/library/chakra-ring", chakra.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	timeline, err := graph.Ideal(source, 0, graph.Link{Rate: 100 * units.Gbps, Latency: units.Microsecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(source.Ranks(), "ranks,", timeline.Bytes, "in", timeline.Messages, "messages,", timeline.End, "nothing lost:", loss.Empty())
	// Output: 8 ranks, 29.360128MB in 224 messages, 521.60128us nothing lost: true
}
