package grafana

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/dashboards"
	"github.com/csiglab/csiglab/internal/checkout"
)

var begin = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)

func sampleRun() Run { return Run{Name: "three-flow", From: begin, To: begin.Add(14 * time.Second)} }

func config(server *httptest.Server) Config {
	return Config{URL: server.URL, Token: goodToken, DataSource: DataSource{URL: "http://localhost:9090", Token: "secret"}, Runs: []Run{sampleRun()}, Message: "csiglab test"}
}

// What a first push sends: it looks before it writes, and the data source comes last.
func TestPush(t *testing.T) {
	f, server := newFake(t)
	changes, err := Push(t.Context(), config(server))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"GET /api/health", "GET /api/access-control/user/permissions", "GET /api/datasources/uid/csiglab", "GET /api/folders/csiglab", "POST /api/folders"}
	for _, d := range dashboards.All() {
		want = append(want, "GET /api/dashboards/uid/"+d.UID, "POST /api/dashboards/db")
	}
	want = append(want, "POST /api/datasources")
	if diff := cmp.Diff(want, f.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"title": "csiglab", "uid": "csiglab"}, f.bodies[4]); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
	for i, d := range dashboards.All() {
		var model map[string]any
		if err := json.Unmarshal(d.JSON, &model); err != nil {
			t.Fatal(err)
		}
		model["time"], model["refresh"] = map[string]any{"from": "2026-05-01T09:59:59.000Z", "to": "2026-05-01T10:00:15.000Z"}, ""
		delete(model, "id")
		delete(model, "version")
		got := f.bodies[6+2*i]
		if diff := cmp.Diff(model, got["dashboard"]); diff != "" || got["folderUid"] != "csiglab" || got["message"] != "csiglab test" || got["overwrite"] != nil {
			t.Errorf("%s: body %v (-want +got):\n%s", d.UID, got["message"], diff)
		}
	}
	n := len(f.bodies)
	source := map[string]any{
		"uid": "csiglab", "name": "csiglab", "type": "prometheus", "access": "proxy", "url": "http://localhost:9090", "isDefault": false, "basicAuth": false, "readOnly": false,
		"jsonData":       map[string]any{"httpMethod": "POST", "timeInterval": "1s", "prometheusType": "Prometheus", "manageAlerts": false, "httpHeaderName1": "Authorization"},
		"secureJsonData": map[string]any{"httpHeaderValue1": "Bearer secret"},
	}
	if diff := cmp.Diff(source, f.bodies[n-1]); diff != "" {
		t.Errorf("data source (-want +got):\n%s", diff)
	}
	if len(changes) != 1+len(dashboards.All())+1 || slices.ContainsFunc(changes, func(c Change) bool { return c.Did != created }) {
		t.Errorf("changes %v, want all created", changes)
	}
	if got, want := changes[1].URL.String(), server.URL+"/d/csiglab-compare?from=1777629599000&to=1777629615000&var-datasource=csiglab&var-run=three-flow"; got != want {
		t.Errorf("page %s, want %s", got, want)
	}
}

