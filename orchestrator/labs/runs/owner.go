package runs

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Owner identifies the process that holds a run, so that another process can find out
// whether it lives. Containers carry it as a label, because the list of runs of one
// csiglab is not that of another.
type Owner struct {
	PID   int
	Ticks uint64 // since boot, when the process started (proc(5), field 22)
	Boot  string // the machine's boot (random(4), boot_id); empty: not known
	Space uint64 // inode of the process's PID namespace; 0: not known
}

// Life says whether a process lives.
type Life int

// Values of Life. The zero value says nothing.
const (
	LifeUnknown Life = iota // of another PID namespace, or of no known process
	Lives
	Died
)

// Self returns the owner of the runs of this process.
func Self() Owner {
	boot, space := machine()
	return Owner{PID: os.Getpid(), Ticks: ticksOf(os.Getpid()), Boot: boot, Space: space}
}

// machine returns the id of the machine's boot and the inode of this process's PID
// namespace, "" and 0 where /proc does not have them.
var machine = sync.OnceValues(func() (boot string, space uint64) {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	link, _ := os.Readlink("/proc/self/ns/pid")
	fmt.Sscanf(link, "pid:[%d]", &space) //nolint:errcheck // 0 means not known
	return strings.TrimSpace(string(text)), space
})

// String returns the owner as text for ParseOwner.
func (o Owner) String() string {
	return fmt.Sprintf("%d/%d/%d/%s", o.PID, o.Ticks, o.Space, o.Boot)
}

// ParseOwner returns the owner that String has written. It returns the zero Owner, of
// which nothing is known, for any other text.
func ParseOwner(text string) (o Owner) {
	part := strings.SplitN(text, "/", 4)
	if len(part) != 4 {
		return Owner{}
	}
	pid, err1 := strconv.Atoi(part[0])
	ticks, err2 := strconv.ParseUint(part[1], 10, 64)
	space, err3 := strconv.ParseUint(part[2], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || pid <= 0 || ticks == 0 {
		return Owner{}
	}
	return Owner{PID: pid, Ticks: ticks, Boot: part[3], Space: space}
}

// Life reports whether the owner lives. The life of a process of another PID namespace
// is not known: its PID means nothing here.
func (o Owner) Life() Life {
	boot, space := machine()
	switch {
	case o.Ticks == 0:
		return LifeUnknown
	case o.Boot != "" && boot != "" && o.Boot != boot:
		return Died // the machine has been started again since
	case o.Space != 0 && space != 0 && o.Space != space:
		return LifeUnknown
	case ticksOf(o.PID) == o.Ticks:
		return Lives
	}
	return Died
}

// Stopped reports whether a process is stopped by a signal or a debugger.
func Stopped(pid int) bool {
	state, _ := stat(pid)
	return state == "T" || state == "t"
}

// ticksOf returns when a process started, in ticks since boot. It returns 0 when the
// process is gone or a zombie.
func ticksOf(pid int) uint64 {
	state, ticks := stat(pid)
	if state == "Z" || state == "X" {
		return 0
	}
	return ticks
}

// stat returns the state of a process and when it started, in ticks since boot
// (proc(5), fields 3 and 22), "" and 0 when it is gone.
func stat(pid int) (state string, ticks uint64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	const first, start = 0, 19 // fields before the name's end are cut off
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= start {
		return "", 0
	}
	if ticks, err = strconv.ParseUint(fields[start], 10, 64); err != nil {
		return "", 0
	}
	return fields[first], ticks
}
