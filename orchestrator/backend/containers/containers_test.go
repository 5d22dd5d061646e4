package containers_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/backend/containers"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// victimEnv holds the run folder of the run that this test binary is to do
// instead of tests, until it is killed.
const victimEnv = "CONTAINERS_TEST_RUN"

func TestMain(m *testing.M) {
	campaign.Add(containers.Runtime)
	application.Init()
	netns.Supervise() // does not return in the supervisor of a netns run
	if folder, ok := os.LookupEnv(victimEnv); ok {
		set, err := small("300MB")
		if err == nil {
			_, err = campaign.Run(context.Background(), set, options(folder))
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(checkout.Main(m, nil, programstest.Remove))
}

// nodes is how many nodes small has.
const nodes = 8 + 4 + 4 + 4

// small returns the small fabric with flows of that size.
func small(size string) (*experiment.Set, error) {
	text := strings.ReplaceAll(backendtest.Small, "300kB", size)
	return experiment.Parse("test.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
}

func options(folder string) campaign.Options {
	return campaign.Options{Out: folder, Runtime: runtimes.Containerlab, CheckParity: true}
}

// TestContainers needs root and dockerd; it is skipped without.
func TestContainers(t *testing.T) {
	checkout.SkipLong(t)
	docker := containerlabtest.Docker(t)
	t.Setenv("PATH", programstest.Built(t)+":"+os.Getenv("PATH"))
	for _, test := range []struct {
		name string
		run  func(*testing.T, *client.Client)
	}{
		{"small", testSmall}, {"three-flow", testThreeFlow}, {"fabrics", testFabrics}, {"control links", testControlLinks},
		{"wall", testWall}, {"programs", testPrograms}, {"foreign", testForeign}, {"cancel", testCancel},
		{"container killed", testContainerKilled}, {"csiglab killed", testKilled},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, docker)
			empty(t, docker)
		})
	}
}

// empty checks that nothing is left of any run.
func empty(t *testing.T, docker *client.Client) {
	t.Helper()
	if left := list(t, docker); len(left) > 0 {
		t.Errorf("%d containers are left, such as %q", len(left), left[0].Names)
	}
	if list := ours(t); len(list) > 0 {
		t.Errorf("runs %+v are left", list)
	}
}

// ours returns the runs listed, except those in no container and those under way on
// another engine.
func ours(t *testing.T) []runs.Run {
	t.Helper()
	list, err := runs.List(t.Context(), containers.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(r runs.Run) bool {
		return r.Runtime != runtimes.Containerlab || r.State != runs.Dead && r.Containers == 0
	})
}

func list(t *testing.T, docker *client.Client) []container.Summary {
	t.Helper()
	found, err := docker.ContainerList(context.Background(), container.ListOptions{All: true})
	if err != nil {
		t.Error(err)
	}
	return found
}

// deployed waits until at least n containers of a run are up, and calls found with them.
func deployed(t *testing.T, docker *client.Client, n int, found func([]container.Summary)) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			all := list(t, docker)
			running := slices.DeleteFunc(slices.Clone(all), func(c container.Summary) bool { return c.State != container.StateRunning })
			if len(running) >= n {
				found(all)
				return
			}
		}
		t.Errorf("there were never %d containers", n)
	}()
	return done
}

