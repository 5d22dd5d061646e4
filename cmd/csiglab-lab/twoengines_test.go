package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/goccy/go-yaml"

	"github.com/csiglab/csiglab/cmd/cli"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

// TestShardsOnTwoEngines: the files of topo export --shards, deployed as they are by
// containerlab's own command on two engines, in two network namespaces that a bridge joins,
// make one fabric: full frames cross each cut link, both ways, and no other link carries
// them. It takes minutes: most is the build of containerlab.
func TestShardsOnTwoEngines(t *testing.T) {
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("set CSIGLAB_E2E=1 to build containerlab and deploy on two engines")
	}
	containerlabtest.Program(t)
	containerlabtest.Command(t)
	built := programstest.Built(t)
	t.Setenv(programstest.Variable, built)
	if !containerlabtest.Alone(t) {
		return
	}
	t.Setenv("PATH", built+":"+os.Getenv("PATH"))
	programs, err := backend.FindPrograms()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "hosts")
	var said strings.Builder
	args := []string{"topo", "export", "dragonfly", "--format", "clab", "--shards", "2", "--remotes", "192.0.2.1,192.0.2.2", "--out", folder}
	if code := cli.Execute(t.Context(), command.Linked{Containers: engine{}}, args, nil, io.Discard, &said); code != 0 {
		t.Fatalf("exit %d, %s", code, &said)
	}
	machines := joinedNamespaces(t, 2)
	pids := map[string]int{} // of the containers, by node
	var links []cutLink
	for i, network := range machines {
		docker := containerlabtest.NewIn(t, network) // sets DOCKER_HOST, too
		opened, err := containerlab.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = opened.EnsureImages(t.Context(), containerlab.Binaries{Host: programs.Host, Switch: programs.Switch})
		opened.Close()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, fmt.Sprintf("dragonfly-1-2-1.shard%d.clab.yml", i))
		deploy := func(args ...string) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + network, containerlabtest.Command(t)}, append(args, "--topo", file)...)...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "DOCKER_HOST="+docker.Host, "CLAB_VERSION_CHECK=disable", "TMPDIR="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%v: %w\n%s", cmd, err, out)
			}
			return nil
		}
		if err := deploy("deploy"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := deploy("destroy", "--cleanup"); err != nil {
				t.Error(err)
			}
		})
		part := readPart(t, file)
		for node := range part.Topology.Nodes {
			c, err := docker.Client.ContainerInspect(t.Context(), "clab-"+part.Name+"-"+node)
			if err != nil || !c.State.Running {
				t.Fatalf("container of %s: %v, %+v", node, err, c.State)
			}
			pids[node] = c.State.Pid
		}
		for _, l := range part.Topology.Links {
			if l.Type == "vxlan" {
				links = append(links, cutLink{l.VNI, l.Endpoint.Node, l.Endpoint.Interface, l.MTU})
			}
		}
	}
	if len(links) != 4 {
		t.Fatalf("ends of cut links: %+v, want those of 2 links", links)
	}
	for _, from := range links {
		for _, to := range links {
			got, err := crosses(pids[from.node], from, pids[to.node], to)
			if want := from.vni == to.vni && from != to; err != nil || got != want {
				t.Errorf("a frame of %d B from %s %s arrives at %s %s: %v (%v), want %v", from.mtu, from.node, from.port, to.node, to.port, got, err, want)
			}
		}
	}
}

// cutLink is an end of a cut link.
type cutLink struct {
	vni        int
	node, port string
	mtu        int
}

// exportedPart is what the test reads of a part's file.
type exportedPart struct {
	Name     string
	Topology struct {
		Nodes map[string]any
		Links []struct {
			Type     string
			Endpoint struct{ Node, Interface string }
			VNI, MTU int
		}
	}
}

