package containers

import (
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/orchestrator/containerlab"
)

// each calls do for every interface of the run's containers.
func (r *run) each(do func(h *netlink.Handle, index int) error) error {
	for i, n := range r.deployed.Nodes {
		for port, index := range n.Interfaces {
			if err := within(n.PID, func(h *netlink.Handle) error { return do(h, index) }); err != nil {
				return fmt.Errorf("node %s: interface %s: %w", r.fabric.Graph.Nodes[i].Name, containerlab.Interface(port), err)
			}
		}
	}
	return nil
}

// within calls do with a connection to the kernel in the network namespace of a
// process.
func within(pid int, do func(*netlink.Handle) error) error {
	space, err := netns.GetFromPid(pid)
	if err != nil {
		return err
	}
	defer space.Close()
	h, err := netlink.NewHandleAt(space, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	return do(h)
}

// patience is how long an interface may take to carry frames.
const patience = 3 * time.Second

// settle waits until the interfaces carry frames: the kernel attaches their
// queues a little after they come up, and drops what is sent before.
func (r *run) settle() error {
	deadline := time.Now().Add(patience)
	return r.each(func(h *netlink.Handle, index int) error {
		for {
			link, err := h.LinkByIndex(index)
			if err != nil {
				return err
			}
			if link.Attrs().OperState == netlink.OperUp {
				return nil
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("does not come up within %v", patience)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// count adds up what the interfaces have counted.
func (r *run) count(out *Outcome) error {
	return r.each(func(h *netlink.Handle, index int) error {
		link, err := h.LinkByIndex(index)
		if err != nil {
			return fmt.Errorf("counters: %w", err)
		}
		out.TxPackets += int64(link.Attrs().Statistics.TxPackets)
		out.RxPackets += int64(link.Attrs().Statistics.RxPackets)
		return nil
	})
}

// cpu returns the processor time that the nodes have taken so far.
func (r *run) cpu() (sum time.Duration) {
	for _, n := range r.deployed.Nodes {
		sum += cpuOf(n.PID)
	}
	return sum
}

// cpuOf returns the processor time of a process, 0 when it is gone. The clock's
// number is that of clock_getcpuclockid(3).
func cpuOf(pid int) time.Duration {
	const ofProcess = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|ofProcess), &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
