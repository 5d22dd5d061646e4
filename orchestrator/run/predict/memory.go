package predict

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Available is the memory that a process and its children may have.
type Available struct {
	Bytes int64  // what they have already included; NoLimit: not known
	Limit string // what sets it, for the user, such as "this machine has"
}

// NoLimit stands for memory of which no limit is known.
const NoLimit = math.MaxInt64

// memoryMargin is the memory that is left to the kernel and to other programs, of what
// is available.
const memoryMargin = 0.05

// AvailableMemory returns the memory that this process may have: the least of what the
// machine has, what the control groups of the process leave it, its resource limits and
// GOMEMLIMIT, less a margin.
func AvailableMemory() Available {
	limit := int64(NoLimit)
	if os.Getenv("GOMEMLIMIT") != "" { // otherwise a limit is csiglab's own
		limit = debug.SetMemoryLimit(-1)
	}
	return availableMemory("/", limit)
}

// availableMemory is AvailableMemory of a machine whose /proc and /sys are below root.
// limit is that of Go's collector.
func availableMemory(root string, limit int64) Available {
	own := statusField(root, "VmRSS")
	least := Available{NoLimit, ""}
	take := func(bytes int64, what string) {
		if bytes < least.Bytes {
			least = Available{bytes, what}
		}
	}
	if free, ok := field(readText(root, "proc/meminfo"), "MemAvailable:"); ok {
		take(free<<10+own, "this machine has")
	}
	if bytes := groupMemory(root); bytes != NoLimit {
		take(bytes+own, "its control group may have")
	}
	for _, r := range []struct {
		resource  int
		field, ul string
	}{{unix.RLIMIT_AS, "VmSize", "ulimit -v"}, {unix.RLIMIT_DATA, "VmData", "ulimit -d"}} {
		var l unix.Rlimit
		if unix.Getrlimit(r.resource, &l) == nil && l.Cur < NoLimit {
			take(int64(l.Cur)-statusField(root, r.field)+own, r.ul+" leaves")
		}
	}
	if least.Bytes != NoLimit {
		least.Bytes -= int64(memoryMargin * float64(least.Bytes))
	}
	if limit < NoLimit {
		take(limit, "GOMEMLIMIT allows")
	}
	least.Bytes = max(least.Bytes, 0)
	return least
}

// groupMemory returns how many bytes the control groups of this process may take more
// than they have, what the kernel can reclaim not counted; NoLimit without a limit.
func groupMemory(root string) int64 {
	free := int64(NoLimit)
	for line := range strings.Lines(readText(root, "proc/self/cgroup")) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path (cgroups(7))
		if len(part) != 3 {
			continue
		}
		hierarchy, limit, used := "sys/fs/cgroup", "memory.max", "memory.current"
		switch {
		case part[1] == "": // version 2
		case strings.Contains(","+part[1]+",", ",memory,"):
			hierarchy, limit, used = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		default:
			continue
		}
		// In a container the path may be that of the machine, and the group is at the top.
		for at := filepath.Clean("/" + part[2]); ; at = filepath.Dir(at) {
			folder := filepath.Join(hierarchy, at)
			most, ok1 := number(readText(root, filepath.Join(folder, limit)))
			has, ok2 := number(readText(root, filepath.Join(folder, used)))
			if ok1 && ok2 && most < 1<<60 { // version 1 has no word for no limit
				free = min(free, most-has+reclaimable(readText(root, filepath.Join(folder, "memory.stat"))))
			}
			if at == "/" {
				break
			}
		}
	}
	return free
}

// reclaimable returns the bytes of files in the cache that a control group's memory.stat
// lists; version 1 has them with those of the groups below it, too.
func reclaimable(stat string) (bytes int64) {
	for _, name := range []string{"active_file", "inactive_file"} {
		if n, ok := field(stat, "total_"+name); ok {
			bytes += n
		} else if n, ok := field(stat, name); ok {
			bytes += n
		}
	}
	return bytes
}

// statusField returns a field of /proc/self/status that is in KiB, in bytes.
func statusField(root, name string) int64 {
	kib, _ := field(readText(root, "proc/self/status"), name+":")
	return kib << 10
}

func readText(root, file string) string {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return ""
	}
	return string(text)
}

// field returns the number after a name in a text of lines "NAME NUMBER …".
func field(text, name string) (int64, bool) {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			return number(words[1])
		}
	}
	return 0, false
}

func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil
}

// MemoryError is the error about runs that would not fit in memory.
type MemoryError struct {
	Needed    int64 // bytes
	Available Available
	Advice    []string // what makes it less, the best first
}

func (e *MemoryError) Error() string {
	text := fmt.Sprintf("not enough memory: this needs about %s, and %s %s", Gigabytes(e.Needed), e.Available.Limit, Gigabytes(e.Available.Bytes))
	if len(e.Advice) > 0 {
		text += "; try " + strings.Join(e.Advice, ", or ")
	}
	return text + "; --force runs it anyway"
}

// Gigabytes returns a number of bytes in words.
func Gigabytes(bytes int64) string {
	switch b := float64(bytes); {
	case b >= 10e9:
		return fmt.Sprintf("%.0f GB", b/1e9)
	case b >= 1e9:
		return fmt.Sprintf("%.1f GB", b/1e9)
	default:
		return fmt.Sprintf("%.0f MB", b/1e6)
	}
}
