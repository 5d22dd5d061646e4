package aqm_test

import (
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/algorithm/algorithmtest"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/aqm/aqmtest"
)

func TestSuite(t *testing.T) {
	for _, a := range aqm.Table {
		t.Run(a.Name, func(t *testing.T) { aqmtest.Run(t, a) })
	}
}

func TestTable(t *testing.T) { algorithmtest.Table(t, aqm.Table) }

// A port marks the packets that leave a long queue behind.
func ExampleAlgorithm_New() {
	linear, ok := aqm.Table.Lookup("linear")
	if !ok {
		fmt.Println("no such algorithm")
		return
	}
	port := aqm.Port{ECN: aqm.Thresholds{Low: 37350, High: 145250}, Random: aqmtest.Random(1)}
	policy, err := linear.New(port, algorithm.Values{"high": "140kB"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(policy.Mark(0, aqm.Departure{Queue: 30000}), policy.Mark(0, aqm.Departure{Queue: 142000}))
	_, err = linear.New(port, algorithm.Values{"high": "10kB"})
	fmt.Println(err)
	// Output:
	// false true
	// linear: parameter low: 37.35kB is not from 0B to high, 10kB
}
