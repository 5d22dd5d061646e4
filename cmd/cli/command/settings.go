package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/settings"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// NoSetting annotates a flag that has the name of a setting and another meaning.
const NoSetting = "no setting"

// OfSetting returns the flag that stands for a setting in a command, nil if there is none.
func OfSetting(cmd *cobra.Command, name string) *pflag.Flag {
	flag := cmd.Flags().Lookup(name)
	if flag != nil {
		if _, other := flag.Annotations[NoSetting]; other {
			return nil
		}
	}
	return flag
}

// SettingsOf returns the settings that a command uses.
func SettingsOf(cmd *cobra.Command) []settings.Setting {
	return settings.Of(cmd.Name(), func(flag string) bool { return OfSetting(cmd, flag) != nil })
}

// Settle finds the settings of a command, and gives them to its flags that are not on the
// command line. notes say which files were left out.
func (a *App) Settle(cmd *cobra.Command) (notes []string, err error) {
	list := SettingsOf(cmd)
	if len(list) == 0 {
		return nil, nil
	}
	flag := func(s settings.Setting) *pflag.Flag { return OfSetting(cmd, s.Flag) }
	r := settings.Request{Settings: list, Env: a.Env, Flag: flag, NoFiles: withoutFiles(cmd)}
	if a.Values, notes, err = r.Load(); err != nil {
		return nil, Misuse(err)
	}
	for _, s := range list {
		v, f := a.Values[s.Key], flag(s)
		// The runtime is a value of the experiment, which takes it from the variable itself.
		if f == nil || v.From == settings.Flag || v.From == settings.Default || s.Key == settings.Runtime {
			continue
		}
		if err := f.Value.Set(v.Text); err != nil {
			return nil, Usage("%s: %q: %w", v.At, v.Text, err)
		}
	}
	for key, name := range map[string]string{settings.List: runs.EnvironmentList, settings.DockerHost: settings.DockerVariable} {
		if err := a.pass(a.Values[key], name); err != nil {
			return nil, err
		}
	}
	return notes, nil
}

// withoutFiles reports whether a command is one that csiglab starts: its caller has read the
// files and says all that matters. The process of a lab is started with the words of the user.
func withoutFiles(cmd *cobra.Command) bool {
	probe := cmd.Flags().Lookup(trial.ProbeFlag)
	return probe != nil && probe.Changed || cmd.Hidden && cmd.Name() != HoldName
}

// pass puts the value that a file gives into the environment, for packages that take it from there
// and for the processes that this one starts.
func (a *App) pass(v settings.Value, name string) (err error) {
	if v.From != settings.File {
		return nil
	}
	text := v.Text
	if name == runs.EnvironmentList {
		if text, err = filepath.Abs(text); err != nil {
			return Infrastructure(err)
		}
	}
	a.Env = append(slices.Clone(a.Env), name+"="+text)
	if err := os.Setenv(name, text); err != nil {
		return Infrastructure(fmt.Errorf("%s: %w", name, err))
	}
	return nil
}

// InFile reports whether the value of a setting comes from a file. It is then a wish for all
// commands, and one that does not fit a command is not an error of the command line.
func (a *App) InFile(key string) bool { return a.Values[key].From == settings.File }

// Wish reports whether a flag has its value from a person's settings for all commands: from a
// file, or from a variable about the cluster. A variable of the other settings is about one run.
func (a *App) Wish(flag *pflag.Flag) bool {
	return !flag.Changed && slices.ContainsFunc(settings.All(), func(s settings.Setting) bool {
		from := a.Values[s.Key].From
		return s.Flag == flag.Name && (from == settings.File || from == settings.Variable && strings.HasPrefix(s.Key, "cluster-"))
	})
}

// Alone reports whether runs side by side are wanted under a clock where they disturb each
// other. Where a file of settings gives the number, it is for other clocks.
func (a *App) Alone(clock string, parallel *int) bool {
	if !(runtimes.Way{Clock: clock}).Has(runtimes.RealTime) || *parallel <= 1 {
		return false
	}
	if a.InFile("parallel") {
		*parallel = 0
		return false
	}
	return true
}

// RunsFolder returns the folder of runs.
func (a *App) RunsFolder() string {
	if v, ok := a.Values[settings.Runs]; ok {
		return v.Text
	}
	return "runs"
}

// Reserved returns the environment variables that do not belong to an experiment.
func Reserved() []string {
	// The first four are of tests: slow ones, one against a real Grafana, and those on a real
	// cluster. The others mark programs that run in a node.
	names := []string{"CSIGLAB_E2E", "CSIGLAB_GRAFANA_TOKEN", "CSIGLAB_KUBECONFIG", "CSIGLAB_CLUSTER_LAB_IMAGE", runs.EnvironmentRun, runs.EnvironmentNode}
	for _, s := range settings.All() {
		if s.Key != settings.Runtime { // experiments have it
			names = append(names, s.Variable)
		}
	}
	return names
}

// NoOverrides refuses variables of the environment that would change experiments: other
// processes, and whoever repeats the command, do not have them. why ends the message.
func (a *App) NoOverrides(why string) error {
	for _, pair := range a.Env {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "CSIGLAB_") && !slices.Contains(Reserved(), name) {
			return Usage("environment variable %s: %s", name, why)
		}
	}
	return nil
}

// Place returns the cluster of --on, with the context of the settings if --on names none.
func (a *App) Place(w *Where) ClusterPlace {
	p := ClusterPlace{On: w.On, Namespace: w.namespace}
	if c := a.Values[settings.ClusterContext].Text; c != "" && p.On == runtimes.Kubernetes {
		p.On += ":" + c
	}
	return p
}

// CompleteSettings proposes the words of settings for the flags of all commands below cmd.
func CompleteSettings(cmd *cobra.Command) {
	for _, s := range SettingsOf(cmd) {
		if s.Words != nil && OfSetting(cmd, s.Flag) != nil {
			CompleteFlag(cmd, s.Flag, s.Words())
		}
	}
	for _, c := range cmd.Commands() {
		CompleteSettings(c)
	}
}

// HoldName is the command that up starts as a process of its own, the holder of the
// lab.
const HoldName = "hold"
