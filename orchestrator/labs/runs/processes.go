package runs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// patience is how long processes may take to die.
const patience = 3 * time.Second

// Kill kills the processes of a run on this machine, also the commands that Enter has
// started in its nodes, and returns in words which.
func Kill(id string) (removed []string, err error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := Processes()[id]
		if len(left) == 0 {
			return removed, nil
		}
		if time.Now().After(deadline) {
			return removed, fmt.Errorf("processes %v do not end", left)
		}
		for _, pid := range left {
			what := fmt.Sprintf("process %d of run %s", pid, id)
			if killRun(pid, id) && !slices.Contains(removed, what) {
				removed = append(removed, what)
			}
		}
	}
}

// killRun kills a process if it still carries the run's id. It signals through a pidfd,
// so that no other process that has got the same PID meanwhile is hit.
func killRun(pid int, id string) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return runOf(pid) == id && p.Kill() == nil
}

// Processes returns the processes of all runs that carry its id in their
// environment, by id.
func Processes() map[string][]int {
	byRun := map[string][]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		if err != nil {
			continue
		}
		if id := runOf(pid); id != "" {
			byRun[id] = append(byRun[id], pid)
		}
	}
	return byRun
}

// runOf returns the run that a process belongs to, "" for none or for a process
// that has ended.
func runOf(pid int) string {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if id, ok := bytes.CutPrefix(variable, []byte(EnvironmentRun+"=")); ok {
			return string(id)
		}
	}
	return ""
}