// A second push writes nothing; without a token not even the data source.
func TestPushTwice(t *testing.T) {
	f, server := newFake(t)
	c := config(server)
	c.DataSource.Token = ""
	push := func() []Change {
		t.Helper()
		f.writes = 0
		changes, err := Push(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return changes
	}
	push()
	before := f.copy(t)
	changes := push()
	if f.writes != 0 || slices.ContainsFunc(changes, func(c Change) bool { return c.Did != unchanged }) {
		t.Errorf("the second push writes %d times: %v", f.writes, changes)
	}
	if diff := cmp.Diff(before, f.copy(t)); diff != "" {
		t.Errorf("the second push changes the state:\n%s", diff)
	}
	c.DataSource.Token = "secret" // which Grafana does not tell
	push()
	if push(); f.writes != 1 {
		t.Errorf("with a token %d writes, want that of the data source", f.writes)
	}
	// A dashboard that the user has changed and moved is restored where it is.
	moved := f.state.Dashboards["csiglab-fabric"]
	moved["folderUid"] = "mine"
	moved["dashboard"].(map[string]any)["title"] = "my fabric"
	push()
	if moved = f.state.Dashboards["csiglab-fabric"]; moved["folderUid"] != "mine" || moved["dashboard"].(map[string]any)["title"] != "csiglab: fabric overview" {
		t.Errorf("folder %v, title %v", moved["folderUid"], moved["dashboard"].(map[string]any)["title"])
	}
}

// Whichever write fails, the state is as before: of an empty server, and of one that has
// had a push of another state.
func TestPushTakesBack(t *testing.T) {
	checkout.SkipSlowRace(t)
	earlier := config(&httptest.Server{})
	earlier.Runs = []Run{sampleRun()}
	earlier.Runs[0].To = begin.Add(time.Minute)
	for name, prepare := range map[string]func(t *testing.T, url string, f *fake){
		"empty": func(*testing.T, string, *fake) {},
		"after another push": func(t *testing.T, url string, f *fake) {
			c := earlier
			c.URL = url
			if _, err := Push(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			for uid := range f.state.Dashboards {
				f.state.Dashboards[uid]["dashboard"].(map[string]any)["title"] = "old"
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				f, server := newFake(t)
				prepare(t, server.URL, f)
				before := f.copy(t)
				f.writes, f.failAt = 0, at
				_, err := Push(t.Context(), config(server))
				if err == nil {
					if at < 5 {
						t.Errorf("a push has %d writes, want more", at-1)
					}
					return
				}
				if !strings.Contains(err.Error(), "the disk is full") || strings.Contains(err.Error(), "taking back") {
					t.Errorf("write %d: %v", at, err)
				}
				if diff := cmp.Diff(before, f.copy(t)); diff != "" {
					t.Errorf("write %d failed and left (-before +after):\n%s", at, diff)
				}
			}
		})
	}
}

// A push that is interrupted takes back what it did.
func TestPushInterrupted(t *testing.T) {
	f, server := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	handler := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/dashboards/uid/csiglab-flows" {
			cancel()
			<-r.Context().Done()
			return
		}
		handler.ServeHTTP(w, r)
	})
	before := f.copy(t)
	if _, err := Push(ctx, config(server)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was canceled", err)
	}
	if diff := cmp.Diff(before, f.copy(t)); diff != "" {
		t.Errorf("an interrupted push left:\n%s", diff)
	}
}

