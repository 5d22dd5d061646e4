package grafana

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const (
	goodToken   = "glsa_good"
	viewerToken = "glsa_viewer"
)

// fake is a Grafana, as far as a push needs one. Its state is plain, so that tests compare
// it.
type fake struct {
	version  string
	requests []string // method and path with query
	bodies   []map[string]any
	writes   int // requests that change something
	failAt   int // which of these fails, from 1; 0: none
	state    state
}

type state struct {
	Folders     map[string]string         // title by UID
	Dashboards  map[string]map[string]any // body by UID
	Versions    map[string]int            // of dashboards
	Source      map[string]any
	SourceTimes int // the data source was written
}

func newFake(t *testing.T) (*fake, *httptest.Server) {
	f := &fake{version: "10.0.0", state: state{Folders: map[string]string{}, Dashboards: map[string]map[string]any{}, Versions: map[string]int{}}}
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		f.serve(w, r)
	}))
	t.Cleanup(server.Close)
	return f, server
}

var permissions = map[string]any{
	goodToken: map[string][]string{
		"folders:read": {"folders:*"}, "folders:create": {""}, "dashboards:read": {"dashboards:*"}, "dashboards:create": {"folders:*"}, "dashboards:write": {"dashboards:*"},
		"datasources:read": {"datasources:*"}, "datasources:create": {""}, "datasources:write": {"datasources:*"},
	},
	viewerToken: map[string][]string{"datasources:read": {"datasources:*"}},
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	answer := func(code int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(v) //nolint:errcheck // of a test
	}
	missing := func() { answer(http.StatusNotFound, map[string]string{"message": "not found"}) }
	text, _ := io.ReadAll(r.Body)
	var body map[string]any
	if len(text) > 0 && json.Unmarshal(text, &body) != nil {
		answer(http.StatusBadRequest, map[string]string{"message": "bad JSON"})
		return
	}
	f.requests, f.bodies = append(f.requests, r.Method+" "+r.URL.RequestURI()), append(f.bodies, body)
	if r.URL.Path == "/api/health" { // needs no token
		answer(http.StatusOK, map[string]string{"database": "ok", "version": f.version})
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if permissions[token] == nil {
		answer(http.StatusUnauthorized, map[string]string{"message": "invalid API key"})
		return
	}
	if r.Method != http.MethodGet {
		if f.writes++; f.writes == f.failAt {
			answer(http.StatusInternalServerError, map[string]string{"message": "the disk is full"})
			return
		}
	}
	last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch route := r.Method + " " + r.URL.Path; {
	case route == "GET /api/access-control/user/permissions":
		answer(http.StatusOK, permissions[token])
	case route == "GET /api/folders/"+last && f.state.Folders[last] != "":
		answer(http.StatusOK, map[string]any{"uid": last, "title": f.state.Folders[last]})
	case route == "POST /api/folders":
		f.state.Folders[body["uid"].(string)] = body["title"].(string)
		answer(http.StatusOK, map[string]any{"uid": body["uid"], "title": body["title"]})
	case route == "DELETE /api/folders/"+last && f.state.Folders[last] != "":
		delete(f.state.Folders, last)
		answer(http.StatusOK, map[string]any{})
	case route == "GET /api/dashboards/uid/"+last && f.state.Dashboards[last] != nil:
		model := maps.Clone(f.state.Dashboards[last]["dashboard"].(map[string]any))
		model["id"], model["version"] = 12, f.state.Versions[last]
		answer(http.StatusOK, map[string]any{"dashboard": model, "meta": map[string]any{"folderUid": f.state.Dashboards[last]["folderUid"]}})
	case route == "POST /api/dashboards/db":
		model := body["dashboard"].(map[string]any)
		uid := model["uid"].(string)
		if f.state.Dashboards[uid] != nil && body["overwrite"] != true {
			answer(http.StatusPreconditionFailed, map[string]string{"message": "version-mismatch"})
			return
		}
		delete(model, "id")
		delete(model, "version")
		f.state.Dashboards[uid] = map[string]any{"dashboard": model, "folderUid": body["folderUid"]}
		f.state.Versions[uid]++
		answer(http.StatusOK, map[string]any{"uid": uid, "version": f.state.Versions[uid]})
	case route == "DELETE /api/dashboards/uid/"+last && f.state.Dashboards[last] != nil:
		delete(f.state.Dashboards, last)
		delete(f.state.Versions, last)
		answer(http.StatusOK, map[string]any{})
	case route == "GET /api/datasources/uid/"+dataSourceUID && f.state.Source != nil:
		shown := maps.Clone(f.state.Source)
		delete(shown, "secureJsonData")
		shown["version"] = f.state.SourceTimes
		answer(http.StatusOK, shown)
	case route == "POST /api/datasources" || route == "PUT /api/datasources/uid/"+dataSourceUID:
		f.state.Source = body
		f.state.SourceTimes++
		answer(http.StatusOK, map[string]any{"id": 3})
	default:
		missing()
	}
}

// copy returns the state as JSON, for comparing.
func (f *fake) copy(t *testing.T) string {
	t.Helper()
	s := f.state
	s.Versions = nil
	s.SourceTimes = 0
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
