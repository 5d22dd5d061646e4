package containers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/nodes/emu/wall"
)

// priority gives threads in containers a real-time priority. If the machine does not
// permit it, the run goes on without; its fidelity shows the effect.
type priority struct {
	group   string // file that takes threads into csiglab's own group; "" until it is needed
	refused bool   // the machine does not permit it
}

// raise gives a thread of a process a real-time priority. thread is its id in the PID
// namespace of the process.
func (p *priority) raise(pid, thread int) error {
	if p.refused {
		return nil
	}
	id, err := threadOf(pid, thread)
	if err != nil || wall.Raise(id) == nil {
		return err
	}
	// With real-time group scheduling (CONFIG_RT_GROUP_SCHED, cgroup v1) a group
	// has no real-time threads unless some of its parent's processor time is set
	// aside for it, which throttles it to that. So the thread joins csiglab's own
	// group, in which the nodes of runtime netns are too.
	if p.group == "" {
		p.group = ownGroup()
	}
	p.refused = p.group == "" || os.WriteFile(p.group, []byte(strconv.Itoa(id)), 0) != nil || wall.Raise(id) != nil
	return nil
}

// threadOf returns the id, in this PID namespace, of a thread of a process. inner is
// its id in the process's own PID namespace (NSpid of proc_pid_status(5)).
func threadOf(pid, inner int) (int, error) {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	list, err := os.ReadDir(tasks)
	if err != nil {
		return 0, fmt.Errorf("threads of process %d: %w", pid, err)
	}
	for _, task := range list {
		status, err := os.ReadFile(filepath.Join(tasks, task.Name(), "status"))
		if err != nil {
			continue // it has ended meanwhile
		}
		for line := range bytes.Lines(status) {
			ids, ok := bytes.CutPrefix(line, []byte("NSpid:"))
			if !ok {
				continue
			}
			if fields := bytes.Fields(ids); string(fields[len(fields)-1]) == strconv.Itoa(inner) {
				return strconv.Atoi(task.Name())
			}
		}
	}
	return 0, fmt.Errorf("process %d has no thread that it knows as %d", pid, inner)
}

// ownGroup returns the file that takes threads into this process's group of the
// controller cpu, cgroup v1 (cgroups(7)), or "" where there is none.
func ownGroup() string {
	const controller = "cpu"
	mounts, err := os.ReadFile("/proc/self/mounts") // device, folder, type, options, ...
	if err != nil {
		return ""
	}
	groups, err := os.ReadFile("/proc/self/cgroup") // number:controllers:path
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(mounts)) {
		mount := strings.Fields(line)
		if len(mount) < 4 || mount[2] != "cgroup" || !slices.Contains(strings.Split(mount[3], ","), controller) {
			continue
		}
		for line := range strings.Lines(string(groups)) {
			part := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(part) == 3 && slices.Contains(strings.Split(part[1], ","), controller) {
				return filepath.Join(mount[1], part[2], "tasks")
			}
		}
	}
	return ""
}
