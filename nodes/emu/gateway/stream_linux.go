package gateway

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How long a prompt connection waits in the kernel at a time. The thread of a raw wait delays
// a garbage collection for as long; a patient wait is one that the Go scheduler sees.
const (
	promptWait  = 5 * time.Millisecond
	patientWait = 50 * time.Millisecond
)

// Prompt takes over a connection, and returns one that waits in raw system calls for a moment,
// before it waits where the Go scheduler sees it. In lockstep most waits are shorter than what
// a wakeup by Go's network poller costs. The poller does not know the socket: a thread that
// waits in it would be woken by everything that comes. A read that waits keeps its processor
// of the Go scheduler (GOMAXPROCS), so each connection should have one. Deadlines and Close
// hold, a deadline that is moved with an error of a patientWait. Prompt returns conn itself if
// it is not a socket.
func Prompt(conn net.Conn) net.Conn {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return conn
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return conn
	}
	c := &promptConn{Conn: conn}
	var failed error
	err = raw.Control(func(fd uintptr) { c.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err != nil || failed != nil {
		return conn
	}
	conn.Close() //nolint:errcheck // c has the socket
	return c
}

// promptConn is a Prompt connection.
type promptConn struct {
	net.Conn // is closed, and knows the addresses
	using    sync.RWMutex
	fd       int // of using
	closed   atomic.Bool
	readBy   deadline
	writeBy  deadline
}

// deadline is a time after start in nanoseconds, 0 for none.
type deadline struct{ atomic.Int64 }

// start is what deadlines are counted from, by a clock that nobody sets.
var start = time.Now()

func (d *deadline) set(t time.Time) {
	at := int64(0)
	if !t.IsZero() {
		at = max(1, int64(time.Until(t)+time.Since(start)))
	}
	d.Store(at)
}

// left returns how long it is to the deadline, and at most limit.
func (d *deadline) left(limit time.Duration) time.Duration {
	at := d.Load()
	if at == 0 {
		return limit
	}
	return min(limit, time.Duration(at)-time.Since(start))
}

// SetDeadline implements net.Conn.
func (c *promptConn) SetDeadline(t time.Time) error {
	c.readBy.set(t)
	c.writeBy.set(t)
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *promptConn) SetReadDeadline(t time.Time) error {
	c.readBy.set(t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *promptConn) SetWriteDeadline(t time.Time) error {
	c.writeBy.set(t)
	return nil
}

// Close implements net.Conn. It ends reads and writes that wait.
func (c *promptConn) Close() error {
	if c.closed.Swap(true) {
		return c.failed("close", net.ErrClosed)
	}
	unix.Shutdown(c.fd, unix.SHUT_RDWR) //nolint:errcheck // the other end may have done so
	c.using.Lock()
	defer c.using.Unlock()
	return os.NewSyscallError("close", unix.Close(c.fd))
}

// Read implements net.Conn.
func (c *promptConn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := c.transfer(unix.SYS_RECVFROM, b, &c.readBy, unix.POLLIN)
	switch {
	case err != nil:
		return 0, c.failed("read", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write implements net.Conn.
func (c *promptConn) Write(b []byte) (sent int, err error) {
	for sent < len(b) {
		n, err := c.transfer(unix.SYS_SENDTO, b[sent:], &c.writeBy, unix.POLLOUT)
		if err != nil {
			return sent, c.failed("write", err)
		}
		sent += n
	}
	return sent, nil
}

func (c *promptConn) failed(operation string, err error) error {
	return &net.OpError{Op: operation, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// transfer calls recvfrom or sendto when the socket is ready.
func (c *promptConn) transfer(call uintptr, b []byte, by *deadline, ready int16) (int, error) {
	c.using.RLock()
	defer c.using.RUnlock()
	wait, limit := syscall.RawSyscall6, promptWait
	for {
		if c.closed.Load() {
			return 0, net.ErrClosed
		}
		left := by.left(limit)
		if left <= 0 {
			return 0, os.ErrDeadlineExceeded
		}
		n, _, errno := syscall.RawSyscall6(call, uintptr(c.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			if n == 0 && c.closed.Load() {
				return 0, net.ErrClosed
			}
			return int(n), nil
		case unix.EINTR:
			continue
		case unix.EAGAIN:
		default:
			return 0, os.NewSyscallError("socket", errno)
		}
		poll, within := unix.PollFd{Fd: int32(c.fd), Events: ready}, unix.NsecToTimespec(int64(left))
		wait(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&within)), 0, 0, 0)
		wait, limit = syscall.Syscall6, patientWait
	}
}
