package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
)

// TestFaultsContainers does faults to runs in containers: each ends with exit
// code 3 and words about what broke, and csiglab clean makes the machine what it
// was. It needs root and dockerd; it is skipped without.
func TestFaultsContainers(t *testing.T) {
	checkout.SkipLong(t)
	containerlabtest.Program(t)
	if !alone(t) {
		return
	}
	f := newFaults(t, true)
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"csiglab killed", f.testKilled},
		{"engine fails while deploying", f.testEngineDeploying},
		{"engine fails while running", f.testEngineRunning},
		{"engine stands still", f.testEngineStopped},
		{"containerd stands still", f.testContainerdStopped},
		{"container removed", f.testContainerRemoved},
		{"interface deleted", f.testInterfaceDeleted},
	} {
		t.Run(test.name, test.run)
	}
}

func runContainers(experiment, folder string) *process {
	return csiglabProcess("run", experiment, "--runtime", "containerlab", "--clock", "lockstep", "--out", folder)
}

// moment is when a fault is done to a run in containers, as the requests show
// that csiglab makes of the engine.
type moment struct {
	name    string
	request string // the fault is done at this request,
	nth     int    // the nth of its kind, from 1,
	stage   containerlabtest.Stage
	flow    string                     // brief or lasting
	fresh   bool                       // the engine has no images before
	quick   bool                       // tested without CSIGLAB_E2E=1 too
	when    func(*testing.T, *process) // waits for more meanwhile; may be nil
}

// at returns what calls fault, once, at the moment.
func (m *moment) at(t *testing.T, run *process, fault func()) func(containerlabtest.Request) {
	var mu sync.Mutex
	seen := 0
	return func(r containerlabtest.Request) {
		mu.Lock()
		now := r.What == m.request && r.Stage == m.stage
		if now {
			seen++
			now = seen == m.nth
		}
		mu.Unlock()
		if now {
			if m.when != nil {
				m.when(t, run)
			}
			fault()
		}
	}
}

const (
	makeImage       = "POST /images/create"
	createContainer = "POST /containers/create"
	startContainer  = "POST /containers/*/start"
	listContainers  = "GET /containers/json"
	removeContainer = "DELETE /containers/*"
)

// testKilled kills csiglab with kill -9 at each stage of a run.
func (f *faults) testKilled(t *testing.T) {
	for _, m := range []moment{
		{"image being made", makeImage, 1, containerlabtest.Sending, lasting, true, true, nil},
		{"one image made", makeImage, 1, containerlabtest.Answered, lasting, true, false, nil},
		{"images made", makeImage, 2, containerlabtest.Answered, lasting, true, false, nil},
		{"no container yet", createContainer, 1, containerlabtest.Made, lasting, false, false, nil},
		{"some containers made", createContainer, 2, containerlabtest.Answered, lasting, false, false, nil},
		{"a container being made", createContainer, 3, containerlabtest.Made, lasting, false, false, nil},
		{"some containers started", startContainer, 2, containerlabtest.Answered, lasting, false, false, nil},
		{"some links made", startContainer, nodes, containerlabtest.Answered, lasting, false, true, func(t *testing.T, run *process) {
			run.eventually(t, "a link while a node is missing", func() bool {
				count, _ := interfacesOf(slices.Collect(maps.Values(nodesOfRuns()))...)
				return count >= 2
			})
		}},
		// The lab is looked at before it starts and when it is whole.
		{"nodes waiting", listContainers, 2, containerlabtest.Answered, lasting, false, true, nil},
		{"destroying", removeContainer, 1, containerlabtest.Made, brief, false, false, nil},
		{"a container removed", removeContainer, 2, containerlabtest.Answered, brief, false, false, nil},
	} {
		t.Run(m.name, func(t *testing.T) {
			if !m.quick {
				needTime(t)
			}
			if m.fresh {
				f.removeImages(t)
			}
			killed := runContainers(four(t, m.flow), filepath.Join(t.TempDir(), "run"))
			killed.cmd.Env = append(os.Environ(), "DOCKER_HOST="+f.engine.Proxy(t, m.at(t, killed, killed.kill)))
			if code, said := killed.run(t); code != -1 {
				t.Errorf("exit code %d, not killed: %s", code, said)
			}
			f.clean(t)
		})
	}
	t.Run("running", func(t *testing.T) {
		killed := runContainers(four(t, lasting), filepath.Join(t.TempDir(), "run"))
		var pids []int
		code, said := killed.runWhile(t, func() {
			pids = slices.Collect(maps.Values(killed.running(t)))
			killed.kill()
		})
		if code != -1 {
			t.Errorf("exit code %d, not killed: %s", code, said)
		}
		for _, pid := range pids { // nodes do not go on without csiglab
			ended(t, pid)
		}
		f.clean(t)
	})
}

