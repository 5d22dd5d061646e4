// Package application runs unmodified programs on the hosts of a fabric. It attaches
// an interface to the host's network namespace, which looks like any NIC, and starts
// the programs that use it. The other end of the interface is a port of the host's
// machine, the shim of package nodes/host/shim.
//
// It does not know the plan or the run; backends call it with namespaces that they
// have made, on this machine or in containers.
package application

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// Interface is the name of the programs' interface.
const Interface = "csig0"

// IPv4 returns the address of a host's programs.
func IPv4(host int) net.IP {
	a := wire.HostIP(host)
	return net.IPv4(byte(a>>24), byte(a>>16), byte(a>>8), byte(a)).To4()
}

// prefixLen is the prefix length of wire.HostIP: every host of the fabric is on the
// link.
const prefixLen = 8

// ipv6 returns the address of a host's programs.
func ipv6(host int) net.IP {
	a := wire.HostIPv6(host)
	return a[:]
}

// prefixLenIPv6 is the prefix length of wire.HostIPv6.
const prefixLenIPv6 = 64

// NewNetwork creates a network namespace without IPv6, which would send frames of its
// own as soon as an interface comes up. Where /proc/sys cannot be written, as in a pod, the
// namespace has IPv6, and whoever makes an interface turns its addresses off
// (netlink.LinkSetIP6AddrGenMode). The file keeps the namespace alive. Other
// processes can open the namespace by the file's name while this process lives.
func NewNetwork() (file *os.File, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: no other goroutine may get the thread
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("new namespace: %w", err)
			return
		}
		for _, which := range []string{"default", "all"} {
			path := "/proc/sys/net/ipv6/conf/" + which + "/disable_ipv6"
			if e := os.WriteFile(path, []byte("1"), 0); e != nil && !errors.Is(e, os.ErrNotExist) && !errors.Is(e, unix.EROFS) {
				err = fmt.Errorf("disable IPv6: %w", e)
				return
			}
		}
		fd, e := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if e != nil {
			err = fmt.Errorf("new namespace: %w", e)
			return
		}
		file = os.NewFile(uintptr(fd), fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd))
	}()
	<-done
	return file, err
}

// Attach makes a host's interface for programs, csig0, in the network namespace
// programs. csig0 is up and has the host's addresses and the MTU. Its other end, named
// shim, is in the namespace node and is a port of the host's machine; Attach returns
// its index there. The ports that lead to the fabric are in the namespace node too, so
// that no program sees them. Offloads are off at both ends: the kernel passes frames as
// they would be on a wire, each with its checksum.
func Attach(node, programs *os.File, host int, shim string, mtu units.Size) (index int, err error) {
	if err = join(node, programs, host, shim, mtu); err == nil {
		err = Within(node, func() error {
			index, err = raiseShim(shim)
			return err
		})
	}
	if err == nil {
		err = Within(programs, func() error { return raisePrograms(Interface, host) })
	}
	if err != nil {
		return 0, fmt.Errorf("interface %s: %w", Interface, err)
	}
	return index, nil
}

// join makes the veth pair of csig0 and its shim. Each end is created in its namespace.
func join(node, programs *os.File, host int, shim string, mtu units.Size) error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	mac := wire.MAC(host, 0)
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = Interface, int(mtu), mac[:]
	attrs.TxQLen, attrs.Namespace = queueLen, netlink.NsFd(programs.Fd())
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: shim, PeerMTU: uint32(mtu), PeerNamespace: netlink.NsFd(node.Fd())}
	if err := h.LinkAdd(veth); err != nil {
		return fmt.Errorf("create veth pair: %w", err)
	}
	return nil
}

// raiseShim sets the shim's end of the pair up. The calling thread is in its namespace.
func raiseShim(shim string) (index int, err error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return 0, err
	}
	defer h.Close()
	// The shim's end must carry only the programs' frames, none of the kernel's.
	link, err := raise(h, shim, []setting{{"disable_ipv6", "1"}})
	if err != nil {
		return 0, err
	}
	return link.Attrs().Index, nil
}

// Adopt makes an interface that exists in a network namespace one of a host's programs, as csig0
// is in that of Attach.
func Adopt(programs *os.File, name string, host int) error {
	return Within(programs, func() error { return raisePrograms(name, host) })
}

