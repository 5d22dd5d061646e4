package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
)

const goodProfiles = `{"schema": 1, "jobs": [
  {"name": "a", "periodUs": 40000, "bursts": [{"atUs": 30000, "lengthUs": 10000, "rateGbps": 50}]},
  {"name": "b", "periodUs": 60000, "bursts": [{"atUs": 50000, "lengthUs": 10000, "rateGbps": 50}], "source": "measured"}
]}
`

const fitExperiment = `schema: 1
name: pair
topology: {dumbbell: {left: 2, right: 2, rate: 5Gbps, delay: 1us}}
jobs:
  - {name: first, hosts: [0, 2], steps: 2, profile: {compute: 10ms, bytes: 5MB}}
  - {name: second, hosts: [1, 3], steps: 2, profile: {compute: 10ms, bytes: 5MB}}
`

// "Wrong input (zero period, burst longer than period, periods without a common grid,
// unknown preset): exit 2 with its place" (issue 17, must show 8).
func TestJobsFitRefusesWrongInput(t *testing.T) {
	checkout.SkipSlowRace(t)
	file := func(old, new string) string {
		return write(t, "profiles.json", strings.Replace(goodProfiles, old, new, 1))
	}
	experiment := write(t, "pair.yaml", fitExperiment)
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no job", nil, "want jobs"},
		{"zero period", []string{"vgg16", "b=0ms:1ms"}, `job 2: "b=0ms:1ms": period: 0s, want more than 0`},
		{"burst longer than period", []string{"b=10ms:11ms"}, `job 1: "b=10ms:11ms": bursts[0].length: 11ms is longer than the period`},
		{"no unit", []string{"b=10:11ms"}, `job 1: "b=10:11ms": period: duration "10": a unit is missing`},
		{"zero period in a file", []string{file(`"periodUs": 60000`, `"periodUs": 0`)}, `profiles.json:3:29: job "b": period: 0s, want more than 0`},
		{"long burst in a file", []string{file(`"lengthUs": 10000, "rateGbps": 50}], "s`, `"lengthUs": 70000}], "s`)}, `profiles.json:3:75: job "b": bursts[0].length: 70ms is longer than the period`},
		{"unknown key in a file", []string{file(`"source"`, `"sauce"`)}, `unknown key "sauce" of a job (did you mean "source"?)`},
		{"no JSON", []string{write(t, "x.json", "[")}, "x.json:1:1: a list; want a profile file"},
		{"no file", []string{"nowhere.json"}, "job 1: nowhere.json: no such file"},
		{"no job of a file", []string{file("", "") + "#c"}, `profiles.json: no job "c"`},
		{"another file", []string{write(t, "x.txt", "")}, "want a profile file, whose name ends in .json"},
		{"no experiment", []string{"nowhere.yaml"}, "job 1: nowhere.yaml: no such file"},
		{"wrong experiment", []string{write(t, "bad.yaml", strings.Replace(fitExperiment, "steps: 2", "stops: 2", 1))}, "bad.yaml:5:34: jobs[0].stops: unknown key"},
		{"no job of an experiment", []string{experiment + "#thrid"}, `no job "thrid"`},
		{"an experiment without jobs", []string{"three-flow"}, "three-flow: the experiment has no jobs"},
		{"unknown preset", []string{"vgg16", "vg19"}, `job 2: unknown preset "vg19" (did you mean "vgg19"?)`},
		{"preset without compute", []string{"resnet50"}, "preset resnet50: its compute time is not known"},
		{"no common grid", []string{"a=101.0007ms:3ms", "b=977.00003ms:3ms", "c=3571.00019ms:4ms", "d=1009.00001ms:1ms", "--tolerance", "0.0000001"}, "a, b, c, d: no common grid: no periods within 1e-05 % of these go into a unified circle of at most 100000 steps; a tolerance of"},
		{"too coarse a grid", []string{"a=41ms:3ms", "b=60ms:3ms", "--grid", "10ms"}, "a, b: no common grid: the step 10ms makes a period of 41ms 22 % longer, more than 1 %; take a step of at most 410us"},
		{"unknown job of a link", []string{"vgg16", "vgg16", "--link", "x=vgg16,vgg162"}, `--link x: no job "vgg162" (did you mean "vgg16"?)`},
		{"half a link", []string{"vgg16", "--link", "x"}, `--link "x": want NAME[@RATE]=JOB,JOB…`},
		{"two links of a name", []string{"vgg16", "--link", "x=vgg16", "--link", "x=vgg16"}, `--link: "x" is there twice`},
		{"a name that the terminal obeys", []string{"a\x1b[2J=10ms:1ms"}, `job 1: "a\x1b[2J=10ms:1ms": the name has characters that cannot be printed`},
		{"such a name in a file", []string{file(`"name": "a"`, `"name": "a\u001b[2J"`)}, `profiles.json:2:12: the name "a\x1b[2J" has characters that cannot be printed`},
		{"a comma in a name", []string{"a,b=10ms:1ms"}, "the name has a comma, which parts the jobs of --link"},
		{"no capacity", []string{"vgg16", "--capacity", "0Gbps"}, "--capacity 0Gbps: want more than 0"},
		{"capacity without unit", []string{"vgg16", "--capacity", "50"}, "--capacity: rate"},
		{"negative grid", []string{"vgg16", "--grid", "-1ms"}, "--grid -1ms: want more than 0"},
		{"wide tolerance", []string{"vgg16", "--tolerance", "2"}, "--tolerance 2: want more than 0 and at most 1"},
		{"zero angle", []string{"vgg16", "--angle", "0"}, "--angle 0: want more than 0"},
		{"tiny angle", []string{"vgg16", "vgg16", "--angle", "0.0000001"}, "take a larger angle"},
		{"another picture", []string{"vgg16", "vgg16", "--picture", "x.pdf"}, "--picture x.pdf: want a name that ends in .svg or .png"},
		{"nothing to draw", []string{"vgg16", "--picture", filepath.Join(t.TempDir(), "x.png")}, "--picture: nothing to draw: no link is shared"},
		{"no folder of the picture", []string{"vgg16", "vgg16", "--picture", filepath.Join(t.TempDir(), "none", "x.png")}, "--picture "},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"jobs", "fit"}, c.args...)...)
			if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("exit %d, standard output %q, error\n%s\nwant exit 2 and\n%s", code, stdout, stderr, c.want)
			}
		})
	}
}