// engineFaults are how an engine is stopped: as by systemctl restart, which ends
// its containers, and as by a crash, which leaves them.
var engineFaults = map[string]syscall.Signal{"restarted": syscall.SIGTERM, "killed": syscall.SIGKILL}

// testEngineDeploying stops the engine at stages of a deployment, and starts it
// again when csiglab has given up.
func (f *faults) testEngineDeploying(t *testing.T) {
	for name, signal := range engineFaults {
		for _, m := range []moment{
			{"creating", createContainer, 2, containerlabtest.Answered, lasting, false, false, nil},
			{"starting", startContainer, 3, containerlabtest.Made, lasting, false, true, nil},
			{"destroying", removeContainer, 2, containerlabtest.Made, brief, false, true, nil},
		} {
			if signal == syscall.SIGTERM && m.request == startContainer {
				continue // it ends the container that is being started after ten seconds
			}
			t.Run(name+" "+m.name, func(t *testing.T) {
				if !m.quick {
					needTime(t)
				}
				run := runContainers(four(t, m.flow), filepath.Join(t.TempDir(), "run"))
				run.cmd.Env = append(os.Environ(), "DOCKER_HOST="+f.engine.Proxy(t, m.at(t, run, func() { f.engine.Stop(signal) })))
				start := time.Now()
				code, said := run.run(t)
				t.Logf("after %v:\n%s", time.Since(start), said)
				failed(t, code, said, "docker engine", "csiglab clean")
				if code, said := csiglabProcess("clean").run(t); code != command.ExitInfrastructure || !strings.Contains(said, "ocker daemon") {
					t.Errorf("clean without an engine: exit code %d\n%s", code, said)
				}
				f.engine.Start(t)
				f.cleanAfterEngine(t)
			})
		}
	}
}

// testContainerdStopped stops the engine's containerd by SIGSTOP while containers are made:
// the engine answers, but starts nothing.
func (f *faults) testContainerdStopped(t *testing.T) {
	needTime(t)
	run := runContainers(four(t, lasting), filepath.Join(t.TempDir(), "run"))
	stop := moment{request: createContainer, nth: 2, stage: containerlabtest.Answered}
	run.cmd.Env = append(os.Environ(), "DOCKER_HOST="+f.engine.Proxy(t, stop.at(t, run, func() {
		if err := f.engine.SignalContainerd(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
	})))
	start := time.Now()
	code, said := run.run(t)
	took := time.Since(start)
	t.Logf("after %v:\n%s", took, said)
	failed(t, code, said, "waiting for the docker engine to make or start a container", "the docker engine answers, but has not made or started a container in", "csiglab clean")
	if took > time.Minute {
		t.Errorf("it took %v, more than a minute", took)
	}
	if err := f.engine.SignalContainerd(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	f.cleanAfterEngine(t)
}

// testEngineStopped stops the engine's process by SIGSTOP at stages of a deployment.
func (f *faults) testEngineStopped(t *testing.T) {
	needTime(t)
	for _, m := range []moment{
		{"making an image", makeImage, 1, containerlabtest.Sending, lasting, true, false, nil},
		{"creating", createContainer, 2, containerlabtest.Answered, lasting, false, true, nil},
		{"destroying", removeContainer, 2, containerlabtest.Made, brief, false, false, nil},
	} {
		for _, interrupted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, interrupted %v", m.name, interrupted), func(t *testing.T) {
				if !m.quick || interrupted {
					needTime(t)
				}
				if m.fresh {
					f.removeImages(t)
				}
				run := runContainers(four(t, m.flow), filepath.Join(t.TempDir(), "run"))
				run.cmd.Env = append(os.Environ(), "DOCKER_HOST="+f.engine.Proxy(t, m.at(t, run, func() {
					f.engine.Signal(syscall.SIGSTOP)
					if interrupted {
						run.cmd.Process.Signal(syscall.SIGHUP)
					}
				})))
				start := time.Now()
				code, said := run.run(t)
				took := time.Since(start)
				t.Logf("after %v:\n%s", took, said)
				want := []string{"waiting for the docker engine, which has not answered for 5s", "the docker engine does not answer any more", "csiglab clean"}
				if interrupted && m.request == makeImage {
					want = nil // there is nothing to wait for
				}
				failed(t, code, said, want...)
				if took > time.Minute {
					t.Errorf("it took %v, more than a minute", took)
				}
				f.engine.Signal(syscall.SIGCONT)
				f.cleanAfterEngine(t)
			})
		}
	}
}

