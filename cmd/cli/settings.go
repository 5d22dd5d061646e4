package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/csiglab/csiglab/orchestrator/runs"
)

// settings are the flags that an environment variable can set too, such as CSIGLAB_OUT.
// They are about csiglab and not about one experiment.
var settings = []string{"out", "payload", "processes", "parallel"}

// noSetting annotates a flag that has the name of a setting and another meaning.
const noSetting = "no setting"

func variable(flag string) string {
	return "CSIGLAB_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment gives each setting that is not on the command line the value
// of its variable.
func (a *app) fromEnvironment(cmd *cobra.Command) error {
	layers := viper.New()
	for _, pair := range a.env {
		name, value, _ := strings.Cut(pair, "=")
		for _, flag := range settings {
			if name == variable(flag) {
				layers.SetDefault(flag, value)
			}
		}
	}
	for _, name := range settings {
		flag := cmd.Flags().Lookup(name)
		if flag == nil {
			continue
		}
		if _, own := flag.Annotations[noSetting]; own {
			continue
		}
		if err := layers.BindPFlag(name, flag); err != nil {
			return fmt.Errorf("flag --%s: %w", name, err)
		}
		value := layers.GetString(name)
		if flag.Changed || value == flag.DefValue || value == "" {
			continue
		}
		if err := flag.Value.Set(value); err != nil {
			return usage("environment variable %s: %q: %w", variable(name), value, err)
		}
	}
	return nil
}

// reserved returns the environment variables that do not belong to an experiment.
func reserved() []string {
	// The first four are of tests: slow ones, one against a real Grafana, and those on a real
	// cluster. The others mark programs that run in a node.
	names := []string{"CSIGLAB_E2E", "CSIGLAB_GRAFANA_URL", "CSIGLAB_GRAFANA_TOKEN", "CSIGLAB_KUBECONFIG", "CSIGLAB_CLUSTER_LAB_IMAGE", "CSIGLAB_CLUSTER_IMAGE", runs.EnvironmentRun, runs.EnvironmentNode, runs.EnvironmentList}
	for _, flag := range settings {
		names = append(names, variable(flag))
	}
	return names
}

// noOverrides refuses variables of the environment that would change experiments: other
// processes, and whoever repeats the command, do not have them. why ends the message.
func (a *app) noOverrides(why string) error {
	for _, pair := range a.env {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "CSIGLAB_") && !slices.Contains(reserved(), name) {
			return usage("environment variable %s: %s", name, why)
		}
	}
	return nil
}