// unprivileged checks what the containers of a run may do: nothing but use their
// links, and see no folder but the run's own, which only root may enter.
func unprivileged(t *testing.T, docker *client.Client) func([]container.Summary) {
	return func(all []container.Summary) {
		for _, c := range all {
			info, err := docker.ContainerInspect(context.Background(), c.ID)
			if err != nil {
				t.Error(err)
				return
			}
			h := info.HostConfig
			if h.PidsLimit == nil || *h.PidsLimit <= 0 || h.Memory <= 0 || h.MemorySwap != h.Memory {
				t.Errorf("%s: memory %d, with swap %d, processes %v, want limits", info.Name, h.Memory, h.MemorySwap, h.PidsLimit)
			}
			got := fmt.Sprintf("%v %v %v %v %v %v %v %v %v", h.Privileged, h.ReadonlyRootfs, h.NetworkMode, h.CapDrop, h.CapAdd,
				h.SecurityOpt, len(h.Devices), h.PidMode, h.UTSMode)
			if want := "false true none [ALL] [CAP_NET_ADMIN CAP_NET_RAW] [no-new-privileges:true] 0  "; got != want {
				t.Errorf("%s: privileged, read-only, network, capabilities, security, devices and namespaces are %q, want %q", info.Name, got, want)
			}
			if len(info.Mounts) == 0 {
				t.Errorf("%s: nothing is mounted, want the folder of the socket", info.Name)
			}
			for _, m := range info.Mounts {
				// The folder may be gone by now, as the run goes on meanwhile.
				if source, err := os.Stat(m.Source); err == nil && source.Mode() != fs.ModeDir|0o700 {
					t.Errorf("%s: %s is mounted with mode %v, want a folder of mode 0700", info.Name, m.Source, source.Mode())
				}
			}
			if t.Failed() {
				return // the others are the same
			}
		}
	}
}

// sameAsVirtual runs a set in containers and in virtual time.
func sameAsVirtual(t *testing.T, docker *client.Client, set *experiment.Set, size int) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "run")
	seen := deployed(t, docker, size, unprivileged(t, docker))
	got, err := campaign.Run(t.Context(), set, options(folder))
	if err != nil {
		t.Fatal(err)
	}
	<-seen
	if !got.Summary.Valid {
		t.Errorf("not valid: %q", got.Summary.Reasons)
	}
	want, err := campaign.Run(t.Context(), set, campaign.Options{Out: filepath.Join(t.TempDir(), "virtual")})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range want.Summary.Variants {
		if diff := cmp.Diff(got.Summary.Variants[name].Runs[0].TraceHash, v.Runs[0].TraceHash); diff != "" {
			t.Errorf("variant %s: trace hash in containers - in virtual time +:\n%s", name, diff)
		}
	}
	t.Run("schema", func(t *testing.T) {
		topology, err := os.ReadFile(filepath.Join(folder, set.Base.Name+".clab.yml"))
		if err == nil {
			err = containerlabtest.Schema(t)(topology)
		}
		if err != nil {
			t.Error(err)
		}
	})
	checkFrames(t, folder)
	t.Log(got.Notes)
}

// checkFrames checks that the interfaces' counters have been compared and agree.
func checkFrames(t *testing.T, folder string) {
	t.Helper()
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Manifest.Runs {
		for _, c := range r.Checks {
			if c.Name == "frames" && c.OK && !strings.HasPrefix(c.Detail, "0 ") {
				return
			}
		}
	}
	t.Error("the run has no good check of frames")
}

func testSmall(t *testing.T, docker *client.Client) {
	set, err := small("200kB")
	if err != nil {
		t.Fatal(err)
	}
	sameAsVirtual(t, docker, set, nodes)
}

func testThreeFlow(t *testing.T, docker *client.Client) {
	opts := experiment.Options{Tables: experiment.StandardTables(), Seeds: 1}
	short, err := experiment.ParseSet("test", "workload.transfers=[1 -> 10 1MB, 0 -> 2 1MB, 9 -> 10 1MB]")
	if err != nil {
		t.Fatal(err)
	}
	opts.Override = append(opts.Override, short)
	set, err := experiment.Load("three-flow", opts)
	if err != nil {
		t.Fatal(err)
	}
	set.Variants, set.Base.Expect = set.Variants[1:2], nil
	set.Variants[0].Experiment.Derived = nil // of a window that such short flows do not reach
	sameAsVirtual(t, docker, set, 29)
}

// An interrupted run leaves nothing, neither during the deployment nor after it.
func testCancel(t *testing.T, docker *client.Client) {
	set, err := small("300MB")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{3, nodes} {
		ctx, cancel := context.WithCancel(t.Context())
		seen := deployed(t, docker, n, func([]container.Summary) { cancel() })
		_, err := campaign.Run(ctx, set, options(filepath.Join(t.TempDir(), "run")))
		<-seen
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted at %d containers: error %v", n, err)
		}
		empty(t, docker)
	}
}

