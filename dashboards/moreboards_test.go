package dashboards

func flows() Board {
	const by = "variant, job, flow"
	const legend = "{{variant}} {{job}} {{flow}}"
	return Board{
		UID: "csiglab-flows", Title: "csiglab: flows and congestion control", Description: "What flows got, what their congestion control did, and what CSIG told it.", Counts: true,
		Panels: []Panel{
			text(3, axis+" A run with more than 16 flows has lines by job, not by flow; a job's window is the sum over its flows."),
			{Kind: Timeseries, Title: "Received", Width: 12, Unit: "Bps",
				Description: "Payload that the receiver got in the latest telemetry window, without duplicates.",
				Queries:     []Query{windows(legend, "sum by (%s) (csig_flow_receive_bytes_per_second{})", by)}},
			{Kind: Timeseries, Title: "Congestion window", Width: 12, Unit: "bytes", Empty: []Reason{NoWindow},
				Description: "The window after the latest ACK.",
				Queries:     []Query{windows(legend, "sum by (%s) (csig_flow_cwnd_bytes{})", by)}},
			{Kind: Timeseries, Title: "Delay that congestion control was fed", Width: 12, Unit: "s",
				Description: "Mean over the ACKs of the latest telemetry window with any, in the model's time.",
				Queries:     []Query{windows(legend, "max by (%s) (csig_flow_delay_seconds{})", by)}},
			{Kind: Timeseries, Title: "ACKs by action", Width: 12, Unit: "cps", Stack: true, Empty: []Reason{NoActions},
				Description: "ACKs per second, by the action that the congestion control answered with: which of its rules is at work.",
				Queries:     []Query{rates("{{variant}} {{action}}", "variant, action", "csig_cc_actions_total{}", "")}},
			row("CSIG"),
			{Kind: Timeseries, Title: "CSIG samples", Width: 12, Unit: "cps", Empty: []Reason{NoSignals},
				Description: "Samples per second that came back to senders, by signal.",
				Queries:     []Query{rates("{{variant}} {{signal}}", "variant, signal", "csig_signal_samples_total{}", "")}},
			{Kind: Timeseries, Title: "Worst hop by delay", Width: 12, Unit: "s", Empty: []Reason{NoDelay},
				Description: "Greatest delay of a hop in the samples of the latest telemetry window with any.",
				Queries:     []Query{windows(legend, "max by (%s) (csig_signal_delay_seconds{})", by)}},
			{Kind: Timeseries, Title: "Worst hop by available bandwidth", Width: 12, Unit: "Bps", Empty: []Reason{NoBandwidth},
				Description: "Least available bandwidth in the samples of the latest telemetry window with any.",
				Queries:     []Query{windows(legend, "min by (%s) (csig_signal_available_bytes_per_second{})", by)}},
			{Kind: Timeseries, Title: "Worst hop by available share", Width: 12, Unit: "percentunit", Max: 1, Empty: []Reason{NoRatio},
				Description: "Least available share of a link's rate in the samples of the latest telemetry window with any.",
				Queries:     []Query{windows(legend, "min by (%s) (csig_signal_available_ratio{})", by)}},
			{Kind: Timeseries, Title: "Worst hop by queue", Width: 12, Unit: "percentunit", Max: 1, Empty: []Reason{NoQueue},
				Description: "Greatest normalised queue depth of a hop in the samples of the latest telemetry window with any.",
				Queries:     []Query{windows(legend, "max by (%s) (csig_signal_queue_ratio{})", by)}},
			row("Completion and losses"),
			{Kind: Table, Title: "Flows", Width: 12, Description: "What each flow did since the run began.",
				Columns: []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"flow", "flow", ""}, {"Value #A", "received", "bytes"}, {"Value #B", "ACKs", "short"}},
				Queries: []Query{
					query("", "sum by (%s) (%s)", by, total("csig_flow_receive_bytes_total")),
					query("", "sum by (%s) (%s)", by, total("csig_flow_acks_total")),
				}},
			{Kind: Table, Title: "Packets sent again", Width: 12, Empty: []Reason{NoLab},
				Description: "Packets that were sent again, and timeouts of senders, over the whole run.",
				Columns:     []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"flow", "flow", ""}, {"Value #A", "sent again", "short"}, {"Value #B", "timeouts", "short"}},
				Queries: []Query{
					query("", "sum by (%s) (%s)", by, total("csig_flow_retransmitted_packets_total")),
					query("", "sum by (%s) (%s)", by, total("csig_flow_timeouts_total")),
				}},
			{Kind: BarGauge, Title: "Completion times", Width: 12, Unit: "s", Empty: []Reason{NoLab, NoTransfer},
				Description: "Completion times of flows in the model's time: estimates of the median and of the time that 99 of 100 stayed below, from a histogram.",
				Queries: []Query{
					query("{{variant}} median", "%s", quantile(0.5, "variant", "csig_flow_completion_seconds")),
					query("{{variant}} 99th percentile", "%s", quantile(0.99, "variant", "csig_flow_completion_seconds")),
				}},
			{Kind: BarGauge, Title: "Slowdown", Width: 12, Empty: []Reason{NoLab, NoTransfer}, Decimals: 2,
				Description: "Completion times as multiples of those in an empty network: mean, and an estimate of what 99 of 100 stayed below. 1 is the best.",
				Queries: []Query{
					query("{{variant}} mean", "%s", mean("variant", "csig_flow_slowdown_ratio")),
					query("{{variant}} 99th percentile", "%s", quantile(0.99, "variant", "csig_flow_slowdown_ratio")),
				}},
		},
	}
}

