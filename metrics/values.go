package metrics

// Value is one metric of the whole run. No machine emits it: the metrics of a run are
// computed from the records of all nodes, and are written like these.
type Value struct {
	_       Table   `name:"metrics" schema:"MetricRow" doc:"Every metric of every run, the derived ones too. csiglab computes them from the records of all nodes when the run has ended. The order of rows within a run has no meaning."`
	Metric  string  `column:"metric,dict" doc:"name without the subject: 'queue_kb.p99'; 'cc_share.noop' of 'cc_share.0-8.noop'; 'bottleneck_share.delay'"`
	Subject string  `column:"subject,optional" doc:"what it is about: a flow, port, class or group; of a share by flow and port both, '0-8.tor0-agg0'; null: the whole run"` // "" for a metric of the whole run
	Name    string  `column:"name" doc:"the whole name"`
	Value   float64 `column:"value" unit:"the metric's" doc:"never NaN or infinite"`
}

var _ = table[Value]()

func (v *Value) appendTo(b *Batch) { keep(b, v) }
