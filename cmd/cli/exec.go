package cli

import (
	"errors"
	"io/fs"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/orchestrator/labs/application"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Exit codes of a command that cannot be started, equal to a shell's (POSIX.1,
// Shell Command Language §2.8.2).
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

func (a *app) exec() *cobra.Command {
	cmd := asksEngine(&cobra.Command{
		Use:   "exec LAB NODE [--] COMMAND [ARG…]",
		Short: "Run a command in the network of a node of a lab",
		Long: "Run a command of this machine in the network namespace of a node. Its input, output, signals and exit\n" +
			"code are the command's own; it is killed when the lab goes down. NODE is a node's name or a host's\n" +
			"address. Where programs of the host run in a container of their own, the command runs in that container.",
		Example: "  csiglab exec three-flow h0 -- ip address\n" +
			"  csiglab exec 3f2a 10.0.0.4 -- iperf3 -s",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 3 || len(args) == 3 && args[2] == "--" {
				return usage("want a lab, a node and a command, got %q; see %s --help", args, cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction:     a.completeNodes,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			switch {
			case r.State == runs.Dead:
				return dead(r)
			case r.State == runs.Foreign && len(r.Nodes) == 0:
				// A program of a run does not see the run's holder either, but has its list.
				return foreign(r)
			}
			n, err := r.Node(args[1])
			if err != nil {
				return labError(err)
			}
			words := args[2:]
			if words[0] == "--" {
				words = words[1:]
			}
			code, err := a.lab.enter(&r, n, words, a.env)
			if err == nil && code != exitOK {
				err = &exitError{code: code}
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
	var own *exitError
	switch {
	case errors.As(err, &own):
		return err
	case !errors.As(err, &failed):
		return infrastructure(err)
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return &exitError{code: exitNotFound, err: err}
	}
	return &exitError{code: exitNotExecutable, err: err}
}
