package application_test

import (
	"fmt"
	"os"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/units"
)

// A program on host 0, in a namespace that a backend has made. It is not run here:
// it takes privileges.
func ExampleNewSet() {
	namespace, err := os.Open("/proc/self/ns/net")
	if err != nil {
		fmt.Println(err)
		return
	}
	starter, err := application.NewLocal(map[int]*os.File{0: namespace}, application.Names{0: "h0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	programs := []application.Program{{Host: 0, Name: "h0", Args: []string{"ip", "address"}, Output: "h0-0.txt"}}
	set := application.NewSet(programs, wall.Clock{Dilation: 1}, units.Never, starter)
	set.Begin(wall.Monotonic())
	<-set.Done()
	fmt.Println(set.Ended()[0])
}
