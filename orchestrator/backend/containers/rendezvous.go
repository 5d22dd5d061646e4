package containers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu/process"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
)

// A run's nodes connect to csiglab at a socket in the folder nodeFolder of the run's
// folder, which containers see as mounted.
const (
	nodeFolder = "nodes"
	mounted    = "/run/csiglab"
	socketName = "nodes.sock"
	hostsName  = "hosts" // of the containers of programs; see application.Names.Hosts
)

// rendezvous is the socket at which a run's nodes connect to csiglab.
type rendezvous struct {
	folder *os.File
	socket *net.UnixListener
	calls  []*net.UnixConn // by node
}

func openRendezvous(runFolder string) (_ *rendezvous, err error) {
	r := new(rendezvous)
	defer func() {
		if err != nil {
			r.close()
			err = fmt.Errorf("make the socket that the nodes call: %w", err)
		}
	}()
	path := filepath.Join(runFolder, nodeFolder)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	if r.folder, err = os.Open(path); err != nil {
		return nil, err
	}
	// A socket's path is at most 107 bytes long, which a run's folder may exceed.
	name := fmt.Sprintf("/proc/self/fd/%d/%s", r.folder.Fd(), socketName)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a csiglab that was killed
		return nil, err
	}
	r.socket, err = net.ListenUnix("unixpacket", &net.UnixAddr{Net: "unixpacket", Name: name})
	return r, err
}

// writeHosts writes the hosts file of the containers of programs. It stays on disk, as
// the topology file names it.
func (r *rendezvous) writeHosts(names application.Names) error {
	file := fmt.Sprintf("/proc/self/fd/%d/%s", r.folder.Fd(), hostsName)
	err := os.Remove(file) // of a csiglab that was killed
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(file, names.Hosts(nil), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the hosts file of programs: %w", err)
	}
	return nil
}

// Limits of how long the nodes may take to connect; a node connects when its process
// starts, before its links exist.
const (
	callTime = 30 * time.Second
	nameLen  = 256
)

// gather waits until all nodes have connected, but for those without a name. missing returns
// the error of a node that does not connect.
func (r *rendezvous) gather(ctx context.Context, names []string, missing func(node int) error) error {
	r.calls = make([]*net.UnixConn, len(names))
	limit := time.Now().Add(callTime)
	stop := context.AfterFunc(ctx, func() { r.socket.SetDeadline(time.Now()) })
	defer stop()
	if err := r.socket.SetDeadline(limit); err != nil {
		return err
	}
	for i := range names {
		if names[i] == "" {
			continue
		}
		call, err := r.socket.AcceptUnix()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return missing(r.silent(names))
		}
		if err != nil {
			return fmt.Errorf("wait for the nodes: %w", err)
		}
		name := make([]byte, nameLen)
		call.SetReadDeadline(limit)
		n, err := call.Read(name)
		node := slices.Index(names, string(name[:n]))
		if err != nil || n == 0 || node < 0 || r.calls[node] != nil {
			call.Close()
			return fmt.Errorf("wait for the nodes: a call of %q is not expected: %v", name[:n], err)
		}
		r.calls[node] = call
	}
	return nil
}

// silent returns the first node with a name that has not connected.
func (r *rendezvous) silent(names []string) int {
	for i, name := range names {
		if name != "" && r.calls[i] == nil {
			return i
		}
	}
	return -1 // all have
}

// handOver sends a node its specification and the memory that all nodes share. It
// returns the file of the node's report.
func (r *rendezvous) handOver(node int, spec *process.Spec, shared *os.File) (*os.File, error) {
	return backend.Connect(spec, func(specification, report *os.File) error {
		rights := unix.UnixRights(int(specification.Fd()), int(shared.Fd()), int(report.Fd()))
		_, _, err := r.calls[node].WriteMsgUnix([]byte{0}, rights, nil)
		return err
	})
}

// disconnect closes the nodes' connections. A node ends when its connection closes.
func (r *rendezvous) disconnect() {
	for _, c := range r.calls {
		if c != nil {
			c.Close()
		}
	}
	r.calls = nil
}

func (r *rendezvous) close() {
	r.disconnect()
	if r.socket != nil {
		r.socket.Close()
	}
	if r.folder != nil {
		r.folder.Close() // the folder stays on disk, so that the topology file can be deployed again
	}
}
