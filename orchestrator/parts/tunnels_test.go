package parts

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
)

// machines returns two network namespaces joined by a veth pair with that MTU, which stand
// for two machines, and their addresses.
func machines(t *testing.T, mtu int, addresses [2]string) (spaces [2]*os.File) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces that share an underlay")
	}
	for i := range spaces {
		// A namespace as machines have it: with IPv6.
		err := onThread(func() (err error) {
			if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
				spaces[i], err = os.Open("/proc/thread-self/ns/net")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { spaces[i].Close() })
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.Namespace = "eth0", mtu, netlink.NsFd(spaces[0].Fd())
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerMTU: uint32(mtu), PeerNamespace: netlink.NsFd(spaces[1].Fd())}); err != nil {
		t.Fatal(err)
	}
	for i, space := range spaces {
		h := handle(t, space)
		link, err := h.LinkByName("eth0")
		if err != nil {
			t.Fatal(err)
		}
		a, err := netlink.ParseAddr(addresses[i])
		if err != nil {
			t.Fatal(err)
		}
		if a.IP.To4() == nil {
			a.Flags = unix.IFA_F_NODAD
		}
		if err := h.AddrAdd(link, a); err != nil {
			t.Fatal(err)
		}
		if err := h.LinkSetUp(link); err != nil {
			t.Fatal(err)
		}
	}
	return spaces
}

