package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/csiglab/csiglab/cmd/cli/settings"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

// noSetting annotates a flag that has the name of a setting and another meaning.
const noSetting = "no setting"

// ofSetting returns the flag that stands for a setting in a command, nil if there is none.
func ofSetting(cmd *cobra.Command, name string) *pflag.Flag {
	flag := cmd.Flags().Lookup(name)
	if flag != nil {
		if _, other := flag.Annotations[noSetting]; other {
			return nil
		}
	}
	return flag
}

// settingsOf returns the settings that a command uses.
func settingsOf(cmd *cobra.Command) []settings.Setting {
	return settings.Of(cmd.Name(), func(flag string) bool { return ofSetting(cmd, flag) != nil })
}

// settle finds the settings of a command, and gives them to its flags that are not on the
// command line. notes say which files were left out.
func (a *app) settle(cmd *cobra.Command) (notes []string, err error) {
	list := settingsOf(cmd)
	if len(list) == 0 {
		return nil, nil
	}
	flag := func(s settings.Setting) *pflag.Flag { return ofSetting(cmd, s.Flag) }
	r := settings.Request{Settings: list, Env: a.env, Flag: flag, NoFiles: withoutFiles(cmd)}
	if a.values, notes, err = r.Load(); err != nil {
		return nil, misuse(err)
	}
	for _, s := range list {
		v, f := a.values[s.Key], flag(s)
		// The runtime is a value of the experiment, which takes it from the variable itself.
		if f == nil || v.From == settings.Flag || v.From == settings.Default || s.Key == settings.Runtime {
			continue
		}
		if err := f.Value.Set(v.Text); err != nil {
			return nil, usage("%s: %q: %w", v.At, v.Text, err)
		}
	}
	for key, name := range map[string]string{settings.List: runs.EnvironmentList, settings.DockerHost: settings.DockerVariable} {
		if err := a.pass(a.values[key], name); err != nil {
			return nil, err
		}
	}
	return notes, nil
}

// withoutFiles reports whether a command is one that csiglab starts: its caller has read the
// files and says all that matters. The process of a lab is started with the words of the user.
func withoutFiles(cmd *cobra.Command) bool {
	probe := cmd.Flags().Lookup(predict.ProbeFlag)
	return probe != nil && probe.Changed || cmd.Hidden && cmd.Name() != holdName
}

// pass puts the value that a file gives into the environment, for packages that take it from there
// and for the processes that this one starts.
func (a *app) pass(v settings.Value, name string) (err error) {
	if v.From != settings.File {
		return nil
	}
	text := v.Text
	if name == runs.EnvironmentList {
		if text, err = filepath.Abs(text); err != nil {
			return infrastructure(err)
		}
	}
	a.env = append(slices.Clone(a.env), name+"="+text)
	if err := os.Setenv(name, text); err != nil {
		return infrastructure(fmt.Errorf("%s: %w", name, err))
	}
	return nil
}

// inFile reports whether the value of a setting comes from a file. It is then a wish for all
// commands, and one that does not fit a command is not an error of the command line.
func (a *app) inFile(key string) bool { return a.values[key].From == settings.File }

// wish reports whether a flag has its value from a person's settings for all commands: from a
// file, or from a variable about the cluster. A variable of the other settings is about one run.
func (a *app) wish(flag *pflag.Flag) bool {
	return !flag.Changed && slices.ContainsFunc(settings.All(), func(s settings.Setting) bool {
		from := a.values[s.Key].From
		return s.Flag == flag.Name && (from == settings.File || from == settings.Variable && strings.HasPrefix(s.Key, "cluster-"))
	})
}

// alone reports whether runs side by side are wanted under a clock where they disturb each
// other. Where a file of settings gives the number, it is for other clocks.
func (a *app) alone(clock string, parallel *int) bool {
	if !(runtimes.Way{Clock: clock}).Has(runtimes.RealTime) || *parallel <= 1 {
		return false
	}
	if a.inFile("parallel") {
		*parallel = 0
		return false
	}
	return true
}

// runsFolder returns the folder of runs.
func (a *app) runsFolder() string {
	if v, ok := a.values[settings.Runs]; ok {
		return v.Text
	}
	return "runs"
}

// reserved returns the environment variables that do not belong to an experiment.
func reserved() []string {
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

// dropSettings takes a person's settings from the flags of a run that is resumed: it goes on
// as it was begun.
func (a *app) dropSettings(cmd *cobra.Command) error {
	for _, s := range settings.All() {
		f := ofSetting(cmd, s.Flag)
		if f == nil || !a.wish(f) || slices.Contains(withResume, s.Flag) {
			continue
		}
		if err := f.Value.Set(f.DefValue); err != nil {
			return usage("--%s: %w", s.Flag, err)
		}
	}
	return nil
}

// place returns the cluster of --on, with the context of the settings if --on names none.
func (a *app) place(w *where) ClusterPlace {
	p := ClusterPlace{On: w.on, Namespace: w.namespace}
	if c := a.values[settings.ClusterContext].Text; c != "" && p.On == runtimes.Kubernetes {
		p.On += ":" + c
	}
	return p
}

// completeSettings proposes the words of settings for the flags of all commands below cmd.
func completeSettings(cmd *cobra.Command) {
	for _, s := range settingsOf(cmd) {
		if s.Words != nil && ofSetting(cmd, s.Flag) != nil {
			completeFlag(cmd, s.Flag, s.Words())
		}
	}
	for _, c := range cmd.Commands() {
		completeSettings(c)
	}
}
