package process

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Environment variables of a node's process that inherits no files, because it
// runs in a container: the Unix socket (SOCK_SEQPACKET) that hands it fileSpec,
// fileShared and fileReport, in this order, in one message of one byte, after it
// has sent its node's name. Main returns when that connection is closed: the
// interfaces exist until the orchestrator has read their counters, and the process
// does not outlive an orchestrator that is killed.
const (
	EnvironmentSocket = "CSIGLAB_SOCKET"
	EnvironmentNode   = "CSIGLAB_NODE"
)

// callEvery is how often a node tries to connect to a socket without a listener.
const callEvery = 100 * time.Millisecond

// handedOver is how many files a socket hands over.
const handedOver = 3

// files are what a node's process is given.
type files struct {
	spec, shared, report *os.File
	socket               int // -1: the files are inherited
	// closed is closed when the connection of socket is; nil for inherited files.
	closed chan struct{}
}

// takeFiles returns the files of this process.
func takeFiles() (*files, error) {
	path := os.Getenv(EnvironmentSocket)
	if path == "" {
		return &files{spec: os.NewFile(fileSpec, "spec"), shared: os.NewFile(fileShared, "shared"), report: os.NewFile(fileReport, "report"), socket: -1}, nil
	}
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	fds, err := receiveFiles(socket, path)
	if err != nil {
		unix.Close(socket)
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	f := &files{
		spec: os.NewFile(uintptr(fds[0]), "spec"), shared: os.NewFile(uintptr(fds[1]), "shared"), report: os.NewFile(uintptr(fds[2]), "report"),
		socket: socket, closed: make(chan struct{}),
	}
	go f.watch()
	return f, nil
}

func receiveFiles(socket int, path string) ([]int, error) {
	// A topology may be deployed by others than csiglab; then the node waits.
	for {
		err := unix.Connect(socket, &unix.SockaddrUnix{Name: path})
		if err == nil {
			break
		}
		if err != unix.EINTR && err != unix.ENOENT && err != unix.ECONNREFUSED {
			return nil, fmt.Errorf("connect: %w", err)
		}
		time.Sleep(callEvery)
	}
	if err := unix.Send(socket, []byte(os.Getenv(EnvironmentNode)), 0); err != nil {
		return nil, fmt.Errorf("send the node's name: %w", err)
	}
	control := make([]byte, unix.CmsgSpace(4*handedOver))
	for {
		n, controlled, _, _, err := unix.Recvmsg(socket, make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, fmt.Errorf("receive files: %w", err)
		case n == 0:
			return nil, fmt.Errorf("receive files: the run ended before it began")
		}
		messages, err := unix.ParseSocketControlMessage(control[:controlled])
		if err != nil {
			return nil, fmt.Errorf("receive files: %w", err)
		}
		var fds []int
		for _, m := range messages {
			got, err := unix.ParseUnixRights(&m)
			if err != nil {
				return nil, fmt.Errorf("receive files: %w", err)
			}
			fds = append(fds, got...)
		}
		if len(fds) != handedOver {
			return nil, fmt.Errorf("receive files: got %d, want %d", len(fds), handedOver)
		}
		return fds, nil
	}
}

// watch closes f.closed when the connection that handed the files over is closed.
func (f *files) watch() {
	defer close(f.closed)
	for {
		n, err := unix.Read(f.socket, make([]byte, 1))
		if err != unix.EINTR && n <= 0 {
			return
		}
	}
}

// linger waits until the connection that handed the files over is closed.
func (f *files) linger() {
	if f.closed != nil {
		<-f.closed
	}
}
