package doctor

import (
	"fmt"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ownNetwork is a link whose text names the process's network namespace.
const ownNetwork = "/proc/self/ns/net"

// Probe creates a veth pair and a packet socket in this process's network namespace
// and returns the outcome of both. The argument names the namespace of the process that
// examines the machine; Probe returns an error and does nothing if that is also its
// own.
func Probe(examiner string) ([]Finding, error) {
	own, err := os.Readlink(ownNetwork)
	if err != nil || own == examiner || !strings.HasPrefix(examiner, "net:") {
		return nil, fmt.Errorf("this is for doctor, in a network namespace of its own; here is %s", own)
	}
	return []Finding{probeVeth(), probePacket()}, nil
}

// probeMTU is enough for the largest packet of an experiment, with its trailer.
const probeMTU = 65535

func probeVeth() Finding {
	f := Finding{Name: "veth links", Fix: "load the module: sudo modprobe veth"}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = "probe0", probeMTU
	pair := netlink.NewVeth(attributes)
	pair.PeerName, pair.PeerMTU = "probe1", probeMTU
	if err := netlink.LinkAdd(pair); err != nil {
		f.Detail = fmt.Sprintf("a pair with MTU %d: %v", probeMTU, err)
		return f
	}
	for _, name := range []string{"probe0", "probe1"} {
		link, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			f.Detail, f.Fix = fmt.Sprintf("%s: %v", name, err), "look into the kernel's log: dmesg"
			return f
		}
	}
	return Finding{Name: "veth links", OK: true, Detail: fmt.Sprintf("a pair with MTU %d", probeMTU)}
}

func probePacket() Finding {
	f := Finding{Name: "AF_PACKET", Fix: "load the module: sudo modprobe af_packet"}
	protocol := uint16(unix.ETH_P_ALL)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(protocol<<8|protocol>>8))
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	if err := unix.Close(fd); err != nil {
		f.Detail = err.Error()
		return f
	}
	return Finding{Name: "AF_PACKET", OK: true, Detail: "raw packet sockets"}
}
