package containers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu/process"
)

// A run's nodes and the orchestrator meet in the folder meeting of the run's
// folder, which containers see as mounted.
const (
	meeting    = "nodes"
	mounted    = "/run/csiglab"
	socketName = "nodes.sock"
)

// room is where a run's nodes meet the orchestrator.
type room struct {
	folder *os.File
	socket *net.UnixListener
	calls  []*net.UnixConn // by node
}

func openRoom(runFolder string) (_ *room, err error) {
	r := new(room)
	defer func() {
		if err != nil {
			r.close()
			err = fmt.Errorf("make a place to meet the nodes: %w", err)
		}
	}()
	path := filepath.Join(runFolder, meeting)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	if r.folder, err = os.Open(path); err != nil {
		return nil, err
	}
	// A socket's path has room for 107 bytes, which a run's folder may exceed.
	name := fmt.Sprintf("/proc/self/fd/%d/%s", r.folder.Fd(), socketName)
	r.socket, err = net.ListenUnix("unixpacket", &net.UnixAddr{Net: "unixpacket", Name: name})
	return r, err
}

// Limits of how long the nodes' calls may take; a node calls as its process
// starts, before its links exist.
const (
	callTime = 30 * time.Second
	nameLen  = 256
)

// gather waits for the calls of all nodes. missing makes the error of a node that
// does not call.
func (r *room) gather(ctx context.Context, names []string, missing func(node int) error) error {
	r.calls = make([]*net.UnixConn, len(names))
	limit := time.Now().Add(callTime)
	stop := context.AfterFunc(ctx, func() { r.socket.SetDeadline(time.Now()) })
	defer stop()
	if err := r.socket.SetDeadline(limit); err != nil {
		return err
	}
	for range names {
		call, err := r.socket.AcceptUnix()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return missing(slices.Index(r.calls, nil))
		}
		if err != nil {
			return fmt.Errorf("wait for the nodes: %w", err)
		}
		name := make([]byte, nameLen)
		call.SetReadDeadline(limit)
		n, err := call.Read(name)
		node := slices.Index(names, string(name[:n]))
		if err != nil || node < 0 || r.calls[node] != nil {
			call.Close()
			return fmt.Errorf("wait for the nodes: a call of %q is not expected: %v", name[:n], err)
		}
		r.calls[node] = call
	}
	return nil
}

// handOver tells a node what to do and gives it the shared memory. It returns the
// file of the node's report.
func (r *room) handOver(node int, spec *process.Spec, shared *os.File) (*os.File, error) {
	specRead, specWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer specRead.Close()
	report, reportWrite, err := os.Pipe()
	if err != nil {
		specWrite.Close()
		return nil, err
	}
	defer reportWrite.Close()
	rights := unix.UnixRights(int(specRead.Fd()), int(shared.Fd()), int(reportWrite.Fd()))
	if _, _, err := r.calls[node].WriteMsgUnix([]byte{0}, rights, nil); err != nil {
		specWrite.Close()
		report.Close()
		return nil, err
	}
	go writeSpec(specWrite, spec)
	return report, nil
}

// hangUp closes the nodes' connections, upon which they end.
func (r *room) hangUp() {
	for _, c := range r.calls {
		if c != nil {
			c.Close()
		}
	}
	r.calls = nil
}

func (r *room) close() {
	r.hangUp()
	if r.socket != nil {
		r.socket.Close()
	}
	if r.folder != nil {
		r.folder.Close() // stays, so that the topology file can be deployed again
	}
}
