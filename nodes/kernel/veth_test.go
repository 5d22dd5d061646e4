package kernel

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// chain is a row of network namespaces, each joined with the next one by a veth.
type chain struct {
	spaces []netns.NsHandle
	index  [][2]int // of the interfaces to the space before and to the one behind
}

// newChain returns a row of n spaces, without IPv6, whose interfaces are up.
func newChain(t testing.TB, n int) *chain {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root here")
	}
	c := &chain{index: make([][2]int, n)}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()    //nolint:errcheck // the test's own
	defer netns.Set(home) //nolint:errcheck // likewise
	for range n {
		space, err := netns.New()
		if err != nil {
			t.Skipf("a network namespace: %v", err)
		}
		c.spaces = append(c.spaces, space)
		t.Cleanup(func() { space.Close() })                                              //nolint:errcheck // likewise
		os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0o644) //nolint:errcheck // there may be no IPv6
	}
	for i := range n - 1 {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU, attrs.Namespace = "next", 9000, netlink.NsFd(c.spaces[i])
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "before", PeerMTU: 9000, PeerNamespace: netlink.NsFd(c.spaces[i+1])}); err != nil {
			t.Fatal(err)
		}
		c.index[i][1], c.index[i+1][0] = up(t, c.spaces[i], "next"), up(t, c.spaces[i+1], "before")
	}
	return c
}

// up sets an interface up and returns its index.
func up(t testing.TB, space netns.NsHandle, name string) int {
	t.Helper()
	h, err := netlink.NewHandleAt(space)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	l, err := h.LinkByName(name)
	if err == nil {
		err = h.LinkSetUp(l)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l.Attrs().Index
}

// in calls f in a space.
func (c *chain) in(t testing.TB, space int, f func() error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()    //nolint:errcheck // the test's own
	defer netns.Set(home) //nolint:errcheck // likewise
	if err := netns.Set(c.spaces[space]); err != nil {
		t.Fatal(err)
	}
	if err := f(); err != nil {
		t.Fatal(err)
	}
}

// open opens interfaces of a space.
func (c *chain) open(t testing.TB, space int, index ...int) (p *netio.Packet) {
	t.Helper()
	c.in(t, space, func() (err error) {
		p, err = netio.OpenUnshaped(index, 9000, netio.Slots)
		return err
	})
	t.Cleanup(func() { p.Close() }) //nolint:errcheck // the test's own
	return p
}

// ends opens the first and the last space.
func (c *chain) ends(t testing.TB) (first, last *netio.Packet) {
	t.Helper()
	n := len(c.index)
	return c.open(t, 0, c.index[0][1]), c.open(t, n-1, c.index[n-1][0])
}

// forwards has the space in the middle forward in the kernel.
func (c *chain) forwards(t testing.TB, space int, cfg Config) *Switch {
	t.Helper()
	cfg.Interfaces = c.index[space][:]
	s := load(t, cfg)
	c.in(t, space, s.Attach)
	return s
}

// through sends frames and returns those that come out.
func through(t testing.TB, first, last *netio.Packet, frames [][]byte) (got [][]byte) {
	t.Helper()
	batch := make([]netio.Frame, 64)
	for _, f := range frames {
		if err := first.Send([]netio.Message{{Header: f}}); err != nil {
			t.Fatal(err)
		}
	}
	for {
		n, err := last.Receive(batch, 200*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return got
		}
		for _, f := range batch[:n] {
			got = append(got, bytes.Clone(f.Data))
		}
	}
}

// Frames that cross real interfaces come out as the machine sends them. The kernel takes the
// outer VLAN tag of a frame out before the program sees it, which a test run does not.
func TestAcrossInterfaces(t *testing.T) {
	c := newChain(t, 3)
	first, last := c.ends(t)
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 2))
		cfg := drawConfig(r)
		cfg.Switch.Ports, cfg.Switch.AQM.Name, cfg.Switch.AQM.Params = cfg.Switch.Ports[:2], "none", nil
		for i := range cfg.Switch.Ports {
			p := &cfg.Switch.Ports[i]
			p.Buffer.Data, p.Rate = units.MB, 100*units.Gbps
			for k := range csig.Standard { // what tags say of real time no machine can know
				p.Policies[k], p.Second.Policies[k] = one(r, dataplane.Pass, dataplane.Strip), one(r, dataplane.Pass, dataplane.Strip)
			}
		}
		cfg.Switch.Forward.Routes = topologies.NewRoutes([]uint16{0}, []uint16{1})
		s := c.forwards(t, 1, cfg)
		rig := nodetest.New(t)
		nodetest.Add(rig, 2, dataplane.New, cfg.Switch)
		var frames, want [][]byte
		for range 60 {
			frame := drawFrame(r, cfg.Format, 1)
			frame = append(frame, make([]byte, max(0, 40-len(frame)))...) // the kernel sends no frame that is all tags
			p := rig.Nodes[0].Pool.Get()
			if err := p.ParseRaw(frame, cfg.Format); err != nil {
				t.Fatal(err)
			}
			frames = append(frames, frame)
			rig.Receive(rig.Now, 0, 0, p)
		}
		rig.Run(units.Time(units.Hour))
		for _, d := range rig.Sent {
			if d.Port == 0 { // a damaged address
				continue
			}
			want = append(want, append(bytes.Clone(d.Packet.Header()), d.Packet.Payload...))
		}
		got := through(t, first, last, frames)
		for i := range min(len(got), len(want)) {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("seed %d, frame %d:\n%x, want\n%x", seed, i, head(got[i]), head(want[i]))
			}
		}
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d frames, want %d", seed, len(got), len(want))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
