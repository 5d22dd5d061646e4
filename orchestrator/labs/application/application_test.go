package application_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/units"
)

func TestMain(m *testing.M) {
	if code, ended := application.Init(); ended {
		os.Exit(code)
	}
	os.Exit(checkout.Main(m, map[string]func([]string) int{
		application.TwinArgument: application.TwinMain,
		"test-resolve": func(names []string) int {
			for _, name := range names {
				fmt.Println(net.LookupHost(name))
			}
			return 0
		},
	}))
}

// space returns a network namespace of its own.
func space(t *testing.T) (file *os.File) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("namespaces need root here")
	}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			file, err = os.Open("/proc/thread-self/ns/net")
		}
	}()
	<-done
	if err != nil {
		t.Skip("no network namespace: ", err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func TestAttach(t *testing.T) {
	node := space(t)
	programs, err := application.NewNetwork()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { programs.Close() })
	err = application.Within(node, func() error {
		return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "p0", HardwareAddr: []byte{2, 0, 1, 2, 0, 0}}, PeerName: "far"})
	})
	if err != nil {
		t.Skip("no veth: ", err)
	}
	index, err := application.Attach(node, programs, 258, "p1", 1400)
	if err != nil {
		t.Fatal(err)
	}
	run := func(in *os.File, line ...string) string {
		t.Helper()
		var out []byte
		err := application.Within(in, func() (err error) {
			out, err = exec.Command(line[0], line[1:]...).CombinedOutput()
			return err
		})
		if err != nil {
			t.Skipf("%v: %v\n%s", line, err, out)
		}
		return string(out)
	}
	for _, c := range []struct {
		in   *os.File
		line string
		want []string
	}{
		{programs, "ip -d addr show csig0", []string{"mtu 1400", "02:00:01:02:00:00", "inet 10.0.1.3/8", "inet6 fd00:c51c::103/64", "state UP"}},
		{node, "ip link show p0", []string{"02:00:01:02:00:00"}},
		{node, "ip link show p1", []string{"mtu 1400", fmt.Sprintf("%d: p1@", index), "state UP"}},
		{programs, "ip addr show lo", []string{"127.0.0.1/8", ",UP,"}},
		{programs, "ip route", []string{"10.0.0.0/8 dev csig0"}},
	} {
		got := run(c.in, strings.Fields(c.line)...)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", c.line, want, got)
			}
		}
	}
	if got := run(programs, "ip", "-o", "link"); strings.Count(got, "\n") != 2 || strings.Contains(got, "p0") || strings.Contains(got, "p1:") {
		t.Errorf("the programs see more than lo and csig0:\n%s", got)
	}
	if got := run(programs, "ip", "-6", "addr", "show"); strings.Contains(got, "fe80:") {
		t.Errorf("a link-local address, which would speak for itself:\n%s", got)
	}
	if path, err := exec.LookPath("ethtool"); err == nil {
		for name, in := range map[string]*os.File{"csig0": programs, "p1": node} {
			got := run(in, path, "-k", name)
			for _, off := range []string{"tx-checksumming", "tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-udp-segmentation", "generic-segmentation-offload", "generic-receive-offload"} {
				if !strings.Contains(got, off+": off") {
					t.Errorf("%s: %s is not off:\n%s", name, off, got)
				}
			}
		}
	}
	if _, err := application.Attach(node, programs, 258, "p1", 1400); err == nil {
		t.Error("a second interface of the same name was made")
	}
}

// set returns the programs of a run at model time, which is real time; host 0 has
// the namespace.
func set(t *testing.T, end units.Time, programs ...application.Program) *application.Set {
	t.Helper()
	local, err := application.NewLocal(map[int]*os.File{0: space(t)}, nil, "CSIGLAB_TEST=yes")
	if err != nil {
		t.Skip("no namespace of processes: ", err)
	}
	dir := t.TempDir()
	for i := range programs {
		programs[i].Name = "h0"
		programs[i].Output = filepath.Join(dir, "programs", fmt.Sprintf("%d.txt", i))
	}
	s := application.NewSet(programs, wall.Clock{Dilation: 1}, end, local)
	t.Cleanup(s.Stop)
	return s
}

func shell(line string) []string { return []string{"sh", "-c", line} }

func done(t *testing.T, s *application.Set) {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the programs do not end")
	}
}