// A container that dies ends the run, with its node's name.
func testContainerKilled(t *testing.T, docker *client.Client) {
	set, err := small("300MB")
	if err != nil {
		t.Fatal(err)
	}
	seen := deployed(t, docker, nodes, func(all []container.Summary) {
		i := slices.IndexFunc(all, func(c container.Summary) bool { return strings.HasSuffix(c.Names[0], "-agg1") })
		if err := docker.ContainerKill(context.Background(), all[i].ID, "KILL"); err != nil {
			t.Error(err)
		}
	})
	_, err = campaign.Run(t.Context(), set, options(filepath.Join(t.TempDir(), "run")))
	<-seen
	if !errors.Is(err, failure.ErrInfrastructure) || !strings.Contains(fmt.Sprint(err), "agg1") {
		t.Errorf("error %v, want one of the infrastructure that names agg1", err)
	}
}

// kill -9 of csiglab leaves containers, which Clean finds and removes, once.
func testKilled(t *testing.T, docker *client.Client) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), victimEnv+"="+filepath.Join(t.TempDir(), "run"))
	cmd.Stderr = os.Stderr
	seen := deployed(t, docker, nodes, func([]container.Summary) {})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-seen
	find := func() runs.Run {
		list := ours(t)
		if len(list) != 1 {
			t.Fatalf("runs %+v, want one run", list)
		}
		return list[0]
	}
	r := find()
	if r.State != runs.Running || r.Name != "small-test" || r.Containers != nodes {
		t.Errorf("the run is listed as %+v", r)
	}
	if _, err := runs.Clean(t.Context(), r.ID, false, containers.Backend{}); err == nil {
		t.Error("Clean touched a run that is under way")
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait() //nolint:errcheck // it was killed
	if r = find(); r.State != runs.Dead {
		t.Errorf("after kill -9 the run is listed as %+v", r)
	}
	for i, want := range []int{2, 0} { // the containers and the entry
		removed, err := runs.Clean(t.Context(), r.ID, false, containers.Backend{})
		if err != nil || len(removed) != want {
			t.Errorf("Clean %d removed %q, %v, want %d things", i+1, removed, err, want)
		}
	}
}

// Every embedded experiment's fabric can be written for containerlab, valid by
// its schema.
func TestLabOfEveryExperiment(t *testing.T) {
	validate := containerlabtest.Schema(t)
	for _, name := range experiment.Names() {
		set, err := experiment.Load(name, experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		e := set.Variants[0].Experiment
		built, err := e.Topology.Build()
		if err != nil {
			t.Fatal(err)
		}
		deploy := containers.Lab(name, built.Graph, int(e.Links.MTU), containerlab.Images{Switch: "s:1", Host: "h:1"})
		var text strings.Builder
		if err := containerlab.WriteTopology(&text, deploy); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := validate([]byte(text.String())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, want := strings.Count(text.String(), "image: h:1"), built.Graph.Hosts(); got != want {
			t.Errorf("%s: %d containers with the hosts' image, want %d", name, got, want)
		}
	}
}

func TestNoEngine(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
	r := &backend.Run{Plan: backendtest.Compile(t, backendtest.Small)}
	if err := (containers.Backend{}).Check(t.Context(), r); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("error %v, want ErrUnavailable", err)
	}
	if _, err := (containers.Backend{}).Run(t.Context(), r, backend.Control{}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("error %v, want ErrUnavailable", err)
	}
	for _, clean := range []bool{false, true} {
		var err error
		if clean {
			_, err = runs.Clean(t.Context(), "no-such-run", false, containers.Backend{})
		} else {
			_, err = runs.List(t.Context(), containers.Backend{})
		}
		if err != nil {
			t.Errorf("clean %v: error %v: without an engine there is nothing to do", clean, err)
		}
	}
}
