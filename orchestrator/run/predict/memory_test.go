package predict

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan/estimate"
)

// The memory that there is is the least of the machine's, that of the control groups of both
// versions and GOMEMLIMIT; what the kernel can reclaim is there.
func TestAvailableMemory(t *testing.T) {
	const meminfo, status = "MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\n", "VmRSS:\t 100000 kB\n"
	machine := int64(8_100_000 << 10)
	for _, c := range []struct {
		name  string
		files map[string]string
		limit int64
		want  int64 // before the margin
		what  string
	}{
		{"machine", nil, NoLimit, machine, "this machine has"},
		{"version 2", map[string]string{
			"proc/self/cgroup":                           "0::/user/job\n",
			"sys/fs/cgroup/user/memory.max":              "3000000000\n",
			"sys/fs/cgroup/user/memory.current":          "2000000000\n",
			"sys/fs/cgroup/user/memory.stat":             "anon 5\nactive_file 300000000\ninactive_file 200000000\n",
			"sys/fs/cgroup/user/job/memory.max":          "max\n",
			"sys/fs/cgroup/user/job/memory.current":      "1000000\n",
			"sys/fs/cgroup/user/job/memory.stat":         "",
			"sys/fs/cgroup/user/job/deeper/memory.max":   "1\n",
			"sys/fs/cgroup/user/job/deeper/memory.stat":  "",
			"sys/fs/cgroup/user/job/deeper/memory.extra": "",
		}, NoLimit, 1_500_000_000 + 100_000<<10, "its control group may have"},
		{"version 1", map[string]string{
			"proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/job\n0::/\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1000000000\n",
			"sys/fs/cgroup/memory/job/memory.usage_in_bytes": "600000000\n",
			"sys/fs/cgroup/memory/job/memory.stat":           "inactive_file 1\ntotal_inactive_file 100000000\ntotal_active_file 0\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes":     "7000000000\n",
		}, NoLimit, 500_000_000 + 100_000<<10, "its control group may have"},
		{"in a container", map[string]string{ // whose own group is mounted at the top
			"proc/self/cgroup":             "0::/docker/0123\n",
			"sys/fs/cgroup/memory.max":     "512000000\n",
			"sys/fs/cgroup/memory.current": "12000000\n",
		}, NoLimit, 500_000_000 + 100_000<<10, "its control group may have"},
		{"a group without limit", map[string]string{
			"proc/self/cgroup":               "0::/a\n",
			"sys/fs/cgroup/a/memory.max":     "max\n",
			"sys/fs/cgroup/a/memory.current": "1\n",
		}, NoLimit, machine, "this machine has"},
		{"GOMEMLIMIT", nil, 200_000_000, 200_000_000, "GOMEMLIMIT allows"},
	} {
		root := t.TempDir()
		files := map[string]string{"proc/meminfo": meminfo, "proc/self/status": status}
		for name, text := range c.files {
			files[name] = text
		}
		for name, text := range files {
			file := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := c.want
		if c.limit == NoLimit {
			want -= int64(memoryMargin * float64(want))
		}
		if got := availableMemory(root, c.limit); got.Bytes != want || got.Limit != c.what {
			t.Errorf("%s: got %+v, want %d, %q", c.name, got, want, c.what)
		}
	}
	// Without figures nothing is refused.
	if got := availableMemory(t.TempDir(), NoLimit); got.Bytes != NoLimit {
		t.Errorf("no figures: got %+v", got)
	}
	// This machine has some.
	if got := AvailableMemory(); got.Bytes < 10e6 || got.Bytes > 1<<50 || got.Limit == "" {
		t.Errorf("this machine: %+v", got)
	}
}

// Runs are refused only if they do not fit even with the prediction too high by its error,
// and the user learns what to change.
func TestFits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	large := estimate.Work{Hosts: 8192, Nodes: 10752, Ports: 49152, Flows: 8192, InFlight: 380_000, PacketHops: 1e6}
	two := Runs([]Load{{large, 2}}, Way{Parallel: 2})
	one := Runs([]Load{{large, 2}}, Way{Parallel: 1})
	if two.AtOnce != 2 || two.Memory < one.Memory*3/2 || two.alone != one.Memory {
		t.Fatalf("two at a time: %+v\none: %+v", two, one)
	}
	for _, c := range []struct {
		there        float64
		fits, advice string
	}{
		{float64(two.Memory) * 2, "yes", ""},
		{float64(two.Memory) * 1.01, "tight", ""},
		{float64(two.Memory) * 0.85, "tight", ""},
		{float64(two.Memory) * 0.75, "no", "try --parallel 1, which needs about "},
		{float64(one.Memory) * 0.5, "no", "try --parallel 1 as well as the following, or about 3"},
	} {
		there := Available{int64(c.there), "this machine has"}
		err, fits := two.Fits(there), "yes"
		var shortage *MemoryError
		switch {
		case errors.As(err, &shortage):
			fits = "no"
		case two.Tight(there):
			fits = "tight"
		}
		if fits != c.fits || c.advice != "" && (!strings.Contains(err.Error(), c.advice) || !strings.Contains(err.Error(), "--force") || !strings.Contains(err.Error(), "about "+Gigabytes(two.Memory))) {
			t.Errorf("%v: %s: %v, want %s and %q", there, fits, err, c.fits, c.advice)
		}
	}
	if err := one.Fits(Available{int64(float64(one.Memory) * 0.5), "x"}); err == nil || strings.Contains(err.Error(), "--parallel") || !strings.Contains(err.Error(), " hosts in place of 8192") {
		t.Errorf("one at a time: %v", err)
	}
	// Nothing helps where csiglab itself does not fit.
	if err := one.Fits(Available{30e6, "x"}); err == nil || strings.Contains(err.Error(), "try") {
		t.Errorf("30 MB: %v", err)
	}
	if err := two.Fits(Available{NoLimit, ""}); err != nil || two.Tight(Available{NoLimit, ""}) {
		t.Errorf("no limit: %v", err)
	}
}

// Nodes with real frames have memory of their own, which does not depend on cores.
func TestMemoryOfRealNodes(t *testing.T) {
	e := estimate.Work{Hosts: 72, Nodes: 108, Ports: 324, Flows: 72}
	memory := func(way Way) float64 { p := Runs([]Load{{e, 3}}, way); return float64(p.Memory) / 1e6 }
	netns := memory(Way{Way: runtimes.Way{Runtime: "netns", Clock: "lockstep"}, Parallel: 2})
	one := memory(Way{Way: runtimes.Way{Runtime: "netns", Clock: "lockstep"}, Parallel: 2, Processes: "one"})
	switches := memory(Way{Way: runtimes.Way{Runtime: "netns", Clock: "wall"}, Parallel: 2, Processes: "switches"})
	containers := memory(Way{Way: runtimes.Way{Runtime: "containerlab", Clock: "lockstep"}, Parallel: 2})
	// docs/explanation/performance.md: dragonfly-72 took 333 to 428 MiB in namespaces and 760 to 797 in containers.
	if netns < 333*1.05/1.5 || netns > 428*1.05*1.5 || containers < 760*1.05/1.5 || containers > 797*1.05*1.5 || !(one < switches && switches < netns) {
		t.Errorf("MB: netns %.0f, one process %.0f, switches in one %.0f, containers %.0f", netns, one, switches, containers)
	}
	if again := memory(Way{Way: runtimes.Way{Runtime: "netns", Clock: "lockstep"}, Parallel: 8}); math.Abs(again-netns) > 1 {
		t.Errorf("on 8 cores %.0f MB, on 2 %.0f", again, netns)
	}
}
