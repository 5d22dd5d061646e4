package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/fabrics"
	"github.com/csiglab/csiglab/internal/checkout"
)

const ringJob = "num_ranks 2\nrank 0 {\nc: calc 1000\ns: send 125000b to 1\ns requires c\n}\nrank 1 {\nrecv 125000b from 0\n}\n"

// workloadFile writes a file of a test.
func workloadFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A message of 1 Mbit at 100 Gb/s takes 10 us, the latency 1 us, the calc 1 us.
func TestWorkloadInspect(t *testing.T) {
	path := workloadFile(t, "job.goal", ringJob)
	picture := filepath.Join(t.TempDir(), "job.svg")
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "workload", "inspect", path, "--out", picture)
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{
		"format            goal", "ranks             2", "messages          1", "point_to_point  125kB in 1 messages",
		"over links without congestion (rate 100Gbps, latency 1us): 12us",
		"critical path: 2 parts, computing 1us, messages 11us, waiting for a time 0s",
		"at least (rate 100Gbps, latency 1us): 12us", "dependencies  12us  over links without congestion", "receivers     11us  rank 1 receives 125kB", "senders       11us  rank 0 sends 125kB",
		"rank 0 computes", "rank 0 sends 125kB to rank 1",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	svg, err := os.ReadFile(picture)
	if err != nil || !strings.HasPrefix(string(svg), "<svg ") || !strings.Contains(string(svg), "rank 1") || !strings.Contains(string(svg), `fill="#4477aa"/>`) {
		t.Errorf("picture: %v\n%s", err, svg)
	}
	code, stdout, stderr = csiglab(&fakeLab{}, nil, "workload", "inspect", path, "--json", "--rate", "0bps", "--latency", "0s")
	var view fabrics.WorkloadView
	if err := json.Unmarshal([]byte(stdout), &view); code != 0 || err != nil {
		t.Fatalf("exit %d: %v: %s%s", code, err, stdout, stderr)
	}
	if view.Summary.Bytes != 125000 || view.Ideal == nil || view.Ideal.End != 1_000_000 || view.Format != "goal" {
		t.Errorf("read %+v, ideal %+v", view.Summary, view.Ideal)
	}
}

// The sums that inspect prints of a public AICB file are those of its columns
// (129 all-reduces of 16 MiB among the two ranks of each tensor parallel group).
func TestWorkloadInspectAICB(t *testing.T) {
	path := checkout.Shared(t, "fixtures/aliyun+aicb/workload/physical/model_workload/L7B-M1-C04_Llama7B_megatron_tp2_pp1_mbs1.csv")
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "workload", "inspect", path)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{
		`ranks +128\n`, `all_reduce tp forward.MegatronRowLinear +all_reduce by ring +2 +16.777216MB +4096\n`,
		`reduce_scatter dp step +reduce_scatter by ring +64 +10.366697472GB +2\n`, `1 collectives of no bytes, which send nothing, the first at .*csv:149:42\n`,
	} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

func TestWorkloadConvert(t *testing.T) {
	path := workloadFile(t, "job.goal", ringJob)
	dir := t.TempDir()
	matrix := filepath.Join(dir, "job.cm")
	if code, stdout, stderr := csiglab(&fakeLab{}, nil, "workload", "convert", path, "--to", "cm", "-o", matrix); code != 0 || stdout+stderr != "" {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	text, err := os.ReadFile(matrix)
	if want := "Nodes 2\nConnections 1\n0->1 id 1 start 1000000 size 125000\n"; err != nil || string(text) != want {
		t.Errorf("%v: %q, want %q", err, text, want)
	}
	// No file is overwritten.
	code, _, stderr := csiglab(&fakeLab{}, nil, "workload", "convert", path, "--to", "cm", "-o", matrix)
	if want := matrix + " is there already and is not overwritten"; code != 2 || !strings.Contains(stderr, want) {
		t.Errorf("exit %d: %s, want 2 and %s", code, stderr, want)
	}
	traces := filepath.Join(dir, "job")
	if code, _, stderr := csiglab(&fakeLab{}, nil, "workload", "convert", matrix, "--to", "chakra", "-o", traces); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	code, _, stderr = csiglab(&fakeLab{}, nil, "workload", "convert", matrix, "--to", "chakra", "-o", traces)
	if code != 2 || !strings.Contains(stderr, "job.0.et is there already") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "workload", "convert", traces, "--to", "goal", "-o", "-")
	if code != 0 || !strings.Contains(stdout, "send 125000b to 1") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr = csiglab(&fakeLab{}, nil, "workload", "inspect", traces); code != 0 || !strings.Contains(stdout, "format            chakra") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

// What is read, converted and read again is the same run: its trace hash is equal.
func TestWorkloadConvertSameRun(t *testing.T) {
	const full = "Nodes 16\nConnections 5\nTriggers 3\nFailures 1\n" +
		"0->5 id 7 start 5000 size 100000 send_done_trigger 1\n1->6 id 8 start 0 size 200000 recv_done_trigger 1\n" +
		"2->7 id 9 trigger 1 size 300000 recv_done_trigger 20\n3->8 id 10 trigger 20 size 40000 send_done_trigger 3\n4->9 trigger 3 size 500 id 11\n" +
		"trigger id 1 barrier count 2\ntrigger multishot id 20\ntrigger id 3 oneshot\nfailure switch_type AGG switch_id 1 link_id 0\n"
	hash := func(matrix string) string {
		t.Helper()
		out := filepath.Join(t.TempDir(), "run")
		file := workloadFile(t, "x.yaml", fmt.Sprintf("schema: 1\nname: x\ntopology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}\nworkload: {file: %s}\n", matrix))
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), command.Linked{}, newWork(command.Linked{}), []string{"run", file, "--out", out}, nil, &stdout, &stderr)
		manifest, err := os.ReadFile(filepath.Join(out, "manifest.json"))
		found := regexp.MustCompile(`"traceHash": "([^"]+)"`).FindSubmatch(manifest)
		if code != 0 || found == nil || !strings.Contains(stdout.String(), "failure-0: link agg1-core1 down") {
			t.Fatalf("exit %d: %v: %s%s", code, err, stdout.String(), stderr.String())
		}
		return string(found[1])
	}
	first := workloadFile(t, "full.cm", full)
	second := filepath.Join(t.TempDir(), "full.cm")
	if code, _, stderr := csiglab(&fakeLab{}, nil, "workload", "convert", first, "--to", "cm", "-o", second); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if a, b := hash(first), hash(second); a != b {
		t.Errorf("trace hash %s, converted %s", a, b)
	}
}

