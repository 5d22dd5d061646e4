package grafana

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/dashboards"
)

// contents returns the text of each file below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			all[name+"/"] = "folder"
			return err
		}
		text, err := os.ReadFile(path)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func files() Files {
	return Files{DataSource: "http://localhost:9090/$x", TokenFile: "/secret/token", Program: "/opt/cs$g/csiglab", Folders: []string{"/runs/a b"}, Runs: []Run{sampleRun()}, Stretch: 10}
}

// What a Grafana and a compose read: no variable in what is none, the UIDs that a push has
// too, and the time of the runs.
func TestProvision(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "grafana")
	names, err := Provision(dir, files())
	if err != nil {
		t.Fatal(err)
	}
	got := contents(t, dir)
	if want := 3 + len(dashboards.All()); len(names) != want || len(got) != want+5 {
		t.Errorf("%d names, %d entries, want %d files in 5 folders: %v", len(names), len(got), want, names)
	}
	parse := func(name string) (v map[string]any) {
		t.Helper()
		if err := yaml.Unmarshal([]byte(got[name]), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return v
	}
	source := map[string]any{
		"name": "csiglab", "uid": "csiglab", "type": "prometheus", "access": "proxy", "url": "http://localhost:9090/$$x", "editable": false,
		"jsonData":       map[string]any{"httpMethod": "POST", "timeInterval": "1s", "prometheusType": "Prometheus", "manageAlerts": false, "httpHeaderName1": "Authorization"},
		"secureJsonData": map[string]any{"httpHeaderValue1": "Bearer $__file{/secret/token}"},
	}
	if diff := cmp.Diff(map[string]any{"apiVersion": uint64(1), "datasources": []any{source}}, parse("provisioning/datasources/csiglab.yaml")); diff != "" {
		t.Errorf("data source (-want +got):\n%s", diff)
	}
	provider := map[string]any{"name": "csiglab", "folder": "csiglab", "folderUid": "csiglab", "type": "file", "allowUiUpdates": false, "options": map[string]any{"path": dir + "/dashboards"}}
	if diff := cmp.Diff(map[string]any{"apiVersion": uint64(1), "providers": []any{provider}}, parse("provisioning/dashboards/csiglab.yaml")); diff != "" {
		t.Errorf("dashboards (-want +got):\n%s", diff)
	}
	var compose struct {
		Services map[string]struct {
			Image, User string
			NetworkMode string `yaml:"network_mode"`
			Command     []string
			Environment map[string]string
			Volumes     []struct {
				Type, Source, Target string
				ReadOnly             bool `yaml:"read_only"`
			}
		}
	}
	if err := yaml.UnmarshalWithOptions([]byte(got["compose.yaml"]), &compose); err != nil {
		t.Fatal(err)
	}
	serve, grafana := compose.Services["serve"], compose.Services["grafana"]
	if diff := cmp.Diff([]string{"/opt/cs$$g/csiglab", "serve", "--listen", "127.0.0.1:9090", "--token-file", "/secret/token", "--stretch", "10", "/runs/a b"}, serve.Command); diff != "" {
		t.Errorf("serve (-want +got):\n%s", diff)
	}
	mounts := map[string]bool{}
	for _, v := range append(serve.Volumes, grafana.Volumes...) {
		mounts[v.Source] = v.Type == "bind" && v.Source == v.Target && v.ReadOnly
	}
	if diff := cmp.Diff(map[string]bool{"/opt/cs$$g/csiglab": true, "/secret/token": true, "/runs/a b": true, dir: true}, mounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if grafana.Environment["GF_PATHS_PROVISIONING"] != dir+"/provisioning" || grafana.Environment["GF_SERVER_HTTP_ADDR"] != "127.0.0.1" || grafana.NetworkMode != "host" || serve.Image == "" || grafana.Image == "" {
		t.Errorf("grafana %+v", grafana)
	}
	if want := fmt.Sprintf("%d:0", os.Getuid()); grafana.User != want || serve.User != "" {
		t.Errorf("users %q and %q, want that who may read the token, %q", grafana.User, serve.User, want)
	}
	var model struct{ Time struct{ From, To string } }
	if err := json.Unmarshal([]byte(got["dashboards/csiglab-fabric.json"]), &model); err != nil || model.Time.From != "2026-05-01T09:59:59.000Z" {
		t.Errorf("%v: the dashboard shows %+v", err, model.Time)
	}

	// Again, with other content; nothing else appears.
	other := files()
	other.DataSource, other.Runs, other.TokenFile, other.Stretch = "http://localhost:9091", nil, "", 0
	if _, err := Provision(dir, other); err != nil {
		t.Fatal(err)
	}
	again := contents(t, dir)
	if len(again) != len(got) || again["dashboards/csiglab-fabric.json"] != string(fabricJSON(t)) || !strings.Contains(again["provisioning/datasources/csiglab.yaml"], "9091") || strings.Contains(again["compose.yaml"], "stretch") {
		t.Errorf("the second time: %d entries", len(again))
	}
}

func fabricJSON(t *testing.T) []byte {
	for _, d := range dashboards.All() {
		if d.UID == "csiglab-fabric" {
			return d.JSON
		}
	}
	t.Fatal("no dashboard csiglab-fabric")
	return nil
}

// A file of somebody else, in whichever place, stays as it is, and nothing else appears.
func TestProvisionLeavesForeignFiles(t *testing.T) {
	for name, text := range map[string]string{
		"provisioning/datasources/csiglab.yaml": "apiVersion: 1\n",
		"provisioning/dashboards/csiglab.yaml":  "",
		"dashboards/csiglab-flows.json":         `{"uid": "other", "tags": ["csiglab"]}`,
		"compose.yaml":                          "services: {}\n",
		"dashboards":                            "a file",
	} {
		for _, before := range []bool{false, true} {
			dir := t.TempDir()
			if before {
				if _, err := Provision(dir, files()); err != nil {
					t.Fatal(err)
				}
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			want := contents(t, dir)
			other := files()
			other.DataSource = "http://localhost:1"
			if _, err := Provision(dir, other); !errors.Is(err, ErrForeign) {
				t.Errorf("%s: %v, want %v", name, err, ErrForeign)
			}
			if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
				t.Errorf("%s: refused, and left (-before +after):\n%s", name, diff)
			}
		}
	}
}

// The files obey the umask.
func TestProvisionUmask(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "grafana")
	old := syscall.Umask(0o077)
	_, err := Provision(dir, files())
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := filepath.Walk(dir, func(name string, info fs.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", name, info.Mode())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// If a file cannot get its name, those before it get their former content.
func TestProvisionTakesBack(t *testing.T) {
	dir := t.TempDir()
	if _, err := Provision(dir, files()); err != nil {
		t.Fatal(err)
	}
	// A folder in the place of what is saved: the compose file, the last one, fails.
	if err := os.MkdirAll(filepath.Join(dir, "compose.yaml.csiglab-old", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := contents(t, dir)
	other := files()
	other.DataSource, other.Runs = "http://localhost:1", nil
	if _, err := Provision(dir, other); err == nil {
		t.Error("it did not fail")
	}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("it failed, and left (-before +after):\n%s", diff)
	}
}