// testEngineRunning stops the engine while nodes run, and starts it again at once
// or after csiglab has given up.
func (f *faults) testEngineRunning(t *testing.T) {
	for name, signal := range engineFaults {
		for _, atOnce := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, started at once %v", name, atOnce), func(t *testing.T) {
				if !atOnce {
					needTime(t)
				}
				flow := lasting
				if signal == syscall.SIGKILL && !atOnce {
					flow = "300MB" // the nodes do not notice, and the run goes on to its end
				}
				run := runContainers(four(t, flow), filepath.Join(t.TempDir(), "run"))
				start := time.Now()
				code, said := run.runWhile(t, func() {
					run.running(t)
					f.engine.Stop(signal)
					if atOnce {
						f.engine.Start(t)
					}
				})
				t.Logf("after %v:\n%s", time.Since(start), said)
				failed(t, code, said)
				if !atOnce {
					f.engine.Start(t)
				}
				f.cleanAfterEngine(t)
			})
		}
	}
}

// testContainerRemoved takes a container away, with force.
func (f *faults) testContainerRemoved(t *testing.T) {
	run := runContainers(four(t, lasting), filepath.Join(t.TempDir(), "run"))
	code, said := run.runWhile(t, func() {
		run.running(t)
		for _, id := range f.containers(t, "-r1") {
			if err := f.engine.Client.ContainerRemove(t.Context(), id, container.RemoveOptions{Force: true}); err != nil {
				t.Errorf("remove a container: %v", err)
			}
		}
	})
	failed(t, code, said, "node r1: ") // was killed, or its container was removed
	f.nothingLeft(t)                   // it cleans up by itself
	f.clean(t)
}

// testInterfaceDeleted takes a link away from between running nodes.
func (f *faults) testInterfaceDeleted(t *testing.T) {
	needTime(t)
	run := runContainers(four(t, lasting), filepath.Join(t.TempDir(), "run"))
	start := time.Now()
	code, said := run.runWhile(t, func() { deleteInterface(t, fmt.Sprintf("/proc/%d/ns/net", run.running(t)["r1"]), "eth1") })
	t.Logf("after %v:\n%s", time.Since(start), said)
	failed(t, code, said, "link h1-r1: ")
	f.nothingLeft(t)
	f.clean(t)
}

// containers returns the ids of the containers whose names end so.
func (f *faults) containers(t *testing.T, suffix string) (ids []string) {
	t.Helper()
	all, err := f.engine.Client.ContainerList(t.Context(), container.ListOptions{All: true})
	if err != nil {
		t.Error(err)
	}
	for _, c := range all {
		if strings.HasSuffix(c.Names[0], suffix) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// removeImages makes the engine one that has never run a node.
func (f *faults) removeImages(t *testing.T) {
	t.Helper()
	images, err := f.engine.Client.ImageList(t.Context(), image.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range images {
		if _, err := f.engine.Client.ImageRemove(t.Context(), i.ID, image.RemoveOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}
