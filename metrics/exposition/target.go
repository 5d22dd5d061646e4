package exposition

import (
	"net/url"
	"time"
)

// ScrapeInterval is the time between two scrapes of a lab where nobody chooses one.
const ScrapeInterval = time.Second

// TargetGroup is an entry of the lists that Prometheus' http_sd_configs reads.
type TargetGroup struct {
	Targets []string          `json:"targets" yaml:"targets"`
	Labels  map[string]string `json:"labels" yaml:"labels"`
}

// TargetOf returns the target of a node that an existing Prometheus scrapes through the
// server at an address.
func TargetOf(address, lab, node string) TargetGroup {
	return TargetGroup{[]string{address}, map[string]string{
		"__metrics_path__": "/scrape/" + url.PathEscape(lab) + "/" + url.PathEscape(node), "instance": node, "run": lab,
	}}
}