func TestJobsFitOfFilesAndExperiments(t *testing.T) {
	profiles, experiment := write(t, "profiles.json", goodProfiles), write(t, "pair.yaml", fitExperiment)
	for _, c := range []struct {
		args []string
		want []string // names of jobs
		wide bool     // they fit
	}{
		{[]string{profiles}, []string{"a", "b"}, true},
		{[]string{profiles + "#a", profiles + "#a"}, []string{"a", "a-2"}, true},
		{[]string{experiment}, []string{"first", "second"}, true},
		{[]string{experiment + "#second", "x=18ms:5ms@5Gbps"}, []string{"second", "x"}, true},
		{[]string{experiment + "#second", "x=18ms:12ms@5Gbps"}, []string{"second", "x"}, false},
		{[]string{"vgg16", "vgg16"}, []string{"vgg16", "vgg16-2"}, true},
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"jobs", "fit", "--json", "--tolerance", "0.05"}, c.args...)...)
		var got struct {
			Compatible bool
			Jobs       []struct{ Name string }
		}
		if err := json.Unmarshal([]byte(stdout), &got); code != 0 || err != nil {
			t.Errorf("%v: exit %d, %v: %s", c.args, code, err, stderr)
			continue
		}
		var names []string
		for _, j := range got.Jobs {
			names = append(names, j.Name)
		}
		if strings.Join(names, " ") != strings.Join(c.want, " ") || got.Compatible != c.wide {
			t.Errorf("%v: jobs %v, compatible %v, want %v and %v", c.args, names, got.Compatible, c.want, c.wide)
		}
	}
}

// "the infrastructure failed" has exit code 3 (docs/reference/run-folder.md#exit-codes), and so has an
// interrupted command, which has no result.
func TestJobsFitInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := execute(ctx, command.Linked{}, newWork(command.Linked{}), []string{"jobs", "fit", "vgg16", "vgg16"}, nil, &stdout, &stderr); code != command.ExitInfrastructure || stdout.Len() > 0 || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit %d, standard output %q, error %q; want exit 3", code, stdout.String(), stderr.String())
	}
}

func TestJobsFitDraws(t *testing.T) {
	checkout.SkipSlowRace(t)
	dir := t.TempDir()
	for _, name := range []string{"x.svg", "x.PNG"} {
		if code, _, stderr := csiglab(&fakeLab{}, nil, "jobs", "fit", "vgg16", "vgg16", "--picture", filepath.Join(dir, name)); code != 0 {
			t.Fatalf("%s: exit %d: %s", name, code, stderr)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "x.PNG"))
	if err != nil {
		t.Fatal(err)
	}
	if picture, err := png.Decode(bytes.NewReader(data)); err != nil || picture.Bounds().Dx() < 1000 {
		t.Errorf("%v: %v", err, picture)
	}
	if data, err = os.ReadFile(filepath.Join(dir, "x.svg")); err != nil || !strings.Contains(string(data), "vgg16-2") {
		t.Errorf("%v: %d bytes", err, len(data))
	}
}

func TestJobsList(t *testing.T) {
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "jobs", "list")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"vgg16", "vgg19", "255ms", "141ms", "published:", "derived:"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	var list []struct{ Name, Published string }
	if _, stdout, _ = csiglab(&fakeLab{}, nil, "jobs", "list", "--json"); json.Unmarshal([]byte(stdout), &list) != nil || len(list) < 5 || list[0].Published == "" {
		t.Errorf("%s", stdout)
	}
}
