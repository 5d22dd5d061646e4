package command

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/doctor"
	"github.com/csiglab/csiglab/metrics/promserver/limits"
	"github.com/csiglab/csiglab/metrics/series"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/clab"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/programs"
	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Linked is what a program is linked with beyond csiglab itself, which is the zero value.
// Every program has every command, with its flags and its help; what it is not linked with,
// the program that is does (programs.ElsewhereError).
type Linked struct {
	Containers Containers // of csiglab-lab
	Server     Server     // of csiglab-serve
	Cluster    Cluster    // of csiglab-cluster
}

// Containers is what containerlab and docker do. Errors have the classes of package failure.
type Containers interface {
	// Exec runs a command in the container of a host's programs and returns its exit code.
	Exec(ctx context.Context, r *runs.Run, n runs.Node, command []string) (code int, err error)
	// Export returns a fabric, with a name, that is to be written for containerlab. payload is
	// the longest of a packet.
	Export(g *topologies.Graph, payload units.Size) Exporter
	// Examine looks at the Docker engine and tries a small lab.
	Examine(ctx context.Context) []doctor.Finding
}

// Exporter writes a fabric in formats of containerlab.
type Exporter interface {
	WriteTopology(w io.Writer) error
	WriteClabernetes(w io.Writer, group string) error
	WriteShard(w io.Writer, s ExportShard) error
	MTU() int // of every interface
}

// ExportShard is a part of a fabric that is written for several machines.
type ExportShard struct {
	Of      []int // the part of each node
	Index   int   // of this part
	Remotes []netip.Addr
	VNI     int
}

// Server is what Prometheus' server does.
type Server interface {
	// Serve serves run folders and labs until ctx ends.
	Serve(ctx context.Context, r ServeRequest) error
	// WriteOpenMetrics writes the series of a run's folder in OpenMetrics, and says in words
	// what it has written.
	WriteOpenMetrics(ctx context.Context, folder string, o series.Options, w io.Writer) (summary string, err error)
}

// ServeRequest is what a server serves, and to whom.
type ServeRequest struct {
	Listen     string // address
	Token      string // that clients must send; "": none
	LocalNames bool   // requests must name this machine as their host
	Interval   time.Duration
	Options    series.Options
	Limits     limits.Limits
	Folders    []string
	Labs       []runs.Run
	All        bool // labs that come later, too
	List       func(ctx context.Context) ([]runs.Run, error)
	Say        func(text string)
	Print      func(text string) error
}

// LoadError is an error of reading a run's folder.
type LoadError struct{ Err error }

func (e *LoadError) Error() string { return e.Err.Error() }
func (e *LoadError) Unwrap() error { return e.Err }

// Cluster is what Kubernetes, registries of images and object stores do. Errors have the
// classes of package failure.
type Cluster interface {
	// Runner returns a runner of trials. It makes nothing in the cluster before the first one.
	Runner(ctx context.Context, r RunnerRequest) (Runner, error)
	// Trial is the whole of a trial's pod. It returns the exit code.
	Trial(ctx context.Context, place TrialPlace) (code int, err error)
	// Clean removes what runs have left in a cluster and returns it in words.
	Clean(ctx context.Context, c CleanRequest) (namespace string, removed []string, err error)
	// Examine looks at a cluster, and with an image tries it in pods.
	Examine(ctx context.Context, at ClusterPlace, image string) ([]doctor.Finding, error)
	// InPod runs csiglab with args in the pod of a shard, and returns its exit code. If in and
	// out are terminals, so are those of the command.
	InPod(ctx context.Context, s *runs.Shard, args []string, in io.Reader, out, errs io.Writer) (code int, err error)
	Images
}

// Images makes images of this csiglab. others are files of other csiglabs to add.
type Images interface {
	Push(ctx context.Context, r ImageRequest, insecure bool, progress func(done, total int64)) (*Image, error)
	Save(ctx context.Context, r ImageRequest, w io.Writer) (*Image, error)
}

// ImageRequest is what an image is to be.
type ImageRequest struct {
	Reference string
	Version   string
	Others    []string // files of other csiglabs that it has too
}

// Image is an image that has been made.
type Image struct {
	Reference string
	Digest    string // sha256:…
	Size      int64  // of its layers, compressed
}

// ClusterPlace is a namespace of a cluster.
type ClusterPlace struct {
	On        string // kubernetes or kubernetes:CONTEXT
	Namespace string // empty: that of the context
}

// RunnerRequest is where and how trials run on a cluster.
type RunnerRequest struct {
	ClusterPlace
	Image    string
	Results  string // pvc:NAME, s3://BUCKET/PREFIX or empty
	Kind     string // sweep or regress, for names in the cluster
	Name     string
	Parallel int // the most pods at a time; 0: a default
	Env      []string
	Say      func(text string)
}

// Runner runs trials on a cluster.
type Runner interface {
	trial.Runner
	// Most is how many trials may be asked for at a time.
	Most() int
	// Close removes what the runner has made.
	Close(ctx context.Context) error
}

// TrialPlace is where a trial's pod has what it needs; the zero value of a field is the
// place that Runner's pods have.
type TrialPlace struct {
	Payload, Work, Results, Credentials, Programs string
	Out, Errors                                   io.Writer
}

// CleanRequest is what is to be removed in a cluster.
type CleanRequest struct {
	ClusterPlace
	Which      string // id of a run; empty: of all
	All, Force bool
	Say        func(text string)
}

// Needs marks a command that a program with more than csiglab does.
func Needs(cmd *cobra.Command, program string) *cobra.Command {
	cmd.Annotations = map[string]string{programAnnotation: program}
	return cmd
}

const programAnnotation = "program"

// AsksEngine marks a command that looks for the containers of runs where there is a Docker
// engine. Where there is none, csiglab does it alone.
func AsksEngine(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{engineAnnotation: "asked"}
	return cmd
}

const engineAnnotation = "engine"

// Elsewhere returns an error if another program does a command. It is called before anything
// has been done or printed.
func (a *App) Elsewhere(cmd *cobra.Command) error {
	program := cmd.Annotations[programAnnotation]
	if on := cmd.Flags().Lookup("on"); on != nil && on.Changed {
		program = programs.Cluster
	}
	if program == "" && cmd.Annotations[engineAnnotation] != "" && a.Work.Become != nil && a.Linked == (Linked{}) {
		inContainers, err := a.InContainers(cmd.Context())
		if err != nil {
			return Infrastructure(err)
		}
		if _, err = programs.Find(programs.Lab); (inContainers || clab.EngineUsable()) && err == nil {
			program = programs.Lab
		} else if inContainers || clab.EngineUsable() {
			a.Notes([]string{fmt.Sprintf("containers are not looked for: %v", err)})
		}
	}
	return a.Lacks(program)
}

// InContainers reports whether a run on the list has containers. Its engine may not answer now.
func (a *App) InContainers(ctx context.Context) (bool, error) {
	list, err := a.Work.List(ctx)
	return slices.ContainsFunc(list, func(r runs.Run) bool { return runtimes.Way{Runtime: r.Runtime}.Has(runtimes.Containers) }), err
}

// Lacks returns an error if this program is not linked with what another one has.
func (a *App) Lacks(program string) error {
	switch {
	case program == programs.Cluster && a.Linked.Cluster == nil, program == programs.Lab && a.Linked.Containers == nil, program == programs.Serve && a.Linked.Server == nil:
		return programs.Elsewhere(program)
	}
	return nil
}
