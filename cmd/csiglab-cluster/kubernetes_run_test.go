package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/parts"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

// fatTreeText is the fat tree of 4-port switches.
const fatTreeText = `
schema: 1
name: fat-tree
topology:
  fat_tree:
    hosts: 16
    pod: 4
    tiers:
      - {down: 2, up: 2, rate: 100Gbps, delay: 1us}
      - {down: 2, up: 2, rate: 100Gbps, delay: 1us}
      - {down: 4, rate: 100Gbps, delay: 1us}
workload: {transfers: ["0 -> 13 SIZE", "5 -> 10 SIZE", "9 -> 2 SIZE", "14 -> 6 SIZE"]}
`

func fatTreeFile(t *testing.T, size string) string {
	t.Helper()
	return write(t, "fat-tree.yaml", strings.ReplaceAll(fatTreeText, "SIZE", size))
}

// runFlags are those of a run in two pods.
func (c *realCluster) runFlags() []string {
	return []string{"--runtime", "kubernetes", "--shards", "2", "--namespace", c.namespace, "--image", c.image}
}

// A fabric in two pods has the trace of the virtual run. What the cut links carry is counted
// alike at both ends, and nothing is left in the cluster.
func TestRunOnKubernetes(t *testing.T) {
	c := newRealCluster(t)
	nodes, err := c.client.CoreV1().Nodes().List(t.Context(), meta.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ready := 0
	for i := range nodes.Items {
		for _, condition := range nodes.Items[i].Status.Conditions {
			if condition.Type == core.NodeReady && condition.Status == core.ConditionTrue {
				ready++
			}
		}
	}
	for _, args := range [][]string{{"three-flow", "--variant", "csig", "--seed", "1"}, {fatTreeFile(t, "200kB")}} {
		timed := func(out string, more ...string) time.Duration {
			t.Helper()
			began := time.Now()
			code, _, said := separately(t, append(append([]string{"run", "--no-report", "--out", out}, args...), more...)...)
			if code != exitOK {
				t.Fatalf("%v: exit code %d\n%s", args, code, said)
			}
			if slices.Contains(more, "--check-parity") && !strings.Contains(said, "nodes have the trace of a virtual run") {
				t.Errorf("%v: no word of parity:\n%s", args, said)
			}
			return time.Since(began)
		}
		folder := filepath.Join(t.TempDir(), "cut")
		cut := timed(folder, append(c.runFlags(), "--check-parity")...)
		c.empty(args[0])
		one := timed(filepath.Join(t.TempDir(), "one"), "--runtime", "netns", "--clock", "lockstep", "--check-parity")
		t.Logf("%s: %v in two pods, %v on one machine: %.2f times", filepath.Base(args[0]), cut, one, float64(cut)/float64(one))

		links, parts := cutLinks(t, folder)
		if len(links) == 0 || len(parts) != 2 {
			t.Fatalf("%v: %d cut links, parts %v", args, len(links), parts)
		}
		frames := int64(0)
		for _, l := range links {
			frames += l.Entered
			if l.Entered != l.Left {
				t.Errorf("%v: link %s: %d frames entered the cut at %s, %d left it at %s", args, l.Link, l.Entered, l.From, l.Left, l.To)
			}
		}
		_, first, _ := strings.Cut(parts[0], " on ")
		_, second, _ := strings.Cut(parts[1], " on ")
		if frames == 0 || first == "" || ready > 1 && first == second {
			t.Errorf("%v: %d frames crossed; parts %v", args, frames, parts)
		}
	}
}

// cutLinks returns the cut links of the first run of a folder, and its parts.
func cutLinks(t *testing.T, folder string) ([]runfolder.CutLink, []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, runfolder.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	var m runfolder.Manifest
	if err := json.Unmarshal(text, &m); err != nil || len(m.Runs) == 0 || m.Runs[0].Cut == nil {
		t.Fatalf("manifest: %d runs, %v", len(m.Runs), err)
	}
	return m.Runs[0].Cut.Links, m.Runs[0].Cut.Parts
}

// cutRun is a run in two pods that is under way.
type cutRun struct {
	*exec.Cmd
	said   bytes.Buffer
	folder string
	pods   []core.Pod // by shard
	shards []int      // their processes, where they are on this machine
}

// startRun begins a run in two pods, and returns when frames cross between the parts.
func (c *realCluster) startRun(size string) *cutRun {
	c.Helper()
	r := &cutRun{folder: filepath.Join(c.TempDir(), "run")}
	r.Cmd = exec.Command(filepath.Join(programstest.Built(c.T), "csiglab"), append([]string{"run", fatTreeFile(c.T, size), "--no-report", "--out", r.folder}, c.runFlags()...)...)
	r.Stderr = &r.said
	if err := r.Start(); err != nil {
		c.Fatal(err)
	}
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if !exists(c.T, r.Process.Pid) || time.Now().After(until) {
			r.Process.Kill() //nolint:errcheck // it may have ended
			r.Wait()         //nolint:errcheck // as above
			c.Fatalf("no run is under way\n%s", &r.said)
		}
		list, err := c.client.CoreV1().Pods(c.namespace).List(c.Context(), meta.ListOptions{})
		if err != nil || len(list.Items) != 2 {
			continue
		}
		r.pods, r.shards = list.Items, nil
		slices.SortFunc(r.pods, func(a, b core.Pod) int { return strings.Compare(a.Name, b.Name) }) // by index
		for i := range r.pods {
			if pid := shardProcess(c.T, string(r.pods[i].UID)); pid > 0 && received(pid) > underWay {
				r.shards = append(r.shards, pid)
			}
		}
		if len(r.shards) == 2 {
			return r
		}
	}
}

