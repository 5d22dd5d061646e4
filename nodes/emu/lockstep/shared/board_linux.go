package shared

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/emu/lockstep"
	"github.com/csiglab/csiglab/units"
)

// Board is a lockstep.Board in memory that several processes map, with a lock and a
// doorbell per node, all futexes. A file of memory (memfd) carries it from the
// process that creates it to the nodes. Run holds the lock around its calls of the
// lockstep.Board; other users may only read.
//
// Where the Board has one part of a fabric (lockstep.Partition), its gateway in the process
// that created it has a doorbell too, and calls Export, Import and Await. All users of the
// Board set the partition before the first Run: the creator with gateway set, and each node's
// process after Open:
//
//	board, err := shared.Open(memory, spec.Nodes, spec.Links, spec.End)
//	…
//	board.Limit(spec.Lanes, spec.LaneWidth)
//	if spec.Partition != nil {
//		err = board.Partition(*spec.Partition, false)
//	}
//
// Short waits are raw system calls, which the Go scheduler does not see: that is the largest
// single saving on this path (prototype: 0.13 to 0.15 against 0.22 to 0.39 CPU seconds per ms of
// three-flow), and safe because the process
// that ends the wait is always another one. A raw wait has a limit, so that a garbage
// collection that asks the waiting thread to stop is not delayed for long. A node that
// waits longer, such as a host without traffic, does so in a call that the scheduler
// sees: the process is then idle, and the runtime's own threads sleep too.
type Board struct {
	*lockstep.Board
	File   *os.File // the memory, for processes to inherit
	memory []byte
	nodes  int
	gate   sync.Mutex // goroutines of the gateway take the lock one at a time
	seen   uint32     // what the gateway's doorbell showed before the last Export
	gaveUp atomic.Bool
}

// Layout of the memory: the lock's line, a line per node and one for the gateway, the
// Board's words.
const (
	line         = 64
	lockWord     = 0
	ownerWord    = 4
	doorbellWord = 0
	parkedWord   = 4
)

// Limits of a raw wait, and of one that the Go scheduler sees.
const (
	rawLimit  = 5 * time.Millisecond
	waitLimit = time.Second
)

