package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/metrics/series"
	"github.com/csiglab/csiglab/orchestrator/labs/live"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// loadFlags say how run folders become series.
type loadFlags struct {
	stretch  stretch
	allSeeds bool
}

func (l *loadFlags) flags(f *pflag.FlagSet) {
	stretchFlag(f, &l.stretch)
	f.BoolVar(&l.allSeeds, "all-seeds", false, "all seeds of a variant, not the first one alone")
}

// stretchFlag declares --stretch.
func stretchFlag(f *pflag.FlagSet, s *stretch) {
	f.Var(s, "stretch", "show a second of the model as `N` seconds; auto is a power of ten, so that a telemetry window takes 100 ms to a second, and 1 for labs")
}

// stretch is the value of --stretch; 0 is auto, each run's own.
type stretch int

func (s *stretch) String() string {
	if *s == 0 {
		return "auto"
	}
	return strconv.Itoa(int(*s))
}

func (s *stretch) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case text == "auto":
		n = 0
	case err != nil || n < 1 || n > series.MostStretch:
		return fmt.Errorf("want 1 to %d, or auto", series.MostStretch)
	}
	*s = stretch(n)
	return nil
}

func (*stretch) Type() string { return "N" }

func (l *loadFlags) options() series.Options {
	return series.Options{Stretch: int(l.stretch), AllSeeds: l.allSeeds, Meaning: measure.Meaning}
}

// serveFlags are the flags of serve.
type serveFlags struct {
	listen    string
	tokenFile string
	insecure  bool
	interval  time.Duration
	load      loadFlags
	limits    limitFlags
}

func serveCommand(a *command.App) *cobra.Command {
	var s serveFlags
	cmd := command.Needs(&cobra.Command{
		Use:   "serve [RUN|LAB...]",
		Short: "Be a Prometheus server for run folders and labs, as Grafana's data source",
		Long: "Be a Prometheus server for run folders and labs until Ctrl-C. Grafana takes it for a data source of type\n" +
			"Prometheus; nothing else needs to be installed. A RUN is a run's folder, a LAB a run that is under way, by id or\n" +
			"name. Without arguments: all labs, also those that come later, and the newest run in the folder of runs.",
		Example: "  csiglab serve runs/three\n  csiglab serve lab --listen 127.0.0.1:9091",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServer(cmd.Context(), a, args, &s)
		},
	}, programs.Serve)
	f := cmd.Flags()
	f.StringVar(&s.listen, "listen", "127.0.0.1:9090", "the `ADDRESS` to listen at; port 0 takes a free one")
	f.StringVar(&s.tokenFile, "token-file", "", "clients must send the text in this `FILE` as a bearer token")
	f.BoolVar(&s.insecure, "insecure", false, "listen beyond this machine without a token")
	f.DurationVar(&s.interval, "interval", exposition.ScrapeInterval, "the `TIME` between two scrapes of a lab")
	s.load.flags(f)
	s.limits.flags(f)
	return cmd
}

// runServer serves until ctx ends.
func runServer(ctx context.Context, a *command.App, args []string, s *serveFlags) (err error) {
	r := command.ServeRequest{Listen: s.listen, Interval: s.interval, All: len(args) == 0, List: a.Work.List, Say: a.Say, Print: a.Print}
	r.Options = s.load.options()
	if err := s.config(&r); err != nil {
		return err
	}
	if r.Folders, r.Labs, err = toServe(ctx, a, args); err != nil {
		return err
	}
	return serverError(ctx, a.Linked.Server.Serve(ctx, r))
}

// serverError gives an error of a server its exit code.
func serverError(ctx context.Context, err error) error {
	var known *command.ExitError
	var load *command.LoadError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.As(err, &load) && ctx.Err() == nil:
		return command.FolderError(err)
	case ctx.Err() != nil:
		return command.Infrastructure(errors.New("interrupted"))
	}
	return command.Infrastructure(err)
}

// config checks the flags of a server, and fills in what they say.
func (s *serveFlags) config(r *command.ServeRequest) (err error) {
	const least = 100 * time.Millisecond
	if s.interval < least {
		return command.Usage("--interval %v: want at least %v", s.interval, least)
	}
	host, port, err := net.SplitHostPort(s.listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return command.Usage("--listen %q: want an address and a port, such as 127.0.0.1:9090", s.listen)
	}
	if s.tokenFile != "" {
		if r.Token, err = ReadToken(s.tokenFile); err != nil {
			return err
		}
	}
	addr, err := netip.ParseAddr(host)
	local := host == "localhost" || err == nil && addr.Unmap().IsLoopback()
	if !local && r.Token == "" && !s.insecure {
		return command.Usage("--listen %s can be reached from other machines: add --token-file, or --insecure to let everybody in", s.listen)
	}
	r.LocalNames = local
	r.Limits, err = s.limits.limits()
	return err
}

// maxToken is the size of a token at most, in bytes.
const maxToken = 4096

// ReadToken reads the first line of a file that nobody else may read.
func ReadToken(name string) (string, error) {
	text, err := own.ReadSecret(name, maxToken)
	if err != nil {
		return "", command.Usage("--token-file %s: %w", name, cause.Of(err))
	}
	line, _, _ := strings.Cut(string(text), "\n")
	token := strings.TrimSpace(line)
	if token == "" || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", command.Usage("--token-file %s: want one line of printable ASCII without blanks", name)
	}
	return token, nil
}

// toServe returns the folders and the labs that the arguments name.
func toServe(ctx context.Context, a *command.App, args []string) (folders []string, labs []runs.Run, err error) {
	if len(args) == 0 {
		if newest := newestRun(a.RunsFolder()); newest != "" {
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
			return nil, nil, command.Usage("%s: want a run's folder or a lab; it is a file", arg)
		}
		if list == nil {
			if list, err = choose.Labs(ctx, a); err != nil {
				return nil, nil, err
			}
		}
		r, err := runs.Find(list, arg)
		var unknown *runs.UnknownError
		if errors.As(err, &unknown) {
			known := append(folderNames(a.RunsFolder()), folderNames(filepath.Dir(arg))...)
			return nil, nil, command.Usage("%s: there is no such folder, and no such run is under way%s", arg, command.DidYouMean(arg, append(known, unknown.Known...)))
		}
		if err != nil {
			return nil, nil, choose.LabError(err)
		}
		if r.State == runs.Dead {
			return nil, nil, choose.Dead(r)
		}
		if r.State == runs.Foreign {
			return nil, nil, choose.Foreign(r)
		}
		if len(r.Nodes) > 0 {
			if _, err := live.Targets(&r); err != nil {
				return nil, nil, command.Usage("%w", err)
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

// folderNames returns the folders of runs in a folder, with its name.
func folderNames(parent string) (names []string) {
	entries, _ := os.ReadDir(parent) //nolint:errcheck // none: no names
	if len(entries) > mostNames {
		entries = entries[:mostNames]
	}
	for _, e := range entries {
		name := filepath.Join(parent, e.Name())
		if _, err := os.Stat(filepath.Join(name, runfolder.ManifestFile)); e.IsDir() && err == nil {
			names = append(names, name)
		}
	}
	return names
}

// newestRun returns the run folder in a folder that was started last and is complete; ""
// without one.
func newestRun(parent string) (newest string) {
	var started time.Time
	for _, name := range folderNames(parent) {
		f, err := runfolder.OpenUnchecked(name)
		if err == nil && f.Manifest.Complete && f.Manifest.Started.After(started) {
			newest, started = name, f.Manifest.Started
		}
	}
	return newest
}
