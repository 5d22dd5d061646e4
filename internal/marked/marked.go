// Package marked finds and kills processes by a variable of their environment, which they give
// on to those that they start.
package marked

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Processes returns the processes that have a variable, by its value. Those of other users
// cannot be read.
func Processes(variable string) map[string][]int {
	byValue := map[string][]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		if err != nil {
			continue
		}
		if value := valueOf(pid, variable); value != "" {
			byValue[value] = append(byValue[value], pid)
		}
	}
	return byValue
}

// Kill kills a process if its variable still has the value. It signals through a pidfd, so that
// no other process that has got the same PID meanwhile is hit.
func Kill(pid int, variable, value string) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return valueOf(pid, variable) == value && p.Kill() == nil
}

// valueOf returns the value of a process's variable, "" without it or for a process that has
// ended.
func valueOf(pid int, variable string) string {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for one := range bytes.SplitSeq(environment, []byte{0}) {
		if value, ok := bytes.CutPrefix(one, []byte(variable+"=")); ok {
			return string(value)
		}
	}
	return ""
}
