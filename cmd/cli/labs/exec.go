package labs

import (
	"errors"
	"io/fs"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Exit codes of a command that cannot be started, equal to a shell's (POSIX.1,
// Shell Command Language §2.8.2).
const (
	ExitNotExecutable = 126
	ExitNotFound      = 127
)

func execCommand(a *command.App) *cobra.Command {
	cmd := command.AsksEngine(&cobra.Command{
		Use:   "exec LAB NODE [--] COMMAND [ARG…]",
		Short: "Run a command in the network of a node of a lab",
		Long: "Run a command of this machine in the network namespace of a node. Its input, output, signals and exit\n" +
			"code are the command's own; it is killed when the lab goes down. NODE is a node's name or a host's\n" +
			"address. Where programs of the host run in a container of their own, the command runs in that container.",
		Example: "  csiglab exec three-flow h0 -- ip address\n" +
			"  csiglab exec 3f2a 10.0.0.4 -- iperf3 -s",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 3 || len(args) == 3 && args[2] == "--" {
				return command.Usage("want a lab, a node and a command, got %q; see %s --help", args, cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction:     choose.CompleteNodes(a),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := choose.Lab(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			switch {
			case r.State == runs.Dead:
				return choose.Dead(r)
			case r.State == runs.Foreign && len(r.Nodes) == 0:
				// A program of a run does not see the run's holder either, but has its list.
				return choose.Foreign(r)
			}
			n, err := r.Node(args[1])
			if err != nil {
				return choose.LabError(err)
			}
			words := args[2:]
			if words[0] == "--" {
				words = words[1:]
			}
			code, err := a.Work.Enter(&r, n, words, a.Env)
			if err == nil && code != command.ExitOK {
				err = &command.ExitError{Code: code}
			}
			return enterError(err)
		},
	})
	cmd.Flags().SetInterspersed(false) // arguments after LAB belong to the command
	return cmd
}

// enterError gives the error of a command that could not be started its exit code:
// 127 not found, 126 not executable.
func enterError(err error) error {
	var failed *application.CommandError
	var own *command.ExitError
	switch {
	case errors.As(err, &own):
		return err
	case !errors.As(err, &failed):
		return command.Infrastructure(err)
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return &command.ExitError{Code: ExitNotFound, Err: err}
	}
	return &command.ExitError{Code: ExitNotExecutable, Err: err}
}
