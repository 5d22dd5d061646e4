package promserver

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/scrape"

	"github.com/csiglab/csiglab/metrics/exposition"
)

// Pools of targets, as /api/v1/targets names them.
const (
	poolOfRuns = "runs"
	poolOfLabs = "labs"
)

// targets are what the API lists as targets: run folders, and the nodes of labs. The zero
// value has none.
type targets struct {
	mu   sync.Mutex
	list map[string]map[string]*scrape.Target // by pool and what it is
}

// addFolder adds a run folder that has been loaded.
func (t *targets) addFolder(l Loaded) {
	target := newTarget(poolOfRuns, "file", l.Folder, "/", labels.FromStrings("run", l.Run, "instance", l.Folder))
	target.Report(time.Now(), l.Took, nil)
	t.put(poolOfRuns, l.Run, target)
}

// newTarget returns a target with the families' metadata.
func newTarget(pool, scheme, address, path string, set labels.Labels) *scrape.Target {
	discovered := model.LabelSet{model.AddressLabel: model.LabelValue(address), model.SchemeLabel: model.LabelValue(scheme), model.MetricsPathLabel: model.LabelValue(path)}
	b := labels.NewBuilder(set)
	for name, value := range discovered {
		b.Set(string(name), string(value))
	}
	t := scrape.NewTarget(b.Labels(), &config.ScrapeConfig{JobName: pool, Scheme: scheme, MetricsPath: path}, discovered, nil)
	t.SetMetadataStore(families{})
	return t
}

func (t *targets) put(pool, name string, target *scrape.Target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list == nil {
		t.list = map[string]map[string]*scrape.Target{}
	}
	if t.list[pool] == nil {
		t.list[pool] = map[string]*scrape.Target{}
	}
	t.list[pool][name] = target
}

func (t *targets) remove(pool, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.list[pool], name)
}

func (t *targets) pools() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.list))
}

// TargetsActive implements v1.TargetRetriever.
func (t *targets) TargetsActive() map[string][]*scrape.Target {
	t.mu.Lock()
	defer t.mu.Unlock()
	active := map[string][]*scrape.Target{}
	for pool, byName := range t.list {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			active[pool] = append(active[pool], byName[name])
		}
	}
	return active
}

// families has the metadata of all families.
type families struct{}

func (families) ListMetadata() []scrape.MetricMetadata {
	list := make([]scrape.MetricMetadata, len(exposition.Families))
	for i := range exposition.Families {
		list[i] = metadata(&exposition.Families[i])
	}
	return list
}

func (families) GetMetadata(name string) (scrape.MetricMetadata, bool) {
	f := exposition.Of(name)
	if f == nil {
		return scrape.MetricMetadata{}, false
	}
	return metadata(f), true
}

func (families) SizeMetadata() (size int) {
	for _, f := range exposition.Families {
		size += len(f.Name) + len(f.Help) + len(f.Unit)
	}
	return size
}

func (families) LengthMetadata() int { return len(exposition.Families) }

// metadata describes a family. Prometheus' text format has no info, which is a gauge.
func metadata(f *exposition.Family) scrape.MetricMetadata {
	kind := f.Type
	if kind == exposition.Info {
		kind = exposition.Gauge
	}
	return scrape.MetricMetadata{MetricFamily: f.Name, Type: model.MetricType(cmp.Or(kind.String(), "unknown")), Help: f.Help, Unit: f.Unit}
}
