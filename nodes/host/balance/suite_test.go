package balance_test

import (
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/algorithm/algorithmtest"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/balance/balancetest"
)

func TestSuite(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, a := range balance.Table {
		t.Run(a.Name, func(t *testing.T) { balancetest.Run(t, a) })
	}
}

func TestTable(t *testing.T) { algorithmtest.Table(t, balance.Table) }

// Packets of a flow that nothing has come back for take one path or several, as the entry says.
func TestOnePath(t *testing.T) {
	for _, a := range balance.Table {
		b, err := a.New(balancetest.Flow(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		evs := map[uint16]bool{}
		for range 100 {
			evs[b.Next(0)] = true
		}
		if (len(evs) == 1) != a.OnePath {
			t.Errorf("%s: %d EVs; one path: %v", a.Name, len(evs), a.OnePath)
		}
	}
}

// A flow over four paths: one turns out congested and is passed over, another
// comes back clean and is taken again.
func ExampleAlgorithm_New() {
	mixed, ok := balance.Table.Lookup("mixed")
	if !ok {
		fmt.Println("no such algorithm")
		return
	}
	b, err := mixed.New(balancetest.Flow(1), algorithm.Values{"paths": "4"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var sent []uint16
	for range 4 {
		sent = append(sent, b.Next(0))
	}
	b.OnFeedback(0, &balance.Feedback{EV: sent[0], Outcome: balance.Trimmed})
	b.OnFeedback(0, &balance.Feedback{EV: sent[1], Outcome: balance.Good})
	fmt.Println(b.Next(0) == sent[1])
	for range 3 {
		fmt.Println(b.Next(0) == sent[0])
	}
	_, err = mixed.New(balancetest.Flow(1), algorithm.Values{"paths": "5"})
	fmt.Println(err)
	// Output:
	// true
	// false
	// false
	// false
	// mixed: parameter paths: 5 is not a power of two from 1 to 4096
}
