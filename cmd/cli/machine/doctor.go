package machine

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/doctor"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

func doctorCommand(a *command.App) *cobra.Command {
	var asJSON bool
	var out, image string
	var w command.Where
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what this machine can run for this user; each line that is missing says what to do",
		Long: "Check what each runtime needs of this machine for this user, by trying it: namespaces, links, shaping,\n" +
			"priorities, the Docker engine with a lab of three containers, disk. What it makes is removed again.\n" +
			"Each line that is missing says what to do. The exit code is 3 if runtime netns or the disk is not ready.\n\n" +
			"With --on, check a Kubernetes cluster instead: whether it answers, this user's rights, quotas and limits of\n" +
			"the namespace and, with --image, pods that run csiglab doctor on its nodes. The exit code is 3 if something\n" +
			"is missing that csiglab needs there.",
		Example: "  csiglab doctor\n" +
			"  csiglab doctor --on kubernetes --image registry.example/csiglab:1",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := w.Only(cmd.Flags(), []string{"namespace", "image"}, []string{"out"}); err != nil {
				return err
			}
			var findings []doctor.Finding
			if cmd.Flags().Changed("on") {
				var err error
				if findings, err = a.Linked.Cluster.Examine(cmd.Context(), a.Place(&w), image); err != nil {
					return command.ClusterFailure(err)
				}
			} else {
				if f := cmd.Flags().Lookup("out"); f.Value.String() == f.DefValue && !f.Changed {
					out = a.RunsFolder()
				}
				containers, err := examineContainers(a)
				if err != nil {
					return err
				}
				findings = doctor.Machine{Out: out, Runs: a.Work.List, Probe: ProbeName, Containers: containers}.Examine(cmd.Context())
			}
			if asJSON {
				if err := a.PrintJSON(findings); err != nil {
					return err
				}
			} else if err := a.Print(FindingsText(findings)); err != nil {
				return err
			}
			if !doctor.Healthy(findings) {
				return &command.ExitError{Code: command.ExitInfrastructure}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	cmd.Flags().StringVar(&out, "out", "runs", "`DIR` in which runs' folders are created")
	cmd.Flags().StringVar(&image, "image", "", "try the image `REF` in pods, with --on; csiglab image push makes it")
	w.Flags(cmd, "check")
	return cmd
}

// examineContainers returns what examines the Docker engine. Without csiglab-lab that is one
// finding; where it is there, it does the whole command.
func examineContainers(a *command.App) (func(context.Context) []doctor.Finding, error) {
	if a.Linked.Containers != nil {
		return a.Linked.Containers.Examine, nil
	}
	lab := doctor.Sibling(programs.Lab)
	if lab.OK {
		return nil, programs.Elsewhere(programs.Lab)
	}
	return func(context.Context) []doctor.Finding { return []doctor.Finding{lab} }, nil
}

// FindingsText returns the findings as text, by runtime.
func FindingsText(findings []doctor.Finding) string {
	var text strings.Builder
	for i, f := range findings {
		if i == 0 || f.Runtime != findings[i-1].Runtime {
			fmt.Fprintln(&text, heading(findings, f.Runtime))
		}
		state := "ok     "
		if !f.OK {
			state = "missing"
		}
		fmt.Fprintf(&text, "  %s  %s: %s", state, f.Name, f.Detail)
		if f.Fix != "" {
			fmt.Fprintf(&text, "; %s", f.Fix)
		}
		fmt.Fprintln(&text)
	}
	return text.String()
}

// heading says whether a runtime, or the rest of the machine, is ready. A runtime of
// which each finding is optional is ready when nothing is missing.
func heading(findings []doctor.Finding, of string) string {
	missing, optional, required := 0, 0, 0
	for _, f := range findings {
		switch {
		case f.Runtime != of:
		case f.OK && !f.Optional:
			required++
		case f.OK:
		case f.Optional:
			optional++
		default:
			missing++
		}
	}
	name := "runtime " + of
	if of == "" {
		name = "this machine"
	}
	switch {
	case missing > 0:
		return fmt.Sprintf("%s: not ready", name)
	case optional > 0 && required == 0:
		return fmt.Sprintf("%s: not ready; csiglab works without it", name)
	case optional > 0:
		return fmt.Sprintf("%s: ready, but not for everything", name)
	}
	return name + ": ready"
}
