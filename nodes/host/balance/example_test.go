package balance_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/csiglab/csiglab/nodes/host/balance"
)

// A flow over four paths: one turns out congested and is passed over, another
// comes back clean and is taken again.
func ExampleParse() {
	algorithm, ok := balance.Lookup("mixed")
	if !ok {
		fmt.Println("no such algorithm")
		return
	}
	cfg, err := balance.Parse(map[string]string{"paths": "4"})
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg.Random = rand.New(rand.NewPCG(1, 2))
	b := algorithm.New(cfg)
	var sent []uint16
	for range 4 {
		sent = append(sent, b.Next(0))
	}
	b.OnFeedback(0, balance.Feedback{EV: sent[0], Outcome: balance.Trimmed})
	b.OnFeedback(0, balance.Feedback{EV: sent[1], Outcome: balance.Good})
	fmt.Println(b.Next(0) == sent[1])
	for range 3 {
		fmt.Println(b.Next(0) == sent[0])
	}
	_, err = balance.Parse(map[string]string{"paths": "5"})
	fmt.Println(err)
	// Output:
	// true
	// false
	// false
	// false
	// parameter paths: "5" is not a power of two from 1 to 4096
}
