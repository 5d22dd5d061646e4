package gateway

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// promptWait is how long a read of a prompt connection waits in the kernel. The thread that
// waits delays a garbage collection for as long.
const promptWait = 5 * time.Millisecond

// Prompt returns a connection whose reads wait for data in a raw system call for a moment,
// before they wait in Go's network poller. In lockstep most waits are shorter than what a
// wakeup by the poller costs. A read that waits keeps its processor of the Go scheduler
// (GOMAXPROCS), so each connection should have one. Prompt returns conn itself if it is not
// a socket.
func Prompt(conn net.Conn) net.Conn {
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			return &promptConn{Conn: conn, raw: raw}
		}
	}
	return conn
}

// promptConn is a Prompt connection.
type promptConn struct {
	net.Conn
	raw syscall.RawConn
}

// Read implements net.Conn. Deadlines hold, with an error of a promptWait.
func (c *promptConn) Read(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	waited := false
	var failed syscall.Errno
	err = c.raw.Read(func(fd uintptr) bool {
		for {
			n, failed = receive(fd, b)
			switch {
			case failed == unix.EINTR:
			case failed != unix.EAGAIN:
				return true
			case waited:
				return false // the poller waits
			default:
				waited = true
				awaitInput(fd)
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case failed != 0:
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("recvfrom", failed)}
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// receive reads what has come.
func receive(fd uintptr, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// awaitInput waits for data, an error or a promptWait.
func awaitInput(fd uintptr) {
	poll := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	limit := unix.NsecToTimespec(int64(promptWait))
	syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}
