package metrics

import "github.com/csiglab/csiglab/units"

// Rest is what a switch port had in its queue at the end of the run.
type Rest struct {
	_     Table      `name:"rests" doc:"What each switch port had in its queue at the end of the run."`
	Node  int32      `column:"node" doc:"number of the switch"`
	_     Column     `column:"node_name,dict" names:"Node.Name" doc:"its name"`
	Port  int32      `column:"port" doc:"number of the port"`
	At    units.Time `column:"at_us" unit:"us" doc:"end of the run"`
	Bytes int64      `column:"bytes" unit:"bytes" doc:"in the queue"`
}

var _ = table[Rest]()

func (r *Rest) appendTo(b *Batch) { keep(b, r) }