// New returns the Board of a new run, which the caller closes. links are the
// fabric's, end is exclusive.
func New(nodes int, links []lockstep.Channel, end units.Time) (*Board, error) {
	fd, err := unix.MemfdCreate("csiglab-lockstep", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("lockstep: shared memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "csiglab-lockstep")
	if err := file.Truncate(int64(sharedSize(nodes, len(links)))); err != nil {
		file.Close()
		return nil, fmt.Errorf("lockstep: shared memory: %w", err)
	}
	b, err := Open(file, nodes, links, end)
	if err != nil {
		file.Close()
		return nil, err
	}
	b.Board.Reset()
	return b, nil
}

// Open maps the Board that another process has created. The arguments are those of
// New. Close closes the file as well.
func Open(file *os.File, nodes int, links []lockstep.Channel, end units.Time) (*Board, error) {
	size := sharedSize(nodes, len(links))
	memory, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("lockstep: map shared memory: %w", err)
	}
	words := unsafe.Slice((*int64)(unsafe.Pointer(&memory[line*(2+nodes)])), lockstep.Words(nodes, len(links)))
	board, err := lockstep.New(words, nodes, links, end)
	if err != nil {
		unix.Munmap(memory)
		return nil, err
	}
	return &Board{Board: board, File: file, memory: memory, nodes: nodes}, nil
}

func sharedSize(nodes, links int) int { return line*(2+nodes) + 8*lockstep.Words(nodes, links) }

// Close unmaps the Board and closes its file.
func (b *Board) Close() error {
	unix.Munmap(b.memory)
	return b.File.Close()
}

// Run drives a node until the run is over and returns the run's end. A node with
// programs is refused.
func (b *Board) Run(n *emu.Node) (units.Time, error) {
	if err := n.CheckLockstep(); err != nil {
		return 0, err
	}
	TakeShortSlices()
	id := n.ID()
	report := n.Start()
	var woken []int
	b.lock(id)
	horizon, verdict := b.Board.Turn(id, report)
	for {
		var end units.Time
		var seen uint32 // what the node's doorbell showed
		switch verdict {
		case lockstep.Go, lockstep.Read:
			n.Grant(b.Board)
		case lockstep.Wait:
			seen = atomic.LoadUint32(b.doorbell(id))
		case lockstep.Done:
			end = b.Board.End()
		}
		woken = append(woken[:0], b.Board.Woken()...)
		b.unlock()
		for _, m := range woken {
			b.ring(m)
		}
		switch verdict {
		case lockstep.Done:
			return end, nil
		case lockstep.Wait:
			b.sleep(id, seen)
			b.lock(id)
			horizon, verdict = b.Board.Ask(id)
		case lockstep.Go, lockstep.Read:
			var err error
			if report, err = n.Turn(horizon); err != nil {
				return 0, err
			}
			b.lock(id)
			horizon, verdict = b.Board.Turn(id, report)
		}
	}
}

// Export calls Export of the lockstep.Board with the lock held, and reports too whether the
// run is over. When it is, and there is nothing to export, the others know all. Only one
// goroutine calls Export and Await.
func (b *Board) Export(x *lockstep.Exchange, always bool) (exported, over bool, err error) {
	b.gate.Lock()
	defer b.gate.Unlock()
	b.seen = atomic.LoadUint32(b.doorbell(b.nodes))
	if err := b.enter(); err != nil {
		return false, false, err
	}
	defer b.unlock()
	return b.Board.Export(x, always), b.Board.Over(), nil
}

// Check calls Check of the lockstep.Board with the lock held.
func (b *Board) Check(x *lockstep.Exchange) error {
	b.gate.Lock()
	defer b.gate.Unlock()
	if err := b.enter(); err != nil {
		return err
	}
	defer b.unlock()
	return b.Board.Check(x)
}

// Missing calls Missing of the lockstep.Board, which reads what only the gateway knows.
func (b *Board) Missing(x *lockstep.Exchange) []int {
	b.gate.Lock()
	defer b.gate.Unlock()
	return b.Board.Missing(x)
}

// Import calls Import of the lockstep.Board with the lock held, and wakes the nodes that
// may go on. Any number of goroutines may call it.
func (b *Board) Import(x *lockstep.Exchange) error {
	var room [fewWoken]int
	woken, err := b.take(x, room[:0])
	for _, m := range woken {
		b.ring(m)
	}
	return err
}

// fewWoken is more nodes than an Import wakes as a rule.
const fewWoken = 32

// take is Import without the wakeups, and appends the nodes to be woken. A node that is woken
// may preempt this thread, and may call the gateway: no lock of the gateway is held then.
func (b *Board) take(x *lockstep.Exchange, woken []int) ([]int, error) {
	b.gate.Lock()
	defer b.gate.Unlock()
	if err := b.enter(); err != nil {
		return nil, err
	}
	defer b.unlock()
	err := b.Board.Import(x)
	return append(woken, b.Board.Woken()...), err
}

// Await returns once the gateway was called after its last Export began, and in any case
// after about so long. The goroutine keeps its processor of the Go scheduler for a moment.
func (b *Board) Await(limit time.Duration) {
	doorbell, parked := b.doorbell(b.nodes), b.parked(b.nodes)
	atomic.StoreUint32(parked, 1)
	if limit > rawLimit && atomic.LoadUint32(doorbell) == b.seen {
		futexWait(doorbell, b.seen)
	}
	for deadline := time.Now().Add(limit); atomic.LoadUint32(doorbell) == b.seen; {
		left := time.Until(deadline)
		if left <= 0 {
			break
		}
		futexWaitFor(doorbell, b.seen, left)
	}
	atomic.StoreUint32(parked, 0)
}

// Call makes Await return, now or the next time.
func (b *Board) Call() { b.ring(b.nodes) }

// Over reports whether the run is over.
func (b *Board) Over() (bool, error) {
	b.gate.Lock()
	defer b.gate.Unlock()
	if err := b.enter(); err != nil {
		return false, err
	}
	defer b.unlock()
	return b.Board.Over(), nil
}

// ErrGivenUp is the error of Export, Check, Import and Over after GiveUp.
var ErrGivenUp = errors.New("lockstep: the run was given up, and a node may hold the lock for ever")

// GiveUp lets calls of the gateway wait no longer for the lock, which a node that was killed
// or stopped never gives back. It may be called at any time.
func (b *Board) GiveUp() { b.gaveUp.Store(true) }

// Holder returns the node that holds the lock, or -1. The gateway is none.
func (b *Board) Holder() int {
	if atomic.LoadUint32(b.word(lockWord)) == unlocked {
		return -1
	}
	if owner := int(atomic.LoadUint32(b.word(ownerWord))); owner < b.nodes {
		return owner
	}
	return -1
}

func (b *Board) word(at int) *uint32 { return (*uint32)(unsafe.Pointer(&b.memory[at])) }

func (b *Board) doorbell(n int) *uint32 { return b.word(line*(1+n) + doorbellWord) }
func (b *Board) parked(n int) *uint32   { return b.word(line*(1+n) + parkedWord) }

// sleep returns once the doorbell no longer shows seen.
func (b *Board) sleep(n int, seen uint32) {
	doorbell, parked := b.doorbell(n), b.parked(n)
	atomic.StoreUint32(parked, 1)
	if atomic.LoadUint32(doorbell) == seen {
		futexWait(doorbell, seen)
	}
	for atomic.LoadUint32(doorbell) == seen {
		futexWaitLong(doorbell, seen)
	}
	atomic.StoreUint32(parked, 0)
}

// ring rings a node's doorbell; only a node that sleeps costs a system call.
func (b *Board) ring(n int) {
	doorbell := b.doorbell(n)
	atomic.AddUint32(doorbell, 1)
	if atomic.LoadUint32(b.parked(n)) != 0 {
		futexWake(doorbell)
	}
}

// States of the lock (Drepper, Futexes Are Tricky, mutex 2).
const (
	unlocked uint32 = iota
	locked
	contended
)

// lockSpins is how often lock tries before it sleeps: about as long as another
// node holds the lock.
const lockSpins = 200

func (b *Board) lock(id int) {
	word := b.word(lockWord)
	if !b.try(id) {
		for atomic.SwapUint32(word, contended) != unlocked {
			futexWait(word, contended)
		}
		atomic.StoreUint32(b.word(ownerWord), uint32(id))
	}
}

// enter is lock for the gateway, which outlives nodes. It returns ErrGivenUp without the lock
// if that is not free after GiveUp.
func (b *Board) enter() error {
	word := b.word(lockWord)
	if b.try(b.nodes) {
		return nil
	}
	for atomic.SwapUint32(word, contended) != unlocked {
		if b.gaveUp.Load() {
			return ErrGivenUp
		}
		futexWait(word, contended)
	}
	atomic.StoreUint32(b.word(ownerWord), uint32(b.nodes))
	return nil
}

// try takes the lock if it becomes free while it spins.
func (b *Board) try(id int) bool {
	for range lockSpins {
		if atomic.CompareAndSwapUint32(b.word(lockWord), unlocked, locked) {
			atomic.StoreUint32(b.word(ownerWord), uint32(id))
			return true
		}
	}
	return false
}

func (b *Board) unlock() {
	word := b.word(lockWord)
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
	limit := unix.NsecToTimespec(int64(rawLimit))
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWait, uintptr(value), uintptr(unsafe.Pointer(&limit)), 0, 0)
}

func futexWaitLong(word *uint32, value uint32) { futexWaitFor(word, value, waitLimit) }

// futexWaitFor waits in a call that the scheduler sees.
func futexWaitFor(word *uint32, value uint32, wait time.Duration) {
	limit := unix.NsecToTimespec(int64(wait))
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWait, uintptr(value), uintptr(unsafe.Pointer(&limit)), 0, 0)
}

func futexWake(word *uint32) {
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexOpWake, 1, 0, 0, 0)
}
