package grafana

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/csiglab/csiglab/dashboards"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
)

// ErrForeign is wrapped by the errors about files that Provision has not written.
var ErrForeign = errors.New("it is not csiglab's")

// Files are what to provision.
type Files struct {
	DataSource string // the URL of a Prometheus
	TokenFile  string // absolute, which Grafana reads; "": the data source needs no token
	Program    string // csiglab, absolute: what the compose file starts
	Folders    []string
	Runs       []Run // whose time the dashboards show
	Stretch    int   // of the model time of Runs, which csiglab serve must have too; 0: that of each run
}

// begins is the beginning of each YAML file that Provision writes.
const begins = "# Written by csiglab grafana provision, which may write it again.\n"

// Provision writes the files that a Grafana reads at its start, and a compose file:
//
//	provisioning/datasources/csiglab.yaml
//	provisioning/dashboards/csiglab.yaml
//	dashboards/csiglab-….json
//	compose.yaml
//
// It returns their names. It writes all of them or none, and replaces only files that it
// has written before; errors wrap ErrForeign otherwise. dir must be absolute, since the
// files name it.
func Provision(dir string, f Files) (names []string, err error) {
	files, err := f.render(dir)
	if err != nil {
		return nil, fmt.Errorf("provision %s: %w", dir, err)
	}
	w := &writer{dir: dir}
	for _, file := range files {
		if err = w.prepare(file); err != nil {
			break
		}
		names = append(names, filepath.Join(dir, file.name))
	}
	if err == nil {
		err = w.commit()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", dir, err), w.takeBack())
	}
	return names, w.end()
}

type file struct {
	name string // below the folder
	text []byte
}

func (f *Files) render(dir string) (files []file, err error) {
	if _, err := parseURL(f.DataSource); err != nil {
		return nil, fmt.Errorf("data source: %w", err)
	}
	add := func(name string, content any) {
		text, bad := yaml.Marshal(content)
		err = errors.Join(err, bad)
		files = append(files, file{name, append([]byte(begins), text...)})
	}
	add("provisioning/datasources/csiglab.yaml", f.dataSource())
	add("provisioning/dashboards/csiglab.yaml", map[string]any{"apiVersion": 1, "providers": []any{map[string]any{
		"name": "csiglab", "folder": folderTitle, "folderUid": folderUID, "type": "file", "allowUiUpdates": false,
		"options": map[string]any{"path": literal(filepath.Join(dir, "dashboards"))},
	}}})
	for _, d := range dashboards.All() {
		text := d.JSON
		if len(f.Runs) > 0 {
			var model map[string]any
			if err := json.Unmarshal(d.JSON, &model); err != nil {
				return nil, err
			}
			showTime(model, f.Runs)
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			if err := e.Encode(model); err != nil {
				return nil, err
			}
			text = b.Bytes()
		}
		files = append(files, file{filepath.Join("dashboards", d.File), text})
	}
	add("compose.yaml", f.compose(dir))
	return files, err
}

func (f *Files) dataSource() any {
	source := map[string]any{
		"name": dataSourceName, "uid": dataSourceUID, "type": "prometheus", "access": "proxy", "url": literal(f.DataSource), "editable": false,
		"jsonData": dataSourceOptions(f.TokenFile != ""),
	}
	if f.TokenFile != "" {
		source["secureJsonData"] = map[string]any{"httpHeaderValue1": "Bearer $__file{" + f.TokenFile + "}"}
	}
	return map[string]any{"apiVersion": 1, "datasources": []any{source}}
}

