package dilation

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Machine returns what this machine is.
func Machine() runfolder.Machine {
	return runfolder.Machine{CPU: cpuModel(), Cores: runtime.NumCPU(), Kernel: kernel()}
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func kernel() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return fmt.Sprintf("Linux %s %s", string(release[:max(0, len(release)-1)]), runtime.GOARCH)
}
