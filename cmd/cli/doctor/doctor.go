// Package doctor examines what each runtime needs of this machine for this user:
// namespaces, links, shapers, sockets and priorities of the kernel, the Docker engine,
// disk, programs, and what earlier runs left behind. It tries these things as a run would.
// It prints nothing and repairs nothing. The command csiglab doctor drives it, and starts
// csiglab a second time, in a private network namespace, for the part that needs one
// (Probe).
package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/units"
)

// Finding is the outcome of one check.
type Finding struct {
	Runtime  string `json:"runtime,omitempty"` // that needs it; empty: all of them
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Optional bool   `json:"optional"` // csiglab works without it
	Detail   string `json:"detail"`
	Fix      string `json:"fix,omitempty"` // set when not OK
}

// Healthy reports whether nothing fails that csiglab needs.
func Healthy(findings []Finding) bool {
	for _, f := range findings {
		if !f.OK && !f.Optional {
			return false
		}
	}
	return true
}

// Machine is what is examined.
type Machine struct {
	// Out is the folder in which runs' folders are created; it need not exist.
	Out string
	// Runs lists the runs on this machine. nil: they are not examined.
	Runs func(context.Context) ([]runs.Run, error)
	// Containers examines the Docker engine.
	Containers func(context.Context) []Finding
	// Probe is the command of this program that calls the function Probe with its one
	// argument and prints the findings as JSON.
	Probe string
}

// Examine runs every check, in order: those of each runtime, then those of all. What it
// creates is in a private namespace of a child process and ends with that process, or is
// in containers, which are removed with their images.
func (m Machine) Examine(ctx context.Context) (list []Finding) {
	add := func(runtime string, findings ...Finding) {
		for _, f := range findings {
			f.Runtime = runtime
			list = append(list, f)
		}
	}
	const virtual = "runtime " + runtimes.Inproc + " works"
	add(runtimes.Inproc, Finding{Name: "virtual time", OK: true, Detail: "needs no privileges"})
	add(runtimes.Netns, kernelNamespaces())
	add(runtimes.Netns, m.privateNetwork(ctx)...)
	add(runtimes.Netns, helper(programs.Switch, virtual), helper(programs.Host, virtual))
	add(runtimes.Containerlab, m.Containers(ctx)...)
	add("", cores(), Disk(m.Out), Sibling(programs.Serve), Sibling(programs.Cluster))
	if m.Runs != nil {
		add("", m.leftovers(ctx))
	}
	return list
}

func kernelNamespaces() Finding {
	f := Finding{Name: "kernel namespaces", OK: true, Detail: "network, process and mount namespaces"}
	for _, ns := range []string{"net", "pid", "mnt"} {
		if _, err := os.Stat("/proc/self/ns/" + ns); err != nil {
			f.OK, f.Detail = false, fmt.Sprintf("no %s namespaces: %v", ns, err)
			f.Fix = "use a Linux kernel with namespaces and mount /proc; runtime " + runtimes.Inproc + " works without"
		}
	}
	return f
}

// probeTime bounds the tries in a private network namespace, which take a fraction of a
// second.
const probeTime = 30 * time.Second

// privateNetwork starts this program a second time, in a new network namespace, where
// Probe creates links and sockets. An unprivileged user gets a new user namespace
// too.
func (m Machine) privateNetwork(ctx context.Context) []Finding {
	user := Finding{Name: "user namespaces", OK: true, Detail: "not needed as root"}
	attributes := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		user.Detail = "this user can make them"
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	self, err := os.Executable()
	network, err2 := os.Readlink(ownNetwork)
	if err = errors.Join(err, err2); err != nil {
		user.OK, user.Detail, user.Fix = false, err.Error(), "start csiglab from a file that stays in its place, with /proc mounted"
		return append([]Finding{user}, notTried()...)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var stdout, stderr bytes.Buffer
	child := exec.CommandContext(ctx, self, m.Probe, network)
	child.Stdout, child.Stderr, child.SysProcAttr = &stdout, &stderr, attributes
	child.Env = []string{}
	var probed []Finding
	if err = child.Run(); err == nil {
		err = json.Unmarshal(stdout.Bytes(), &probed)
	}
	if err != nil {
		user.OK, user.Detail = false, strings.TrimSpace(fmt.Sprintf("no private network namespace: %v %s", err, stderr.String()))
		user.Fix = namespaceFix()
		return append([]Finding{user}, notTried()...)
	}
	return append([]Finding{user}, probed...)
}

// namespaceFix names the setting that most likely forbids namespaces.
func namespaceFix() string {
	if os.Geteuid() == 0 {
		return "give this container CAP_SYS_ADMIN, or use runtime " + runtimes.Inproc
	}
	for _, s := range []struct{ file, forbids, fix string }{
		{"/proc/sys/user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
	} {
		if text, err := os.ReadFile(s.file); err == nil && strings.TrimSpace(string(text)) == s.forbids {
			return s.fix
		}
	}
	return "run as root, allow user namespaces, or use runtime " + runtimes.Inproc
}

func cores() Finding {
	n := runtime.GOMAXPROCS(0)
	f := Finding{Name: "cores", OK: n >= 2, Optional: true, Detail: fmt.Sprintf("%d", n)}
	if !f.OK {
		f.Fix = "with two or more, runs go in parallel; results are the same"
	}
	return f
}

// wantedDisk is enough for a few hundred runs of three-flow.
const wantedDisk = units.GB

// Disk looks at the file system of dir, or of the nearest folder above it that
// exists.
func Disk(dir string) Finding {
	f := Finding{Name: "disk", Fix: "free some space, or name another folder with --out"}
	path, err := filepath.Abs(dir)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	for {
		if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			break
		}
		path = filepath.Dir(path)
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		f.Detail = fmt.Sprintf("%s: %v", path, err)
		return f
	}
	free := units.Size(s.Bavail) * units.Size(s.Bsize)
	f.Detail = fmt.Sprintf("%.1f GB free in %s", float64(free)/float64(units.GB), path)
	if err := syscall.Access(path, 2 /* W_OK */); err != nil {
		f.Detail, f.Fix = fmt.Sprintf("%s: %v", path, err), "name a folder that you may write to with --out"
		return f
	}
	if f.OK = free >= wantedDisk; f.OK {
		f.Fix = ""
	}
	return f
}

// helper looks for a program that csiglab starts, or puts in its own place. What works without
// it is in words.
func helper(name, without string) Finding {
	path, err := programs.Find(name)
	if err != nil {
		return Finding{Name: name, Detail: err.Error(), Fix: without + " without it"}
	}
	return Finding{Name: name, OK: true, Detail: path}
}

// Sibling looks for a program that csiglab may put in its own place. Most commands need none.
func Sibling(name string) Finding {
	f := helper(name, "the other commands work")
	f.Optional = true
	return f
}

// leftovers looks for runs whose csiglab has died.
func (m Machine) leftovers(ctx context.Context) Finding {
	f := Finding{Name: "leftover runs", OK: true, Optional: true, Detail: "none"}
	list, err := m.Runs(ctx)
	if err != nil {
		f.OK, f.Detail, f.Fix = false, err.Error(), "see csiglab ps"
		return f
	}
	var ids []string
	for _, r := range list {
		if r.State == runs.Dead {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) > 0 {
		f.OK, f.Detail, f.Fix = false, strings.Join(ids, " "), "csiglab clean"
	}
	return f
}
