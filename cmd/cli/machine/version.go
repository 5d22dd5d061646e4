package machine

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

func versionCommand(a *command.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the modules that csiglab build has compiled in",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.PrintJSON(struct {
					Version string              `json:"version"`
					Go      string              `json:"go"`
					Modules []builder.Described `json:"modules"`
				}{command.Version(), runtime.Version(), builder.Contents()})
			}
			return a.Print(VersionText())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	return cmd
}

// VersionText is what csiglab version and csiglab --version print.
func VersionText() string {
	return fmt.Sprintf("csiglab %s, %s %s/%s\n%s", command.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, modulesText(builder.Contents()))
}
