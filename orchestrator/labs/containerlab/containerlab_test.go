package containerlab_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/topologies"
)

// victimRole is a process that deploys a Lab: TestContainers kills it on the way.
const victimRole = "test-deploy"

func TestMain(m *testing.M) {
	os.Exit(checkout.Main(m, map[string]func([]string) int{victimRole: victim}))
}

func victim(args []string) int {
	var lab containerlab.Lab
	err := json.Unmarshal([]byte(args[0]), &lab)
	if err == nil {
		var e *containerlab.Engine
		if e, err = containerlab.Open(context.Background()); err == nil {
			_, err = e.Deploy(context.Background(), lab)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	select {} // until it is killed
}

// bench is what the tests with containers share: starting an engine takes a
// second or two.
type bench struct {
	dockerd *containerlabtest.Engine
	docker  *client.Client // of dockerd
	engine  *containerlab.Engine
	images  containerlab.Images
	before  []string // of the machine
}

// TestContainers needs root and dockerd; it is skipped without.
func TestContainers(t *testing.T) {
	checkout.SkipLong(t)
	containerlabtest.Program(t)
	containerlabtest.Command(t) // before Alone, which has no network to fetch its modules
	if !containerlabtest.Alone(t) {
		return
	}
	b, programs := newBench(t)
	b.before = containerlabtest.Machine(t, b.docker)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"images", func(t *testing.T, b *bench) { testImages(t, b, programs) }},
		{"three-flow", testThreeFlow},
		{"side by side", testSideBySide},
		{"node fails", testNodeFails},
		{"cancel", testCancel},
		{"kill", testKill},
		{"command", testCommand},
	} {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, b) }) {
			return // what follows would find the same again
		}
	}
}

// newBench starts an engine and builds the images of a lab's nodes.
func newBench(t testing.TB) (*bench, containerlab.Binaries) {
	t.Helper()
	b := &bench{dockerd: containerlabtest.New(t)}
	b.docker = b.dockerd.Client
	var err error
	if b.engine, err = containerlab.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.engine.Close() })
	program := buildProbe(t)
	programs := containerlab.Binaries{Switch: program, Host: program}
	if b.images, err = b.engine.EnsureImages(t.Context(), programs); err != nil {
		t.Fatal(err)
	}
	return b, programs
}

// buildProbe builds the program that stands in for csig-switch and csig-host.
func buildProbe(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "probe")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "./testdata/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return path
}

