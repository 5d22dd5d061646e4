package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics/promserver"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/metrics/series"
	"github.com/csiglab/csiglab/orchestrator/live"
	"github.com/csiglab/csiglab/orchestrator/runs"
)

// loadFlags say how run folders become series.
type loadFlags struct {
	stretch  int
	allSeeds bool
}

func (l *loadFlags) flags(f *pflag.FlagSet) {
	f.IntVar(&l.stretch, "stretch", series.Stretched, "show a second of the model as `N` seconds; windows of 100 us need 1000, as Prometheus has whole milliseconds")
	f.BoolVar(&l.allSeeds, "all-seeds", false, "all seeds of a variant, not the first one alone")
}

func (l *loadFlags) options() (series.Options, error) {
	if l.stretch < 1 || l.stretch > series.MostStretch {
		return series.Options{}, usage("--stretch %d: want 1 to %d", l.stretch, series.MostStretch)
	}
	return series.Options{Stretch: l.stretch, AllSeeds: l.allSeeds}, nil
}

// serveFlags are the flags of serve.
type serveFlags struct {
	listen    string
	tokenFile string
	insecure  bool
	interval  time.Duration
	load      loadFlags
}

func (a *app) serve() *cobra.Command {
	var s serveFlags
	cmd := &cobra.Command{
		Use:   "serve [RUN|LAB...]",
		Short: "Be a Prometheus server for run folders and labs, as Grafana's data source",
		Long: "Be a Prometheus server for run folders and labs until Ctrl-C. Grafana takes it for a data source of type\n" +
			"Prometheus; nothing else needs to be installed. A RUN is a run's folder, a LAB a run that is under way, by id or\n" +
			"name. Without arguments: all labs, also those that come later, and the newest run in runs/.",
		Example: "  csiglab serve runs/three\n  csiglab serve lab --listen 127.0.0.1:9091",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runServer(cmd.Context(), args, &s)
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.listen, "listen", "127.0.0.1:9090", "the `ADDRESS` to listen at; port 0 takes a free one")
	f.StringVar(&s.tokenFile, "token-file", "", "clients must send the text in this `FILE` as a bearer token")
	f.BoolVar(&s.insecure, "insecure", false, "listen beyond this machine without a token")
	f.DurationVar(&s.interval, "interval", promserver.DefaultInterval, "the `TIME` between two scrapes of a lab")
	s.load.flags(f)
	return cmd
}

// runServer serves until ctx ends.
func (a *app) runServer(ctx context.Context, args []string, s *serveFlags) (err error) {
	o, err := s.load.options()
	if err != nil {
		return err
	}
	c, err := s.config()
	if err != nil {
		return err
	}
	c.Say = a.say
	folders, labs, err := a.served(ctx, args)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, s.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	server, err := promserver.New(c)
	if err != nil {
		return infrastructure(err)
	}
	defer func() {
		if end := server.Close(); err == nil && end != nil {
			err = infrastructure(end)
		}
	}()
	for _, r := range labs {
		server.Scrape(r.ID, a.scraped(r.ID))
	}
	for _, folder := range folders {
		loaded, err := server.Load(ctx, folder, o)
		if err != nil {
			return loadError(ctx, err)
		}
		a.say(fmt.Sprintf("%s: run %q, %d series, %s to %s; model time is stretched %d times%s\n  in Grafana's address: %s", folder, loaded.Run, loaded.Series,
			loaded.From.Format(timeOfRun), loaded.To.Format(timeOfRun), loaded.Stretch, others(&loaded), loaded.Range()))
	}
	if len(args) == 0 {
		go a.watchLabs(ctx, server)
	}
	if err := a.print(fmt.Sprintf("http://%s/\n", listener.Addr())); err != nil {
		return err
	}
	return serveUntil(ctx, listener, server.Handler())
}

// config checks the flags of a server.
func (s *serveFlags) config() (c promserver.Config, err error) {
	const least = 100 * time.Millisecond
	if s.interval < least {
		return c, usage("--interval %v: want at least %v", s.interval, least)
	}
	host, port, err := net.SplitHostPort(s.listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return c, usage("--listen %q: want an address and a port, such as 127.0.0.1:9090", s.listen)
	}
	if s.tokenFile != "" {
		if c.Token, err = readToken(s.tokenFile); err != nil {
			return c, err
		}
	}
	addr, err := netip.ParseAddr(host)
	local := host == "localhost" || err == nil && addr.Unmap().IsLoopback()
	if !local && c.Token == "" && !s.insecure {
		return c, usage("--listen %s can be reached from other machines: add --token-file, or --insecure to let everybody in", s.listen)
	}
	c.Interval, c.LocalNames = s.interval, local
	return c, nil
}