// literal writes a text such that Grafana does not look for variables in it.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// composed writes a text such that compose does not look for variables in it.
func composed(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// Images of the compose file. CSIGLAB_IMAGE and GRAFANA_IMAGE name others.
const (
	baseImage    = "${CSIGLAB_IMAGE:-debian:stable-slim}"
	grafanaImage = "${GRAFANA_IMAGE:-grafana/grafana:11.6.0}"
)

// compose returns a compose file that starts csiglab serve and Grafana. Both are in the
// network of the machine and listen at its loopback interface alone. csiglab is the one
// program file of this machine, which needs no library.
func (f *Files) compose(dir string) any {
	mount := func(path string) map[string]any {
		return map[string]any{"type": "bind", "source": composed(path), "target": composed(path), "read_only": true}
	}
	command := []string{composed(f.Program), "serve", "--listen", "127.0.0.1:9090"}
	volumes := []any{mount(f.Program)}
	if f.TokenFile != "" {
		command = append(command, "--token-file", composed(f.TokenFile))
		volumes = append(volumes, mount(f.TokenFile))
	}
	if f.Stretch != 0 {
		command = append(command, "--stretch", strconv.Itoa(f.Stretch))
	}
	for _, folder := range f.Folders {
		command = append(command, composed(folder))
		volumes = append(volumes, mount(folder))
	}
	mounts := []any{mount(dir)}
	grafana := map[string]any{
		"image": grafanaImage, "network_mode": "host", "restart": "unless-stopped", "depends_on": []string{"serve"},
		"environment": map[string]string{
			"GF_SERVER_HTTP_ADDR": "127.0.0.1", "GF_SERVER_HTTP_PORT": "3000", "GF_PATHS_PROVISIONING": composed(filepath.Join(dir, "provisioning")),
			"GF_AUTH_ANONYMOUS_ENABLED": "true", "GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer", "GF_ANALYTICS_REPORTING_ENABLED": "false", "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
			"GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH": composed(filepath.Join(dir, "dashboards", "csiglab-fabric.json")),
		},
	}
	if f.TokenFile != "" {
		mounts = append(mounts, mount(f.TokenFile))
		grafana["user"] = fmt.Sprintf("%d:0", os.Getuid()) // who may read the file; the image lets group 0 write its data
	}
	grafana["volumes"] = mounts
	return map[string]any{
		"name": "csiglab",
		"services": map[string]any{
			"serve": map[string]any{
				"image": baseImage, "network_mode": "host", "command": command, "volumes": volumes, "restart": "unless-stopped",
			},
			"grafana": grafana,
		},
	}
}

// writer replaces several files at once: all are written beside those that they replace,
// and then renamed. Until end it can take everything back.
type writer struct {
	dir     string
	folders []string // made, from the top
	fresh   []pending
}

type pending struct {
	name     string
	part     *own.Part
	saved    string // the former file; "": there was none, or it is still in its place
	replaces bool
	placed   bool
}

// prepare writes a file beside its place, and refuses a place that has another's file.
func (w *writer) prepare(f file) error {
	name := filepath.Join(w.dir, f.name)
	if err := w.makeFolder(filepath.Dir(name)); err != nil {
		return err
	}
	old, err := own.ReadFile(name, 4<<20)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%s: %w", f.name, cause.Of(err))
	case !ours(f.name, old):
		return fmt.Errorf("%s: %w; csiglab replaces only what it has written", f.name, ErrForeign)
	}
	p := pending{name: name, replaces: err == nil}
	if p.part, err = own.Replace(name, 0o644); err != nil {
		return fmt.Errorf("%s: %w", f.name, cause.Of(err))
	}
	w.fresh = append(w.fresh, p)
	if _, err := p.part.Write(f.text); err != nil {
		return fmt.Errorf("%s: %w", f.name, cause.Of(err))
	}
	return nil
}

// ours reports whether Provision has written a file of this name.
func ours(name string, text []byte) bool {
	if strings.HasSuffix(name, ".yaml") {
		return bytes.HasPrefix(text, []byte(begins))
	}
	var head struct {
		UID  string
		Tags []string
	}
	return json.Unmarshal(text, &head) == nil && head.UID+".json" == filepath.Base(name) && slices.Contains(head.Tags, "csiglab")
}

// makeFolder makes a folder and those above it, and remembers which.
func (w *writer) makeFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s: %w: it is a file", dir, ErrForeign)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", dir, cause.Of(err))
	}
	if err := w.makeFolder(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("%s: %w", dir, cause.Of(err))
	}
	w.folders = append(w.folders, dir)
	return nil
}

// commit gives the files their names.
func (w *writer) commit() error {
	for i := range w.fresh {
		p := &w.fresh[i]
		if p.replaces {
			saved := p.name + ".csiglab-old"
			if err := os.Remove(saved); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a csiglab that was killed
				return fmt.Errorf("%s: %w", saved, cause.Of(err))
			}
			if err := os.Link(p.name, saved); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			p.saved = saved
		}
		if err := p.part.Commit(); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		p.placed = true
	}
	return nil
}

// takeBack restores what was there.
func (w *writer) takeBack() error {
	var errs []error
	for _, p := range slices.Backward(w.fresh) {
		switch {
		case p.placed && p.saved != "":
			errs = append(errs, os.Rename(p.saved, p.name))
		case p.placed:
			errs = append(errs, os.Remove(p.name))
		default:
			p.part.Discard()
			if p.saved != "" {
				errs = append(errs, os.Remove(p.saved))
			}
		}
	}
	for _, dir := range slices.Backward(w.folders) {
		errs = append(errs, os.Remove(dir))
	}
	return errors.Join(errs...)
}

// end removes the former files.
func (w *writer) end() error {
	var errs []error
	for _, p := range w.fresh {
		if p.saved != "" {
			errs = append(errs, os.Remove(p.saved))
		}
	}
	return errors.Join(errs...)
}
