package promserver

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"html/template"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics/exposition"
)

//go:embed index.html.tmpl
var indexText string

var index = template.Must(template.New("index").Parse(indexText))

// guard refuses requests without the token and those that name another machine. It ends
// the others when the server is closed.
func (s *Server) guard(h http.Handler) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + s.config.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			// net/http waits for the body of a request before it answers, also if nobody reads it.
			http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.limits.Time)) //nolint:errcheck // a recorder of a test has none
		}
		switch {
		case s.config.Token != "":
			// Digests have one length, so that the comparison takes one time.
			have := sha256.Sum256([]byte(r.Header.Get("Authorization")))
			if subtle.ConstantTimeCompare(have[:], want[:]) != 1 {
				w.Header().Set("WWW-Authenticate", `Bearer realm="csiglab"`)
				http.Error(w, "this server needs the bearer token of its --token-file", http.StatusUnauthorized)
				return
			}
		case s.config.LocalNames && !localName(r.Host):
			http.Error(w, "this server answers to localhost and to addresses only", http.StatusForbidden)
			return
		}
		ctx, leave, ok := s.enter(r.Context())
		if !ok {
			http.Error(w, errClosed.Error(), http.StatusServiceUnavailable)
			return
		}
		defer leave()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// localName reports whether the host of a request is an address or localhost.
func localName(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.Trim(name, "[]")
	_, err = netip.ParseAddr(name)
	return err == nil || name == "localhost" || name == ""
}

// Range returns the time range of a run as Grafana has it in addresses, a little wider than
// the run: "from=1763800000000&to=1763800033000".
func (l *Loaded) Range() string {
	margin := max(l.To.Sub(l.From)/50, time.Millisecond)
	return url.Values{
		"from": {milliseconds(l.From.Add(-margin))}, "to": {milliseconds(l.To.Add(margin))},
	}.Encode()
}

func milliseconds(t time.Time) string {
	text, _ := json.Marshal(t.UnixMilli()) //nolint:errcheck // a number
	return string(text)
}

// examples are queries that the page shows, for the run that it names.
var examples = []struct{ Title, Query string }{
	{"Utilisation of the ports, in each telemetry window", `csig_port_utilisation_ratio`},
	{"The five deepest queues", `topk(5, csig_port_queue_peak_bytes)`},
	{"Ports that CSIG samples named as the bottleneck", `sum by (bottleneck) (csig_signal_samples_total)`},
	{"Congestion windows", `csig_flow_cwnd_bytes`},
	{"Goodput by flow or job", `csig_flow_receive_bytes_per_second`},
}

// serveIndex lists the runs, labs by id.
func (s *Server) serveIndex(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	type lab struct {
		ID    string
		Nodes []string
	}
	page := struct {
		Runs     []Loaded
		Labs     []lab
		Examples any
	}{Runs: s.loaded, Examples: examples}
	for _, id := range slices.Sorted(maps.Keys(s.labs)) {
		page.Labs = append(page.Labs, lab{id, s.labs[id].known})
	}
	var text bytes.Buffer
	err := index.Execute(&text, page)
	s.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Write(text.Bytes()) //nolint:errcheck // the client has gone
}

// lab returns a lab that is being scraped, nil without.
func (s *Server) lab(id string) *watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.labs[id]
}

// serveNode serves the text of a node as it is now.
func (s *Server) serveNode(w http.ResponseWriter, r *http.Request) {
	l := s.lab(r.PathValue("lab"))
	if l == nil {
		http.Error(w, "no such lab is being scraped", http.StatusNotFound)
		return
	}
	text, err := l.lab.Text(r.Context(), r.PathValue("node"))
	switch {
	case errors.Is(err, ErrEnded):
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Write(text) //nolint:errcheck // the client has gone
}

// serveTargets lists the nodes of all labs, by lab and name, at the address under which the client has
// reached the server.
func (s *Server) serveTargets(w http.ResponseWriter, r *http.Request) {
	list := []exposition.TargetGroup{}
	s.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(s.labs)) {
		for _, node := range s.labs[id].known {
			list = append(list, exposition.TargetOf(r.Host, id, node))
		}
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(list) //nolint:errcheck // the client has gone
}