// maxToken is the size of a token at most, in bytes.
const maxToken = 4096

// readToken reads a file with one line.
func readToken(name string) (string, error) {
	file, err := own.Input(name, maxToken)
	if err != nil {
		return "", usage("--token-file %s: %w", name, cause.Of(err))
	}
	defer file.Close() // opened for reading
	line, err := bufio.NewReader(io.LimitReader(file, maxToken)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", usage("--token-file %s: %w", name, cause.Of(err))
	}
	token := strings.TrimSpace(line)
	if token == "" || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", usage("--token-file %s: want one line of printable ASCII without blanks", name)
	}
	return token, nil
}

// served returns the folders and the labs that the arguments name.
func (a *app) served(ctx context.Context, args []string) (folders []string, labs []runs.Run, err error) {
	if len(args) == 0 {
		if newest := newestRun("runs"); newest != "" {
			folders = append(folders, newest)
		}
		return folders, nil, nil
	}
	var list []runs.Run
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			folders = append(folders, arg)
			continue
		} else if err == nil {
			return nil, nil, usage("%s: want a run's folder or a lab; it is a file", arg)
		}
		if list == nil {
			if list, err = a.runs(ctx); err != nil {
				return nil, nil, err
			}
		}
		r, err := runs.Find(list, arg)
		var unknown *runs.UnknownError
		if errors.As(err, &unknown) {
			known := append(folderNames("runs"), folderNames(filepath.Dir(arg))...)
			return nil, nil, usage("%s: there is no such folder, and no such run is under way%s", arg, didYouMean(arg, append(known, unknown.Known...)))
		}
		if err != nil {
			return nil, nil, labError(err)
		}
		if r.State == runs.Dead {
			return nil, nil, dead(r)
		}
		if r.State == runs.Foreign {
			return nil, nil, foreign(r)
		}
		if len(r.Nodes) > 0 {
			if _, err := live.Targets(&r); err != nil {
				return nil, nil, usage("%w", err)
			}
		}
		if !slices.ContainsFunc(labs, func(other runs.Run) bool { return other.ID == r.ID }) {
			labs = append(labs, r)
		}
	}
	return folders, labs, nil
}

// mostNames is how many names in a folder are compared with a wrong one.
const mostNames = 1000

// folderNames returns the folders in a folder, with its name.
func folderNames(parent string) (names []string) {
	entries, _ := os.ReadDir(parent) //nolint:errcheck // none: no names
	if len(entries) > mostNames {
		entries = entries[:mostNames]
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, filepath.Join(parent, e.Name()))
		}
	}
	return names
}

// newestRun returns the run folder in a folder that was started last and is complete; ""
// without one.
func newestRun(parent string) (newest string) {
	var started time.Time
	for _, name := range folderNames(parent) {
		f, err := runfolder.Open(name)
		if err == nil && f.Manifest.Started.After(started) {
			newest, started = name, f.Manifest.Started
		}
	}
	return newest
}

// watchInterval is how often serve without arguments looks for labs.
const watchInterval = 2 * time.Second

// watchLabs scrapes all labs, and those that come later, until ctx ends.
func (a *app) watchLabs(ctx context.Context, server *promserver.Server) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		list, err := a.lab.list(ctx)
		if err != nil && ctx.Err() == nil {
			a.say("labs: " + err.Error())
		}
		for _, r := range list {
			if r.State != runs.Held && r.State != runs.Running || slices.Contains(server.Labs(), r.ID) {
				continue
			}
			if _, err := live.Targets(&r); err == nil {
				a.say(fmt.Sprintf("lab %s: %s, %s", r.ID, r.Name, plural(len(r.Nodes), "node")))
				server.Scrape(r.ID, a.scraped(r.ID))
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// listen listens at an address.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, infrastructure(fmt.Errorf("--listen %s: the port is in use, perhaps by another csiglab serve or a Prometheus; --listen 127.0.0.1:0 takes a free one", address))
	}
	if err != nil {
		return nil, infrastructure(fmt.Errorf("--listen %s: %w", address, cause.Of(err)))
	}
	return l, nil
}

// endOfServe is how long requests that are under way may take after Ctrl-C.
const endOfServe = 2 * time.Second

// serveUntil serves until ctx ends, which is no error. When it returns, all connections are
// closed.
func serveUntil(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		last, cancel := context.WithTimeout(context.Background(), endOfServe)
		defer cancel()
		if server.Shutdown(last) != nil {
			server.Close() // requests that take longer end here
		}
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return infrastructure(err)
	}
	<-closed // Serve returns when the shutdown begins
	return nil
}

// loadError gives an error of loading a run folder its exit code.
func loadError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return infrastructure(errors.New("interrupted"))
	}
	return folderError(err)
}
