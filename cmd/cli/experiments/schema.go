package experiments

import (
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

func schemaCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of experiment files, for editors",
		Long: "Print the JSON schema (draft-07) of experiment files. An editor with a YAML language server completes keys, shows what they\n" +
			"mean and marks errors where a file begins with a line that names the schema:\n\n" +
			"  # yaml-language-server: $schema=csiglab.schema.json\n\n" +
			"The schema has the algorithms and kinds of modules that are compiled in. csiglab validate checks more.",
		Example: "  csiglab schema > csiglab.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.PrintJSON(experiment.JSONSchema(experiment.StandardTables()))
		},
	}
}
