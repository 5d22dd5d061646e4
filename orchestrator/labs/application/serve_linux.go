package application

import (
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Network is the network of a node that commands can enter.
type Network struct {
	File *os.File // namespace
	// Fabric says that the namespace has ports that lead to the fabric. A command gets
	// no right to send on them, and a program of the run cannot enter the namespace.
	Fabric bool
}

// Messages between Enter and a Server, over a socket of type SOCK_SEQPACKET. Enter
// sends the name of a node. The answer is one byte, which says what the node's network
// is, with the files of the namespaces; or answerRefused and the reason. Then Enter
// sends a pidfd of the command that it has started.
const (
	answerPrograms = 'p' // the network of programs
	answerFabric   = 'f' // a network with ports of the fabric
	answerRefused  = 'r'
	longestMessage = 1 << 12
)

// handed is the number of namespaces that a Server hands over: network, PID, mount,
// user.
const handed = 4

// Server gives commands of other processes access to the namespaces of a run's
// programs. A command that Enter has started is killed when the process that called
// Enter dies.
type Server struct {
	local    *Local
	networks map[string]Network // by node's name
	listener *net.UnixListener

	mu     sync.Mutex
	closed bool
	calls  map[*net.UnixConn]bool
	all    sync.WaitGroup
}

// Serve starts to accept calls at a listener for sockets of type unixpacket, which the
// Server owns from then on. networks are the nodes' by name; the caller keeps the
// files open until it has called Close.
func (l *Local) Serve(listener *net.UnixListener, networks map[string]Network) *Server {
	s := &Server{local: l, networks: networks, listener: listener, calls: map[*net.UnixConn]bool{}}
	s.all.Go(s.accept)
	return s
}

// Close ends the service. It does not end commands that have been started; Local.Kill
// does.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.listener.Close()
	for call := range s.calls {
		call.Close()
	}
	s.mu.Unlock()
	s.all.Wait()
}

func (s *Server) accept() {
	for {
		call, err := s.listener.AcceptUnix()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			call.Close()
		} else {
			s.calls[call] = true
			s.all.Go(func() { s.serve(call) })
		}
		s.mu.Unlock()
	}
}

func (s *Server) serve(call *net.UnixConn) {
	defer func() {
		call.Close()
		s.mu.Lock()
		delete(s.calls, call)
		s.mu.Unlock()
	}()
	name := make([]byte, longestMessage)
	n, err := call.Read(name)
	if err != nil {
		return
	}
	if err := s.handOver(call, string(name[:n])); err != nil {
		call.Write([]byte(string(answerRefused) + err.Error())) //nolint:errcheck // the caller may be gone
		return
	}
	control := make([]byte, unix.CmsgSpace(4))
	_, got, _, _, err := call.ReadMsgUnix(make([]byte, 1), control)
	if err != nil {
		return
	}
	for _, command := range rights(control[:got]) {
		call.Read(make([]byte, 1))                                    //nolint:errcheck // the end of the connection
		unix.PidfdSendSignal(int(command.Fd()), unix.SIGKILL, nil, 0) //nolint:errcheck // it has ended as a rule
		command.Close()
	}
}

// handOver sends the namespaces of a node.
func (s *Server) handOver(call *net.UnixConn, name string) error {
	network, ok := s.networks[name]
	if !ok {
		return fmt.Errorf("there is no node %q", name)
	}
	answer := byte(answerPrograms)
	if network.Fabric {
		answer = answerFabric
		if s.fromProgram(call) {
			return fmt.Errorf("a program of the run cannot enter node %s, which has no programs", name)
		}
	}
	user, err := os.Open("/proc/self/ns/user")
	if err != nil {
		return err
	}
	defer user.Close()
	files := unix.UnixRights(int(network.File.Fd()), int(s.local.pids.Fd()), int(s.local.mounts.Fd()), int(user.Fd()))
	_, _, err = call.WriteMsgUnix([]byte{answer}, files, nil)
	return err
}

// fromProgram reports whether the caller is in the PID namespace of the programs. The
// namespace of a process that this one may not look at is another.
func (s *Server) fromProgram(call *net.UnixConn) (is bool) {
	raw, err := call.SyscallConn()
	if err != nil {
		return true
	}
	var credentials *unix.Ucred
	if wrong := raw.Control(func(fd uintptr) { credentials, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); wrong != nil || err != nil {
		return true
	}
	space, err := os.Stat(fmt.Sprintf("/proc/%d/ns/pid", credentials.Pid))
	if err != nil {
		return false
	}
	own, err := s.local.pids.Stat()
	return err != nil || os.SameFile(space, own)
}

// rights returns the files in a control message.
func rights(control []byte) (files []*os.File) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "handed over"))
		}
	}
	return files
}
