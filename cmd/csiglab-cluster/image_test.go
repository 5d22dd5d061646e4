package main

import (
	"archive/tar"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/cluster/image"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

// unpack writes the files of an image into a folder.
func unpack(t *testing.T, i v1.Image) (dir string) {
	t.Helper()
	dir = t.TempDir()
	content := mutate.Extract(i)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if err == io.EOF {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			name += "/x"
		}
		err = os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil && h.Typeflag == tar.TypeReg {
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(name, text, 0o755)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// An image has csiglab and the others such that each is there what it is here: trials in a
// pod check its identity.
func TestImageSave(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	folder := programstest.Built(t)
	csiglab := filepath.Join(folder, "csiglab")
	dir := t.TempDir()
	// A csiglab with modules beside another's programs; any static program will do.
	if err := os.MkdirAll(dir+"/lab.programs", 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"csig-host": "lab", "csig-switch": "lab.programs/csig-host"} {
		text, err := os.ReadFile(filepath.Join(folder, from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []string{"lab.programs/csig-switch", "csig-switch"} {
		if err := os.Link(dir+"/lab.programs/csig-host", filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(dir, "x.tar")
	out, err := exec.Command(csiglab, "image", "save", archive, "--program", dir+"/lab", "--name", "localhost/csiglab:x").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	saved, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := saved.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := saved.ConfigName()
	if err != nil || !strings.Contains(string(out), "localhost/csiglab:x") {
		t.Errorf("%v, config %v\n%s", err, digest, out)
	}
	root := unpack(t, saved)
	other := file.Config.Labels[image.LabelOthers]
	for path, there := range map[string]string{csiglab: "bin", dir + "/lab": "programs/" + other} {
		want, err1 := trial.FileIdentity(path)
		got, err2 := trial.FileIdentity(filepath.Join(root, there, "csiglab"))
		if err1 != nil || err2 != nil || got != want {
			t.Errorf("/%s/csiglab: identity %s, %v; here it is %s, %v", there, got, err2, want, err1)
		}
		if label := file.Config.Labels[image.LabelIdentity]; there == "bin" && label != want {
			t.Errorf("label %s, want %s", label, want)
		}
	}
	if left, err := filepath.Glob(dir + "/.x.tar*"); err != nil || left != nil {
		t.Errorf("%q is left, %v", left, err)
	}
}

// csiglab image push says what the registry has afterwards, and wrong input ends it with
// exit code 2.
func TestImageCommand(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	csiglab := filepath.Join(programstest.Built(t), "csiglab")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	reference := server.Listener.Addr().String() + "/team/csiglab:1"
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/script", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"push", reference}, 0, "digest  sha256:"},
		{[]string{"push"}, 2, "want an image reference"},
		{[]string{"push", "Team/x"}, 2, `"Team/x": want HOST/NAME:TAG`},
		{[]string{"push", "127.0.0.1:1/csiglab:1"}, 3, "no registry listens at 127.0.0.1:1"},
		{[]string{"push", reference, "--program", dir + "/none"}, 2, "--program " + dir + "/none: "},
		{[]string{"save", dir + "/x.tar", "--program", dir + "/script"}, 2, "csig-host is neither beside"},
		{[]string{"save", dir}, 2, "it is no regular file"},
		{[]string{"save", dir + "/none/x.tar"}, 2, "no such file or directory"},
		{[]string{"save", dir + "/x.tar", "--name", "x"}, 2, `"x": want HOST/NAME:TAG`},
	} {
		cmd := exec.Command(csiglab, append([]string{"image"}, test.args...)...)
		cmd.Env = append(os.Environ(), "DOCKER_CONFIG="+dir)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(out), test.says) {
			t.Errorf("%q: exit code %d, want %d with %s\n%s", test.args, code, test.code, test.says, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v; want the script alone", left, err)
	}
}
