package containerlab

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/topologies"
)

// within calls do on a thread that is in the network namespace net.
func within(net *os.File, do func() error) error {
	return aside(func() error { return unix.Setns(int(net.Fd()), unix.CLONE_NEWNET) }, do)
}

// withinNew calls do on a thread that is in a network namespace of its own. Interfaces
// that remain in it vanish when withinNew returns, or when this process dies.
func withinNew(do func() error) error {
	return aside(func() error { return unix.Unshare(unix.CLONE_NEWNET) }, do)
}

// aside calls enter and do on a thread of their own. Afterwards it returns the thread
// to the namespace that it came from.
func aside(enter, do func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		if err != nil {
			runtime.UnlockOSThread()
			result <- fmt.Errorf("own network namespace: %w", err)
			return
		}
		defer home.Close()
		if err := enter(); err != nil {
			runtime.UnlockOSThread()
			result <- fmt.Errorf("enter a network namespace: %w", err)
			return
		}
		err = do()
		back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET)
		if back == nil {
			runtime.UnlockOSThread() // otherwise the thread ends with the goroutine
		}
		result <- errors.Join(err, back)
	}()
	return <-result
}

// interfaces returns the index of the interface of each port of a node in its namespace, and
// checks its MTU.
func interfaces(net *os.File, g *topologies.Graph, node, ports, mtu int) ([]int, error) {
	h, err := netlink.NewHandleAt(netns.NsHandle(net.Fd()))
	if err != nil {
		return nil, fmt.Errorf("enter a network namespace: %w", err)
	}
	defer h.Close()
	indices := make([]int, ports)
	for p := range ports {
		name := Interface(g, topologies.End{Node: node, Port: p})
		link, err := h.LinkByName(name)
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", name, err)
		}
		if got := link.Attrs().MTU; got != mtu {
			return nil, fmt.Errorf("interface %s: mtu %d, not %d", name, got, mtu)
		}
		indices[p] = link.Attrs().Index
	}
	return indices, nil
}
