package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
)

// TestFaultsDisk runs on disks that are full, from the start or after a while:
// each run ends with exit code 3, says so, and cleans up by itself. It needs
// root, for disks; with dockerd it runs containers too.
func TestFaultsDisk(t *testing.T) {
	checkout.SkipLong(t)
	if !alone(t) {
		return
	}
	t.Run("virtual", func(t *testing.T) {
		f := newFaults(t, false)
		f.testSmallDisks(t, 2, "--clock", "virtual")
		f.testDiskFillsUpByCapture(t, "--clock", "virtual")
	})
	t.Run("netns", func(t *testing.T) {
		f := newFaults(t, false)
		f.testSmallDisks(t, 4, "--runtime", "netns")
		f.testDiskFillsUp(t, "--runtime", "netns")
		f.testDiskFillsUpByCapture(t, "--runtime", "netns")
	})
	t.Run("containerlab", func(t *testing.T) {
		checkout.SkipLong(t)
		f := newFaults(t, true)
		f.testSmallDisks(t, 4, "--runtime", "containerlab", "--clock", "lockstep")
		f.testDiskFillsUp(t, "--runtime", "containerlab", "--clock", "lockstep")
		f.testDiskFillsUpByCapture(t, "--runtime", "containerlab", "--clock", "lockstep")
	})
}

// smallDisk returns the folder of a disk with so many bytes.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("disk", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

const page = 4096 // what a disk in memory is divided into

// testSmallDisks runs on ever larger disks, step pages at a time and later in
// larger steps, until a run succeeds.
func (f *faults) testSmallDisks(t *testing.T, step int, args ...string) {
	experiment := four(t, brief)
	stages := map[string]bool{}
	for pages := 1; ; pages += max(step, pages/4) {
		succeeded := false
		t.Run(fmt.Sprintf("%d pages", pages), func(t *testing.T) {
			dir := smallDisk(t, pages*page)
			f.look(t)
			code, said := csiglabProcess(append([]string{"run", experiment, "--out", filepath.Join(dir, "run")}, args...)...).run(t)
			if succeeded = code == command.ExitOK; !succeeded {
				full(t, code, said)
				stages[stageOf(t, dir)] = true
			}
			f.nothingLeft(t)
		})
		if succeeded || t.Failed() {
			break
		}
		if pages > 4096 {
			t.Fatal("no disk is large enough")
		}
	}
	if len(stages) < 2 {
		t.Errorf("the disks were full at %v only", stages)
	}
}

// stageOf returns how far a run came, from the files that it left.
func stageOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "run", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return strings.Join(files, " ")
}

// full checks that a run said that the disk is full, which breaks all files but is
// told once.
func full(t *testing.T, code int, said string) {
	t.Helper()
	failed(t, code, said, "no space left on device")
	if !strings.Contains(said, "run folder ") && !strings.Contains(said, "report.html: ") && !strings.Contains(said, "capture /") {
		t.Errorf("it does not say what there is no room for:\n%s", said)
	}
	if n := strings.Count(said, "no space left"); n != 1 {
		t.Errorf("it says that %d times:\n%s", n, said)
	}
}

// testDiskFillsUp fills the disk while nodes run.
func (f *faults) testDiskFillsUp(t *testing.T, args ...string) {
	t.Run("fills up", func(t *testing.T) {
		dir := smallDisk(t, 4<<20)
		f.look(t)
		folder := filepath.Join(dir, "run")
		run := csiglabProcess(append([]string{"run", four(t, "30MB"), "--out", folder}, args...)...)
		code, said := run.runWhile(t, func() {
			run.eventually(t, "a node runs", func() bool { return len(nodesOfRuns()) > 0 })
			filler, err := os.Create(filepath.Join(dir, "filler"))
			if err == nil {
				_, err = io.Copy(filler, neverEnding{})
				err = errors.Join(err, filler.Close())
			}
			if !errors.Is(err, unix.ENOSPC) {
				t.Errorf("fill the disk: %v", err)
			}
		})
		full(t, code, said)
		f.nothingLeft(t)
		manifest, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
		has := struct{ Complete *bool }{}
		if err == nil {
			err = json.Unmarshal(manifest, &has)
		}
		if err != nil || has.Complete == nil || *has.Complete {
			t.Errorf("the folder does not say that it is incomplete: %v\n%.200s", err, manifest)
		}
	})
}

// testDiskFillsUpByCapture captures a link, which needs more room than there is.
func (f *faults) testDiskFillsUpByCapture(t *testing.T, args ...string) {
	t.Run("fills up by capture", func(t *testing.T) {
		dir := smallDisk(t, 1<<20)
		f.look(t)
		experiment := four(t, "30MB")
		file, err := os.OpenFile(experiment, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = file.WriteString("capture: [r0-r1]\n")
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		run := csiglabProcess(append([]string{"run", experiment, "--out", filepath.Join(dir, "run")}, args...)...)
		code, said := run.run(t)
		full(t, code, said)
		f.nothingLeft(t)
	})
}

// neverEnding is a file without end.
type neverEnding struct{}

func (neverEnding) Read(b []byte) (int, error) { return len(b), nil }