func handle(t *testing.T, space *os.File) *netlink.Handle {
	t.Helper()
	h, err := netlink.NewHandleAt(netns.NsHandle(space.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		done <- f()
	}()
	return <-done
}

// dumbbell is a link between two switches with a host each, cut between the switches.
func dumbbell(t *testing.T, index int, addresses [2]string) *backend.Run {
	t.Helper()
	p := backendtest.Compile(t, `
schema: 1
name: tunnel-test
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 1Gbps, delay: 1ms}}
workload: {transfers: [0 -> 1 30kB]}
csig: {format: compact}
hosts: {cc: {name: nscc}}
`)
	of := make([]int, len(p.Graph.Nodes))
	for i, n := range p.Graph.Nodes {
		if strings.HasSuffix(n.Name, "1") { // the second leaf and its host
			of[i] = 1
		}
	}
	part := &backend.Part{Index: index, Of: of, Names: []string{"shard 0", "shard 1"}, Addresses: make([]string, 2)}
	for i, a := range addresses {
		ip, _, _ := strings.Cut(a, "/")
		part.Addresses[i] = "[" + ip + "]:7702"
	}
	return &backend.Run{ID: "0123456789ab", Plan: p, Part: part}
}

// makeAt makes the tunnels of one part on its machine.
func makeAt(t *testing.T, space *os.File, r *backend.Run) (s *Tunnels, err error) {
	t.Helper()
	err = application.Within(space, func() (err error) {
		s, err = MakeTunnels(r)
		return err
	})
	if err == nil {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s, err
}

// A cut link carries the longest frames in both directions once its ends have been moved
// into other namespaces; a network with short packets costs fragments, which a note says.
// In the end nothing is left on either machine.
func TestTunnel(t *testing.T) {
	for _, c := range []struct {
		name      string
		addresses [2]string
		mtu       int
		notes     string
	}{
		{"fragments", [2]string{"10.9.0.1/24", "10.9.0.2/24"}, 1500, "the kernel sends such a frame in 3 fragments"},
		{"IPv4", [2]string{"10.9.0.1/24", "10.9.0.2/24"}, 9000, ""},
		{"IPv6", [2]string{"fd00:9::1/64", "fd00:9::2/64"}, 9000, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			spaces := machines(t, c.mtu, c.addresses)
			var conns [2]*netio.Packet
			var inside [2]*os.File
			for i, space := range spaces {
				r := dumbbell(t, i, c.addresses)
				set, err := makeAt(t, space, r)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(set.Notes(), ""); got == "" != (c.notes == "") || !strings.Contains(got, c.notes) {
					t.Errorf("notes %q, want %q", got, c.notes)
				}
				tunnels := set.List()
				if len(tunnels) != 1 || r.Part.Of[tunnels[0].End.Node] != i || tunnels[0].MTU != r.MTU() {
					t.Fatalf("tunnels %+v, want one of part %d with MTU %d", tunnels, i, r.MTU())
				}
				inside[i] = otherProcess(t, set)
				conns[i] = open(t, inside[i], tunnels[0].Interface, r.MaxFrame())
			}
			for i, from := range conns {
				frame := append([]byte{2, 0, 0, 0, 0, byte(i), 2, 0, 0, 0, 0, 9, 0x88, 0xb5}, bytes.Repeat([]byte{byte(i + 1)}, dumbbell(t, i, c.addresses).MTU())...)
				if err := from.Send([]netio.Message{{Header: frame}}); err != nil {
					t.Fatal(err)
				}
				if !received(t, conns[1-i], frame) {
					t.Errorf("part %d has not received the frame of %d bytes of part %d", 1-i, len(frame), i)
				}
			}
			for i, space := range spaces {
				links, err := handle(t, space).LinkList()
				if err != nil {
					t.Fatal(err)
				}
				if len(links) != 2 { // lo and eth0
					t.Errorf("machine %d has %d interfaces, want 2", i, len(links))
				}
			}
		})
	}
}

// otherProcess moves the tunnels into the namespace of a new process, and returns that.
func otherProcess(t *testing.T, set *Tunnels) *os.File {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if err := set.Move(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	space, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	return space
}

func open(t *testing.T, space *os.File, name string, maxFrame int) (conn *netio.Packet) {
	t.Helper()
	h := handle(t, space)
	link, err := h.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.LinkSetUp(link); err != nil {
		t.Fatal(err)
	}
	err = application.Within(space, func() (err error) {
		conn, err = netio.OpenPacket([]int{link.Attrs().Index}, maxFrame)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// received reports whether a frame comes, among others of the kernel's own.
func received(t *testing.T, conn *netio.Packet, want []byte) bool {
	t.Helper()
	batch := make([]netio.Frame, 16)
	for {
		n, err := conn.Receive(batch, 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range batch[:n] {
			if bytes.Equal(f.Data, want) {
				return true
			}
		}
		if n == 0 {
			return false
		}
	}
}

// What cannot work is an error, and leaves nothing.
func TestTunnelRefused(t *testing.T) {
	four, six := [2]string{"10.9.0.1/24", "10.9.0.2/24"}, [2]string{"fd00:9::1/64", "fd00:9::2/64"}
	for _, c := range []struct {
		name      string
		addresses [2]string
		mtu       int
		change    func(p *backend.Part)
		want      string
	}{
		{"short packets of IPv6", six, 1500, nil, "frames of links.mtu"},
		{"two versions of IP", four, 1500, func(p *backend.Part) { p.Addresses[1] = "[fd00:9::2]:1" }, "shard 1 has fd00:9::2: a tunnel needs two of one version of IP"},
		{"no address", four, 1500, func(p *backend.Part) { p.Addresses[1] = "0.0.0.0:1" }, `shard 1: address "0.0.0.0:1" is not the IP address of a machine`},
		{"no route", four, 1500, func(p *backend.Part) { p.Addresses[1] = "192.0.2.1:1" }, "shard 1: no route to 192.0.2.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spaces := machines(t, c.mtu, c.addresses)
			r := dumbbell(t, 0, c.addresses)
			if c.change != nil {
				c.change(r.Part)
			}
			_, err := makeAt(t, spaces[0], r)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if links, err := handle(t, spaces[0]).LinkList(); err != nil || len(links) != 2 {
				t.Errorf("%v; %d interfaces are there, want 2", err, len(links))
			}
		})
	}
}