// shardProcess returns the process of a pod's shard, 0 if it is not on this machine.
func shardProcess(t *testing.T, pod string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if !bytes.Contains(line, []byte("\x00"+parts.Command+"\x00--pod\x00")) {
			continue
		}
		if group, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cgroup")); bytes.Contains(group, []byte(pod)) {
			return pid
		}
	}
	return 0
}

// underWay is how many bytes two shards have exchanged when frames cross between them: more
// than their handshakes need.
const underWay = 200 << 10

// received returns the bytes that have come into a shard's pod from outside.
func received(pid int) (n int64) {
	table, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	for line := range strings.Lines(string(table)) {
		if name, rest, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "eth0" {
			n, _ = strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		}
	}
	return n
}

// children returns the processes that a process has started.
func children(t *testing.T, pid int) (list []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tasks {
		text, _ := os.ReadFile(name)
		for _, f := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, child)
		}
	}
	return list
}

// end waits for the end of a run, at most so long.
func (c *realCluster) end(r *cutRun, within time.Duration) (code int) {
	c.Helper()
	kill := time.AfterFunc(within, func() { r.Process.Kill() }) //nolint:errcheck // it may have ended
	defer kill.Stop()
	r.Wait() //nolint:errcheck // the exit code says so
	return r.ProcessState.ExitCode()
}

// A shard that is deleted, killed or stands still, and a connection between shards that is
// broken, end the run with exit code 3. The error names the shard, and the cut links where
// they are at fault. Nothing is left.
func TestFaultsOnKubernetes(t *testing.T) {
	c := newRealCluster(t)
	signal := func(t *testing.T, pid int, s syscall.Signal) {
		if err := syscall.Kill(pid, s); err != nil {
			t.Error(err)
		}
	}
	for _, f := range []struct {
		name   string
		damage func(t *testing.T, r *cutRun)
		want   []string // NAME stands for the name of shard 1
	}{
		{"pod deleted", func(t *testing.T, r *cutRun) {
			if err := c.client.CoreV1().Pods(c.namespace).Delete(t.Context(), r.pods[1].Name, *meta.NewDeleteOptions(0)); err != nil {
				t.Error(err)
			}
		}, []string{"NAME: it ", "deleted"}},
		{"pod deleted with grace", func(t *testing.T, r *cutRun) {
			if err := c.client.CoreV1().Pods(c.namespace).Delete(t.Context(), r.pods[1].Name, meta.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}, []string{"NAME: it ", "deleted"}},
		{"shard killed", func(t *testing.T, r *cutRun) { signal(t, r.shards[1], syscall.SIGKILL) }, []string{"NAME: exit code 137: signal 9 ended it"}},
		{"shard stopped", func(t *testing.T, r *cutRun) { signal(t, r.shards[1], syscall.SIGSTOP) }, []string{"NAME", "has sent nothing for"}},
		{"supervisor killed", func(t *testing.T, r *cutRun) {
			for _, pid := range children(t, r.shards[1]) {
				signal(t, pid, syscall.SIGKILL)
			}
		}, []string{"NAME", "killed"}},
		{"supervisor stopped", func(t *testing.T, r *cutRun) {
			for _, pid := range children(t, r.shards[1]) {
				signal(t, pid, syscall.SIGSTOP)
			}
		}, []string{"NAME", "stopped"}},
		{"connection cut", func(t *testing.T, r *cutRun) {
			out, err := exec.Command("nsenter", "-t", strconv.Itoa(r.shards[1]), "-n", "ip", "route", "add", "blackhole", r.pods[0].Status.PodIP).CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}, []string{"shard ", "links agg", "has sent nothing for"}},
	} {
		t.Run(f.name, func(t *testing.T) {
			c := &realCluster{T: t, client: c.client, namespace: c.namespace, image: c.image}
			r := c.startRun("50MB")
			f.damage(t, r)
			began := time.Now()
			code := c.end(r, 3*time.Minute)
			said := r.said.String()
			t.Logf("after %v: %s", time.Since(began), said)
			if code != exitInfrastructure {
				t.Errorf("exit code %d", code)
			}
			for _, want := range f.want {
				want = strings.ReplaceAll(want, "NAME", fmt.Sprintf("shard 1 (pod %s on %s)", r.pods[1].Name, r.pods[1].Spec.NodeName))
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in the message", want)
				}
			}
			c.empty(f.name)
		})
	}
}

