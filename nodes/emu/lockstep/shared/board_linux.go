package emu

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// Shared is a Board in memory that several processes map, with a lock and a
// doorbell per node, all futexes. A file of memory (memfd) carries it from the
// process that creates it to the nodes.
//
// Waits are raw system calls, which the Go scheduler does not see: that is the
// largest single saving on this path (datapath.md), and safe because the process
// that ends the wait is always another one. A wait has a limit, so that a
// collection of garbage that asks the waiting thread to stop is not held up for
// long.
type Shared struct {
	File   *os.File
	Board  *lockstep.Board
	memory []byte
	nodes  int
}

// Layout of the memory: the lock's line, a line per node, the Board's words.
const (
	line       = 64
	lockWord   = 0
	ownerWord  = 4
	bellWord   = 0
	parkedWord = 4
)

// waitLimit bounds a raw wait.
const waitLimit = 50 * time.Millisecond

// NewShared returns the Board of a new run.
func NewShared(nodes int, links []lockstep.Link, end units.Time) (*Shared, error) {
	fd, err := unix.MemfdCreate("csiglab-lockstep", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("emu: shared memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "csiglab-lockstep")
	if err := file.Truncate(int64(sharedSize(nodes, len(links)))); err != nil {
		file.Close()
		return nil, fmt.Errorf("emu: shared memory: %w", err)
	}
	s, err := OpenShared(file, nodes, links, end)
	if err != nil {
		file.Close()
		return nil, err
	}
	s.Board.Reset()
	return s, nil
}

// OpenShared maps the Board that another process has created. The arguments are
// those of NewShared.
func OpenShared(file *os.File, nodes int, links []lockstep.Link, end units.Time) (*Shared, error) {
	size := sharedSize(nodes, len(links))
	memory, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("emu: map shared memory: %w", err)
	}
	words := unsafe.Slice((*int64)(unsafe.Pointer(&memory[line*(1+nodes)])), lockstep.Words(nodes, len(links)))
	board, err := lockstep.New(words, nodes, links, end)
	if err != nil {
		unix.Munmap(memory)
		return nil, err
	}
	return &Shared{File: file, Board: board, memory: memory, nodes: nodes}, nil
}

func sharedSize(nodes, links int) int { return line*(1+nodes) + 8*lockstep.Words(nodes, links) }

// Close unmaps the Board and closes its file.
func (s *Shared) Close() error {
	unix.Munmap(s.memory)
	return s.File.Close()
}

// Run drives a node until the run is over and returns the run's end.
func (s *Shared) Run(n *Node) (units.Time, error) {
	if err := n.withoutPrograms(); err != nil {
		return 0, err
	}
	id := n.cfg.Node
	report := n.Start()
	var woken []int
	s.lock(id)
	horizon, verdict := s.Board.Turn(id, report)
	for {
		var bell uint32
		switch verdict {
		case lockstep.Go, lockstep.Read:
			n.grant(s.Board)
		case lockstep.Wait:
			bell = atomic.LoadUint32(s.bell(id))
		}
		woken = append(woken[:0], s.Board.Woken()...)
		s.unlock()
		for _, m := range woken {
			s.ring(m)
		}
		switch verdict {
		case lockstep.Done:
			return s.Board.End(), nil
		case lockstep.Wait:
			s.sleep(id, bell)
			s.lock(id)
			horizon, verdict = s.Board.Ask(id)
		case lockstep.Go, lockstep.Read:
			var err error
			if report, err = n.turn(horizon); err != nil {
				return 0, err
			}
			s.lock(id)
			horizon, verdict = s.Board.Turn(id, report)
		}
	}
}

// Holder returns the node that holds the lock, or -1.
func (s *Shared) Holder() int {
	if atomic.LoadUint32(s.word(lockWord)) == unlocked {
		return -1
	}
	return int(atomic.LoadUint32(s.word(ownerWord)))
}

func (s *Shared) word(at int) *uint32 { return (*uint32)(unsafe.Pointer(&s.memory[at])) }

func (s *Shared) bell(n int) *uint32   { return s.word(line*(1+n) + bellWord) }
func (s *Shared) parked(n int) *uint32 { return s.word(line*(1+n) + parkedWord) }

// sleep returns once the doorbell has been rung since it showed seen.
func (s *Shared) sleep(n int, seen uint32) {
	bell, parked := s.bell(n), s.parked(n)
	atomic.StoreUint32(parked, 1)
	for atomic.LoadUint32(bell) == seen {
		futexWait(bell, seen)
	}
	atomic.StoreUint32(parked, 0)
}

// ring rings a node's doorbell; the system call is only for a node that sleeps.
func (s *Shared) ring(n int) {
	bell := s.bell(n)
	atomic.AddUint32(bell, 1)
	if atomic.LoadUint32(s.parked(n)) != 0 {
		futexWake(bell)
	}
}

// States of the lock (Drepper, Futexes Are Tricky, mutex 2).
const (
	unlocked uint32 = iota
	locked
	contended
)

// lockSpins is how often lock looks before it sleeps: about as long as another
// node holds it.
const lockSpins = 200

func (s *Shared) lock(id int) {
	word := s.word(lockWord)
	for range lockSpins {
		if atomic.CompareAndSwapUint32(word, unlocked, locked) {
			atomic.StoreUint32(s.word(ownerWord), uint32(id))
			return
		}
	}
	for atomic.SwapUint32(word, contended) != unlocked {
		futexWait(word, contended)
	}
	atomic.StoreUint32(s.word(ownerWord), uint32(id))
}

func (s *Shared) unlock() {
	word := s.word(lockWord)
	if atomic.SwapUint32(word, unlocked) == contended {
		futexWake(word)
	}
}

// Futex operations (futex(2)), shared between processes.
const (
	futexOpWait = 0
	futexOpWake = 1
)

func futexWait(word *uint32, value uint32) {
	limit := unix.NsecToTimespec(int64(waitLimit))
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWait, uintptr(value), uintptr(unsafe.Pointer(&limit)), 0, 0)
}

func futexWake(word *uint32) {
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWake, 1, 0, 0, 0)
}
