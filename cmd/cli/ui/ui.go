// Package ui serves a page for this machine that lists the run folders in a folder, opens
// their reports, compares two of them and shows the runs that are under way. It only reads:
// it starts no run and changes no folder. Package cli starts it, and makes the pages that it
// shows (Reports).
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Reports makes pages. A function writes a whole page of HTML that has a content policy of
// its own, or returns an error whose text is for the reader. It ends soon after ctx does. It
// may be called by several goroutines.
type Reports interface {
	// Report writes the page of a run's folder, or of a verdict's.
	Report(ctx context.Context, folder string, w io.Writer) error
	// Compare writes the comparison of two run folders, or of two sweeps.
	Compare(ctx context.Context, a, b string, w io.Writer) error
}

// Config says what a Server shows.
type Config struct {
	Folder  string // in which run folders are; absolute
	Reports Reports
	List    func(context.Context) ([]runs.Run, error) // runs that are under way, and what is left of others
}

// Server answers the requests of a browser on this machine.
type Server struct {
	config  Config
	folders folders
	pages   pages
	looks   chan struct{} // requests that read folders or labs, at a time
}

// mostLooks is how many requests read folders or labs at a time.
const mostLooks = 4

// New returns a Server.
func New(c Config) *Server {
	return &Server{config: c, folders: folders{dir: c.Folder}, looks: make(chan struct{}, mostLooks), pages: newPages()}
}

// Handler returns what answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.serveList)
	mux.HandleFunc("/underway", s.serveUnderWay)
	mux.HandleFunc("/run/{name}", s.serveReport)
	mux.HandleFunc("/compare", s.serveComparison)
	mux.HandleFunc("/lab/{id}", s.serveLab)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "There is no such page.", "")
	})
	return guard(mux)
}

// Times and sizes of requests.
const (
	headTime   = 10 * time.Second // in which a request's head must come
	idleTime   = time.Minute      // after which a connection is closed
	answerTime = 30 * time.Second // in which a browser must take an answer
	endTime    = time.Second      // that requests under way have to end after Ctrl-C
	mostHead   = 16 << 10         // bytes of a request's head
)

// Serve answers the requests of a listener until ctx ends, which is no error. When it
// returns, all connections are closed and no page is being made.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: mostHead,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		if server.Shutdown(last) != nil {
			server.Close() // of browsers that take longer
		}
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	<-closed
	s.pages.end()
	return nil
}

// look waits for a turn to read folders or labs. The caller calls leave.
func (s *Server) look(ctx context.Context) (leave func(), ok bool) {
	select {
	case s.looks <- struct{}{}:
		return func() { <-s.looks }, true
	case <-ctx.Done():
		return nil, false
	}
}

// serveReport shows the report of a folder.
func (s *Server) serveReport(w http.ResponseWriter, r *http.Request) {
	f := s.find(w, r, r.PathValue("name"))
	if f == nil {
		return
	}
	s.servePage(w, r, "report\x00"+f.mark, func(ctx context.Context, to io.Writer) error {
		return s.config.Reports.Report(ctx, f.path, to)
	})
}

// serveComparison compares the two folders that the form names.
func (s *Server) serveComparison(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("a") == "" || q.Get("b") == "" {
		refuse(w, http.StatusBadRequest, "Choose two folders: one in column A, one in column B.", "")
		return
	}
	a := s.find(w, r, q.Get("a"))
	if a == nil {
		return
	}
	b := s.find(w, r, q.Get("b"))
	if b == nil {
		return
	}
	s.servePage(w, r, "compare\x00"+a.mark+"\x00"+b.mark, func(ctx context.Context, to io.Writer) error {
		return s.config.Reports.Compare(ctx, a.path, b.path, to)
	})
}

// find returns a folder of the list, or answers that there is none.
func (s *Server) find(w http.ResponseWriter, r *http.Request, name string) *found {
	leave, ok := s.look(r.Context())
	if !ok {
		return nil
	}
	defer leave()
	list, _, err := s.folders.find()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "The folder cannot be listed.", err.Error())
		return nil
	}
	for i := range list {
		if list[i].name != name {
			continue
		}
		e := s.folders.entry(&list[i])
		if !e.Opens && !e.Compares {
			refuse(w, http.StatusConflict, "There is no page of "+plain(name)+" now.", e.State.Word+": "+e.State.Why)
			return nil
		}
		return &list[i]
	}
	refuse(w, http.StatusNotFound, "There is no such folder in the list.", "")
	return nil
}

// servePage sends a page, which it makes unless it has it.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, key string, of maker) {
	text, err := s.pages.get(r.Context(), key, of)
	var policy string
	if err == nil {
		policy, err = policyOf(text)
	}
	switch {
	case r.Context().Err() != nil: // nobody reads it
		return
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, "Too many pages are being made.", "Try again in some seconds.")
		return
	case err != nil:
		refuse(w, http.StatusUnprocessableEntity, "The page cannot be made.", err.Error())
		return
	}
	w.Header().Set(policyHeader, policy)
	send(w, http.StatusOK, text)
}

// send sends a page in the time that a browser has to take it.
func send(w http.ResponseWriter, status int, page []byte) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)) //nolint:errcheck // a recorder of a test has none
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(page) //nolint:errcheck // the browser has gone
}
