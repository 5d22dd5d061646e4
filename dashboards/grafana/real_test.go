package grafana

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	gapi "github.com/grafana/grafana-api-golang-client"

	"github.com/csiglab/csiglab/dashboards"
)

// A push to a real Grafana, at CSIGLAB_GRAFANA_URL with the token CSIGLAB_GRAFANA_TOKEN of a
// service account with the role Admin. The server must have nothing of csiglab's; the test
// removes what it has pushed.
func TestRealGrafana(t *testing.T) {
	address, token := os.Getenv("CSIGLAB_GRAFANA_URL"), os.Getenv("CSIGLAB_GRAFANA_TOKEN")
	if address == "" {
		t.Skip("CSIGLAB_GRAFANA_URL is not set")
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	api, err := newClient(t.Context(), u, token, defaultTimeout)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.FolderByUID(folderUID); !absent(err) {
		t.Fatalf("%v: the server has a folder %s already", err, folderUID)
	}
	c := Config{URL: address, Token: token, DataSource: DataSource{URL: "http://localhost:9090"}, Runs: []Run{sampleRun()}, Message: "csiglab test"}

	wrong := c
	wrong.Token = "glsa_wrong"
	if _, err := Push(t.Context(), wrong); !errors.Is(err, ErrToken) {
		t.Errorf("a wrong token: %v, want %v", err, ErrToken)
	}
	if got := snapshot(t, api, true); len(got) > 0 {
		t.Errorf("a push with a wrong token left %v", got)
	}

	clean := func() {
		for _, d := range dashboards.All() {
			if err := api.DeleteDashboardByUID(d.UID); err != nil && !absent(err) {
				t.Error(err)
			}
		}
		if err := api.DeleteFolder(folderUID); err != nil && !absent(err) {
			t.Error(err)
		}
		if err := api.DeleteDataSourceByName(dataSourceName); err != nil && !absent(err) {
			t.Error(err)
		}
	}
	defer clean()
	push := func(c Config) []Change {
		t.Helper()
		changes, err := Push(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return changes
	}
	for _, change := range push(c) {
		if change.Did != created {
			t.Errorf("first push: %+v", change)
		}
	}
	first := snapshot(t, api, true)
	if len(first) != 1+len(dashboards.All())+1 {
		t.Errorf("the server has %v", first)
	}
	for _, change := range push(c) {
		if change.Did != unchanged {
			t.Errorf("second push: %+v", change)
		}
	}
	if diff := cmp.Diff(first, snapshot(t, api, true)); diff != "" {
		t.Errorf("the second push changes (-first +second):\n%s", diff)
	}

	// Another run moves the time.
	other := c
	other.Runs = []Run{sampleRun()}
	other.Runs[0].To = other.Runs[0].To.Add(1e9)
	for _, change := range push(other) {
		if want := map[string]Did{"folder": unchanged, "data source": unchanged, "dashboard": updated}[change.What]; change.Did != want {
			t.Errorf("push of another run: %+v, want %s", change, want)
		}
	}
	// Grafana refuses a second data source of the same name: all of it is taken back.
	if err := api.DeleteDataSourceByName(dataSourceName); err != nil {
		t.Fatal(err)
	}
	if _, err := api.NewDataSource(&gapi.DataSource{UID: "another", Name: dataSourceName, Type: "prometheus", Access: "proxy", URL: "http://localhost:9"}); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, api, false)
	if _, err := Push(t.Context(), c); err == nil {
		t.Error("a data source whose name is taken is accepted")
	}
	if diff := cmp.Diff(before, snapshot(t, api, false)); diff != "" {
		t.Errorf("a push that failed left (-before +after):\n%s", diff)
	}
}

// snapshot returns what the server has of csiglab, as JSON by what it is.
func snapshot(t *testing.T, api *client, versions bool) map[string]string {
	t.Helper()
	all := map[string]string{}
	add := func(name string, v any, err error) {
		t.Helper()
		if absent(err) {
			return
		}
		text, bad := json.Marshal(v)
		if err := errors.Join(err, bad); err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	folder, err := api.FolderByUID(folderUID)
	add("folder", folder, err)
	for _, d := range dashboards.All() {
		have, err := api.DashboardByUID(d.UID)
		if err == nil && !versions {
			delete(have.Model, "version")
		}
		add(d.UID, have, err)
	}
	source, err := api.DataSourceByUID(dataSourceUID)
	add("data source", source, err)
	return all
}