// Ctrl-C ends a run in pods as it ends one on this machine. After kill -9 the shards end by
// themselves, and csiglab clean removes the rest.
func TestInterruptedOnKubernetes(t *testing.T) {
	c := newRealCluster(t)
	r := c.startRun("50MB")
	r.Process.Signal(syscall.SIGINT) //nolint:errcheck // the exit code says so
	if code := c.end(r, time.Minute); code != exitInfrastructure || !strings.Contains(r.said.String(), "interrupted") {
		t.Errorf("Ctrl-C: exit code %d\n%s", code, &r.said)
	}
	c.empty("Ctrl-C")

	r = c.startRun("50MB")
	r.Process.Kill() //nolint:errcheck // it is there
	r.Wait()         //nolint:errcheck // it was killed
	began := time.Now()
	for _, pid := range r.shards {
		for exists(t, pid) {
			if time.Since(began) > 2*time.Minute {
				t.Fatalf("a shard goes on without its coordinator")
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	t.Logf("the shards ended %v after csiglab", time.Since(began))
	if code, out, said := separately(t, "clean", "--on", "kubernetes", "--namespace", c.namespace); code != exitOK || !strings.Contains(out, "removed") {
		t.Errorf("clean: exit code %d\n%s%s", code, out, said)
	}
	c.empty("kill -9 and clean")
}

// A foreign connection to a shard is refused and named, and the run goes on. No key is in the
// pods' logs, in the Job or in the folder of the run.
func TestSecretsOnKubernetes(t *testing.T) {
	c := newRealCluster(t)
	r := c.startRun("2MB")
	var foreign string
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x00\x05hello"} {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(r.pods[0].Status.PodIP, strconv.Itoa(parts.PeerPort)), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		foreign = conn.LocalAddr().String()
		io.WriteString(conn, text) //nolint:errcheck // the note says so
		conn.Close()
	}
	var texts bytes.Buffer
	jobs, err := c.client.BatchV1().Jobs(c.namespace).List(t.Context(), meta.ListOptions{})
	if err != nil || len(jobs.Items) != 1 {
		t.Fatalf("%d Jobs, %v", len(jobs.Items), err)
	}
	if err := json.NewEncoder(&texts).Encode(jobs); err != nil {
		t.Fatal(err)
	}
	for _, p := range r.pods {
		log, err := c.client.CoreV1().Pods(c.namespace).GetLogs(p.Name, &core.PodLogOptions{}).DoRaw(t.Context())
		if err != nil {
			t.Error(err)
		}
		texts.Write(log)
	}
	if code := c.end(r, 5*time.Minute); code != exitOK {
		t.Errorf("exit code %d\n%s", code, &r.said)
	}
	texts.Write(r.said.Bytes())
	err = filepath.WalkDir(r.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		texts.Write(text)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, secret := range []string{"PRIVATE KEY", "BEGIN CERTIFICATE"} {
		if at := bytes.Index(texts.Bytes(), []byte(secret)); at >= 0 {
			t.Errorf("%q is in what the run leaves: %q", secret, texts.Bytes()[max(at-100, 0):at+len(secret)])
		}
	}
	if !strings.Contains(r.said.String(), "refused") || !strings.Contains(r.said.String(), foreign) {
		t.Errorf("no word of the foreign connection from %s:\n%s", foreign, &r.said)
	}
	c.empty("foreign connection")
}
