package measure

import "github.com/csiglab/csiglab/internal/wildcard"

// absences is why runs that can have metrics lack some, by patterns of their names; the
// first that matches holds. A metric that every run has is in none.
var absences = []struct{ pattern, why string }{
	{"fct_us.*", "a flow that does not complete has none"},
	{"fct_rx_us.*", "a flow that does not complete has none"},
	{"rate_gbps.*", "the measuring window ends before the flow begins"},
	{"goodput_gbps.*", "the measuring window ends before the flow begins"},
	{"cc_delay_us.*", "no ACK came in the measuring window"},
	{"cc_share.*", "no ACK came in the measuring window"},
	{"samples.*", "no sample came"},
	{"csig_*", "no sample of it came in the measuring window"},
	{"abw_gbps.*", "no sample of it came in the measuring window"},
	{"truth_*", "no sample of it that was chosen came in the measuring window"},
	{"rpc_us.*", "no RPC of the group was answered"},
	{"slowdown.*", "a flow that does not complete, or that stops early, has none"},
	{"cwnd_kb.*", "no ACK came in the measuring window"},
	{"rtt_us.*", "no ACK that measures it came in the measuring window"},
	{"samples_per_ack.*", "no ACK came in the measuring window"},
	{"retransmit_share*", "no data packet was sent in the measuring window"},
	{"hop_delay_us.*", "no packet left the queue in the measuring window"},
	{"queue_kb.*", "the run ended before the measuring window began"},
	{"utilisation.*", "the run ended before the measuring window began"},
	{"jain.*", "no flow of the group got anything in the measuring window"},
	{"class_queue_kb.*", "no packet of the class left a queue in the measuring window"},
	{"class_wait_us.*", "no packet of the class left a queue in the measuring window"},
	{"pauses.*.*", "the port paused nobody and nobody paused it"},
	{"paused_us.*.*", "the port paused nobody and nobody paused it"},
	{"iteration_us.*", "the ranks did not end a step"},
	{"iteration_settled_us.*", "the ranks did not end a step"},
	{"compute_*", noDivision}, {"bubble_*", noDivision}, {"exposed_*", noDivision}, {"skew_wait_*", noDivision}, {"held_*", noDivision}, {"idle_*", noDivision},
	{"straggler_*", "the ranks did not end a step in which they compute"},
	{"message_us.*", "no message crossed the fabric"},
	{"cct_us.*", "not all ranks of a group left the collective"},
	{"skew_us.*", "not all ranks of a group left the collective"},
	{"algbw_gbps.*", "not all ranks of a group left the collective"},
	{"busbw_gbps.*", "not all ranks of a group left the collective, or nccl-tests have no factor for its kind"},
	{"overlap_share.*", "no collective of it began while another job that shares a link ran"},
	{"apart_iteration.*", "it overlapped with other jobs to the end, or no collective of it began while another job that shares a link ran"},
	{"schedule_*", "no rank came to a slot"},
	{"iteration_fluid_us.*", "the run, or the part of it at which the fluid model looks, ends before the first iteration that the model predicts"},
	{"bottleneck_share.*", "no sample in the measuring window names it"},
}

// noDivision is why a run lacks the parts of iterations.
const noDivision = "the ranks did not end a step, or a step has more than 2097152 operations"

// WhyAbsent returns why a run lacks a metric that runs of its plan can have; "" if there is
// nothing to say.
func WhyAbsent(name string) string {
	for _, a := range absences {
		if wildcard.Match(a.pattern, name) {
			return a.why
		}
	}
	return ""
}
