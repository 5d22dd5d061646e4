package parts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/topologies"
)

// chunkSize is how much of a file one message has.
const chunkSize = 256 << 10

// fileName returns the path of a file of a chunk, with the folder for captured frames, ""
// if the part has no such file.
func fileName(r *backend.Run, folder string, part int, of []int, c *chunk) string {
	if c.Output {
		if c.Index < 0 || c.Index >= len(r.Plan.Programs) || of[r.Plan.Programs[c.Index].Host] != part {
			return ""
		}
		return r.Outputs[c.Index]
	}
	for _, port := range r.Plan.Captured {
		if port.Node == c.Index && of[port.Node] == part {
			return spoolName(folder, port.Node)
		}
	}
	return ""
}

// spoolName returns the file of a node's captured frames.
func spoolName(folder string, node int) string {
	return emu.Capture{Folder: folder, Ports: []topologies.End{{Node: node}}}.Spools()[0]
}

// sendFiles sends what the nodes and programs of a part have written in folder.
func sendFiles(r *backend.Run, folder string, send func(message) error) error {
	sent := map[string]bool{}
	one := func(c chunk) error {
		name := fileName(r, folder, r.Part.Index, r.Part.Of, &c)
		if name == "" || sent[name] {
			return nil
		}
		sent[name] = true
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it has written nothing
		}
		if err != nil {
			return err
		}
		defer file.Close()
		for buffer := make([]byte, chunkSize); ; {
			n, err := io.ReadFull(file, buffer)
			if n > 0 || err == io.EOF {
				c.Data = buffer[:n]
				if err := send(message{File: &c}); err != nil {
					return err
				}
			}
			switch {
			case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
				return nil
			case err != nil:
				return err
			}
		}
	}
	for i := range r.Plan.Programs {
		if err := one(chunk{Output: true, Index: i}); err != nil {
			return err
		}
	}
	for _, port := range r.Plan.Captured {
		if err := one(chunk{Index: port.Node}); err != nil {
			return err
		}
	}
	return nil
}

// arrivals are the files that come from one shard.
type arrivals struct {
	run    *backend.Run
	folder string // for captured frames
	part   int
	of     []int
	files  map[string]*os.File
}

// add writes a piece of a file where the caller's run has it.
func (a *arrivals) add(c *chunk) error {
	name := fileName(a.run, a.folder, a.part, a.of, c)
	if name == "" {
		return fmt.Errorf("%w: a file that it has not been asked for", errProtocol)
	}
	file := a.files[name]
	if file == nil {
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if err == nil {
			file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		}
		if err != nil {
			return err
		}
		if a.files == nil {
			a.files = map[string]*os.File{}
		}
		a.files[name] = file
	}
	_, err := file.Write(c.Data)
	return err
}

func (a *arrivals) close() error {
	var errs []error
	for _, file := range a.files {
		errs = append(errs, file.Close())
	}
	a.files = nil
	return errors.Join(errs...)
}
