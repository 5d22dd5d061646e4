package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/cmd/cli/doctor"
	"github.com/csiglab/csiglab/orchestrator/backend/containers"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/clab"
)

// answerTime is how long the engine may take to say what it is.
const answerTime = 10 * time.Second

// dockerHints are what to do about errors of an engine, by a part of their text.
var dockerHints = []struct{ part, fix string }{
	{"is not a Unix socket", "let DOCKER_HOST name the socket of an engine on this machine, such as unix://" + clab.DefaultSocket},
	{"permission denied", "sudo usermod -aG docker USER and log in again, or run csiglab as root"},
	{"does not answer", "start the engine again: sudo systemctl restart docker"},
	{"csig-", "make build puts the programs of the nodes beside csiglab"},
	{"mount", "the engine must see this machine's files: it must not run in a virtual machine or in another container"},
	{"no space left", "free some space on the engine's disk: docker system df"},
}

// dockerFix returns what to do about an error of an engine.
func dockerFix(err error, otherwise string) string {
	for _, h := range dockerHints {
		if strings.Contains(err.Error(), h.part) {
			return h.fix
		}
	}
	return otherwise
}

// Examine implements command.Containers. It asks the engine itself, not a client program: whether
// it can be reached, what it is, and whether a small lab of containers can be made.
func (engine) Examine(ctx context.Context) []doctor.Finding {
	socket := doctor.Finding{Name: "docker socket", Optional: true}
	engine := doctor.Finding{Name: "docker engine", Optional: true, Detail: "not asked", Fix: "mend the socket first"}
	trial := doctor.Finding{Name: "containers", Optional: true, Detail: "not tried", Fix: "mend the engine first"}
	list := func(more ...doctor.Finding) []doctor.Finding {
		return append([]doctor.Finding{root(), socket, engine, trial}, more...)
	}

	socket.Detail, socket.Fix = dockerSocket()
	if socket.OK = socket.Fix == ""; !socket.OK {
		return list()
	}
	asked, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	e, err := containerlab.Open(asked)
	if err != nil {
		engine.Detail, engine.Fix = err.Error(), dockerFix(err, "start the engine: sudo systemctl start docker")
		return list()
	}
	defer e.Close()
	about, err := e.About(asked)
	if err != nil {
		engine.Detail, engine.Fix = err.Error(), dockerFix(err, "start the engine again: sudo systemctl restart docker")
		return list()
	}
	engine.OK, engine.Fix = true, ""
	engine.Detail = fmt.Sprintf("version %s, API %s, at %s", about.Version, about.API, about.Host)
	if free := doctor.Disk(about.Folder); free.OK {
		engine.Detail += ", " + free.Detail
	}
	if os.Geteuid() != 0 {
		trial.Fix = "run csiglab doctor as root to try it"
		return list()
	}
	t, err := containers.Try(ctx, e)
	if err != nil {
		trial.Detail, trial.Fix = err.Error(), dockerFix(err, "look into the engine's log: journalctl -u docker")
		return list()
	}
	trial.OK, trial.Fix = true, ""
	trial.Detail = fmt.Sprintf("%d unprivileged ones with NET_ADMIN, NET_RAW and no network but their links, made and removed in %.1f s", t.Containers, t.Took.Seconds())
	shaping := doctor.Finding{Name: "traffic shaping in containers", OK: t.Shaping == nil, Optional: true, Detail: "a token bucket filter (tbf) on a link, for clock wall"}
	if !shaping.OK {
		shaping.Detail, shaping.Fix = t.Shaping.Error(), "for clock wall load the module: sudo modprobe sch_tbf"
	}
	priority := doctor.Finding{Name: "real-time priority in containers", OK: t.Priority, Optional: true, Detail: "SCHED_FIFO, for clock wall"}
	if !priority.OK {
		priority.Detail, priority.Fix = "this machine does not permit it", doctor.PriorityFix()
	}
	return list(shaping, priority)
}

func root() doctor.Finding {
	f := doctor.Finding{Name: "root", OK: os.Geteuid() == 0, Optional: true, Detail: "this user may join containers by links"}
	if !f.OK {
		f.Detail, f.Fix = "to join containers by links needs root", "run csiglab as root for this runtime; runtime netns works without"
	}
	return f
}

// dockerSocket looks at the engine's socket and this user's rights on it. fix is empty
// if it can be used.
func dockerSocket() (detail, fix string) {
	host := os.Getenv("DOCKER_HOST")
	path, local := strings.CutPrefix(host, "unix://")
	switch {
	case host == "":
		path = clab.DefaultSocket
	case !local:
		return "DOCKER_HOST is " + host, "let DOCKER_HOST name a Unix socket of this machine, such as unix://" + clab.DefaultSocket
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no " + path, "install and start the engine: sudo apt-get install docker.io, sudo systemctl start docker; or let DOCKER_HOST name its socket"
	case err != nil:
		return err.Error(), dockerFix(err, "let DOCKER_HOST name the engine's socket")
	case info.Mode()&fs.ModeSocket == 0:
		return path + " is not a socket", "let DOCKER_HOST name the engine's socket"
	}
	if err := unix.Access(path, unix.R_OK|unix.W_OK); err != nil {
		return fmt.Sprintf("%s: this user may not use it: %v", path, err), dockerFix(fs.ErrPermission, "")
	}
	return path + ", which this user may use", ""
}
