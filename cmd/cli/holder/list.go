// Package holder starts a lab in a process of its own, the holder, holds it there until
// somebody asks for its end, and hands over the report of its run. The command up calls
// Start, which starts csiglab a second time with the command hold; that one calls Hold.
// Package holder knows neither flags nor experiments, and it does not run the lab:
// orchestrator/run/campaign does, in the holder.
package holder

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// logFile, in the run's folder, takes what the holder prints once the lab is up.
const logFile = "lab.log"

// List returns this user's runs that are under way or have left something behind.
func List(ctx context.Context) ([]runs.Run, error) { return runs.List(ctx, campaign.Finders()...) }

// Clean removes what runs left behind, in network namespaces and in containers, and
// returns what it removed. See runs.Cleaner.Clean for the arguments.
func Clean(ctx context.Context, which string, how runs.Cleaner) ([]string, error) {
	return how.Clean(ctx, which, campaign.Finders()...)
}

// Elsewhere runs commands in what other programs than csiglab are linked with.
type Elsewhere struct {
	// InContainer runs a command in the container of a host's programs.
	InContainer func(ctx context.Context, r *runs.Run, n runs.Node, command []string) (code int, err error)
	// InPod runs csiglab with args in the pod of a shard, with the standard streams.
	InPod func(ctx context.Context, s *runs.Shard, args []string, in io.Reader, out, errs io.Writer) (code int, err error)
}

// Enter runs a command in the network of a node. Where the programs of a host have a
// container of their own, Enter runs the command there; elsewhere it does what
// application.Enter does. A node in a pod has the programs of the pod. Enter returns the
// command's exit code.
func (e Elsewhere) Enter(r *runs.Run, n runs.Node, command, env []string) (code int, err error) {
	if n.Shard != nil {
		if n.Shard.Pod != "" {
			args := slices.Concat([]string{"exec", r.ID, n.Name, "--"}, command)
			return e.InPod(context.Background(), n.Shard, args, os.Stdin, os.Stdout, os.Stderr)
		}
		if err := Within(n.Shard); err != nil {
			return 0, err
		}
	}
	if n.Application == "" {
		call, err := r.Dial()
		if err != nil {
			return 0, err
		}
		env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
			return runs.Marks(v) || strings.HasPrefix(v, runs.EnvironmentList+"=")
		})
		env = append(slices.Concat(env, runs.Environment(r.ID)), runs.EnvironmentNode+"="+n.Name)
		return application.Enter(call, n.Name, command, env)
	}
	// Signals go to the command and do not end the wait for it.
	return e.InContainer(context.Background(), r, n, command)
}

// Within lets this process find runs on the list of a shard on this machine, which has the
// shard's part of its run.
func Within(s *runs.Shard) error { return os.Setenv(runs.EnvironmentList, s.List) }
