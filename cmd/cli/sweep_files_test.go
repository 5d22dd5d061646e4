package cli

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// filesText is what the scenes that write files run, compare and read.
const filesText = `
schema: 1
name: folders
topology: {dragonfly: {p: 1, a: 1, h: 1, rate: 10Gbps, delay: 10us}}
workload: {traffic: [{name: t, poisson: {size: 100kB, rate: 4Gbps, for: 2ms, seed: run}}]}
seeds: [1, 2]
expect: ['run["flows.incomplete"] == 0']
`

const filesSuite = `
schema: 1
name: small
description: one experiment
seeds: {first: 6, most: 6}
experiments:
  - {name: one, experiment: x.yaml, metrics: {fct_us.p50: 5%}}
`

// fileScene is a scene whose result is files. again is what a user tries when it was
// interrupted, until one ends well; at last, and where again is nil at once, it is the same
// command again.
func fileScene(name string, command []string, again [][]string, outputs ...string) *scene {
	return &scene{name: name, virtual: true, outputs: outputs, resumes: again != nil,
		commands: func(s *stage) [][]string { return [][]string{s.args(command)} },
		again: func(s *stage) (list [][]string) {
			for _, args := range again {
				list = append(list, s.args(args))
			}
			return append(list, s.args(command))
		}}
}

// args puts the places of the stage into a command.
func (s *stage) args(command []string) []string {
	r := strings.NewReplacer("DIR/", s.dir+"/", "RUNS/", s.runs+"/")
	list := slices.Clone(command)
	for i := range list {
		list[i] = r.Replace(list[i])
	}
	return list
}

// fileScenes are those of the commands that leave files. No fault leaves a half of one,
// and whoever goes on has what an undisturbed command gives.
var fileScenes = []*scene{
	fileScene("run", words("run DIR/x.yaml --out DIR/out"), [][]string{words("run --resume DIR/out"), words("report DIR/out")}, "out/summary.json"),
	fileScene("sweep", words("sweep DIR/x.yaml --grid links.queue=30kB,60kB --parallel 2 --out DIR/out"), [][]string{words("sweep --resume DIR/out")}, "out/results.parquet"),
	fileScene("regress", words("regress DIR/suite.yaml --baseline self --out DIR/out"), [][]string{words("regress --resume DIR/out")}, "out/verdict.json"),
	fileScene("bisect", words("bisect --parameter links.queue --good 200kB --bad 10kB --resolution 100kB --experiment DIR/x.yaml --metric fct_us.p99 --seeds 8 --out DIR/out"),
		[][]string{words("bisect --resume DIR/out")}, "out/result.json"),
	fileScene("stress", words("stress DIR/x.yaml --setting rate --seeds 1 --out DIR/out"), [][]string{}, "out/stress.md"),
	fileScene("baseline save", words("baseline save DIR/suite.yaml --seeds 2 -o DIR/base.json"), nil, "base.json"),
	fileScene("report", words("report RUNS/a --figures DIR/figures"), nil, "figures/*"),
	fileScene("export", words("export RUNS/a --openmetrics DIR/a.om"), nil, "a.om"),
	fileScene("perfetto", words("export RUNS/a --perfetto DIR/a.json"), nil, "a.json"),
	fileScene("compare", words("compare RUNS/a RUNS/b --html DIR/c.html --markdown DIR/c.markdown"), nil, "c.html", "c.markdown"),
	fileScene("serve", words("serve RUNS/a --listen 127.0.0.1:0"), nil),
}

func words(text string) []string { return strings.Fields(text) }

// prepareFiles makes the run folders that the scenes read, and the folder for temporary
// files, which clean leaves empty.
func (s *faultSweep) prepareFiles() {
	s.Helper()
	s.runs, s.temporary = s.TempDir(), s.TempDir()
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		s.Fatalf("ip link set lo up: %v: %s", err, out)
	}
	for name, more := range map[string][]string{"a": nil, "b": {"--set", "links.queue=20kB"}} {
		file := filepath.Join(s.runs, name+".yaml")
		if err := os.WriteFile(file, []byte(filesText), 0o600); err != nil {
			s.Fatal(err)
		}
		if r := s.command(append([]string{"run", file, "--no-report", "--out", filepath.Join(s.runs, name)}, more...)...); r.code != command.ExitOK {
			s.Fatalf("exit %d\n%s", r.code, r.said)
		}
	}
}

// moments are parts of files that tell when something was and how long it took: keys of
// JSON, and words.
var moments = [2]*regexp.Regexp{
	regexp.MustCompile(`"(started|ended|seconds|cpu_seconds|building|wall_seconds|took)": *[^,\n]*`),
	regexp.MustCompile(`[0-9.]+ ?(ms|s) of runs|in [0-9.]+ s|runs of [0-9hms.]+ together`),
}

// contents returns the files below a folder, by name, without what differs from time to
// time.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		text = bytes.ReplaceAll(text, []byte(dir), []byte("DIR"))
		files[name] = moments[1].ReplaceAll(moments[0].ReplaceAll(text, []byte(`"$1": 0`)), nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// whole checks the files that a scene left after a fault: its outputs are whole or not
// there. Then it goes on as a user does, and checks that all is as without the fault.
func (s *faultSweep) whole(scene *scene, at *stage) {
	s.Helper()
	if scene.again == nil {
		return
	}
	s.outputs(scene, contents(s.T, at.dir), false)
	var tried []result
	for _, args := range scene.again(at) {
		r := s.command(args...)
		if tried = append(tried, r); r.code == command.ExitOK {
			break
		}
	}
	if last := tried[len(tried)-1]; last.code != command.ExitOK {
		for _, r := range tried {
			s.Errorf("afterwards, csiglab %q: exit %d\n%s", r.args, r.code, r.said)
		}
		return
	}
	got := contents(s.T, at.dir)
	s.outputs(scene, got, true)
	for name := range got {
		if _, known := scene.files[name]; !known {
			s.Errorf("%s: %s is left, which an undisturbed command does not leave", scene.name, name)
		}
	}
}

func (s *faultSweep) outputs(scene *scene, got map[string][]byte, all bool) {
	s.Helper()
	for _, name := range slices.Sorted(maps.Keys(scene.files)) {
		if !slices.ContainsFunc(scene.outputs, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }) {
			continue
		}
		text, there := got[name]
		switch {
		case !there && all:
			s.Errorf("%s: no %s; there is %v", scene.name, name, slices.Sorted(maps.Keys(got)))
		case there && !all && scene.resumes:
			// What a campaign says of trials that were killed is whole in its own way.
			if strings.HasSuffix(name, ".json") && !json.Valid(text) {
				s.Errorf("%s: half of %s is left", scene.name, name)
			}
		case there && !bytes.Equal(text, scene.files[name]):
			s.Errorf("%s: %s has %d bytes that differ from the %d of an undisturbed command", scene.name, name, len(text), len(scene.files[name]))
		}
	}
}
