package telemetry

import (
	"net"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/orchestrator/labs/live"
)

func scrapeConfigCommand(a *command.App) *cobra.Command {
	var address, tokenFile string
	var interval string
	cmd := command.AsksEngine(&cobra.Command{
		Use:   "scrape-config [LAB]",
		Short: "Print the configuration with which an existing Prometheus scrapes a lab",
		Long: "Print the configuration with which an existing Prometheus scrapes a lab through csiglab serve, which reads the\n" +
			"nodes' sockets. Without LAB, Prometheus asks csiglab serve which labs there are.",
		Example:           "  csiglab scrape-config lab > prometheus.yml",
		Args:              command.AtMostOne("a lab"),
		ValidArgsFunction: choose.CompleteLabs(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, _, err := net.SplitHostPort(address); err != nil {
				return command.Usage("--address %q: want a host and a port, such as 127.0.0.1:9090", address)
			}
			job := scrapeJob{
				Name: "csiglab", Interval: interval, Timeout: interval, HonorLabels: true, Scheme: "http",
			}
			if tokenFile != "" {
				job.Authorization = &authorization{"Bearer", tokenFile}
			}
			if len(args) == 0 {
				job.HTTP = []httpTargets{{URL: "http://" + address + "/sd", Refresh: "5s", Authorization: job.Authorization}}
			} else {
				r, err := choose.Lab(cmd.Context(), a, args[0])
				if err != nil {
					return err
				}
				targets, err := live.Targets(&r)
				if err != nil {
					return command.Usage("%w", err)
				}
				for _, t := range targets {
					job.Static = append(job.Static, exposition.TargetOf(address, r.ID, t.Instance))
				}
			}
			text, err := yaml.Marshal(prometheusFile{Jobs: []scrapeJob{job}})
			if err != nil {
				return command.Infrastructure(err)
			}
			return a.Print(strings.TrimLeft(string(text), "\n"))
		},
	})
	f := cmd.Flags()
	f.StringVar(&address, "address", "127.0.0.1:9090", "the `ADDRESS` of csiglab serve, as Prometheus reaches it")
	f.StringVar(&tokenFile, "token-file", "", "the `FILE` with the bearer token of csiglab serve, as Prometheus reads it")
	f.StringVar(&interval, "interval", "1s", "the `TIME` between two scrapes, as Prometheus writes it")
	return cmd
}

// prometheusFile is a configuration file of Prometheus, as far as it is needed
// (https://prometheus.io/docs/prometheus/latest/configuration/configuration/).
type prometheusFile struct {
	Jobs []scrapeJob `yaml:"scrape_configs"`
}

type scrapeJob struct {
	Name     string `yaml:"job_name"`
	Interval string `yaml:"scrape_interval"`
	Timeout  string `yaml:"scrape_timeout"`
	// HonorLabels keeps the label job of csiglab, which is the name of a training job.
	HonorLabels   bool                     `yaml:"honor_labels"`
	Scheme        string                   `yaml:"scheme"`
	Authorization *authorization           `yaml:"authorization,omitempty"`
	Static        []exposition.TargetGroup `yaml:"static_configs,omitempty"`
	HTTP          []httpTargets            `yaml:"http_sd_configs,omitempty"`
}

type authorization struct {
	Type string `yaml:"type"`
	File string `yaml:"credentials_file"`
}

type httpTargets struct {
	URL           string         `yaml:"url"`
	Refresh       string         `yaml:"refresh_interval"`
	Authorization *authorization `yaml:"authorization,omitempty"`
}
