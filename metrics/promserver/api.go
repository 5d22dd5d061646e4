package promserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/features"
	"github.com/prometheus/prometheus/util/notifications"
	v1 "github.com/prometheus/prometheus/web/api/v1"
)

// compatible is the version of Prometheus whose API this is, as Grafana asks for it to
// find out which parameters the API has.
const compatible = "3.15.0"

// api returns the handler of /api/v1.
func (s *Server) api() http.Handler {
	registry := prometheus.NewRegistry()
	started := time.Now()
	none := func() (<-chan notifications.Notification, func(), bool) { return nil, func() {}, false }
	api := v1.NewAPI(
		s.engine, limited{s.storage, &s.limits}, nil, nil, s.storage,
		func(context.Context) v1.ScrapePoolsRetriever { return &s.targets },
		func(context.Context) v1.TargetRetriever { return &s.targets },
		func(context.Context) v1.AlertmanagerRetriever { return nobody{} },
		func() config.Config { return config.DefaultConfig },
		map[string]string{}, v1.GlobalURLOptions{},
		func(f http.HandlerFunc) http.HandlerFunc { return f },
		statistics{s.storage.loaded, s.storage.scraped}, "", false, false, 0, promslog.NewNopLogger(),
		func(context.Context) v1.RulesRetriever { return nobody{} },
		0, 0, 0, false, nil, // there is no remote read
		func() (v1.RuntimeInfo, error) {
			host, err := os.Hostname()
			return v1.RuntimeInfo{
				StartTime: started, Hostname: host, ServerTime: time.Now().UTC(), ReloadConfigSuccess: true, LastConfigTime: started,
				GoroutineCount: runtime.NumGoroutine(), GOMAXPROCS: runtime.GOMAXPROCS(0), StorageRetention: s.config.Retention.String(),
			}, err
		},
		&v1.PrometheusVersion{Version: compatible, Branch: "csiglab", GoVersion: runtime.Version()},
		func() []notifications.Notification { return []notifications.Notification{} }, none,
		registry, registry, nil, false, nil, false, false, false, false, lookback, false, false, statusOf,
		features.NewRegistry(), v1.OpenAPIOptions{}, s.parser,
	)
	r := route.New()
	api.Register(r)
	return s.within(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		request.Header.Del("Origin") // pages of other sites get no permission to read an answer
		r.ServeHTTP(w, request)
	}))
}

var errReadOnly = errors.New("csiglab serve changes nothing that it has stored")

// nobody are the rules and alert managers of a server that has none.
type nobody struct{}

func (nobody) RuleGroups() []*rules.Group                      { return nil }
func (nobody) AlertingRules() []*rules.AlertingRule            { return nil }
func (nobody) Alertmanagers() []*url.URL                       { return nil }
func (nobody) DroppedAlertmanagers() []*url.URL                { return nil }
func (t *targets) ScrapePools() []string                       { return t.pools() }
func (t *targets) TargetsDropped() map[string][]*scrape.Target { return nil }
func (t *targets) TargetsDroppedCounts() map[string]int        { return map[string]int{} }
func (t *targets) ScrapePoolConfig(pool string) (*config.ScrapeConfig, error) {
	return nil, fmt.Errorf("scrape pool %q has no configuration file", pool)
}

// statistics describes the two storages. What would change them is not allowed.
type statistics struct{ loaded, scraped *tsdb.DB }

func (s statistics) CleanTombstones() error      { return errReadOnly }
func (s statistics) Snapshot(string, bool) error { return errReadOnly }
func (s statistics) Delete(context.Context, int64, int64, ...*labels.Matcher) error {
	return errReadOnly
}
func (s statistics) WALReplayStatus() (tsdb.WALReplayStatus, error) {
	return tsdb.WALReplayStatus{}, nil
}
func (s statistics) BlockMetas() ([]tsdb.BlockMeta, error) { return s.scraped.BlockMetas(), nil }

// Stats describes the storage with more series.
func (s statistics) Stats(label string, limit int) (*tsdb.Stats, error) {
	db := s.loaded
	if s.scraped.Head().NumSeries() > db.Head().NumSeries() {
		db = s.scraped
	}
	return db.Head().Stats(label, limit), nil
}