func paths() Board {
	const group = "variant, tier, direction"
	share := func(reduce string) Query {
		return windows("{{variant}} {{tier}} {{direction}} "+reduce, "%s by (%s) (csig_port_utilisation_ratio{})", reduce, group)
	}
	up := `tier!="host",direction="up"`
	return Board{
		UID: "csiglab-paths", Title: "csiglab: load balancing and paths", Description: "How evenly the paths of the fabric are used, and which ports CSIG names as bottlenecks.", Counts: true,
		Panels: []Panel{
			text(3, axis+" Ports that lead up, away from the hosts, are those among which load balancing chooses."),
			row("Balance"),
			{Kind: Timeseries, Title: "Spread of utilisation in each tier", Width: 12, Unit: "percentunit", Max: 1,
				Description: "Greatest, mean and least utilisation of the ports of a tier in one direction, in the latest telemetry window. Lines far apart mean that some ports are full while others are free.",
				Queries:     []Query{share("max"), share("avg"), share("min")}},
			{Kind: BarGauge, Title: "Greatest over mean utilisation", Width: 12, Decimals: 2,
				Description: "Utilisation of the busiest port of a tier, as a multiple of the tier's mean, since the run began. 1 is an even load.",
				Queries: []Query{query("{{variant}} {{tier}} {{direction}}", "max by (%s) (%s) / avg by (%[1]s) (%[2]s)", group,
					mean(byPort, "csig_port_window_utilisation_ratio", `tier!="host"`))}},
			{Kind: Signature, Title: "Ports that lead up, by utilisation", Width: 24, Height: 10, Unit: "percentunit", Max: 1,
				Description: "The 40 busiest ports that lead away from the hosts, one in each row, and the share of each telemetry window in which the line was busy. Dark is busy. Even shades in a column mean an even load.",
				Queries:     []Query{windows("{{variant}} {{tier}} {{port}}", "%s", most(40, "csig_port_utilisation_ratio{"+up+"}"))}},
			row("Bottlenecks"),
			{Kind: Timeseries, Title: "Bottlenecks that CSIG samples name", Width: 12, Unit: "cps", Stack: true, Empty: []Reason{NoSignals},
				Description: "Samples per second by the port that their locator stands for, of the eight ports that are named most often.",
				Queries: []Query{rates("{{variant}} {{bottleneck}}", "variant, bottleneck", `csig_signal_samples_total{bottleneck!=""}`,
					` and topk(8, sum by (variant, bottleneck) (last_over_time(csig_signal_samples_total{bottleneck!=""}[$__range] @ end())))`)}},
			{Kind: BarGauge, Title: "Share of each bottleneck", Width: 12, Unit: "percentunit", Max: 1, Empty: []Reason{NoSignals},
				Description: "Share of the samples that name the port, since the run began; the ten most frequent ones of those that name any.",
				Queries: []Query{query("{{variant}} {{bottleneck}}", "topk(10, sum by (variant, bottleneck) (%s) / on (variant) group_left () sum by (variant) (%[1]s))",
					total("csig_signal_samples_total", `bottleneck!=""`))}},
			{Kind: Table, Title: "Bottlenecks by job", Width: 12, Empty: []Reason{NoSignals},
				Description: "How many samples of each job name which port, since the run began.",
				Columns:     []Column{{"variant", "variant", ""}, {"job", "job", ""}, {"signal", "signal", ""}, {"bottleneck", "bottleneck", ""}, {"tier", "tier", ""}, {"Value", "samples", "short"}},
				Queries:     []Query{query("", "topk(50, sum by (variant, job, signal, bottleneck, tier) (%s))", total("csig_signal_samples_total", `bottleneck!=""`))}},
			{Kind: BarGauge, Title: "Packets trimmed or dropped by port", Width: 12,
				Description: "The ten ports that trimmed or dropped most packets since the run began.",
				Queries: []Query{query("{{variant}} {{port}}", "topk(10, sum by (variant, port) (%s) + sum by (variant, port) (%s))",
					total("csig_port_trimmed_packets_total"), total("csig_port_dropped_packets_total"))}},
		},
	}
}

