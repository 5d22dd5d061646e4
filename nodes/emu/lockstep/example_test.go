package lockstep_test

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// Two nodes a microsecond apart: the one with the earlier event may advance until
// the other's event, or the answer to its own, could reach it.
func ExampleNew() {
	links := []lockstep.Channel{
		{From: 0, To: 1, Lookahead: units.Microsecond, Capacity: 64},
		{From: 1, To: 0, Lookahead: units.Microsecond, Capacity: 64},
	}
	words := make([]int64, lockstep.Words(2, len(links)))
	board, err := lockstep.New(words, 2, links, units.Never)
	if err != nil {
		fmt.Println(err)
		return
	}
	board.Reset()
	at := func(d units.Duration) lockstep.Report { return lockstep.Report{Next: units.Time(d)} }
	_, verdict := board.Turn(0, at(5*units.Microsecond))
	fmt.Println("node 0 may go:", verdict == lockstep.Go)
	horizon, verdict := board.Turn(1, at(4*units.Microsecond))
	fmt.Println("node 1 may go:", verdict == lockstep.Go, "until", horizon)
	// Output:
	// node 0 may go: false
	// node 1 may go: true until 6us
}
