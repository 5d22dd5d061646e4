package cli

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
)

// Files and folders that commands write are as private as the user's umask says.
func TestUmask(t *testing.T) {
	checkout.SkipSlowRace(t)
	csiglab := filepath.Join(builtPrograms(t), "csiglab")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"job.yaml": `schema: 1
name: job
topology: {dumbbell: {left: 1, right: 1, rate: 10Gbps, delay: 1us}}
telemetry: {interval: 50us}
jobs: [{name: a, hosts: [0, 1], steps: 24, profile: {compute: 1ms, bytes: 100kB}}]
`,
		"small.yaml":     smallExperiment + "expect: ['run[\"fct_us.max\"] > 0']\n",
		"connections.cm": "Nodes 2\nConnections 1\n0->1 id 1 start 1000000 size 125000\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const measured = " --experiment small.yaml --metric fct_us.max --delta 25% "
	seen := map[string]bool{".": true, "job.yaml": true, "small.yaml": true, "connections.cm": true}
	for _, line := range []string{
		"run job.yaml --out job --capture h0-s0",
		"report job --figures figures",
		"compare job job --html compare.html --markdown compare.md",
		"export job --openmetrics job.txt",
		"export job --perfetto job.json",
		"capture job --link h0-s0 --out packets.pcapng",
		"jobs profile job --out profile.json",
		"jobs fit profile.json#a job.yaml#a --picture fit.svg",
		"whatif job --set links.mtu=4kB --out whatif",
		"graph small.yaml --out graph.svg",
		"topo export small.yaml --format clab --out lab.clab.yaml",
		"topo export small.yaml --format clab --shards 2 --remotes 10.0.0.1,10.0.0.2 --out shards",
		"workload convert connections.cm --to chakra --out traces",
		"init first",
		"grafana provision grafana job",
		"image save image.tar",
		"sweep small.yaml --seeds 1 --grid links.mtu=1500B,4kB --keep --out sweep",
		"report sweep",
		"stress small.yaml --seeds 1 --setting-seeds 1 --out stress",
		"baseline save" + measured + "--seeds 8 --output baseline.json",
		"regress" + measured + "--seeds 8 --baseline baseline.json --out regress",
		"bisect" + measured + "--parameter topology.leaf_spine.delay --good 1us --bad 9us --resolution 4us --seeds 8 --out bisect",
	} {
		cmd := exec.Command("sh", append([]string{"-c", `umask 077; exec "$0" "$@"`, csiglab}, strings.Fields(line)...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() > command.ExitFailed {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		fresh := 0
		if err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if name, _ = filepath.Rel(dir, name); err != nil || seen[name] {
				return err
			}
			seen[name] = true
			fresh++
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %s is %v", line, name, info.Mode())
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if fresh == 0 {
			t.Errorf("%s writes nothing new", line)
		}
	}
}