// lab returns a lab whose nodes write their report into a folder of their own,
// with the path of that folder.
func (b *bench) lab(t testing.TB, g *topologies.Graph, run string) (lab containerlab.Lab, reports string) {
	t.Helper()
	lab = newLab(g, containerlab.NodeSettings{})
	lab.RunID, lab.Folder = run, t.TempDir()
	reports = filepath.Join(lab.Folder, "nodes")
	if err := os.Mkdir(reports, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, n := range g.Nodes {
		lab.Nodes[i] = containerlab.NodeSettings{
			Image: b.images.Switch, Cmd: []string{"/csiglab/" + n.Name, "a b", "it's"},
			Env: map[string]string{"PROBE": "yes"}, Binds: []string{"nodes:/csiglab"}, PIDs: 64, Memory: 64 << 20,
		}
		if n.Kind == topologies.Host {
			lab.Nodes[i].Image = b.images.Host
		}
	}
	return lab, reports
}

func (b *bench) checkNothingLeft(t *testing.T) {
	t.Helper()
	containerlabtest.NothingLeft(t, b.docker, b.before)
}

func testThreeFlow(t *testing.T, b *bench) {
	g := threeFlow(t)
	lab, reports := b.lab(t, g, "r1")
	start := time.Now()
	d, err := b.engine.Deploy(t.Context(), lab)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d containers and %d links deployed in %v", len(g.Nodes), len(g.Links), time.Since(start))
	for i, n := range d.Nodes {
		info, err := b.docker.ContainerInspect(t.Context(), n.ID)
		if err != nil {
			t.Fatal(err)
		}
		if info.Name != "/"+n.Name || info.State.Pid != n.PID || n.Name != "clab-three-flow-r1-"+g.Nodes[i].Name {
			t.Errorf("node %s: container %s has pid %d, Deploy said %s and %d", g.Nodes[i].Name, info.Name, info.State.Pid, n.Name, n.PID)
		}
		h := info.HostConfig
		var added []string
		for _, c := range h.CapAdd { // engines differ in how they repeat what they were told
			added = append(added, strings.TrimPrefix(c, "CAP_"))
		}
		got := []any{h.Privileged, h.ReadonlyRootfs, string(h.NetworkMode), added, []string(h.CapDrop), h.SecurityOpt, h.Memory, *h.PidsLimit, string(h.RestartPolicy.Name), info.Config.Labels["csiglab.run"], info.Config.Labels["csiglab.lab"], info.NetworkSettings.SandboxKey}
		want := []any{false, true, "none", []string{"NET_ADMIN", "NET_RAW"}, []string{"ALL"}, []string{"no-new-privileges:true"}, int64(64 << 20), int64(64), "no", "r1", "three-flow", ""}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("node %s (-want +got):\n%s", g.Nodes[i].Name, diff)
		}
	}
	checkReports(t, g, reports)
	checkLinks(t, g, d, lab.MTU)
	start = time.Now()
	if err := b.engine.Destroy(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	t.Logf("destroyed in %v", time.Since(start))
	b.checkNothingLeft(t)
	if err := b.engine.Destroy(t.Context(), d); err != nil {
		t.Errorf("a second Destroy: %v", err)
	}
}

// checkReports checks what each node found itself allowed to do.
func checkReports(t *testing.T, g *topologies.Graph, dir string) {
	t.Helper()
	for _, n := range g.Nodes {
		// 0x3000 is CAP_NET_ADMIN (12) and CAP_NET_RAW (13).
		want := map[string]string{
			"args": "/csiglab/" + n.Name + "|a b|it's", "env": "yes", "root": "open /written: read-only file system",
			"NoNewPrivs": "1", "CapInh": "0000000000000000", "CapAmb": "0000000000000000",
			"CapPrm": "0000000000003000", "CapEff": "0000000000003000", "CapBnd": "0000000000003000",
		}
		var got map[string]string
		for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			text, err := os.ReadFile(filepath.Join(dir, n.Name))
			if err == nil && json.Unmarshal(text, &got) == nil {
				break
			}
			if time.Since(start) > 10*time.Second {
				t.Fatalf("node %s: no report: %v", n.Name, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("node %s (-want +got):\n%s", n.Name, diff)
		}
	}
}

// checkLinks checks that each port is up, has its MTU, is the other end of the
// port that the graph says, and that the kernel has sent nothing of its own.
func checkLinks(t *testing.T, g *topologies.Graph, d *containerlab.Deployed, mtu int) {
	t.Helper()
	find := func(e topologies.End) netlink.Link {
		ns, err := netns.GetFromPid(d.Nodes[e.Node].PID)
		if err != nil {
			t.Fatal(err)
		}
		defer ns.Close()
		h, err := netlink.NewHandleAt(ns)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		link, err := h.LinkByName(containerlab.Interface(g, e))
		if err != nil {
			t.Fatalf("node %s: %v", g.Nodes[e.Node].Name, err)
		}
		return link
	}
	for id, l := range g.Links {
		for _, ends := range [][2]topologies.End{{l.A, l.B}, {l.B, l.A}} {
			here, there := ends[0], ends[1]
			a := find(here).Attrs()
			got := []any{a.MTU, a.OperState, a.Index, a.ParentIndex, a.Statistics.RxPackets}
			want := []any{mtu, netlink.LinkOperState(netlink.OperUp), d.Nodes[here.Node].Interfaces[here.Port], d.Nodes[there.Node].Interfaces[there.Port], uint64(0)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("link %s at %s: mtu, state, index, peer, frames (-want +got):\n%s", g.LinkName(id), g.Nodes[here.Node].Name, diff)
			}
		}
	}
}

func testSideBySide(t *testing.T, b *bench) {
	runs := []string{"r1", "r2"}
	labs, failures := make([]*containerlab.Deployed, 2), make([]error, 2)
	var both sync.WaitGroup
	for i, run := range runs {
		lab, _ := b.lab(t, pair(), run)
		both.Go(func() { labs[i], failures[i] = b.engine.Deploy(t.Context(), lab) })
	}
	both.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	for i, run := range runs {
		lab, _ := b.lab(t, pair(), run)
		if _, err := b.engine.Deploy(t.Context(), lab); err == nil || !strings.Contains(err.Error(), "run id "+run+" has 3 containers already") {
			t.Fatalf("the same run again: got %v, want an error that it has 3 containers", err)
		}
		if err := os.Remove(labs[i].Topology); err != nil {
			t.Fatal(err)
		}
	}
	check := func(runs ...string) {
		t.Helper()
		list, err := b.engine.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range list {
			if s.Lab != "pair" || s.Containers != 3 || s.Running != 3 || time.Since(s.Created) > time.Hour || filepath.Base(s.Topology) != "pair.clab.yml" {
				t.Errorf("listed %+v, want 3 running containers of pair", s)
			}
			got = append(got, s.RunID)
		}
		slices.Sort(got)
		if diff := cmp.Diff(runs, got); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
	}
	check("r1", "r2")
	checkLinks(t, pair(), labs[0], 4400)
	for range 2 {
		if _, err := b.engine.Clean(t.Context(), "r1"); err != nil {
			t.Fatal(err)
		}
		check("r2")
	}
	checkLinks(t, pair(), labs[1], 4400)
	if err := b.engine.Destroy(t.Context(), labs[1]); err != nil {
		t.Fatal(err)
	}
	check()
	b.checkNothingLeft(t)
}

func testNodeFails(t *testing.T, b *bench) {
	for _, test := range []struct {
		name   string
		change func(*containerlab.Lab)
		want   []string
	}{
		{"exits", func(l *containerlab.Lab) { l.Nodes[1].Cmd = []string{"fail"} }, []string{"code 7", "no such mode"}},
		{"no image", func(l *containerlab.Lab) { l.Nodes[1].Image = "csiglab/none:0" }, []string{"node h1", "csiglab/none:0"}},
		{"no folder to bind", func(l *containerlab.Lab) { l.Nodes[1].Binds = []string{"none:/csiglab"} }, []string{"/none"}},
	} {
		lab, _ := b.lab(t, pair(), "r1")
		test.change(&lab)
		d, err := b.engine.Deploy(t.Context(), lab)
		switch {
		case err == nil && test.name == "exits": // it may do so only when the others are there
			err = errors.Join(errors.New(b.engine.Exit(t.Context(), d.Nodes[1])), b.engine.Destroy(t.Context(), d))
		case err == nil:
			t.Errorf("%s: deployed %+v", test.name, d)
			continue
		case test.name == "exits" && !strings.Contains(err.Error(), "h1"):
			t.Errorf("%s: got error %q, want the node's name in it", test.name, err)
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got error %q, want %q in it", test.name, err, want)
			}
		}
		b.checkNothingLeft(t)
	}
}

// testCancel ends deployments after 0 % to 100 % of the time that one takes.
func testCancel(t *testing.T, b *bench) {
	const steps = 5
	var whole time.Duration
	for i := steps; i >= 0; i-- {
		lab, _ := b.lab(t, pair(), fmt.Sprintf("c%d", i))
		ctx, cancel := context.WithCancel(t.Context())
		if i < steps {
			time.AfterFunc(whole*time.Duration(i)/steps, cancel)
		}
		start := time.Now()
		d, err := b.engine.Deploy(ctx, lab)
		cancel()
		switch {
		case err == nil:
			whole = time.Since(start)
			if err := b.engine.Destroy(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		case i == steps || !errors.Is(err, context.Canceled):
			t.Errorf("cancelled at %d/%d: got %v, want context.Canceled", i, steps, err)
		}
		b.checkNothingLeft(t)
	}
}

// testKill kills a process that deploys when it has made none, some and all of
// its containers, and cleans up after it.
func testKill(t *testing.T, b *bench) {
	for i := range 4 {
		lab, _ := b.lab(t, pair(), fmt.Sprintf("k%d", i))
		text, err := json.Marshal(lab)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], victimRole, string(text))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		start, made := time.Now(), 0
		for made < i && time.Since(start) < 30*time.Second {
			list, err := b.engine.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				made = s.Containers
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // says that it was killed
		if made < i {
			t.Fatalf("%d containers after %v, want %d: %s", made, time.Since(start), i, stderr.String())
		}
		if err := os.RemoveAll(lab.Folder); err != nil {
			t.Fatal(err)
		}
		if _, err := b.engine.Clean(t.Context(), lab.RunID); err != nil {
			t.Fatal(err)
		}
		b.checkNothingLeft(t)
	}
}
