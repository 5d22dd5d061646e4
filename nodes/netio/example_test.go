package netio_test

import (
	"fmt"
	"time"

	"github.com/csiglab/csiglab/nodes/netio"
)

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
