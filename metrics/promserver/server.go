// Package promserver is a Prometheus server in memory for the runs of csiglab: its own
// storage, query engine and HTTP API, which Grafana takes for a Prometheus. It loads run
// folders (metrics/series) and scrapes labs that go on. It has no configuration file, no
// rules and no memory of earlier servers: what it stores is in a temporary folder that
// Close removes.
//
// It knows nothing of labs: its caller says how to read the text of a node (Lab).
package promserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/metrics/promserver/limits"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/metrics/series"
)

// Config is how a Server works. The zero value is a server without a token that scrapes
// each second and keeps what it has scraped for six hours.
type Config struct {
	// Token is what each request must carry as a bearer token; "" lets everybody in.
	Token string
	// Interval is the time between two scrapes of a lab; 0: exposition.ScrapeInterval.
	Interval time.Duration
	// Retention is for how long the samples of labs are kept; 0: defaultRetention. Those of
	// run folders are kept until Close.
	Retention time.Duration
	// LocalNames refuses requests whose Host header names another machine than this one, so
	// that a page of the web cannot reach a server on the loopback interface by giving its
	// own name that address.
	LocalNames bool
	// Limits are what queries may cost.
	Limits limits.Limits
	// Say gets a line of text when a lab comes, fails or ends; nil: nobody does. It is called
	// from several goroutines.
	Say func(text string)
	// Fail is called once if the server can keep no more of what it scrapes, as its temporary
	// folder is full; nil: nobody is told.
	Fail func(err error)
}

// Defaults of Config.
const (
	defaultRetention = 6 * time.Hour
)

// Server is a Prometheus server. Its methods may be called from several goroutines. Build
// it with New, and call Close at the end.
type Server struct {
	config  Config
	dir     *own.Temporary
	storage both
	full    atomic.Bool // a storage could not write
	limits  limits.Limits
	parser  *limitedParser
	engine  *engine
	targets targets

	mu     sync.Mutex
	loaded []Loaded
	labs   map[string]*watched // by id
	names  map[string]bool     // values of the label run
	end    context.CancelFunc  // called with mu held, so that nothing begins after it
	ctx    context.Context
	tasks  sync.WaitGroup // scrapes
	users  sync.WaitGroup // requests and queries
}

// Loaded is a run folder that has been loaded.
type Loaded struct {
	Folder string // absolute
	series.Loaded
}

// New returns a Server that has nothing to show yet. The error is one of the temporary
// folder.
func New(c Config) (*Server, error) {
	if c.Interval <= 0 {
		c.Interval = exposition.ScrapeInterval
	}
	if c.Retention <= 0 {
		c.Retention = defaultRetention
	}
	if c.Say == nil {
		c.Say = func(string) {}
	}
	if c.Fail == nil {
		c.Fail = func(error) {}
	}
	own.RemoveLeft("", own.ServerFolders) //nolint:errcheck // what cannot be removed does not concern this server
	dir, err := own.NewTemporary("", own.ServerFolders)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s := &Server{config: c, dir: dir, labs: map[string]*watched{}, names: map[string]bool{}}
	if err := s.open(); err != nil {
		s.Close() //nolint:errcheck // the first error is the cause
		return nil, fmt.Errorf("serve: %w", err)
	}
	return s, nil
}

func (s *Server) open() (err error) {
	s.ctx, s.end = context.WithCancel(context.Background())
	if s.storage.loaded, err = openLoaded(s.dir.Path("runs")); err != nil {
		return err
	}
	if s.storage.scraped, err = openScraped(s.dir.Path("labs"), s.config.Retention); err != nil {
		return err
	}
	s.limits = s.config.Limits.WithDefaults()
	s.parser = newParser(&s.limits)
	s.engine = newEngine(s.storage, &s.limits, s.parser)
	s.tasks.Go(func() { s.mapScraped(mapInterval) })
	return nil
}

// patience is how long Close waits for requests whose contexts have ended.
const patience = 10 * time.Second

// errClosed is what requests and queries get once Close has been called.
var errClosed = errors.New("csiglab serve is ending")

// enter counts a request or a query, and returns the context that it works under, which
// ends when the server is closed. The caller calls leave at the end. ok is false if the
// server has been closed.
func (s *Server) enter(parent context.Context) (ctx context.Context, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, nil, false
	}
	s.users.Add(1)
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
		s.users.Done()
	}, true
}

// Close ends scraping, queries and requests, waits for them, and removes what the server
// has stored. Later requests and queries get errors. The caller closes the connections of
// Handler's clients first: a request that waits for a client that reads nothing holds
// Close up for ten seconds.
func (s *Server) Close() error {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.tasks.Wait()
	left := make(chan struct{})
	go func() {
		s.users.Wait()
		close(left)
	}()
	select {
	case <-left:
	case <-time.After(patience):
		// What a request still uses stays in memory: it must not be unmapped under it.
		return errors.Join(fmt.Errorf("serve: a request still worked %v after its end", patience), s.dir.Remove())
	}
	if s.full.Load() {
		return s.dir.Remove() // Prometheus cannot close a storage whose file it could not begin
	}
	return errors.Join(s.storage.close(), s.dir.Remove())
}

// Load loads a run folder. o.Run is the value of the label run, by default the folder's
// name; if another run has it already, "#2" is appended, or the next number. What has
// been loaded of a folder that turns out to be damaged stays, and is not listed. The error
// wraps those of runfolder.OpenKept.
func (s *Server) Load(ctx context.Context, folder string, o series.Options) (Loaded, error) {
	path, err := filepath.Abs(folder)
	if err != nil {
		return Loaded{}, fmt.Errorf("load run: %w", err)
	}
	f, err := runfolder.OpenKept(folder)
	if err != nil {
		return Loaded{}, err
	}
	if o.Run == "" {
		o.Run = filepath.Base(path)
	}
	o.Run = s.reserve(o.Run)
	to := &loader{ctx: ctx, db: s.storage.loaded, full: &s.full, seen: map[uint64]bool{}}
	numbers, err := series.Read(ctx, f, o, to)
	if end := to.end(); err == nil {
		err = end
	}
	if err != nil {
		return Loaded{}, fmt.Errorf("load run %s: %w", folder, err)
	}
	s.engine.memory.measure()
	l := Loaded{path, numbers}
	s.mu.Lock()
	s.loaded = append(s.loaded, l)
	s.mu.Unlock()
	s.targets.addFolder(l)
	return l, nil
}

// reserve returns a value of the label run that no other run has.
func (s *Server) reserve(run string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := run
	for n := 2; s.names[name]; n++ {
		name = fmt.Sprintf("%s#%d", run, n)
	}
	s.names[name] = true
	return name
}

// Handler returns the server's pages: the API below /api/v1/, /-/ready and /-/healthy, the
// list of runs at /, and /scrape/LAB/NODE, the text of a node as an existing Prometheus
// scrapes it, with a list of them for its http_sd_configs at /sd.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/v1/", http.StripPrefix("/api/v1", s.api()))
	ok := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, text) } //nolint:errcheck // the client has gone
	}
	mux.HandleFunc("/-/ready", ok("csiglab serve is ready."))
	mux.HandleFunc("/-/healthy", ok("csiglab serve is healthy."))
	mux.HandleFunc("GET /scrape/{lab}/{node}", s.serveNode)
	mux.HandleFunc("GET /sd", s.serveTargets)
	mux.HandleFunc("GET /{$}", s.serveIndex)
	return s.guard(mux)
}
