package doctor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/shape"
	"github.com/csiglab/csiglab/units"
)

// ownNetwork is a link whose text names the process's network namespace.
const ownNetwork = "/proc/self/ns/net"

// Probe tries, in this process's network namespace, what runs in network namespaces
// need: the namespaces of two nodes, a link between them, a shaper on it, packet sockets,
// a real-time priority and the namespaces of programs. The argument names the namespace of
// the process that examines the machine; Probe returns an error and does nothing if that
// is also its own.
func Probe(examiner string) ([]Finding, error) {
	own, err := os.Readlink(ownNetwork)
	if err != nil || own == examiner || !strings.HasPrefix(examiner, "net:") {
		return nil, fmt.Errorf("this is for doctor, in a network namespace of its own; here is %s", own)
	}
	p := &prober{}
	defer p.close()
	for _, check := range []struct {
		name, fix string
		optional  bool
		try       func() (detail string, err error)
	}{
		{name: "capabilities", try: p.capabilities, fix: "give this container CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW, such as by docker run --privileged"},
		{name: "network namespaces", try: p.namespaces, fix: "raise the limit, sudo sysctl -w user.max_net_namespaces=15000, and mount /proc/sys so that it can be written"},
		{name: "veth links", try: p.veth, fix: "load the module: sudo modprobe veth"},
		{name: "AF_PACKET", try: p.packet, fix: "load the module: sudo modprobe af_packet"},
		{name: "traffic shaping", try: p.shaping, optional: true, fix: "for clock wall load the module: sudo modprobe sch_tbf"},
		{name: "real-time priority", try: p.priority, optional: true, fix: PriorityFix()},
		{name: "namespaces of programs", try: p.programs, optional: true, fix: "for programs and csiglab exec: allow new PID and mount namespaces, in which /proc can be mounted"},
	} {
		f := Finding{Name: check.name, Optional: check.optional}
		detail, err := check.try()
		if f.OK, f.Detail = err == nil, detail; err != nil {
			f.Detail, f.Fix = err.Error(), check.fix
		}
		switch {
		case errors.Is(err, errFirst):
			f.Fix = "mend what is missing above first"
		case errors.Is(err, unix.EPERM) && !check.optional:
			f.Fix = "this process may not do it: see capabilities above"
		}
		p.findings = append(p.findings, f)
	}
	return p.findings, nil
}

// errFirst says that a check needs the success of one before it.
var errFirst = errors.New("not tried")

// prober holds what checks leave to those after them.
type prober struct {
	findings []Finding
	nodes    []*os.File // network namespaces
	handles  []*netlink.Handle
	link     int // index of the interface in the first node; 0: there is none
}

func (p *prober) close() {
	for _, h := range p.handles {
		h.Close()
	}
	for _, f := range p.nodes {
		f.Close()
	}
}

// needed are the capabilities of the process that makes the nodes (capabilities(7)).
var needed = []struct {
	bit  int
	name string
}{{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"}, {unix.CAP_NET_RAW, "CAP_NET_RAW"}, {unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}}

func (*prober) capabilities() (string, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	_, after, _ := strings.Cut(string(status), "\nCapEff:")
	line, _, _ := strings.Cut(after, "\n")
	set, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	if err != nil {
		return "", fmt.Errorf("/proc/self/status: %w", err)
	}
	var names, lacks []string
	for _, c := range needed {
		names = append(names, c.name)
		if set>>c.bit&1 == 0 {
			lacks = append(lacks, c.name)
		}
	}
	if len(lacks) > 0 {
		return "", fmt.Errorf("this process has no %s", strings.Join(lacks, ", "))
	}
	return strings.Join(names, ", "), nil
}

func (p *prober) namespaces() (string, error) {
	for range 2 {
		file, err := application.NewNetwork()
		if err != nil {
			return "", err
		}
		p.nodes = append(p.nodes, file)
		h, err := netlink.NewHandleAt(netns.NsHandle(file.Fd()), unix.NETLINK_ROUTE)
		if err != nil {
			return "", fmt.Errorf("netlink: %w", err)
		}
		p.handles = append(p.handles, h)
	}
	return "two, without IPv6", nil
}

// probeMTU is enough for the largest packet of an experiment, with its trailer.
const probeMTU = 65535

func (p *prober) veth() (string, error) {
	if len(p.handles) < 2 {
		return "", errFirst
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU, attributes.Namespace = "probe0", probeMTU, netlink.NsFd(p.nodes[0].Fd())
	pair := &netlink.Veth{LinkAttrs: attributes, PeerName: "probe1", PeerMTU: probeMTU, PeerNamespace: netlink.NsFd(p.nodes[1].Fd())}
	if err := netlink.LinkAdd(pair); err != nil {
		return "", fmt.Errorf("a pair with MTU %d: %w", probeMTU, err)
	}
	for i, name := range []string{"probe0", "probe1"} {
		link, err := p.handles[i].LinkByName(name)
		if err == nil {
			err = p.handles[i].LinkSetUp(link)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if i == 0 {
			p.link = link.Attrs().Index
		}
	}
	return fmt.Sprintf("a pair with MTU %d between the two", probeMTU), nil
}

func (p *prober) packet() (string, error) {
	if p.link == 0 {
		return "", errFirst
	}
	err := application.Within(p.nodes[0], func() error {
		conn, err := netio.OpenPacket([]int{p.link}, probeMTU)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return "raw packet sockets, with rings in memory", err
}

func (p *prober) shaping() (string, error) {
	if p.link == 0 {
		return "", errFirst
	}
	return "a token bucket filter (tbf) on the link, for clock wall",
		shape.Set(p.handles[0], p.link, shape.Limit{Rate: units.Gbps, Dilation: 1, Frame: probeMTU, Packet: probeMTU})
}

func (*prober) priority() (string, error) {
	runtime.LockOSThread() // never unlocked: the thread ends with this process
	return "SCHED_FIFO, for clock wall", wall.Raise(unix.Gettid())
}

// priorityFix says how this user gets a real-time priority.
// PriorityFix returns what to do where this user gets no real-time priority.
func PriorityFix() string {
	const without = "clock wall runs without it, less exact or slower"
	if text, err := os.ReadFile("/proc/sys/kernel/sched_rt_runtime_us"); err == nil && strings.TrimSpace(string(text)) == "0" {
		return "sudo sysctl -w kernel.sched_rt_runtime_us=950000; " + without
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_RTPRIO, &limit); err == nil && limit.Cur == 0 {
		return "allow it with \"rtprio 10\" in /etc/security/limits.conf (ulimit -r), or with CAP_SYS_NICE in a container; " + without
	}
	return "look at the limits of this control group (cpu.rt_runtime_us); " + without
}

func (p *prober) programs() (string, error) {
	if len(p.nodes) == 0 {
		return "", errFirst
	}
	local, err := application.NewLocal(map[int]*os.File{0: p.nodes[0]}, application.Names{})
	if err != nil {
		return "", err
	}
	local.Kill()
	return "of processes and mounts, for programs and csiglab exec", nil
}

// notTried returns the findings of Probe where it could not be started.
func notTried() []Finding {
	var list []Finding
	for _, name := range []string{"capabilities", "network namespaces", "veth links", "AF_PACKET", "traffic shaping", "real-time priority", "namespaces of programs"} {
		list = append(list, Finding{
			Name: name, Optional: slices.Contains([]string{"traffic shaping", "real-time priority", "namespaces of programs"}, name),
			Detail: "not tried without a private namespace", Fix: "mend the namespaces first",
		})
	}
	return list
}
