package netio_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/netio"
)

// Whoever waits for Arrived misses no frame, however few it takes at a time.
func TestMemoryArrived(t *testing.T) {
	a, b := netio.NewMemory(1), netio.NewMemory(1)
	netio.Join(a, 0, b, 0)
	for _, sent := range []int{3, 1, 2} {
		for range sent {
			if err := a.Send([]netio.Message{{Header: []byte{1}}}); err != nil {
				t.Fatal(err)
			}
		}
		batch := make([]netio.Frame, 1)
		for got := 0; got < sent; {
			select {
			case <-b.Arrived():
			case <-time.After(10 * time.Second):
				t.Fatalf("%d of %d frames, and then nothing arrived", got, sent)
			}
			n, err := b.Receive(batch, 0)
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
	}
}

func TestMemory(t *testing.T) {
	suite(t, func(*testing.T) (a, b netio.Conn) {
		x, y := netio.NewMemory(ports), netio.NewMemory(ports)
		for p := range ports {
			netio.Join(x, p, y, p)
		}
		return x, y
	})
}

// Every other port of a Mixed is joined in memory.
func TestMixed(t *testing.T) {
	suite(t, func(*testing.T) (a, b netio.Conn) {
		var outer []int
		for p := 0; p < ports; p += 2 {
			outer = append(outer, p)
		}
		x, y := netio.NewMemory(len(outer)), netio.NewMemory(len(outer))
		for p := range outer {
			netio.Join(x, p, y, p)
		}
		v, w := netio.NewMixed(ports, x, outer), netio.NewMixed(ports, y, outer)
		for p := 1; p < ports; p += 2 {
			netio.Join(v.Memory, p, w.Memory, p)
		}
		return v, w
	})
}

// refuser is a Conn whose port 1 is gone.
type refuser struct{ *netio.Memory }

func (refuser) Send([]netio.Message) error { return &netio.PortError{Port: 1, Err: unix.ENETDOWN} }

// An error of a port outside names the port as the caller knows it.
func TestMixedNamesItsPort(t *testing.T) {
	m := netio.NewMixed(4, refuser{netio.NewMemory(2)}, []int{1, 3})
	var port *netio.PortError
	err := m.Send([]netio.Message{{Port: 3, Header: []byte{1}}})
	if !errors.As(err, &port) || port.Port != 3 || !errors.Is(err, unix.ENETDOWN) {
		t.Errorf("Send = %v, want %v of port 3", err, unix.ENETDOWN)
	}
}

func TestPacket(t *testing.T) {
	suite(t, func(t *testing.T) (a, b netio.Conn) {
		x, y := openPair(t, nil)
		return x, y
	})
}

// TestUnshaped: a Conn of links that hold no frame back passes the suite, and keeps as
// many frames as it was asked to, and not many times more.
func TestUnshaped(t *testing.T) {
	open := func(slots int) func(t *testing.T) (a, b netio.Conn) {
		return func(t *testing.T) (a, b netio.Conn) {
			x, y := openPairWith(t, func(indices []int) (*netio.Packet, error) {
				return netio.OpenUnshaped(indices, maxFrame, slots)
			}, nil)
			return x, y
		}
	}
	suite(t, open(netio.Slots))

	const slots, sent = 64, 200
	a, b := open(slots)(t)
	for range sent {
		if err := a.Send([]netio.Message{{Header: make([]byte, 100)}}); err != nil {
			t.Fatal(err)
		}
	}
	got := 0
	for batch := make([]netio.Frame, sent); ; {
		n, err := b.Receive(batch, 50*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if got += n; n == 0 {
			break
		}
	}
	if got < slots || got > 2*slots {
		t.Errorf("of %d frames %d were kept, want %d or a block more", sent, got, slots)
	}
}

// TestPacketKeepsVLANTag: the kernel takes the outer VLAN tag off a frame, the
// Conn puts it back.
func TestPacketKeepsVLANTag(t *testing.T) {
	a, b := openPair(t, nil)
	for _, tpid := range []uint16{unix.ETH_P_8021Q, unix.ETH_P_8021AD, 0x9999} {
		f := make([]byte, 100)
		for i := range f {
			f[i] = byte(i)
		}
		binary.BigEndian.PutUint16(f[12:], tpid)
		binary.BigEndian.PutUint16(f[14:], 0x1234)
		binary.BigEndian.PutUint16(f[16:], 0x88b5)
		if err := a.Send([]netio.Message{{Port: 1, Header: f}}); err != nil {
			t.Fatal(err)
		}
		batch := make([]netio.Frame, 2)
		n, err := b.Receive(batch, 5*time.Second)
		if n != 1 || err != nil {
			t.Fatalf("TPID %#x: Receive = %d, %v, want 1, nil", tpid, n, err)
		}
		if got := batch[0]; got.Port != 1 || string(got.Data) != string(f) {
			t.Errorf("TPID %#x: got port %d %x, want port 1 %x", tpid, got.Port, got.Data, f)
		}
	}
}

// Frames of programs that are no ordinary ones cross an interface byte for byte, or
// are refused by name. The kernel loses those that end less than 2 B behind a
// VLAN tag.
func TestPacketCarriesStrangeFrames(t *testing.T) {
	a, b := openPair(t, nil)
	strange := func(n int, head ...byte) []byte {
		f := append(append(make([]byte, 0, n), 2, 0, 0, 9, 0, 0, 2, 0, 0, 3, 0, 0), head...)
		for len(f) < n {
			f = append(f, byte(len(f)))
		}
		return f
	}
	multicast, fromGroup := strange(100, 0x86, 0xdd), strange(100, 8, 0)
	multicast[0], fromGroup[6] = 0x33, 0x33
	for name, f := range map[string][]byte{
		"nothing but a header": strange(14, 0x90, 0),
		"a byte":               strange(15, 0x90, 0),
		"a length, LLC":        strange(60, 0, 46),
		"two VLAN tags":        strange(100, 0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0),
		"three VLAN tags":      strange(100, 0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3, 8, 0),
		"priority tag":         strange(100, 0x81, 0, 0xe0, 0, 8, 0),
		"VLAN tag, two bytes":  strange(20, 0x81, 0, 0, 5, 8, 0),
		"CSIG before VLAN":     strange(100, 0x88, 0xb5, 1, 2, 0x81, 0, 0, 5, 8, 0),
		"multicast":            multicast,
		"from a group":         fromGroup,
		"broken IPv4":          strange(34, 8, 0, 0x4f),
		"broken IPv6":          strange(40, 0x86, 0xdd, 0x60),
		"the longest":          strange(maxFrame+14, 0x90, 0),
	} {
		if err := a.Send([]netio.Message{{Port: 1, Header: f[:14], Payload: f[14:]}}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		batch := make([]netio.Frame, 2)
		n, err := b.Receive(batch, 5*time.Second)
		if n != 1 || err != nil {
			t.Fatalf("%s: Receive = %d, %v, want 1, nil", name, n, err)
		}
		if got := batch[0]; got.Port != 1 || string(got.Data) != string(f) {
			t.Errorf("%s: got port %d %x, want port 1 %x", name, got.Port, got.Data, f)
		}
	}
	for name, f := range map[string][]byte{"too long": strange(maxFrame+15, 0x90, 0), "too short": strange(13)} {
		var port *netio.PortError
		if err := a.Send([]netio.Message{{Port: 1, Header: f}}); !errors.As(err, &port) || port.Port != 1 {
			t.Errorf("%s: Send = %v, want an error of port 1", name, err)
		}
	}
}

// A Droppable frame whose length the interface or its far end does not take is lost
// and counted, and holds up no other.
func TestPacketDropsWhatIsTooLong(t *testing.T) {
	var a, b *netio.Packet
	openPair(t, func(int) {
		err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "near", MTU: 2000}, PeerName: "far", PeerMTU: 1000})
		indices := map[string]int{}
		for _, name := range []string{"near", "far"} {
			var l netlink.Link
			if err == nil {
				l, err = netlink.LinkByName(name)
			}
			if err == nil {
				indices[name], err = l.Attrs().Index, netlink.LinkSetUp(l)
			}
		}
		if err == nil {
			a, err = netio.OpenPacket([]int{indices["near"]}, maxFrame)
		}
		if err == nil {
			b, err = netio.OpenPacket([]int{indices["far"]}, maxFrame)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		return
	}
	defer a.Close()
	defer b.Close()
	short := make([]byte, 60)
	for _, too := range [][]byte{make([]byte, 2015), make([]byte, 1100)} {
		before, err := a.Drops()
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Send([]netio.Message{{Header: short}, {Header: too, Droppable: true}, {Header: short, Droppable: true}}); err != nil {
			t.Fatalf("%d B: %v", len(too), err)
		}
		batch := make([]netio.Frame, 4)
		for got := 0; got < 2; {
			n, err := b.Receive(batch, 5*time.Second)
			if n == 0 || err != nil {
				t.Fatalf("%d B: Receive = %d, %v after %d frames, want 2", len(too), n, err, got)
			}
			for _, f := range batch[:n] {
				if len(f.Data) != len(short) {
					t.Errorf("%d B: a frame of %d B arrived", len(too), len(f.Data))
				}
			}
			got += n
		}
		// Some kernels say nothing of what the far end of a veth pair drops.
		silent := len(too) < 2000
		if drops, err := a.Drops(); drops != before+1 && !(silent && drops == before) || err != nil {
			t.Errorf("%d B: Drops = %d, %v, want %d", len(too), drops, err, before+1)
		}
	}
}

// A frame that is longer than its interface's MTU, as offloading makes them, is lost
// and counted: no other interface would take it.
func TestPacketTakesNoFrameBeyondTheMTU(t *testing.T) {
	var loop *netio.Packet
	openPair(t, func(loopback int) {
		l, err := netlink.LinkByIndex(loopback)
		for _, step := range []func() error{
			func() error { return netlink.LinkSetUp(l) },
			func() error { return netlink.LinkSetMTU(l, 500) },
			func() (err error) { loop, err = netio.OpenPacket([]int{loopback}, maxFrame); return err },
			func() error { return netlink.LinkSetMTU(l, 2000) },
		} {
			if err == nil {
				err = step()
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		return
	}
	defer loop.Close()
	for _, n := range []int{514 + 9, 60, 514 + 8} {
		if err := loop.Send([]netio.Message{{Header: make([]byte, n)}}); err != nil {
			t.Fatal(err)
		}
	}
	var lengths []int
	for batch := make([]netio.Frame, 4); len(lengths) < 2; {
		n, err := loop.Receive(batch, 5*time.Second)
		if n == 0 || err != nil {
			t.Fatalf("Receive = %d, %v after frames of %v B", n, err, lengths)
		}
		for _, f := range batch[:n] {
			lengths = append(lengths, len(f.Data))
		}
	}
	if drops, err := loop.Drops(); !slices.Equal(lengths, []int{60, 522}) || drops != 1 || err != nil {
		t.Errorf("received frames of %v B, %d drops, %v, want 60 and 522, 1", lengths, drops, err)
	}
}

// TestPacketIgnoresItsOwn: a Conn does not see what it sends, nor what arrives
// on an interface that is not its port.
func TestPacketIgnoresItsOwn(t *testing.T) {
	var stranger *netio.Packet
	a, _ := openPair(t, func(outside int) {
		var err error
		if stranger, err = netio.OpenPacket([]int{outside}, maxFrame); err != nil {
			t.Error(err)
		}
	})
	defer stranger.Close()
	if err := a.Send([]netio.Message{{Header: make([]byte, 60)}}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]netio.Conn{"sender": a, "stranger": stranger} {
		if n, err := c.Receive(make([]netio.Frame, 1), 50*time.Millisecond); n != 0 || err != nil {
			t.Errorf("%s: Receive = %d, %v, want 0, nil", name, n, err)
		}
	}
}

// A frame that a slot cannot hold is lost and counted, and what other interfaces of
// the namespace receive neither takes up slots nor wakes anybody.
func TestPacketTakesWholeFramesOfItsOwn(t *testing.T) {
	var loop *netio.Packet
	a, _ := openPair(t, func(loopback int) {
		l, err := netlink.LinkByIndex(loopback)
		if err == nil {
			err = netlink.LinkSetUp(l)
		}
		if err == nil {
			loop, err = netio.OpenPacket([]int{loopback}, 100)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		return
	}
	defer loop.Close()
	frame := func(n int) netio.Message { return netio.Message{Header: make([]byte, n)} }
	if err := loop.Send([]netio.Message{frame(80), frame(1000), frame(90), frame(2000)}); err != nil {
		t.Fatal(err)
	}
	var lengths []int
	batch := make([]netio.Frame, 1)
	for {
		n, err := loop.Receive(batch, 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		lengths = append(lengths, len(batch[0].Data))
	}
	if want := []int{80, 90}; !slices.Equal(lengths, want) {
		t.Errorf("received frames of %v B, want %v", lengths, want)
	}
	if drops, err := loop.Drops(); drops != 2 || err != nil {
		t.Errorf("Drops = %d, %v, want 2", drops, err)
	}
	fds := []unix.PollFd{{Fd: int32(a.Descriptor()), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 0); n != 0 || err != nil {
		t.Errorf("a Conn on other interfaces can be read: %d, %v", n, err)
	}
}

// openPair returns two Conns joined by veth pairs, each in a namespace that
// nobody else sees and that ends with it. more, if not nil, runs in the first
// one's namespace with the index of its loopback interface.
func openPair(t *testing.T, more func(loopback int)) (a, b *netio.Packet) {
	t.Helper()
	return openPairWith(t, func(indices []int) (*netio.Packet, error) { return netio.OpenPacket(indices, maxFrame) }, more)
}

// openPairWith is openPair for Conns that open opens.
func openPairWith(t *testing.T, open func(indices []int) (*netio.Packet, error), more func(loopback int)) (a, b *netio.Packet) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a private network namespace needs root; the tests of orchestrator/backend/netns cover user namespaces")
	}
	var err error
	outer := inNewNamespace(func() {
		for p := range ports {
			if err == nil {
				err = netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name("a", p), MTU: maxFrame}, PeerName: name("b", p)})
			}
		}
		self, e := os.Open("/proc/thread-self/ns/net")
		if err = errors.Join(err, e); err != nil {
			return
		}
		defer self.Close()
		inner := inNewNamespace(func() {
			target, e := os.Open("/proc/thread-self/ns/net")
			if err = e; err != nil {
				return
			}
			defer target.Close()
			home, e := netlink.NewHandleAt(netns.NsHandle(self.Fd()))
			if err = e; err != nil {
				return
			}
			defer home.Close()
			for p := range ports {
				l, e := home.LinkByName(name("b", p))
				if e == nil {
					e = home.LinkSetNsFd(l, int(target.Fd()))
				}
				err = errors.Join(err, e)
			}
			if err == nil {
				b, err = openUp("b", open)
			}
		})
		if err = errors.Join(err, inner); err == nil {
			a, err = openUp("a", open)
		}
		if err == nil && more != nil {
			more(1)
		}
	})
	if err = errors.Join(err, outer); err != nil {
		t.Skipf("no private network namespaces: %v", err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func name(side string, port int) string { return fmt.Sprintf("%s%d", side, port) }

func openUp(side string, open func(indices []int) (*netio.Packet, error)) (*netio.Packet, error) {
	var indices []int
	for p := range ports {
		l, err := netlink.LinkByName(name(side, p))
		if err == nil {
			err = errors.Join(netlink.LinkSetMTU(l, maxFrame), netlink.LinkSetUp(l))
		}
		if err != nil {
			return nil, err
		}
		indices = append(indices, l.Attrs().Index)
	}
	return open(indices)
}

// inNewNamespace runs f on a thread of its own in a new network namespace without
// IPv6, which would send router solicitations.
func inNewNamespace(f func()) error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with its namespace
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			if err = os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0); errors.Is(err, os.ErrNotExist) {
				err = nil
			}
			f()
		}
		failed <- err
	}()
	return <-failed
}
