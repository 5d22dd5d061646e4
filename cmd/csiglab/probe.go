package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// probeName is the command that doctor starts in a private network namespace.
const probeName = "probe-private-network"

// ownNetwork is a link whose text names the process's network namespace.
const ownNetwork = "/proc/self/ns/net"

// probe makes a veth pair and a packet socket and prints what came of it as
// JSON. Its argument is doctor's own network namespace, in which it refuses to
// work.
func (a *app) probe() *cobra.Command {
	return &cobra.Command{
		Use:    probeName,
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			own, err := os.Readlink(ownNetwork)
			if err != nil || own == args[0] || !strings.HasPrefix(args[0], "net:") {
				return usage("this is for doctor, in a network namespace of its own; here is %s", own)
			}
			return a.printJSON([]finding{probeVeth(), probePacket()})
		},
	}
}

// probeMTU holds the largest packet that an experiment may have, with its
// trailer.
const probeMTU = 65535

func probeVeth() finding {
	f := finding{Name: "veth links", Fix: "load the module: sudo modprobe veth"}
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
	return finding{Name: "veth links", OK: true, Detail: fmt.Sprintf("a pair with MTU %d", probeMTU)}
}

func probePacket() finding {
	f := finding{Name: "AF_PACKET", Fix: "load the module: sudo modprobe af_packet"}
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
	return finding{Name: "AF_PACKET", OK: true, Detail: "raw packet sockets"}
}
