package netns

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/application"
)

// space is the network namespace of one node.
type space struct {
	name    string
	file    *os.File // keeps the namespace alive
	links   *netlink.Handle
	indices []int // of the interfaces, by port
}

// deployment is everything that was created for a run.
type deployment struct {
	home   *os.File // the supervisor's own namespace
	spaces []space
}

// ethernetLen is what an MTU does not count.
const ethernetLen = wire.EthernetLen

// maxFrame returns the length of the longest frame, with tag and trailer.
func (f *Fabric) maxFrame() int { return emu.MaxFrame(f.MaxPayload) }

// deploy creates the namespaces and links, all up and running.
func deploy(f *Fabric) (*deployment, error) {
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	d := &deployment{home: home}
	for _, n := range f.Graph.Nodes {
		file, err := newSpace()
		if err != nil {
			return nil, fmt.Errorf("%w: node %s: %w", ErrUnavailable, n.Name, err)
		}
		links, err := netlink.NewHandleAt(netns.NsHandle(file.Fd()), unix.NETLINK_ROUTE)
		if err != nil {
			return nil, fmt.Errorf("%w: node %s: netlink: %w", ErrUnavailable, n.Name, err)
		}
		d.spaces = append(d.spaces, space{name: n.Name, file: file, links: links})
	}
	wires, names := f.Wires()
	for id, w := range wires {
		if f.inMemory(w) {
			continue
		}
		a, b := &d.spaces[w[0].Node], &d.spaces[w[1].Node]
		attrs := netlink.NewLinkAttrs()
		attrs.Name = portName(w[0].Port)
		attrs.MTU = f.maxFrame() - ethernetLen
		attrs.HardwareAddr = address(w[0].Node, w[0].Port)
		attrs.Namespace = netlink.NsFd(a.file.Fd())
		veth := &netlink.Veth{
			LinkAttrs: attrs, PeerName: portName(w[1].Port),
			PeerHardwareAddr: address(w[1].Node, w[1].Port),
			PeerNamespace:    netlink.NsFd(b.file.Fd()),
		}
		if err := netlink.LinkAdd(veth); err != nil {
			return nil, fmt.Errorf("link %s: create veth pair: %w", names[id], err)
		}
		for side, s := range []*space{a, b} {
			if err := s.raise(w[side].Port); err != nil {
				return nil, fmt.Errorf("link %s: %s %s: %w", names[id], s.name, portName(w[side].Port), err)
			}
		}
	}
	if err := d.attach(f); err != nil {
		return nil, err
	}
	if f.Wall != nil {
		if err := d.shape(f); err != nil {
			return nil, err
		}
	}
	for _, s := range d.spaces {
		if err := s.settle(); err != nil {
			return nil, fmt.Errorf("node %s: %w", s.name, err)
		}
	}
	return d, nil
}

func portName(port int) string { return fmt.Sprintf("p%d", port) }

func address(node, port int) []byte {
	mac := wire.MAC(node, port)
	return mac[:]
}

// newSpace creates a network namespace without IPv6, which would send frames of
// its own as soon as an interface comes up.
func newSpace() (file *os.File, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock: nobody else may get the thread
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("new namespace: %w", err)
			return
		}
		for _, which := range []string{"default", "all"} {
			path := "/proc/sys/net/ipv6/conf/" + which + "/disable_ipv6"
			if e := os.WriteFile(path, []byte("1"), 0); e != nil && !errors.Is(e, os.ErrNotExist) {
				err = fmt.Errorf("disable IPv6: %w", e)
				return
			}
		}
		file, err = os.Open("/proc/thread-self/ns/net")
	}()
	<-done
	return file, err
}

// raise sets a port's interface up and notes its index.
func (s *space) raise(port int) error {
	link, err := s.links.LinkByName(portName(port))
	if err != nil {
		return err
	}
	for len(s.indices) <= port {
		s.indices = append(s.indices, 0)
	}
	s.indices[port] = link.Attrs().Index
	return s.links.LinkSetUp(link)
}

// settle waits until the interfaces carry frames: the kernel attaches their
// queues a little after they come up, and drops what is sent before.
func (s *space) settle() error {
	deadline := time.Now().Add(patience)
	for port, index := range s.indices {
		for index != 0 {
			link, err := s.links.LinkByIndex(index)
			if err != nil {
				return err
			}
			if link.Attrs().OperState == netlink.OperUp {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("interface %s does not come up", portName(port))
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// conn opens the ports of s whose interfaces have the given indices.
func (s *space) conn(indices []int, maxFrame int) (c *netio.Packet, err error) {
	err = application.Within(s.file, func() (err error) {
		c, err = netio.OpenPacket(indices, maxFrame)
		return err
	})
	return c, err
}

// counters adds up what the interfaces have counted.
func (d *deployment) counters() (sum Counters, err error) {
	for _, s := range d.spaces {
		for _, index := range s.indices {
			if index == 0 {
				continue
			}
			link, err := s.links.LinkByIndex(index)
			if err != nil {
				return sum, fmt.Errorf("node %s: counters: %w", s.name, err)
			}
			stats := link.Attrs().Statistics
			sum.TxPackets += int64(stats.TxPackets)
			sum.RxPackets += int64(stats.RxPackets)
			sum.Dropped += int64(stats.TxDropped + stats.RxDropped)
		}
	}
	return sum, nil
}
