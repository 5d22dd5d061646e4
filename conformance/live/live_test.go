package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/conformance/own"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/kernel"
	"github.com/csiglab/csiglab/nodes/netio"
)

const ports = 3

// rate is that of the devices under test: what a busy machine can send.
const rate = 100_000_000

// wired returns interfaces that are joined with those of another namespace, in which the device
// is. device is called there with the indices of its interfaces.
func wired(t *testing.T, device func(indices []int)) netio.Conn {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root here")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()    //nolint:errcheck // the test's own
	defer netns.Set(home) //nolint:errcheck // likewise
	space := func() netns.NsHandle {
		ns, err := netns.New()
		if err != nil {
			t.Skipf("a network namespace: %v", err)
		}
		t.Cleanup(func() { ns.Close() })                                                 //nolint:errcheck // likewise
		os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0o644) //nolint:errcheck // there may be no IPv6
		return ns
	}
	inside, outside := space(), space()
	var near, far []int
	for i := range ports {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = fmt.Sprintf("eth%d", i)
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: attrs.Name, PeerNamespace: netlink.NsFd(inside)}); err != nil {
			t.Fatal(err)
		}
		near = append(near, up(t, attrs.Name))
	}
	if err := netns.Set(inside); err != nil {
		t.Fatal(err)
	}
	for i := range ports {
		far = append(far, up(t, fmt.Sprintf("eth%d", i)))
	}
	device(far)
	if err := netns.Set(outside); err != nil {
		t.Fatal(err)
	}
	c, err := netio.OpenPacket(near, 2048)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) //nolint:errcheck // likewise
	return c
}

// up sets an interface of the thread's namespace up, and returns its index.
func up(t *testing.T, name string) int {
	t.Helper()
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(l)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l.Attrs().Index
}

func run(t *testing.T, c netio.Conn, setup *conformance.Setup) *conformance.Report {
	t.Helper()
	if err := Check(setup); err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), Config{Conn: c, Ports: []string{"eth0", "eth1", "eth2"}, Setup: setup, Tolerance: 0.15})
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range conformance.Rules {
		if !slices.ContainsFunc(r.Results, func(x conformance.Result) bool { return x.RuleID == rule.ID }) {
			t.Errorf("nothing is said of rule %s", rule.ID)
		}
	}
	return r
}

// inKernel attaches csiglab's switch in the kernel.
func inKernel(t *testing.T, setup *conformance.Setup) func([]int) {
	return func(indices []int) {
		c, f, err := own.Switch(setup)
		if err != nil {
			t.Fatal(err)
		}
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			t.Fatal(err)
		}
		s, err := kernel.New(kernel.Config{Switch: c, Format: f, Interfaces: indices, Start: now.Nano()})
		if errors.Is(err, os.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
			t.Skipf("%v; programs need CAP_BPF and CAP_NET_ADMIN, and Linux 6.6", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() }) //nolint:errcheck // the end of the test
		if err := s.Attach(); err != nil {
			t.Fatal(err)
		}
	}
}

// policies sets the policy of a port for all types of both formats.
func policies(setup *conformance.Setup, port int, policy string) {
	all := map[string]string{}
	for _, t := range types {
		all[t] = policy
	}
	setup.Ports[port].Policies = map[string]map[string]string{compact: all, wide: all}
}

// csiglab's switch in the kernel keeps all rules, under setups of many kinds.
func TestKernel(t *testing.T) {
	checkout.SkipLong(t)
	for name, change := range map[string]func(*conformance.Setup){
		"default": func(*conformance.Setup) {},
		"policies": func(d *conformance.Setup) {
			policies(d, 1, "pass")
			policies(d, 2, "strip")
			d.OverrideD = []string{"abw"}
			d.Ports[0].Locators = nil
		},
		"draft": func(d *conformance.Setup) {
			d.Dialect = "draft-01"
			delete(d.Formats, wide)
			d.Formats[compact] = conformance.Format{TPID: "0x9998", Quantisers: d.Formats[compact].Quantisers}
		},
	} {
		t.Run(name, func(t *testing.T) {
			setup := Default(ports, rate)
			change(setup)
			r := run(t, wired(t, inKernel(t, setup)), setup)
			for i := range r.Results {
				if x := &r.Results[i]; x.Outcome == conformance.Failed || x.Outcome == conformance.Broken {
					t.Errorf("%s: %s %s", x.ID, x.Outcome, x.Reason)
					for k := range x.Wrong {
						t.Errorf("%s\n%s", x.Wrong[k].Says(), x.Wrong[k].Dump())
					}
				}
			}
			t.Logf("%d pass, %d skipped", r.Count(conformance.Passed), r.Count(conformance.Skipped))
		})
	}
}

// A bridge that knows nothing of tags keeps the rules of frames that leave as they came, and
// breaks those of updates and signals. A switch that is set up otherwise breaks those of what is
// other.
func TestWrong(t *testing.T) {
	checkout.SkipLong(t)
	bridge := func([]int) {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "bridge"
		if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
			t.Skipf("a bridge: %v", err)
		}
		b, err := netlink.LinkByName("bridge")
		if err != nil {
			t.Fatal(err)
		}
		up(t, "bridge")
		for i := range ports {
			l, err := netlink.LinkByName(fmt.Sprintf("eth%d", i))
			if err == nil {
				err = netlink.LinkSetMaster(l, b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	setup := Default(ports, rate)
	failed := steady(t, run(t, wired(t, bridge), setup)).Failed()
	for _, rule := range []string{"CSIG-UPD-01", "CSIG-UPD-02", "CSIG-UPD-06", "CSIG-LOC-01", "CSIG-SIG-01", "CSIG-SIG-04", "CSIG-SIG-05", "CSIG-POS-02"} {
		if !slices.Contains(failed, rule) {
			t.Errorf("a bridge keeps %s", rule)
		}
	}
	for _, rule := range failed {
		for _, kept := range []string{"CSIG-UPD-04", "CSIG-UPD-09", "CSIG-DNU", "CSIG-UNK", "CSIG-DMG", "CSIG-TPI-04", "CSIG-POS-07", "CSIG-POS-10", "CSIG-LAY-05", "CSIG-LAY-10", "CSIG-TUN-02"} {
			if strings.HasPrefix(rule, kept) {
				t.Errorf("a bridge breaks %s", rule)
			}
		}
	}

	slow := Default(ports, rate)
	for i := range slow.Ports {
		slow.Ports[i].Rate = rate / 2
	}
	t.Run("half the rate", func(t *testing.T) { // as if the port had another rate than it says
		wrong(t, steady(t, run(t, wired(t, inKernel(t, slow)), setup)).Failed(), "CSIG-SIG-01", "CSIG-SIG-05")
	})
	t.Run("D overridden", func(t *testing.T) {
		other := Default(ports, rate)
		other.OverrideD = []string{"abw"}
		wrong(t, run(t, wired(t, inKernel(t, other)), setup).Failed(), "CSIG-LAY-04", "CSIG-LAY-09", "CSIG-DNU-01", "CSIG-DNU-02")
	})
}

// steady skips the test if this machine was too busy to send the load.
func steady(t *testing.T, r *conformance.Report) *conformance.Report {
	t.Helper()
	if slices.ContainsFunc(r.Results, func(x conformance.Result) bool { return x.Reason == paused }) {
		t.Skip(paused)
	}
	return r
}

// wrong wants the rules among those that failed.
func wrong(t *testing.T, failed []string, rules ...string) {
	t.Helper()
	for _, rule := range rules {
		if !slices.Contains(failed, rule) {
			t.Errorf("%s is kept; failed: %v", rule, failed)
		}
	}
}
