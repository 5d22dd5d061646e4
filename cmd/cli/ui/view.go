package ui

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/top"
	"github.com/csiglab/csiglab/orchestrator/labs/live"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed style.css
	style string
	//go:embed script.js
	script string

	// What takes time to make is made when a page asks for it: other commands need none.
	templates = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page").Funcs(template.FuncMap{
			"style":  func() template.CSS { return template.CSS(style) },
			"script": func() template.JS { return template.JS(script) },
			"when":   when,
			"took":   took,
			"size":   size,
			"path":   url.PathEscape,
		}).Parse(pageText))
	})
	ownPolicy = sync.OnceValue(func() string {
		return "default-src 'none'; style-src 'sha256-" + digest(style) + "'; script-src 'sha256-" + digest(script) +
			"'; connect-src 'self'; form-action 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
	})
)

// digest returns the digest of an inline text as policies have it.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// render sends a page that a template makes.
func render(w http.ResponseWriter, status int, name string, of any) {
	var text bytes.Buffer
	if err := templates().ExecuteTemplate(&text, name, of); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, status, text.Bytes())
}

// refuse answers with a page that says why there is no other one.
func refuse(w http.ResponseWriter, status int, what, why string) {
	render(w, status, "refusal", struct{ What, Why string }{what, why})
}

// perPage is how many folders a page lists.
const perPage = 50

// listPage is the page that lists folders.
type listPage struct {
	Folder, Query  string
	Entries        []entry
	Matches, Total int
	From, To       int    // of the entries, from 1
	Newer, Older   string // addresses; "" without
	Cut            bool   // the folder has more names than are looked at
	UnderWay       underWay
	Compares       bool // two of the entries can be compared
}

// underWay is what is running.
type underWay struct {
	Runs    []runLine
	Folders []entry // that a csiglab is writing and that are of no run above
	Problem string
	At      time.Time
}

// runLine is a run of the list of runs.
type runLine struct {
	ID, Name, Way, Folder string
	State                 runs.State
	Class                 string
	Nodes                 int
	Started               time.Time
	Lives                 bool // its nodes serve metrics
}

// serveList lists the folders.
func (s *Server) serveList(w http.ResponseWriter, r *http.Request) {
	leave, ok := s.look(r.Context())
	if !ok {
		return
	}
	defer leave()
	list, cut, err := s.folders.find()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "The folder cannot be listed.", err.Error())
		return
	}
	p := listPage{Folder: plain(s.config.Folder), Query: r.URL.Query().Get("q"), Total: len(list), Cut: cut}
	p.UnderWay = s.underWay(r.Context(), list)
	if p.Query != "" {
		want := strings.ToLower(p.Query)
		list = slices.DeleteFunc(list, func(f found) bool { return !strings.Contains(strings.ToLower(f.name), want) })
	}
	p.Matches = len(list)
	number, err := strconv.Atoi(r.URL.Query().Get("page"))
	last := max(1, (len(list)+perPage-1)/perPage)
	if err != nil {
		number = 1
	}
	number = min(max(number, 1), last)
	from, to := (number-1)*perPage, min(number*perPage, len(list))
	p.From, p.To = from+1, to
	if number > 1 {
		p.Newer = address(p.Query, number-1)
	}
	if number < last {
		p.Older = address(p.Query, number+1)
	}
	pairs := 0
	for i := range list[from:to] {
		if r.Context().Err() != nil {
			return
		}
		e := s.folders.entry(&list[from+i])
		if e.Compares {
			pairs++
		}
		p.Entries = append(p.Entries, e)
	}
	p.Compares = pairs > 1
	render(w, http.StatusOK, "list", p)
}

// address returns the address of a page of the list.
func address(query string, number int) string {
	return "/?" + url.Values{"q": {query}, "page": {strconv.Itoa(number)}}.Encode()
}

// serveUnderWay shows the part of the page with what is running.
func (s *Server) serveUnderWay(w http.ResponseWriter, r *http.Request) {
	leave, ok := s.look(r.Context())
	if !ok {
		return
	}
	defer leave()
	list, _, err := s.folders.find()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "The folder cannot be listed.", err.Error())
		return
	}
	render(w, http.StatusOK, "underway", s.underWay(r.Context(), list))
}

// underWay returns what is running: the runs in real time of this machine, and among the
// folders that were changed last those that are being written.
func (s *Server) underWay(ctx context.Context, list []found) underWay {
	u := underWay{At: time.Now()}
	all, err := s.config.List(ctx)
	if err != nil {
		u.Problem = plain(err.Error())
	}
	listed := map[string]bool{}
	for i := range all {
		r := &all[i]
		line := runLine{ID: r.ID, Name: plain(r.Name), Way: r.Runtime + ", " + r.Clock, Folder: plain(r.Folder), State: r.State, Nodes: len(r.Nodes), Started: r.Started}
		if r.Clock == "" {
			line.Way = r.Runtime
		}
		switch r.State {
		case runs.Running, runs.Held:
			_, err := live.Targets(r)
			line.Lives = err == nil
			line.Class, listed[r.Folder] = "good", true
		default:
			line.Class = "warn"
		}
		u.Runs = append(u.Runs, line)
	}
	for i := range list[:min(len(list), perPage)] {
		if e := s.folders.entry(&list[i]); e.Busy && !listed[list[i].path] {
			u.Folders = append(u.Folders, e)
		}
	}
	return u
}

// Of the table of a lab.
const (
	labTime = time.Second // that it is of
	labRows = 60
)

// serveLab shows the ports and flows of a lab while it runs, as csiglab top does.
func (s *Server) serveLab(w http.ResponseWriter, r *http.Request) {
	leave, ok := s.look(r.Context())
	if !ok {
		return
	}
	defer leave()
	all, err := s.config.List(r.Context())
	if err != nil {
		refuse(w, http.StatusInternalServerError, "The runs cannot be listed.", plain(err.Error()))
		return
	}
	at := slices.IndexFunc(all, func(one runs.Run) bool {
		return one.ID == r.PathValue("id") && (one.State == runs.Running || one.State == runs.Held)
	})
	if at < 0 {
		refuse(w, http.StatusNotFound, "No such run is under way.", "It may have ended.")
		return
	}
	reader, err := live.NewReader(&all[at])
	if err != nil {
		refuse(w, http.StatusConflict, "There are no numbers of this run now.", plain(err.Error()))
		return
	}
	defer reader.Close()
	before := top.NewMoment(nil, reader.Read(r.Context()))
	select {
	case <-time.After(labTime):
	case <-r.Context().Done():
		return
	}
	now := top.NewMoment(before, reader.Read(r.Context()))
	lines := top.NewView(before, now, all[at].Lateness).Table(all[at].Name+" "+all[at].ID, top.Size{Rows: labRows})
	render(w, http.StatusOK, "lab", struct{ Name, Text string }{plain(all[at].Name), strings.Join(lines, "\n")})
}

// when returns a time for the list.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04")
}

// took returns how long a run took, "" if that is not known.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// size returns the size of a folder, "" if that is not known.
func size(bytes int64) string {
	switch {
	case bytes <= 0:
		return ""
	case bytes < 1e6:
		return fmt.Sprintf("%.0f kB", float64(bytes)/1e3)
	case bytes < 1e9:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
}