// Damaged and hostile files are refused with exit code 2 and their place.
func TestWorkloadHostile(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, c := range []struct{ name, text, want string }{
		{"a.cm", "Nodes 4\nConnections 1\n0->9 start 0 size 9\n", "a.cm:3:4: destination host is 9, want 0 to 3"},
		{"a.goal", "num_ranks 1000000000\n", "a.goal:1:11: num_ranks is 1000000000, want 1 to 1048576"},
		{"b.goal", "num_ranks 2\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n", "b.goal:3:4: rank 0: the operation can never begin: it waits in a circle"},
		{"c.goal", "num_ranks 2\nrank 0 {\na: calc 1\na requires b\n}\n", "c.goal:4:12: rank 0 has no label b"},
		{"d.goal", "num_ranks 2\nrank 0 {\n" + strings.Repeat("(", 1<<20), "d.goal:3:1: the line is longer than 65536 bytes"},
		{"a.txt", "MICRO all_gpus: 1000000000\n", "a.txt:1:17: all_gpus is 1000000000, want 0 to 1048576"},
		{"b.txt", "MICRO all_gpus: 4\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 99999999999999999999 1\n", "b.txt:3:36: weight gradient bytes is 99999999999999999999"},
		{"flow.txt", "5\n0 1 3 100 9 2.0\n", "flow.txt:1:1: the first line says 5 flows, the file has 1"},
		{"a.csv", "[rank0 ~ rank1000000000]\n", "a.csv:1:14: rank is 1000000000, want 0 to 1048575"},
		{"a.xml", "<algo name=\"a\"/>", "a.xml: an algorithm does not say how large its buffer is; give a size (--size 32MiB"},
		{"words", "hello\n", "words:1:1: the file does not begin like any format that is known"},
	} {
		path := workloadFile(t, c.name, c.text)
		for _, args := range [][]string{{"workload", "inspect", path}, {"workload", "convert", path, "--to", "goal", "-o", filepath.Join(t.TempDir(), "out")}} {
			code, stdout, stderr := csiglab(&fakeLab{}, nil, args...)
			if code != 2 || stdout != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("%s %s: exit %d: %s%s, want 2 and %s", args[1], c.name, code, stdout, stderr, c.want)
			}
		}
	}
	// A schedule of few lines may stand for more than can be played: that is said.
	path := workloadFile(t, "large.txt", "HYBRID_TRANSFORMER model_parallel_NPU_group: 8 all_gpus: 65536\n1\na -1 1 ALLREDUCE 8192 1 ALLREDUCE 8192 1 NONE 0 1\n")
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "workload", "inspect", path, "--passes", "1000")
	if code != 0 || !strings.Contains(stdout, "messages      1835008000\n") || !strings.Contains(stdout, "rank 0 sends 28.672MB\n") || !strings.Contains(stdout, "not played: more than 2000000 operations\n") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = csiglab(&fakeLab{}, nil, "workload", "convert", path, "--passes", "1000", "--to", "goal", "-o", "-")
	if code != 2 || stdout != "" || !strings.Contains(stderr, "the workload has more than 2000000 operations, too many for a file") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}

func TestWorkloadUsage(t *testing.T) {
	path := workloadFile(t, "job.goal", ringJob)
	for _, c := range []struct{ args, want string }{
		{"workload inspct", `unknown command "inspct" (did you mean "inspect"?)`},
		{"workload inspect", "want a file, got 0"},
		{"workload inspect FILE --format gaol", `--format "gaol": want one of cm, goal`},
		{"workload inspect FILE --rate fast", "--rate: "},
		{"workload inspect FILE --latency -1us", `--latency "-1us": want a time from 0 on, such as 2us`},
		{"workload inspect FILE --start-unit ms", `--start-unit: start unit "ms": use auto, ps or us`},
		{"workload inspect FILE --time-unit h", `--time-unit "h": want one of auto, ns, us, ms`},
		{"workload inspect FILE --ranks -1", "--ranks -1, --passes 1: want 0 or more ranks"},
		{"workload inspect FILE --size 1", `--size "1": want a size of 1B or more, such as 32MiB`},
		{"workload inspect FILE --size 1MB", "job.goal: a size is for algorithms of MSCCL; files of format goal say their sizes"},
		{"workload inspect FILE --algorithm star", "--algorithm: "},
		{"workload convert FILE", `--to "": want one of cm, chakra, goal`},
		{"workload convert FILE --to cm", "give --out: the file to write; - is standard output"},
		{"workload convert FILE --to chakra -o -", "--out -: Chakra has a file for each rank"},
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, strings.Fields(strings.ReplaceAll(c.args, "FILE", path))...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d: %s%s, want 2 and %s", c.args, code, stdout, stderr, c.want)
		}
	}
}
