package netio_test

import (
	"fmt"
	"time"

	"github.com/csiglab/csiglab/nodes/netio"
)

func ExampleNewMixed() {
	outside, far := netio.NewMemory(1), netio.NewMemory(1)
	netio.Join(outside, 0, far, 0)
	a, b := netio.NewMixed(2, outside, []int{1}), netio.NewMemory(1)
	netio.Join(a.Memory, 0, b, 0)
	if err := a.Send([]netio.Message{{Port: 0, Header: []byte("in memory")}, {Port: 1, Header: []byte("outside")}}); err != nil {
		fmt.Println(err)
	}
	batch := make([]netio.Frame, 8)
	for _, c := range []netio.Conn{b, far} {
		n, err := c.Receive(batch, time.Second)
		fmt.Printf("%d frame, %v: %q\n", n, err, batch[0].Data)
	}
	// Output:
	// 1 frame, <nil>: "in memory"
	// 1 frame, <nil>: "outside"
}

func ExampleNewMemory() {
	a, b := netio.NewMemory(1), netio.NewMemory(2)
	netio.Join(a, 0, b, 1)
	if err := a.Send([]netio.Message{{Header: []byte("head "), Payload: []byte("and body")}}); err != nil {
		fmt.Println(err)
	}
	batch := make([]netio.Frame, 8)
	n, err := b.Receive(batch, time.Second)
	fmt.Printf("%d frame, %v: port %d, %q\n", n, err, batch[0].Port, batch[0].Data)
	// Output: 1 frame, <nil>: port 1, "head and body"
}
