package cli

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
)

// refusedExamples are containerlab's examples that are no fabric, and why.
var refusedExamples = map[string]string{
	"cert01/cert01.clab.yml":              "the file has no links, so that there is nothing to send over",
	"srl01/srl01.clab.yml":                "the file has no links, so that there is nothing to send over",
	"srl-quickstart/srl01.clab.yml":       "the file has no links, so that there is nothing to send over",
	"vxlan01/vxlan-sros.clab.yml":         "no link joins two of the nodes, so that there is nothing to send over",
	"vxlan01/vxlan-vmx.clab.yml":          "no link joins two of the nodes, so that there is nothing to send over",
	"sr-sim/lab-distributed.clab.yaml":    "the fabric is not connected: no way leads from srsim10-1 to srsim10-2",
	"sr-sim/sr-14s-components.clab.yaml":  "joins sr-14s to itself",
	"templated01/templated01.clab.gotmpl": "a template; write the file that containerlab makes of it",
	"templated02/templated02.clab.gotmpl": "a template; write the file that containerlab makes of it",
}

// publicExamples returns containerlab's examples: those of its module, which csiglab is built
// with, and those of ../shared, by their names below these.
func publicExamples(t *testing.T) map[string]string {
	t.Helper()
	checkout.NeedModules(t)
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/srl-labs/containerlab").Output()
	if err != nil {
		t.Skip("the module of containerlab is not here: ", err)
	}
	files := map[string]string{}
	for _, folder := range []string{
		filepath.Join(strings.TrimSpace(string(module)), "lab-examples"),
		filepath.Join(checkout.Repository(t), "..", "shared", "fixtures", "srl-labs+containerlab"),
	} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.Contains(filepath.Base(path), ".clab.") && !strings.HasSuffix(path, ".json") {
				name, _ := filepath.Rel(folder, path) // both are absolute
				files[name] = path
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if len(files) < len(refusedExamples) {
		t.Skipf("%d examples, which are not those of the module", len(files))
	}
	return files
}

// "csiglab up mylab.clab.yml runs" (issue 35): each of containerlab's own examples is a lab,
// whose programs reach another host by her name for it, and ends with code 0, or a sentence
// says why it is none. Without CSIGLAB_E2E=1 three of them are started, and the others checked.
func TestPublicTopologies(t *testing.T) {
	files := publicExamples(t)
	u := newTool(t, programsOfAnyUser(t))
	started := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Run(name, func(t *testing.T) {
			u := *u
			u.T = t
			if reason, refused := refusedExamples[name]; refused {
				if _, stderr := u.want(command.ExitUsage, "up", files[name]); !strings.Contains(stderr, reason) {
					t.Errorf("got %s, want %q", stderr, reason)
				}
				return
			}
			if started++; os.Getenv("CSIGLAB_E2E") == "" && !slices.Contains([]string{"srl02/srl02.clab.yml", "srl-quickstart/srl02.clab.yml", "frr01/frr01.clab.yml"}, name) {
				u.want(command.ExitOK, "validate", files[name])
				return
			}
			upAndDown(&u, files[name])
		})
	}
	t.Logf("%d of %d examples are labs", started, len(files))
}

// upAndDown has a lab of a topology file, in which one host answers another.
func upAndDown(u *tool, file string) {
	folder := filepath.Join(u.dir, strings.ReplaceAll(file, "/", "-"))
	stdout, stderr := u.want(command.ExitOK, "up", file, "--out", folder, "--json")
	if !strings.Contains(stderr, "\nschema: 1\nname: ") {
		u.Errorf("up does not print the experiment: %s", stderr)
	}
	r := u.parse(stdout)
	var hosts []string
	for _, n := range r.Nodes {
		if n.Kind == "host" {
			hosts = append(hosts, n.Name)
		}
	}
	// Nobody listens there: the other host says so.
	_, _, answer := u.run("", "exec", r.ID, hosts[0], "--", "bash", "-c", "exec 3<>/dev/tcp/"+hosts[1]+"/9")
	if !strings.Contains(answer, "Connection refused") {
		u.Errorf("%s does not answer %s: %s", hosts[1], hosts[0], answer)
	}
	// Its summary has the SYN.
	stdout, more := u.want(command.ExitOK, "down", r.ID)
	for note := range strings.Lines(stderr) {
		if strings.HasPrefix(note, "note: ") && strings.Contains(more, note) {
			u.Errorf("down repeats what up said: %s", note)
		}
	}
	if !regexp.MustCompile(`(?m)^programs +received +in +rate$(.*\n)+` + hosts[0] + " -> " + hosts[1] + ` +\d+.B `).MatchString(stdout) {
		u.Errorf("down does not say what programs achieved:\n%s", stdout)
	}
}
