package main

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

	"github.com/csiglab/csiglab/units"
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/orchestrator/runs"
)

// finding is the outcome of one check of doctor.
type finding struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Optional bool   `json:"optional"` // csiglab works without it
	Detail   string `json:"detail"`
	Fix      string `json:"fix,omitempty"` // set when not OK
}

func (a *app) doctor() *cobra.Command {
	var asJSON bool
	var out string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what this machine can run; each line that fails says how to fix it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := a.examine(cmd, out)
			healthy := true
			for _, f := range findings {
				healthy = healthy && (f.OK || f.Optional)
			}
			if asJSON {
				if err := a.printJSON(findings); err != nil {
					return err
				}
			} else {
				a.printFindings(findings)
			}
			if !healthy {
				return &exitError{code: exitInfrastructure}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	cmd.Flags().StringVar(&out, "out", "runs", "`DIR` in which runs' folders are made")
	return cmd
}

func (a *app) printFindings(findings []finding) {
	for _, f := range findings {
		state := "ok  "
		switch {
		case !f.OK && f.Optional:
			state = "note"
		case !f.OK:
			state = "FAIL"
		}
		fmt.Fprintf(a.stdout, "%s  %s: %s", state, f.Name, f.Detail)
		if f.Fix != "" {
			fmt.Fprintf(a.stdout, "; %s", f.Fix)
		}
		fmt.Fprintln(a.stdout)
	}
}

// examine runs every check. Nothing is made outside a private namespace of a
// child process, and nothing stays.
func (a *app) examine(cmd *cobra.Command, out string) []finding {
	list := []finding{
		{Name: "runtime inproc", OK: true, Detail: "virtual time needs no privileges"},
		kernelNamespaces(),
	}
	list = append(list, a.privateNetwork(cmd)...)
	list = append(list, cores(), disk(out), helper("csig-switch"), helper("csig-host"), docker())
	if a.lab.list != nil {
		list = append(list, a.leftovers(cmd.Context()))
	}
	return list
}

func kernelNamespaces() finding {
	f := finding{Name: "kernel namespaces", OK: true, Detail: "network, process and mount namespaces"}
	for _, ns := range []string{"net", "pid", "mnt"} {
		if _, err := os.Stat("/proc/self/ns/" + ns); err != nil {
			f.OK, f.Detail = false, fmt.Sprintf("no %s namespaces: %v", ns, err)
			f.Fix = "use a Linux kernel with namespaces and mount /proc; runtime inproc works without"
		}
	}
	return f
}

// privateNetwork starts this program again in a new network namespace (as an
// unprivileged user in a new user namespace too), where probe makes links and
// sockets.
func (a *app) privateNetwork(cmd *cobra.Command) []finding {
	user := finding{Name: "user namespaces", OK: true, Detail: "not needed as root"}
	attributes := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		user.Detail = "this user can make them"
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	skipped := []finding{
		{Name: "veth links", Detail: "not tried without a private namespace", Fix: "fix the namespaces first"},
		{Name: "AF_PACKET", Detail: "not tried without a private namespace", Fix: "fix the namespaces first"},
	}
	self, err := os.Executable()
	network, err2 := os.Readlink(ownNetwork)
	if err = errors.Join(err, err2); err != nil {
		user.OK, user.Detail, user.Fix = false, err.Error(), "start csiglab from a file that stays in its place, with /proc mounted"
		return append([]finding{user}, skipped...)
	}
	var stdout, stderr bytes.Buffer
	child := exec.CommandContext(cmd.Context(), self, probeName, network)
	child.Stdout, child.Stderr, child.SysProcAttr = &stdout, &stderr, attributes
	child.Env = []string{}
	var probed []finding
	if err = child.Run(); err == nil {
		err = json.Unmarshal(stdout.Bytes(), &probed)
	}
	if err != nil {
		user.OK, user.Detail = false, strings.TrimSpace(fmt.Sprintf("no private network namespace: %v %s", err, stderr.String()))
		user.Fix = namespaceFix()
		return append([]finding{user}, skipped...)
	}
	return append([]finding{user}, probed...)
}

// namespaceFix names the setting that most likely forbids namespaces.
func namespaceFix() string {
	if os.Geteuid() == 0 {
		return "give this container CAP_SYS_ADMIN, or use runtime inproc"
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
	return "run as root, allow user namespaces, or use runtime inproc"
}

func cores() finding {
	n := runtime.GOMAXPROCS(0)
	f := finding{Name: "cores", OK: n >= 2, Optional: true, Detail: fmt.Sprintf("%d", n)}
	if !f.OK {
		f.Fix = "with two or more, runs go in parallel; results are the same"
	}
	return f
}

// wantedDisk is room for a few hundred runs of three-flow.
const wantedDisk = units.GB

// disk looks at the file system of dir, or of the nearest folder above it that
// exists.
func disk(dir string) finding {
	f := finding{Name: "disk", Fix: "free some space, or name another folder with --out"}
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

// helper looks for a node's program beside csiglab, then on PATH.
func helper(name string) finding {
	f := finding{Name: name, Fix: "run make build, which puts it beside csiglab; runtime inproc works without"}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return finding{Name: name, OK: true, Detail: beside}
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		f.Detail = "neither beside csiglab nor on PATH"
		return f
	}
	return finding{Name: name, OK: true, Detail: path}
}

func (a *app) leftovers(ctx context.Context) finding {
	f := finding{Name: "leftover runs", OK: true, Optional: true, Detail: "none"}
	list, err := a.lab.list(ctx)
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

func docker() finding {
	f := finding{Name: "docker", OK: true, Optional: true}
	path, err := exec.LookPath("docker")
	if err != nil {
		f.OK, f.Detail, f.Fix = false, "not on PATH", "only containers of others need it"
		return f
	}
	f.Detail = path
	return f
}
