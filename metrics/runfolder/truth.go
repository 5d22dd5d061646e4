package runfolder

import "iter"

const tableTruth = "truth"

// TruthRow is a row of truth.parquet: a metrics.Truth. Values are in the signal type's
// unit, as in SignalRow.
type TruthRow struct {
	Variant  string  `parquet:"variant,dict"`
	Seed     uint64  `parquet:"seed"`
	Flow     int32   `parquet:"flow"`
	FlowName string  `parquet:"flow_name,dict"`
	SrcName  string  `parquet:"src_name,dict"`
	DstName  string  `parquet:"dst_name,dict"`
	TimeUS   float64 `parquet:"time_us"` // when the sample was read
	Packet   int64   `parquet:"packet"`
	Sent     int32   `parquet:"transmission"`
	Type     string  `parquet:"type,dict"`
	Format   string  `parquet:"format,dict,optional"` // of the tag
	Code     int64   `parquet:"code"`
	Point    int64   `parquet:"point"`
	Low      int64   `parquet:"low"`
	High     *int64  `parquet:"high,optional"` // nil: the code has no upper end
	Locator  int32   `parquet:"locator"`
	Shared   int32   `parquet:"shared"`                  // ports that have the locator
	PortName string  `parquet:"port_name,dict,optional"` // of the locator; null where several ports share it

	Truth     float64  `parquet:"truth"`
	Node      int32    `parquet:"worst_node"`
	NodeName  string   `parquet:"worst_node_name,dict"`
	Port      int32    `parquet:"worst_port"`
	WorstPort string   `parquet:"worst_port_name,dict"`
	RateBPS   int64    `parquet:"worst_rate_bps,dict"` // of its link
	LeftUS    float64  `parquet:"left_us"`             // when the packet left it
	Hops      int32    `parquet:"hops"`
	Named     string   `parquet:"named,dict"` // metrics.Named
	Updates   bool     `parquet:"updates"`    // the worst hop writes into tags of this type
	Inside    bool     `parquet:"inside"`     // the truth lies between low and high
	AtUse     *float64 `parquet:"truth_at_use,optional"`
	AgeUS     *float64 `parquet:"age_us,optional"`
}

// Error returns the point less the truth, in the type's unit.
func (r *TruthRow) Error() float64 { return float64(r.Point) - r.Truth }

// Truth reads the samples beside the truth of the runs that recorded it; see Ports.
func (f *Folder) Truth() iter.Seq2[TruthRow, error] {
	return readTable[TruthRow](f, tableTruth)
}
