// Package settings reads what belongs to a person or a machine and not to an experiment, such
// as the folder of runs or the address of Grafana. It has the table of the settings, and finds
// the value of each and where that comes from: a flag, an environment variable, the file of
// the working directory, the file of the user, or the default, in this order. It changes
// nothing; package cli gives the values to commands.
package settings

import (
	"slices"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// Setting is an entry of the table.
type Setting struct {
	Key      string // in files, and the flag of csiglab config
	Flag     string // of the commands, for this setting; "": none
	Variable string // of the environment
	// Commands have the flag, or use the setting where there is none; nil: all that have the
	// flag with this meaning.
	Commands []string
	Doc      string                   // one line
	Default  string                   // a value
	Absent   string                   // where there is no default value, what happens then
	OneRun   bool                     // it is about one run, so that files must not have it
	Words    func() []string          // the values that there are; nil: many
	check    func(text string) string // returns what is wanted, "" if text is that
	path     bool                     // a file's value is relative to the folder of the file
	number   bool                     // a file's value is a number, not a text
}

// Keys of the table that package cli asks for by name.
const (
	Runs             = "runs"
	Runtime          = "runtime"
	List             = "list"
	ClusterContext   = "cluster-context"
	GrafanaURL       = "grafana-url"
	GrafanaTokenFile = "grafana-token-file"
	DockerHost       = "docker-host"
)

// DockerVariable is the variable of docker's own programs.
const DockerVariable = "DOCKER_HOST"

var (
	onRuns    = []string{"run", "demo", "up", "hold", "sweep", "stress", "regress", "bisect", "selftest", "doctor", "ps", "inspect", "exec", "top", "down", "clean", "capture", "serve", "scrape-config", "ui"}
	onCluster = []string{"run", "up", "hold", "sweep", "regress", "doctor", "clean"}
)

// table has the settings in the order of csiglab config.
var table = []Setting{
	{Key: Runs, Variable: "CSIGLAB_RUNS", Commands: []string{"run", "demo", "up", "hold", "doctor", "serve", "ui"}, Default: "runs", check: path, path: true,
		Doc: "`DIR` in which runs get their folders"},
	{Key: "out", Flag: "out", Variable: "CSIGLAB_OUT", Absent: "a new folder in runs", check: path, OneRun: true,
		Doc: "the folder of one run, new or empty `DIR`"},
	{Key: "parallel", Flag: "parallel", Variable: "CSIGLAB_PARALLEL", Absent: "all cores", check: count, number: true,
		Doc: "use `N` cores of this machine"},
	{Key: "processes", Flag: "processes", Variable: "CSIGLAB_PROCESSES", Default: string(backend.ProcessPerNode), check: oneOf(processes), Words: processes,
		Doc: "a process for each node, one for all, or for all switches (runtime netns)"},
	{Key: "payload", Flag: "payload", Variable: "CSIGLAB_PAYLOAD", Default: campaign.PayloadFull, check: oneOf(payloads), Words: payloads, OneRun: true,
		Doc: "full frames of one run, or elide: headers only (real frames)"},
	{Key: Runtime, Flag: Runtime, Variable: "CSIGLAB_RUNTIME", Commands: []string{"run", "validate", "up", "hold"}, Absent: "the experiment's", check: oneOf(runtimes.Names), Words: runtimes.Names,
		Doc: "where the nodes run if the experiment does not say it"},
	{Key: List, Variable: runs.EnvironmentList, Commands: onRuns, Absent: "of this user", check: path, path: true,
		Doc: "`DIR` with the list of labs and runs that are under way"},
	{Key: DockerHost, Variable: DockerVariable, Commands: onRuns, Default: "unix:///var/run/docker.sock", check: socket,
		Doc: "the Docker engine, a `SOCKET` of this machine"},
	{Key: ClusterContext, Flag: "context", Variable: "CSIGLAB_CLUSTER_CONTEXT", Commands: onCluster, Absent: "the current one", check: word,
		Doc: "`CONTEXT` of the kubeconfig"},
	{Key: "cluster-namespace", Flag: "namespace", Variable: "CSIGLAB_CLUSTER_NAMESPACE", Commands: onCluster, Absent: "of the context", check: word,
		Doc: "`NAMESPACE` of the cluster"},
	{Key: "cluster-image", Flag: "image", Variable: "CSIGLAB_CLUSTER_IMAGE", Commands: []string{"run", "up", "hold", "sweep", "regress"}, Absent: "none", check: word,
		Doc: "image `REF` with csiglab for pods"},
	{Key: "listen", Flag: "listen", Variable: "CSIGLAB_LISTEN", Commands: []string{"serve"}, Default: "127.0.0.1:9090", check: address,
		Doc: "the `ADDRESS` at which csiglab serve listens"},
	{Key: "token-file", Flag: "token-file", Variable: "CSIGLAB_TOKEN_FILE", Commands: []string{"serve"}, Absent: "none", check: path, path: true,
		Doc: "`FILE` with the token that clients of csiglab serve must send"},
	{Key: GrafanaURL, Flag: "url", Variable: "CSIGLAB_GRAFANA_URL", Commands: []string{"push"}, Absent: "none", check: webAddress,
		Doc: "the `URL` of Grafana"},
	{Key: GrafanaTokenFile, Flag: "token-file", Variable: "CSIGLAB_GRAFANA_TOKEN_FILE", Commands: []string{"push"}, Absent: "none", check: path, path: true,
		Doc: "`FILE` with the token of a service account of Grafana"},
}

// Want returns what is wanted instead of a value, "" if the value is right.
func (s *Setting) Want(text string) string { return s.check(text) }

// All returns the settings in the order of csiglab config.
func All() []Setting { return table }

// Of returns the settings that a command uses. has reports whether the command has a flag
// with the meaning of a setting.
func Of(command string, has func(flag string) bool) (list []Setting) {
	for _, s := range table {
		if s.Commands == nil && has(s.Flag) || slices.Contains(s.Commands, command) && (s.Flag == "" || s.Key == ClusterContext || has(s.Flag)) {
			list = append(list, s)
		}
	}
	return list
}

func processes() []string {
	return []string{string(backend.ProcessPerNode), string(backend.OneProcess), string(backend.SwitchProcess)}
}

func payloads() []string { return []string{campaign.PayloadFull, campaign.PayloadElide} }
