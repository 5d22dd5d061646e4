package telemetry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/settings"
	"github.com/csiglab/csiglab/dashboards/grafana"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// dataSourceFlags say which Prometheus Grafana reads.
type dataSourceFlags struct {
	url       string
	tokenFile string
	stretch   stretch
}

func (d *dataSourceFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&d.url, "datasource-url", "http://localhost:9090", "the `URL` of csiglab serve, or of another Prometheus, as Grafana reaches it")
	f.StringVar(&d.tokenFile, "datasource-token-file", "", "the data source asks for the token in this `FILE`, the --token-file of csiglab serve")
	stretchFlag(f, &d.stretch)
}

func grafanaCommand(a *command.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "grafana",
		Short: "Bring csiglab's dashboards to Grafana",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return command.Usage("unknown command %q%s; see csiglab grafana --help", args[0], command.DidYouMean(args[0], []string{"push", "provision"}))
		},
	}
	cmd.AddCommand(grafanaPushCommand(a), grafanaProvisionCommand(a))
	return cmd
}

func grafanaPushCommand(a *command.App) *cobra.Command {
	var address, tokenFile string
	var source dataSourceFlags
	cmd := &cobra.Command{
		Use:   "push --url URL --token-file FILE [RUN...]",
		Short: "Create folder, data source and dashboards in a Grafana, or update them",
		Long: "Create folder, data source and dashboards in a Grafana, or update them. The dashboards show the time of each RUN, a\n" +
			"run's folder. What is there already is not changed; if something fails, Grafana is left as it was. Printed are the\n" +
			"addresses of the dashboards.",
		Example: "  csiglab serve runs/three &\n  csiglab grafana push --url http://localhost:3000 --token-file token runs/three",
		RunE: func(cmd *cobra.Command, args []string) error {
			if address == "" || tokenFile == "" {
				return command.Usage("--url and --token-file are needed; the token is that of a service account of Grafana with the role Admin")
			}
			// A folder may come from others, who would get the token.
			if v := a.Values[settings.GrafanaURL]; v.Folder && a.Values[settings.GrafanaTokenFile].From != settings.Flag {
				return command.Usage("%s: the token would go to %s, which the file of this folder names; give --url %s to say that it may", v.At, v.Text, v.Text)
			}
			c := grafana.Config{URL: address, DataSource: grafana.DataSource{URL: source.url}, Message: "csiglab " + command.Version()}
			var err error
			if c.Token, err = tokenIn("--token-file", tokenFile); err != nil {
				return err
			}
			if source.tokenFile != "" {
				if c.DataSource.Token, err = tokenIn("--datasource-token-file", source.tokenFile); err != nil {
					return err
				}
			}
			if c.Runs, err = shownRuns(cmd.Context(), a, args, source.stretch); err != nil {
				return err
			}
			changes, err := grafana.Push(cmd.Context(), c)
			if err != nil {
				return grafanaError(err)
			}
			var pages strings.Builder
			for _, change := range changes {
				a.Say(fmt.Sprintf("%s %s: %s", change.What, change.Name, change.Did))
				if change.URL != nil {
					fmt.Fprintln(&pages, change.URL)
				}
			}
			return a.Print(pages.String())
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "the `URL` of Grafana, such as http://localhost:3000")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "the `FILE` with the token of a service account of Grafana")
	source.flags(cmd.Flags())
	return cmd
}

func grafanaProvisionCommand(a *command.App) *cobra.Command {
	var source dataSourceFlags
	cmd := &cobra.Command{
		Use:   "provision DIR [RUN...]",
		Short: "Write the files that a Grafana reads at its start, and a compose file",
		Long: "Write the files that a Grafana reads at its start into a folder: data source, dashboards, and a compose file that\n" +
			"starts csiglab serve with each RUN, a run's folder, and a Grafana. The dashboards show the time of the RUNs. All\n" +
			"files are written, or none; files that this command has not written are not replaced. Printed are their names.",
		Example: "  csiglab grafana provision grafana runs/three\n  docker compose --file grafana/compose.yaml up",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files := grafana.Files{DataSource: source.url}
			var err error
			if files.Runs, err = shownRuns(cmd.Context(), a, args[1:], source.stretch); err != nil {
				return err
			}
			absolute := func(name string) string {
				path, bad := filepath.Abs(name)
				err = errors.Join(err, bad)
				return path
			}
			for _, folder := range args[1:] {
				files.Folders = append(files.Folders, absolute(folder))
			}
			if source.tokenFile != "" {
				if _, err := tokenIn("--datasource-token-file", source.tokenFile); err != nil {
					return err
				}
				files.TokenFile = absolute(source.tokenFile)
			}
			program, bad := programs.Core()
			dir := absolute(args[0])
			if err = errors.Join(err, bad); err != nil {
				return command.Infrastructure(err)
			}
			files.Program = program
			files.Stretch = int(source.stretch)
			names, err := grafana.Provision(dir, files)
			if err != nil {
				return grafanaError(err)
			}
			return a.Print(strings.Join(names, "\n") + "\n")
		},
	}
	source.flags(cmd.Flags())
	return cmd
}

// shownRuns reads when run folders are shown.
func shownRuns(ctx context.Context, a *command.App, folders []string, stretch stretch) (list []grafana.Run, err error) {
	names := map[string]string{}
	for _, folder := range folders {
		path, err := filepath.Abs(folder)
		if err != nil {
			return nil, command.Infrastructure(err)
		}
		name := filepath.Base(path)
		if other, ok := names[name]; ok {
			return nil, command.Usage("%s and %s: two runs with the name %s", other, folder, name)
		}
		names[name] = folder
		f, err := runfolder.OpenKept(folder)
		if err != nil {
			return nil, command.FolderError(err)
		}
		run, err := grafana.ReadRun(f, name, int(stretch))
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, command.FolderError(err)
		}
		list = append(list, run)
	}
	return list, nil
}

// mostToken is how long a file with a token may be.
const mostToken = 16 << 10

// tokenIn reads the token that a flag names the file of, which nobody else may read.
func tokenIn(flag, name string) (string, error) {
	text, err := own.ReadSecret(name, mostToken)
	if err != nil {
		return "", command.Usage("%s %s: %w", flag, name, cause.Of(err))
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", command.Usage("%s %s: want one line of printable ASCII without blanks", flag, name)
	}
	return token, nil
}

// grafanaError gives an error of a push or of provisioning its exit code. What the user has
// named wrongly is the user's mistake.
func grafanaError(err error) error {
	for _, mistake := range []error{grafana.ErrConfig, grafana.ErrToken, grafana.ErrPermission, grafana.ErrOld, grafana.ErrNoGrafana, grafana.ErrForeign} {
		if errors.Is(err, mistake) {
			return command.Misuse(err)
		}
	}
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted: %w", err)
	}
	return command.Infrastructure(err)
}
