package netns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// RunInfo is a run that is under way, or that left something behind.
type RunInfo struct {
	ID      string    `json:"id"`
	PID     int       `json:"pid"`   // of the csiglab that runs it
	Start   uint64    `json:"start"` // of that process, in ticks since boot
	Name    string    `json:"name"`
	Folder  string    `json:"folder"`
	Started time.Time `json:"started"`

	Running   bool  `json:"-"` // the csiglab that runs it is alive
	Processes []int `json:"-"` // of the run, apart from csiglab
}

// entry is the file of a run.
type entry struct{ file string }

// registry returns the directory of the runs' files.
func registry() string {
	switch dir := os.Getenv("XDG_RUNTIME_DIR"); {
	case os.Geteuid() == 0:
		return "/run/csiglab"
	case dir != "":
		return filepath.Join(dir, "csiglab")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("csiglab-%d", os.Getuid()))
}

func register(id, name, folder string) (*entry, error) {
	dir := registry()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("note the run: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
		return nil, fmt.Errorf("note the run: %s is not this user's", dir)
	}
	info := RunInfo{ID: id, PID: os.Getpid(), Start: startOf(os.Getpid()), Name: name, Folder: folder, Started: time.Now().Round(time.Second)}
	text, err := json.Marshal(info)
	if err != nil {
		return nil, err
	}
	e := &entry{filepath.Join(dir, id+".json")}
	if err := os.WriteFile(e.file, append(text, '\n'), 0o600); err != nil {
		return nil, fmt.Errorf("note the run: %w", err)
	}
	return e, nil
}

func (e *entry) remove() error {
	if err := os.Remove(e.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forget the run: %w", err)
	}
	return nil
}

// List returns this user's runs: those under way, and those whose csiglab was
// killed.
func List() ([]RunInfo, error) {
	files, err := filepath.Glob(filepath.Join(registry(), "*.json"))
	if err != nil {
		return nil, err
	}
	owned := processes()
	var runs []RunInfo
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var info RunInfo
		if err == nil {
			err = json.Unmarshal(text, &info)
		}
		if err != nil {
			return nil, fmt.Errorf("list runs: %s: %w", file, err)
		}
		info.Running = info.Start != 0 && startOf(info.PID) == info.Start
		info.Processes = owned[info.ID]
		runs = append(runs, info)
	}
	return runs, nil
}

// Clean removes what the run id left behind, or, with an empty id, what all runs
// left whose csiglab is gone; all includes runs that are under way, which end.
// It touches nothing that does not carry a run's id and may be repeated. It
// returns what it removed, in words. A run that is under way and not asked for by
// all is an error.
func Clean(id string, all bool) (removed []string, err error) {
	runs, err := List()
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		switch {
		case id != "" && r.ID != id:
			continue
		case r.Running && !all && id != "":
			return removed, fmt.Errorf("run %s is under way (process %d); end it first, or clean --all", id, r.PID)
		case r.Running && !all:
			continue
		}
		for _, pid := range r.Processes {
			if killRun(pid, r.ID) {
				removed = append(removed, fmt.Sprintf("process %d of run %s", pid, r.ID))
			}
		}
		deadline := time.Now().Add(patience)
		for len(processes()[r.ID]) > 0 {
			if time.Now().After(deadline) {
				return removed, fmt.Errorf("run %s: processes %v do not end", r.ID, processes()[r.ID])
			}
			time.Sleep(10 * time.Millisecond)
		}
		if r.Running {
			continue // its csiglab removes the entry
		}
		if err := (&entry{filepath.Join(registry(), r.ID+".json")}).remove(); err != nil {
			return removed, err
		}
		removed = append(removed, "the entry of run "+r.ID)
	}
	return removed, nil
}

// killRun kills a process if it still carries the run's id: a pidfd keeps the
// process from being another one by the time of the signal.
func killRun(pid int, id string) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return runOf(pid) == id && p.Kill() == nil
}

// processes returns the processes of all runs, by id.
func processes() map[string][]int {
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
		if id, ok := bytes.CutPrefix(variable, []byte(environmentRun+"=")); ok {
			return string(id)
		}
	}
	return ""
}

// startOf returns when a process started, in ticks since boot, and 0 when it is
// gone (proc(5), field 22).
func startOf(pid int) uint64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const start = 22 - 3 // fields before the name's end are cut off
	if len(fields) <= start {
		return 0
	}
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	if err != nil {
		return 0
	}
	return ticks
}