// gone reports whether nothing on this machine carries a mark in its command line.
func gone(mark string) error {
	for range 100 {
		left := ""
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, f := range files {
			if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte(mark)) {
				left = f
			}
		}
		if left == "" {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("a process with %q is left", mark)
}

// A lab that is held keeps its servers when no other program is left.
func TestHeldPrograms(t *testing.T) {
	s := set(t, units.Never, application.Program{Args: []string{"true"}}, application.Program{Args: shell("exec sleep 3600"), Background: true})
	hold := make(chan struct{})
	s.Hold(hold)
	s.Begin(wall.Monotonic())
	for deadline := time.Now().Add(20 * time.Second); s.Ended()[0].Ended == units.Never; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first program does not end")
		}
	}
	select {
	case <-s.Done():
		t.Error("the programs were over while they were held")
	case <-time.After(50 * time.Millisecond):
	}
	if e := s.Ended()[1]; e.Ended != units.Never {
		t.Errorf("the program in the background %v while it was held", e)
	}
	close(hold)
	done(t, s)
	if e := s.Ended()[1]; !e.Stopped {
		t.Errorf("the program in the background %v, want it ended with the run", e)
	}
}

func TestPrograms(t *testing.T) {
	mark := fmt.Sprintf("36%d", 1000+os.Getpid()%1000) // a number of seconds that no other sleep has
	programs := []application.Program{
		{Args: shell("hostname; echo $CSIGLAB_NODE $CSIGLAB_TEST; ls /sys/class/net >/dev/null; echo err >&2; exit 3")},
		{Args: []string{"true"}, Start: units.Time(200 * units.Millisecond)},
		{Args: shell("(setsid sleep " + mark + " &) ; exec sleep " + mark), Background: true},
		{Args: []string{"no-such-program"}},
		{Args: shell("kill -9 $$")},
		{Args: []string{"true"}, Start: units.Time(units.Hour), Background: true},
	}
	s := set(t, units.Never, programs...)
	s.Begin(wall.Monotonic())
	done(t, s)
	ended := s.Ended()
	if err := gone(mark); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(programs[0].Output)
	if diff := cmp.Diff("h0\nh0 yes\nerr\n", string(text)); diff != "" || err != nil {
		t.Error("output of program 0:", err, diff)
	}
	if e := ended[1]; e.Started < units.Time(200*units.Millisecond) || e.Started > units.Time(10*units.Second) || e.Ended < e.Started {
		t.Errorf("program 1 ran from %v to %v, want from 200ms on", units.Duration(e.Started), units.Duration(e.Ended))
	}
	for i := range ended { // times are checked above
		if ended[i].Started != units.Never {
			ended[i].Started, ended[i].Ended = 0, 0
		}
	}
	want := []application.Ended{
		{Code: 3}, {}, {Signal: "SIGTERM", Stopped: true},
		{Started: units.Never, Ended: units.Never, Failure: "executable file not found in $PATH"}, {Signal: "SIGKILL"},
		{Started: units.Never, Ended: units.Never},
	}
	if diff := cmp.Diff(want, ended); diff != "" {
		t.Error("(-want +got)", diff)
	}
	for i, ok := range []bool{false, true, true, false, false, true} {
		if ended[i].OK() != ok {
			t.Errorf("program %d: OK is %v: %v", i, !ok, ended[i])
		}
	}
}

// TestEndOfTheRun ends programs that would go on, and that do not want to.
func TestEndOfTheRun(t *testing.T) {
	s := set(t, units.Time(300*units.Millisecond), application.Program{Args: shell("trap '' TERM; while :; do sleep 1; done")})
	began := time.Now()
	s.Begin(wall.Monotonic())
	done(t, s)
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("the run ended after %v", took)
	}
	if e := s.Ended()[0]; !e.Stopped || e.Signal != "SIGKILL" {
		t.Errorf("got %+v, want it killed with the run", e)
	}
	s.Stop() // again
}

// TestStopBeforeBegin is a run that fails while it is deployed.
func TestStopBeforeBegin(t *testing.T) {
	s := set(t, units.Never, application.Program{Args: []string{"true"}})
	s.Stop()
	if e := s.Ended()[0]; e.Started != units.Never {
		t.Errorf("got %+v, want it never started", e)
	}
}

// TestParentKilled is a csiglab that dies by kill -9: its programs go with it.
func TestParentKilled(t *testing.T) {
	space(t)
	mark := fmt.Sprintf("37%d", 1000+os.Getpid()%1000)
	if line := os.Getenv("APPLICATION_TEST_PARENT"); line != "" {
		s := set(t, units.Never, application.Program{Args: shell(line)})
		s.Begin(wall.Monotonic())
		done(t, s)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestParentKilled$")
	cmd.Env = append(os.Environ(), "APPLICATION_TEST_PARENT=setsid sleep "+mark+" & sleep "+mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); gone("sleep\x00"+mark) == nil; {
		if time.Now().After(deadline) {
			t.Fatal("the program does not start")
		}
	}
	cmd.Process.Kill()
	cmd.Wait() //nolint:errcheck // it was killed
	if err := gone(mark); err != nil {
		t.Error(err)
	}
}