// raisePrograms sets the interface of programs and the loopback interface up. The calling thread is
// in the namespace of the programs.
func raisePrograms(name string, host int) error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	lo, err := h.LinkByName("lo")
	if err == nil {
		err = h.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("set lo up: %w", err)
	}
	link, err := raise(h, name, []setting{
		{"router_solicitations", "0"},
		{"accept_ra", "0"},
		{"accept_dad", "0"},
		{"addr_gen_mode", "1"}, // no link-local address
		{"disable_ipv6", "0"},
	})
	if err != nil {
		return err
	}
	return addresses(h, link, host)
}

// setting is a key of an interface below net.ipv6.conf, and its value.
type setting struct{ key, value string }

// raise turns the offloads of an interface off, applies settings and sets it up. Where
// /proc/sys cannot be written, it only turns addresses off that the kernel would make: without
// one of them an interface neither asks for routers nor listens to them.
func raise(h *netlink.Handle, name string, settings []setting) (netlink.Link, error) {
	if err := offloadsOff(name); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, s := range settings {
		path := "/proc/sys/net/ipv6/conf/" + name + "/" + s.key
		if err := os.WriteFile(path, []byte(s.value), 0); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EROFS) {
			return nil, fmt.Errorf("set %s: %w", path, err)
		}
	}
	link, err := h.LinkByName(name)
	if err == nil {
		err = h.LinkSetIP6AddrGenMode(link, addressesNone)
		if errors.Is(err, unix.EAFNOSUPPORT) { // a kernel without IPv6, or an MTU too small for it
			err = nil
		}
	}
	if err == nil {
		err = h.LinkSetUp(link)
	}
	if err != nil {
		return nil, fmt.Errorf("set %s up: %w", name, err)
	}
	return link, nil
}

// addressesNone is IN6_ADDR_GEN_MODE_NONE (linux/if_link.h).
const addressesNone = 1

// Within runs f on a thread in a network namespace.
func Within(namespace *os.File, f func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: no other goroutine may get the thread
		if err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err == nil {
			err = f()
		}
	}()
	<-done
	return err
}

// queueLen is the kernel's queue length for Ethernet. A queueing discipline that a
// user puts on the interface uses it.
const queueLen = 1000

// addresses gives an interface its addresses, and with them routes to all hosts.
func addresses(h *netlink.Handle, link netlink.Link, host int) error {
	for _, a := range []net.IPNet{
		{IP: IPv4(host), Mask: net.CIDRMask(prefixLen, 32)},
		{IP: ipv6(host), Mask: net.CIDRMask(prefixLenIPv6, 128)},
	} {
		err := h.AddrAdd(link, &netlink.Addr{IPNet: &a, Flags: unix.IFA_F_NODAD})
		if a.IP.To4() == nil && (errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EAFNOSUPPORT)) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return fmt.Errorf("address %v: %w", a.IP, err)
		}
	}
	return nil
}

// offloads are the offloads to switch off. With the checksum offload on, kernel TCP
// through a forwarder in user space never connects; with segmentation the frames are
// longer than a link carries, and one tag would stand for many packets.
var offloads = []struct {
	command uint32
	name    string
}{
	{unix.ETHTOOL_STSO, "TSO"}, {unix.ETHTOOL_SGSO, "GSO"}, {unix.ETHTOOL_SGRO, "GRO"},
	{unix.ETHTOOL_STXCSUM, "checksums"},
}

// ethtoolValue is struct ethtool_value, and ifreqData the part of struct ifreq
// that SIOCETHTOOL reads (linux/ethtool.h, linux/if.h).
type ethtoolValue struct{ command, data uint32 }

type ifreqData struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [24 - unsafe.Sizeof(uintptr(0))]byte
}

func offloadsOff(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, o := range offloads {
		value := &ethtoolValue{command: o.command}
		request := ifreqData{data: unsafe.Pointer(value)}
		copy(request.name[:unix.IFNAMSIZ-1], name)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
		if errno != 0 {
			return fmt.Errorf("turn %s off: %w", o.name, errno)
		}
	}
	return nil
}