func fidelity() Board {
	return Board{
		UID: "csiglab-fidelity", Title: "csiglab: fidelity", Description: "Whether the machine kept up with the run, so that its numbers can be trusted.",
		Panels: []Panel{
			text(3, "In real time a node that gets the processor too late distorts what it measures. Virtual time and lockstep have no such errors: their runs have no lateness and lose no frames."),
			{Kind: Stat, Title: "Verdict", Width: 6, Height: 4, Values: valid, Empty: []Reason{NoLab}, Steps: []Step{{0, "text"}},
				Description: "Whether csiglab found the run valid.",
				Queries:     []Query{query("{{variant}}", "min by (variant) (%s)", total("csig_run_valid"))}},
			{Kind: Stat, Title: "Lost records", Width: 6, Height: 4, Steps: noneIsOK,
				Description: "Records that found no room in a bounded buffer.",
				Queries:     []Query{query("{{variant}}", "sum by (variant) (%s)", total("csig_run_dropped_records_total"))}},
			{Kind: Stat, Title: "Dilation", Width: 6, Height: 4, Empty: []Reason{NoVirtual},
				Description: "Wall seconds per second of the model.",
				Queries:     []Query{query("{{variant}}", "max by (variant) (%s)", total("csig_run_dilation_ratio"))}},
			{Kind: Stat, Title: "Greatest lateness", Width: 6, Height: 4, Unit: "s", Empty: []Reason{NoVirtual},
				Description: "Greatest wall time by which a node was late for an event.",
				Queries:     []Query{query("{{variant}}", "max by (variant) (%s)", total("csig_node_lateness_seconds"))}},
			ran(24),
			{Kind: BarGauge, Title: "Lateness by node", Width: 12, Unit: "s", Empty: []Reason{NoVirtual},
				Description: "Greatest wall time by which each node was late for an event, of the 20 latest nodes.",
				Queries:     []Query{query("{{variant}} {{node}}", "topk(20, max by (variant, node) (%s))", total("csig_node_lateness_seconds"))}},
			{Kind: BarGauge, Title: "Lost frames by node", Width: 12, Empty: []Reason{NoVirtual, NoLab},
				Description: "Frames that were sent to the node over links and that it did not receive, of the 20 nodes with most of them.",
				Queries:     []Query{query("{{variant}} {{node}}", "topk(20, sum by (variant, node) (%s))", total("csig_node_lost_frames_total"))}},
		},
	}
}

