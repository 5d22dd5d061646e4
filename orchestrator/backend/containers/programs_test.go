package containers_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

const programsText = `
schema: 1
name: tcp
topology:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 20Mbps, delay: 2ms}
runtime: containerlab
clock: wall
wall: {dilation: 1}
csig: {format: wide, interval: 20ms}
applications:
  hosts: [0, 1]
  signals: [abw, delay]
  IMAGE
  programs:
    - {host: 1, run: iperf3 -s, background: true}
    - {host: 0, run: FIRST, start: 300ms}
    - {host: 0, run: SECOND, start: 1500ms}
`

func runPrograms(t *testing.T, imageLine, first, second string) (*runfolder.Folder, *campaign.Result, error) {
	t.Helper()
	text := strings.NewReplacer("IMAGE", imageLine, "FIRST", first, "SECOND", second).Replace(programsText)
	set, err := experiment.Parse("test.yaml", "", []byte(text), experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "run")
	result, err := campaign.Run(context.Background(), set, campaign.Options{Out: folder})
	if err != nil {
		return nil, result, err
	}
	f, wrong := runfolder.Open(folder)
	if wrong != nil {
		t.Fatal(wrong)
	}
	return f, result, err
}

// testPrograms is kernel TCP over tagged links between containers, in both
// directions: with this machine's files, and in containers of an image of the
// user's.
func testPrograms(t *testing.T, docker *client.Client) {
	program, err := exec.LookPath("iperf3")
	if err != nil {
		t.Skip("needs iperf3: ", err)
	}
	containerlabtest.Image(t, docker, program, "test/iperf3:1")
	for _, line := range []string{"", "image: test/iperf3:1"} {
		t.Run(line, func(t *testing.T) {
			f, result, err := runPrograms(t, line, "iperf3 -c h1 -n 1M", "iperf3 -6 -c h1-v6 -n 1M -R")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range f.Manifest.Runs[0].Checks {
				if !c.OK && c.Name != "fidelity" {
					t.Errorf("%s: %s", c.Name, c.Detail)
				}
			}
			m := result.Summary.Variants["run"].Metrics
			if m["tags.updated"]+m["tags.kept"] < 1000 {
				t.Errorf("switches saw %v tags", m["tags.updated"]+m["tags.kept"])
			}
			for i, p := range f.Manifest.Runs[0].Programs {
				text, err := os.ReadFile(filepath.Join(f.Dir, p.Output))
				if err != nil || p.Failure != "" || i > 0 && (p.Code != 0 || !strings.Contains(string(text), "iperf Done.")) {
					t.Errorf("program %+v: %v\n%s", p, err, text)
				}
				if i == 0 && !p.Stopped {
					t.Errorf("the server, in the background, was not ended with the run: %+v", p)
				}
			}
			// The topology that is written names both containers of a host.
			text, err := os.ReadFile(filepath.Join(f.Dir, "tcp.clab.yml"))
			if has := strings.Contains(string(text), "h0-programs:"); err != nil || has != (line != "") {
				t.Errorf("%v: the topology has the programs' container: %v\n%s", err, has, text)
			}
		})
	}
	t.Run("variables", func(t *testing.T) {
		f, _, err := runPrograms(t, "", `"sh -c 'echo $CSIGLAB_RUN $CSIGLAB_NODE'"`, "true")
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(f.Dir, f.Manifest.Runs[0].Programs[1].Output))
		if !regexp.MustCompile("^[0-9a-f]{12} h0\n$").Match(text) || err != nil {
			t.Errorf("the run and the node are %q (%v)", text, err)
		}
	})
	t.Run("what fails", func(t *testing.T) {
		f, result, err := runPrograms(t, "image: test/iperf3:1", "no-such-program", "iperf3 --no-such-flag")
		if err != nil {
			t.Fatal(err)
		}
		if result.Summary.Valid || !strings.Contains(strings.Join(result.Summary.Reasons, "\n"), "programs: ") {
			t.Errorf("valid %v, reasons %q", result.Summary.Valid, result.Summary.Reasons)
		}
		programs := f.Manifest.Runs[0].Programs
		if p := programs[1]; p.Code == 0 && p.Failure == "" {
			t.Errorf("a program that is not there: %+v", p)
		}
		if p := programs[2]; p.Code != 1 {
			t.Errorf("a program with a wrong flag: %+v", p)
		}
	})
	t.Run("no image", func(t *testing.T) {
		_, result, err := runPrograms(t, "image: test/none:1", "x", "y")
		want := "test.yaml:13:10: applications.image: test/none:1: the engine has no such image, and none is pulled"
		if !errors.Is(err, failure.ErrConfiguration) || err.Error() != want || result != nil {
			t.Errorf("got %v and %+v, want a configuration error before there is a run: %s", err, result, want)
		}
	})
}