func readPart(t *testing.T, file string) (p exportedPart) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// joinedNamespaces makes so many network namespaces, with the addresses of remotes on
// interfaces that a bridge joins, and returns their paths.
func joinedNamespaces(t *testing.T, n int) (paths []string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const underlay = 9000 // MTU: frames of the lab fit, with what a tunnel adds
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "machines", MTU: underlay}}
	check(netlink.LinkAdd(bridge))
	check(netlink.LinkSetUp(bridge))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here, err := netns.Get()
	check(err)
	defer here.Close()
	for i := range n {
		address := fmt.Sprintf("192.0.2.%d", i+1)
		name := fmt.Sprintf("machine%d", i)
		there, err := netns.NewNamed(name) // and enters it
		check(err)
		check(netns.Set(here))
		paths = append(paths, "/run/netns/"+name)
		veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprintf("port%d", i), MTU: underlay}, PeerName: "eth0", PeerNamespace: netlink.NsFd(there)}
		check(netlink.LinkAdd(veth))
		check(netlink.LinkSetMaster(veth, bridge))
		check(netlink.LinkSetUp(veth))
		inside, err := netlink.NewHandleAt(there)
		check(err)
		eth0, err := inside.LinkByName("eth0")
		check(err)
		check(inside.LinkSetMTU(eth0, underlay))
		check(inside.AddrAdd(eth0, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(address).To4(), Mask: net.CIDRMask(24, 32)}}))
		check(inside.LinkSetUp(eth0))
		loopback, err := inside.LinkByName("lo")
		check(err)
		check(inside.LinkSetUp(loopback))
		inside.Close()
		there.Close()
	}
	return paths
}

// experimental is a local experimental EtherType (IEEE 802-2014 §9.2.4).
const experimental = 0x88b5

// crosses reports whether a frame of full length that is sent at one end arrives at another
// one, unchanged, within a second.
func crosses(pid int, from cutLink, otherPID int, to cutLink) (bool, error) {
	receiver, _, err := rawSocket(otherPID, to.port)
	if err != nil {
		return false, err
	}
	defer unix.Close(receiver)
	sender, index, err := rawSocket(pid, from.port)
	if err != nil {
		return false, err
	}
	defer unix.Close(sender)
	frame := make([]byte, 14+from.mtu)
	copy(frame, "\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x88\xb5")
	for i := range frame[14:] {
		frame[14+i] = byte(i)
	}
	copy(frame[14:], from.node+from.port+to.node+to.port)
	if err := unix.Sendto(sender, frame, 0, &unix.SockaddrLinklayer{Ifindex: index, Protocol: swapped(experimental)}); err != nil {
		return false, fmt.Errorf("send %d B: %w", len(frame), err)
	}
	if err := unix.SetsockoptTimeval(receiver, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return false, err
	}
	got := make([]byte, len(frame)+1)
	for {
		n, address, err := unix.Recvfrom(receiver, got, 0)
		switch link, _ := address.(*unix.SockaddrLinklayer); {
		case errors.Is(err, unix.EAGAIN):
			return false, nil
		case err != nil:
			return false, err
		case link != nil && link.Pkttype == unix.PACKET_OUTGOING:
		case bytes.Equal(got[:n], frame):
			return true, nil
		}
	}
}

func swapped(x uint16) uint16 { return x<<8 | x>>8 }

// rawSocket opens a packet socket at an interface in the network namespace of a process, and
// returns it and the interface's index.
func rawSocket(pid int, port string) (socket, index int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here, err := netns.Get()
	if err != nil {
		return 0, 0, err
	}
	defer here.Close()
	there, err := netns.GetFromPid(pid)
	if err != nil {
		return 0, 0, err
	}
	defer there.Close()
	if err := netns.Set(there); err != nil {
		return 0, 0, err
	}
	defer func() {
		if back := netns.Set(here); back != nil {
			panic(back) // nothing else can be done on this thread
		}
	}()
	link, err := net.InterfaceByName(port)
	if err != nil {
		return 0, 0, err
	}
	if socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(swapped(experimental))); err != nil {
		return 0, 0, err
	}
	if err := unix.Bind(socket, &unix.SockaddrLinklayer{Ifindex: link.Index, Protocol: swapped(experimental)}); err != nil {
		unix.Close(socket)
		return 0, 0, err
	}
	return socket, link.Index, nil
}