func compare() Board {
	both := func(legend, expr string, each bool) []Query {
		return []Query{
			{Expr: of(own, expr), Legend: "1: " + legend, Windows: each},
			{Expr: of(other, expr), Legend: "2: " + legend, Windows: each},
		}
	}
	return Board{
		UID: "csiglab-compare", Title: "csiglab: compare two runs", Compare: true, Description: "The same numbers of two runs, or of two variants of one run, side by side.",
		Panels: []Panel{
			text(3, "Run 1 is what the variables on the left choose, run 2 what *Other run* and those after it choose: another run folder, another variant or another seed. "+axis),
			{Kind: Table, Title: "Run 1", Width: 12, Height: 5, Description: "The run, and the algorithms of each variant.", Columns: ran(12).Columns, Queries: ran(12).Queries},
			{Kind: Table, Title: "Run 2", Width: 12, Height: 5, Description: "The other run, and the algorithms of each variant.", Columns: ran(12).Columns,
				Queries: []Query{{Expr: of(other, "max by (run, experiment, variant, seed, runtime, clock, cc, lb, aqm, csig, stretch) ("+total("csig_run_info")+")")}}},
			{Kind: BarGauge, Title: "Mean time of a step", Width: 8, Unit: "s", Empty: []Reason{NoJob},
				Description: "Mean duration of the steps of each job, in the model's time.",
				Queries:     both("{{variant}} {{job}}", mean("variant, job", "csig_job_iteration_seconds"), false)},
			{Kind: BarGauge, Title: "Completion times, 99th percentile", Width: 8, Unit: "s", Empty: []Reason{NoLab, NoTransfer},
				Description: "An estimate, from a histogram, of the time in which 99 of 100 flows were complete, in the model's time.",
				Queries:     both("{{variant}}", quantile(0.99, "variant", "csig_flow_completion_seconds"), false)},
			{Kind: BarGauge, Title: "Queues, 99th percentile", Width: 8, Unit: "bytes",
				Description: "An estimate, from a histogram, of the depth that the data queues of switches stayed below in 99 of 100 telemetry windows.",
				Queries:     both("{{variant}}", quantile(0.99, "variant", "csig_port_window_queue_bytes", `tier!="host"`), false)},
			{Kind: Timeseries, Title: "Received", Width: 12, Unit: "Bps",
				Description: "Payload that all receivers got in the latest telemetry window.",
				Queries:     both("{{variant}}", "sum by (variant) (csig_flow_receive_bytes_per_second{})", true)},
			{Kind: Timeseries, Title: "Busiest port of each tier", Width: 12, Unit: "percentunit", Max: 1,
				Description: "Share of the latest telemetry window in which the busiest line of the tier was busy.",
				Queries:     both("{{variant}} {{tier}}", `max by (variant, tier) (csig_port_utilisation_ratio{tier!="host"})`, true)},
			{Kind: Timeseries, Title: "Deepest queue of each tier", Width: 12, Unit: "bytes",
				Description: "Greatest depth of a data queue of a switch in the latest telemetry window.",
				Queries:     both("{{variant}} {{tier}}", `max by (variant, tier) (csig_port_queue_peak_bytes{tier!="host"})`, true)},
			{Kind: Timeseries, Title: "Delay that congestion control was fed", Width: 12, Unit: "s",
				Description: "Greatest mean delay of a flow, or of a job, in the latest telemetry window, in the model's time.",
				Queries:     both("{{variant}}", "max by (variant) (csig_flow_delay_seconds{})", true)},
			{Kind: BarGauge, Title: "Bottlenecks that CSIG samples name", Width: 24, Unit: "percentunit", Max: 1, Empty: []Reason{NoSignals},
				Description: "Share of the samples that name the port as their bottleneck; the eight most frequent ones of each run.",
				Queries: both("{{variant}} {{bottleneck}}", `topk(8, sum by (variant, bottleneck) (`+total("csig_signal_samples_total", `bottleneck!=""`)+
					`) / on (variant) group_left () sum by (variant) (`+total("csig_signal_samples_total", `bottleneck!=""`)+`))`, false)},
		},
	}
}
