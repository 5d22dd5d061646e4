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

// IPv6 returns the address of a host's programs.
func IPv6(host int) net.IP {
	a := wire.HostIPv6(host)
	return a[:]
}

// prefixLenIPv6 is the prefix length of wire.HostIPv6.
const prefixLenIPv6 = 64

// Attach makes a host's interface for programs, csig0, in a network namespace. csig0
// is up and has the host's addresses and the MTU. Its other end, named shim, is a port
// of the host's machine; Attach returns its index. Offloads are off at both ends: the
// kernel passes frames as they would be on a wire, each with its checksum.
//
// fabric is the interface that leads to the fabric. csig0 has the host's MAC address,
// so fabric gets another one: otherwise the kernel would accept untagged frames from
// the fabric, and the programs would get them twice.
func Attach(namespace *os.File, host int, fabric, shim string, mtu units.Size) (index int, err error) {
	err = Within(namespace, func() error {
		index, err = attach(host, fabric, shim, mtu)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("interface %s: %w", Interface, err)
	}
	return index, nil
}

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

func attach(host int, fabric, shim string, mtu units.Size) (int, error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return 0, err
	}
	defer h.Close()
	outer, err := h.LinkByName(fabric)
	other := wire.MAC(host, 1)
	if err == nil {
		err = h.LinkSetHardwareAddr(outer, other[:])
	}
	if err != nil {
		return 0, fmt.Errorf("address of %s: %w", fabric, err)
	}
	mac := wire.MAC(host, 0)
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = Interface, int(mtu), mac[:]
	attrs.TxQLen = queueLen
	if err := h.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: shim, PeerMTU: uint32(mtu)}); err != nil {
		return 0, fmt.Errorf("create veth pair: %w", err)
	}
	for _, name := range []string{Interface, shim} {
		if err := offloadsOff(name); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
	}
	// With IPv6 the kernel sends frames of its own on an interface; the shim's end
	// must carry only the programs' frames.
	for _, s := range []struct{ name, key, value string }{
		{shim, "disable_ipv6", "1"},
		{Interface, "router_solicitations", "0"},
		{Interface, "accept_ra", "0"},
		{Interface, "accept_dad", "0"},
		{Interface, "addr_gen_mode", "1"}, // no link-local address
		{Interface, "disable_ipv6", "0"},
	} {
		path := "/proc/sys/net/ipv6/conf/" + s.name + "/" + s.key
		if err := os.WriteFile(path, []byte(s.value), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
			return 0, fmt.Errorf("set %s: %w", path, err)
		}
	}
	index := 0
	for _, name := range []string{"lo", shim, Interface} {
		link, err := h.LinkByName(name)
		if err == nil {
			err = h.LinkSetUp(link)
		}
		if err != nil {
			return 0, fmt.Errorf("set %s up: %w", name, err)
		}
		if name == shim {
			index = link.Attrs().Index
		}
		if name == Interface {
			err = addresses(h, link, host)
		}
		if err != nil {
			return 0, err
		}
	}
	return index, nil
}

// queueLen is the kernel's queue length for Ethernet. A queueing discipline that a
// user puts on the interface uses it.
const queueLen = 1000

// addresses gives an interface its addresses, and with them routes to all hosts.
func addresses(h *netlink.Handle, link netlink.Link, host int) error {
	for _, a := range []net.IPNet{
		{IP: IPv4(host), Mask: net.CIDRMask(prefixLen, 32)},
		{IP: IPv6(host), Mask: net.CIDRMask(prefixLenIPv6, 128)},
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
// longer than a link carries (docs/references.md#kernel-behaviour).
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
