package metrics

import "github.com/csiglab/csiglab/units"

// Transfer is one transfer, or one connection of a job, with the totals of its two ends. No
// machine emits it: it is made of SenderTotals and ReceiverTotals, and is written like records
// when the run has ended. Times are units.Never when the event has not happened.
type Transfer struct {
	_                Table          `name:"phases" schema:"PhaseRow" dropped:"never" doc:"A row is one transfer, or one connection of a job, with the totals of its two ends. Both hosts emit their totals at the end of the run."`
	Job              int32          `column:"job" doc:"job that the transfer belongs to"`
	Flow             int32          `column:"flow" doc:"number of the flow"`
	_                Column         `column:"flow_name,dict" names:"Flow.Name" doc:"its name"`
	_                Column         `column:"src_name,dict" names:"Flow.Source" doc:"host that sends"`
	_                Column         `column:"dst_name,dict" names:"Flow.Destination" doc:"host that receives"`
	Start            units.Time     `column:"start_us,optional" unit:"us" doc:"when it was ready to send; null: never"`
	SenderDone       units.Time     `column:"sender_done_us,optional" unit:"us" doc:"the ACK that completes it; null: not in this run"`
	ReceiverDone     units.Time     `column:"receiver_done_us,optional" unit:"us" doc:"the last byte; null: not in this run"`
	NewPackets       int64          `column:"new_packets" unit:"packets" doc:"sent for the first time"`
	Retransmitted    int64          `column:"retransmitted" unit:"packets" doc:"sent again"`
	AcksReceived     int64          `column:"acks_received" unit:"ACKs"`
	NacksReceived    int64          `column:"nacks_received" unit:"NACKs"`
	Timeouts         int64          `column:"timeouts" unit:"packets" doc:"given up for lost"`
	Samples          int64          `column:"samples" unit:"samples" doc:"CSIG samples that reached the sender, those of trimmed packets not counted"`
	FreshSamples     int64          `column:"samples_fresh" unit:"samples" doc:"of these, those of packets sent no earlier than that of any sample before"`
	Untouched        int64          `column:"samples_untouched" unit:"tags" doc:"that came back and that no hop had written"`
	DeliveredWhole   int64          `column:"delivered_whole" unit:"packets" doc:"received whole, duplicates included"`
	Duplicates       int64          `column:"duplicates" unit:"packets" doc:"of these, received before"`
	DeliveredTrimmed int64          `column:"delivered_trimmed" unit:"packets" doc:"received trimmed"`
	PayloadBytes     int64          `column:"payload_bytes" unit:"bytes" doc:"payload received, each byte once"`
	BaseRTT          units.Duration `column:"base_rtt_us" unit:"us" doc:"at the end"`
	Cwnd             int64          `column:"cwnd_bytes" unit:"bytes" doc:"at the end"`
}

var _ = table[Transfer]()

func (t *Transfer) appendTo(b *Batch) { keep(b, t) }
