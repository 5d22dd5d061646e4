package buffer_test

import (
	"fmt"
	"testing"

	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

func packet(size units.Size) *wire.Packet { return &wire.Packet{Size: size} }

// Control goes first, whatever came first.
func TestPopIsStrictPriority(t *testing.T) {
	b := buffer.NewPort(buffer.Limits{Data: 1000, Control: 1000})
	d1, d2, c1, c2 := packet(100), packet(200), packet(10), packet(20)
	b.PushData(d1)
	b.PushControl(c1)
	b.PushData(d2)
	if b.Len() != 3 || b.Data() != 300 || b.Bytes() != 310 {
		t.Errorf("%d packets, %d data bytes, %d bytes, want 3, 300, 310", b.Len(), b.Data(), b.Bytes())
	}
	want := []struct {
		p    *wire.Packet
		data bool
	}{{c1, false}, {d1, true}, {c2, false}, {d2, true}, {nil, true}}
	for i, w := range want {
		if i == 2 {
			b.PushControl(c2)
		}
		if p, data := b.Pop(); p != w.p || data != w.data {
			t.Errorf("pop %d: %v, from data %v, want %v, %v", i, p, data, w.p, w.data)
		}
	}
	if b.Len() != 0 || b.Bytes() != 0 {
		t.Errorf("empty port has %d packets, %d bytes", b.Len(), b.Bytes())
	}
}

func TestFits(t *testing.T) {
	b := buffer.NewPort(buffer.Limits{Data: 300, Control: 30})
	b.PushData(packet(200))
	b.PushControl(packet(20))
	for size, want := range map[units.Size]bool{99: true, 100: true, 101: false} {
		if got := b.DataFits(packet(size)); got != want {
			t.Errorf("DataFits of %d B behind 200 B of 300 B = %v, want %v", size, got, want)
		}
	}
	for size, want := range map[units.Size]bool{9: true, 10: true, 11: false} {
		if got := b.ControlFits(packet(size)); got != want {
			t.Errorf("ControlFits of %d B behind 20 B of 30 B = %v, want %v", size, got, want)
		}
	}
	unlimited := buffer.NewPort(buffer.Limits{Data: units.NoLimit, Control: units.NoLimit})
	if !unlimited.DataFits(packet(units.TB)) || !unlimited.ControlFits(packet(units.TB)) {
		t.Error("a terabyte does not fit where there is no limit")
	}
}

func TestPopDataTail(t *testing.T) {
	b := buffer.NewPort(buffer.Limits{Data: 1000, Control: 1000})
	if p := b.PopDataTail(); p != nil {
		t.Errorf("tail of an empty queue = %v", p)
	}
	first, last := packet(100), packet(200)
	b.PushData(first)
	b.PushData(last)
	b.PushControl(packet(10))
	if p := b.PopDataTail(); p != last || b.Data() != 100 {
		t.Errorf("tail = %v with %d B left, want the last with 100", p, b.Data())
	}
}

func ExampleNewPort() {
	b := buffer.NewPort(buffer.Limits{Data: 10 * units.KB, Control: units.KB})
	b.PushData(packet(4150))
	b.PushData(packet(4150))
	fmt.Println(b.Data(), b.DataFits(packet(4150)), b.DataFits(packet(1000)))
	// Output: 8.3kB false true
}
