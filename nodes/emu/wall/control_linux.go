package wall

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SharedControlBlock is a ControlBlock in memory that several processes map.
type SharedControlBlock struct {
	*ControlBlock
	File   *os.File // the memory, for processes to inherit
	memory []byte
}

// blockName is that of the memory's file, by which FindControlBlock knows it.
const blockName = "csiglab-wall"

// NewSharedControlBlock returns the ControlBlock of a new run, which is prepared.
func NewSharedControlBlock(nodes int) (*SharedControlBlock, error) {
	fd, err := unix.MemfdCreate(blockName, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("wall: shared memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), blockName)
	if err = file.Truncate(int64(8 * blockWords(nodes))); err == nil {
		var b *SharedControlBlock
		if b, err = OpenControlBlock(file, nodes); err == nil {
			return b, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("wall: shared memory: %w", err), file.Close())
}

// OpenControlBlock maps a ControlBlock that another process has created for so
// many nodes. Close closes the file as well.
func OpenControlBlock(file *os.File, nodes int) (*SharedControlBlock, error) {
	memory, err := unix.Mmap(int(file.Fd()), 0, 8*blockWords(nodes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("wall: map shared memory: %w", err)
	}
	words := unsafe.Slice((*int64)(unsafe.Pointer(&memory[0])), blockWords(nodes))
	return &SharedControlBlock{ControlBlock: newControlBlock(words, nodes), File: file, memory: memory}, nil
}

// ErrNoControlBlock reports that a process is not one of a run in real time.
var ErrNoControlBlock = errors.New("not a process of a run in real time")

// FindControlBlock maps the ControlBlock that a process has open, which belongs to
// a run in real time with so many nodes. An error wraps ErrNoControlBlock if the
// process has none. The caller closes the ControlBlock.
func FindControlBlock(pid, nodes int) (*SharedControlBlock, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		target, err := os.Readlink(name)
		if err != nil || !strings.HasPrefix(target, "/memfd:"+blockName) {
			continue
		}
		file, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
		info, err := file.Stat()
		if err == nil && info.Size() != int64(8*blockWords(nodes)) {
			err = fmt.Errorf("its shared memory has %d bytes, %d nodes have %d", info.Size(), nodes, 8*blockWords(nodes))
		}
		var b *SharedControlBlock
		if err == nil {
			if b, err = OpenControlBlock(file, nodes); err == nil {
				return b, nil
			}
		}
		return nil, fmt.Errorf("process %d: %w", pid, errors.Join(err, file.Close()))
	}
	return nil, fmt.Errorf("process %d: %w", pid, ErrNoControlBlock)
}

// Close unmaps the ControlBlock and closes its file.
func (b *SharedControlBlock) Close() error { return errors.Join(unix.Munmap(b.memory), b.File.Close()) }
