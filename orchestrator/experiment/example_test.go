package experiment_test

import (
	"fmt"

	"github.com/csiglab/csiglab/orchestrator/experiment"
)

func ExampleLoad() {
	tag, err := experiment.ParseSet("--set", "variants.csig.csig.decode=lower")
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := experiment.Load("three-flow", experiment.Options{
		Override: []experiment.Override{tag}, Seeds: 2, Tables: experiment.StandardTables(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range set.Variants {
		fmt.Println(v.Name, v.Experiment.CSIG.Format, v.Experiment.CSIG.Decode, v.Experiment.Seeds)
	}
	// Output:
	// baseline none auto [1 2]
	// csig compact lower [1 2]
	// csig-wide wide auto [1 2]
}