// What cannot be pushed to is refused before anything is written.
func TestRefused(t *testing.T) {
	page := func(code int, header, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", header)
			w.WriteHeader(code)
			fmt.Fprint(w, text)
		}
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, c := range map[string]struct {
		change  func(c *Config, f *fake)
		handler http.HandlerFunc
		want    error
		text    string
	}{
		"wrong token":     {change: func(c *Config, _ *fake) { c.Token = "glsa_wrong" }, want: ErrToken, text: "it does not accept the token: invalid API key"},
		"viewer":          {change: func(c *Config, _ *fake) { c.Token = viewerToken }, want: ErrPermission, text: "it lacks folders:read, folders:create"},
		"old":             {change: func(_ *Config, f *fake) { f.version = "9.5.21" }, want: ErrOld, text: "Grafana 9.5.21; csiglab's dashboards need 10.0 or newer"},
		"no version":      {change: func(_ *Config, f *fake) { f.version = "x" }, want: ErrNoGrafana, text: `its version is "x"`},
		"no token":        {change: func(c *Config, _ *fake) { c.Token = "" }, text: "the token is empty"},
		"token of lines":  {change: func(c *Config, _ *fake) { c.Token = "a\nb" }, text: "no token of Grafana has"},
		"no address":      {change: func(c *Config, _ *fake) { c.URL = "grafana" }, text: "is not an address such as http://localhost:3000"},
		"user in address": {change: func(c *Config, _ *fake) { c.URL = "http://admin:admin@localhost" }, text: "needs the token of a service account"},
		"data source":     {change: func(c *Config, _ *fake) { c.DataSource.URL = "localhost:9090" }, text: "data source: "},
		"closed":          {change: func(c *Config, _ *fake) { c.URL = "http://" + closed.Addr().String() }, want: ErrUnreachable, text: "connection refused"},
		"silent":          {change: func(c *Config, _ *fake) { c.Timeout = 50 * time.Millisecond }, handler: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, want: ErrUnreachable, text: "no answer within 50ms"},
		"page":            {handler: page(200, "", "<html>"), want: ErrNoGrafana, text: "is not JSON"},
		"other API":       {handler: page(200, "", `{"status": "ok"}`), want: ErrNoGrafana, text: "says nothing of a database"},
		"nothing there":   {handler: page(404, "", "404"), want: ErrNoGrafana, text: "it has no /api/health"},
		"elsewhere":       {handler: page(302, "https://grafana.example/", ""), want: ErrNoGrafana, text: `it redirects to "https://grafana.example/"`},
		"ill":             {handler: page(503, "", `{"message": "no database"}`), text: "status 503: no database"},
		"other data source": {change: func(_ *Config, f *fake) {
			f.state.Source = map[string]any{"uid": "csiglab", "type": "loki"}
		}, text: "of type loki and not csiglab's"},
		"data source of a file": {change: func(_ *Config, f *fake) {
			f.state.Source = map[string]any{"uid": "csiglab", "type": "prometheus", "readOnly": true}
		}, text: "comes from a file of the server"},
	} {
		t.Run(name, func(t *testing.T) {
			f, server := newFake(t)
			if c.handler != nil {
				server.Config.Handler = c.handler
			}
			conf := config(server)
			if c.change != nil {
				c.change(&conf, f)
			}
			before := f.copy(t)
			_, err := Push(t.Context(), conf)
			if err == nil || !strings.Contains(err.Error(), c.text) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v, want %v, %q", err, c.want, c.text)
			}
			if after := f.copy(t); after != before || f.writes != 0 {
				t.Errorf("%d writes:\n%s", f.writes, cmp.Diff(before, after))
			}
		})
	}
}

// A hostile server's text reaches no terminal raw, is short, and has no token that it echoes.
func TestHostileServer(t *testing.T) {
	conf := Config{Token: "glsa_secret_0123456789", DataSource: DataSource{URL: "http://localhost:9090", Token: "token-of-prometheus"}}
	hostile := "\x1b[31mred\x1b]0;title\a " + conf.Token + " " + conf.DataSource.Token + strings.Repeat("x", 185) + conf.Token + strings.Repeat(" y", 2_500_000)
	text, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	version := `{"database": "ok", "version": ` + string(text) + `}`
	for name, handler := range map[string]http.HandlerFunc{
		"message": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			fmt.Fprintf(w, `{"message": %s}`, text)
		},
		"token": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401); fmt.Fprint(w, hostile) },
		"location": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Location"] = []string{"/" + conf.Token}
			w.WriteHeader(302)
		},
		"version": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, version) },
		"old": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Replace(version, `"version": "`, `"version": "9.`, 1))
		},
		"absent": func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/api/health":
				fmt.Fprint(w, `{"database": "ok", "version": "11.0.0"}`)
			case "/api/access-control/user/permissions":
				fmt.Fprintf(w, `{"folders:read": [], %s: []}`, text)
			default:
				w.WriteHeader(404)
				fmt.Fprint(w, hostile)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(handler)
			defer server.Close()
			conf := conf
			conf.URL = server.URL
			conf.Runs = []Run{sampleRun()}
			_, err := Push(t.Context(), conf)
			if err == nil {
				t.Fatal("it was pushed")
			}
			said := err.Error()
			if strings.ContainsFunc(said, func(c rune) bool { return !unicode.IsPrint(c) }) || len(said) > 2000 {
				t.Errorf("%d bytes: %.300q", len(said), said)
			}
			if strings.Contains(said, "glsa_") || strings.Contains(said, "token-of") {
				t.Errorf("a token: %.1000q", said)
			}
		})
	}
}
