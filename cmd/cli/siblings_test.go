package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// handedOver has a command that each sibling does, into a file or folder "out", and its flags.
func handedOver(t *testing.T) map[string][]string {
	t.Helper()
	folder := readingtest.ThreeFlow().Folder(t, nil).Dir
	return map[string][]string{
		programs.Lab:     {"topo", "export", "three-flow", "--format", "clab", "--out", "out"},
		programs.Serve:   {"export", folder, "--openmetrics", "out"},
		programs.Cluster: {"image", "save", "out"},
	}
}

// bin returns a folder with links to the programs, without those that are left out.
func bin(t *testing.T, without ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	built, err := os.ReadDir(builtPrograms(t))
	for _, e := range built {
		if !slices.Contains(without, e.Name()) {
			err = errors.Join(err, os.Link(filepath.Join(builtPrograms(t), e.Name()), filepath.Join(folder, e.Name())))
		}
	}
	if err != nil {
		t.Skip("the programs cannot be linked: ", err)
	}
	return folder
}

// in runs a program in a folder, with PATH alone.
func in(t *testing.T, folder, path, program string, args ...string) (code int, said string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = folder, []string{"HOME=" + folder, "PATH=" + path}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// A command that a sibling does works from a folder of programs, through a symbolic link, and
// from PATH.
func TestSiblings(t *testing.T) {
	checkout.SkipLong(t)
	folder := bin(t)
	elsewhere := t.TempDir()
	if err := os.Symlink(filepath.Join(folder, "csiglab"), filepath.Join(elsewhere, "lab")); err != nil {
		t.Fatal(err)
	}
	alone := bin(t, programs.Siblings...)
	for name, args := range handedOver(t) {
		for how, c := range map[string]struct{ program, path string }{
			"beside":        {folder + "/csiglab", ""},
			"symbolic link": {elsewhere + "/lab", ""},
			"PATH":          {alone + "/csiglab", folder},
			"itself":        {folder + "/" + name, ""},
		} {
			work := t.TempDir()
			if code, said := in(t, work, c.path, c.program, args...); code != command.ExitOK || !exist(work+"/out") {
				t.Errorf("%s, %s: exit code %d\n%s", name, how, code, said)
			}
		}
	}
}

// What csiglab has told the user, its sibling does not tell again.
func TestSiblingSaysOnce(t *testing.T) {
	work := t.TempDir()
	err := os.WriteFile(work+"/csiglab.yaml", []byte("parallel: 1\n"), 0o600)
	if err := errors.Join(err, os.Chmod(work+"/csiglab.yaml", 0o666)); err != nil {
		t.Fatal(err)
	}
	code, said := in(t, work, "", bin(t)+"/csiglab", "run", "one", "--runtime", "containerlab", "--clock", "lockstep", "--seeds", "1")
	if strings.Count(said, "note: csiglab.yaml") != 1 {
		t.Errorf("exit code %d\n%s", code, said)
	}
}

func exist(file string) bool { _, err := os.Stat(file); return err == nil }

// A sibling that is missing, or that nobody may execute, is named with what makes it. Nothing
// is left.
func TestSiblingMissing(t *testing.T) {
	for name, args := range handedOver(t) {
		folder := bin(t, name)
		for _, c := range []struct {
			mode os.FileMode // of a file of that name; 0: there is none
			want string
		}{
			{0, "program not found: program " + name + " is neither beside " + folder + "/csiglab nor on PATH; make build puts it there"},
			{0o644, "program not found: " + folder + "/" + name + " is not executable; chmod +x makes it so"},
		} {
			if c.mode != 0 {
				if err := os.WriteFile(folder+"/"+name, nil, c.mode); err != nil {
					t.Fatal(err)
				}
			}
			work := t.TempDir()
			code, said := in(t, work, "", folder+"/csiglab", args...)
			if left, err := os.ReadDir(work); code != command.ExitInfrastructure || said != "csiglab: "+c.want+"\n" || err != nil || len(left) > 0 {
				t.Errorf("%s: exit code %d, left %v\n%swant %s", name, code, left, said, c.want)
			}
		}
	}
	work, folder := t.TempDir(), bin(t, programs.Lab)
	code, said := in(t, work, "", folder+"/csiglab", "run", "one", "--runtime", "containerlab", "--clock", "lockstep")
	if left, err := os.ReadDir(work); code != command.ExitInfrastructure || !strings.Contains(said, "program csiglab-lab is neither beside") || err != nil || len(left) > 0 {
		t.Errorf("run: exit code %d, left %v\n%s", code, left, said)
	}
}

// A sibling of another version refuses by name, and does nothing.
func TestSiblingOfAnotherVersion(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	checkout.NeedModules(t)
	folder := t.TempDir()
	for name, version := range map[string]string{programs.Csiglab: "v8", programs.Serve: "v9"} {
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-X github.com/csiglab/csiglab/cmd/cli/command.release="+version, "-o", folder, "./cmd/"+name)
		build.Dir = checkout.Repository(t)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", build, err, out)
		}
	}
	work := t.TempDir()
	code, said := in(t, work, "", folder+"/csiglab", handedOver(t)[programs.Serve]...)
	want := "csiglab: " + folder + "/csiglab-serve is of version v9, and the csiglab that started it of version v8: make build makes them together\n"
	if left, err := os.ReadDir(work); code != command.ExitInfrastructure || said != want || err != nil || len(left) > 0 {
		t.Errorf("exit code %d, left %v\n%swant %s", code, left, said, want)
	}
}

// A sibling that is killed is the command that is killed: it is one process.
func TestSiblingKilled(t *testing.T) {
	s := newTool(t, bin(t)).serve(readingtest.ThreeFlow().Folder(t, nil).Dir)
	if program, err := os.Readlink("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/exe"); err != nil || filepath.Base(program) != programs.Serve {
		t.Errorf("process %d is %s, %v", s.cmd.Process.Pid, program, err)
	}
	s.cmd.Process.Kill()
	s.cmd.Wait() //nolint:errcheck // it was killed
	if status := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", s.cmd.ProcessState)
	}
}
