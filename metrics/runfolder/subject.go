package runfolder

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// subject is what the manifest says of one record: of its run, its Node and Port, its Flow and
// Tag, its Locator or its Job. The tag names of a metrics.Column is the path of one of these
// fields. What no column of a table needs is empty. Two more names are no fields, but looked
// up for each row that has them: Signal, of the record's Type, and Host.FIELD, the host of the
// rank in a field of the record.
type subject struct {
	Variant string
	Seed    uint64
	Window  units.Duration // Absent: the telemetry interval
	Node    struct{ Name string }
	Port    struct {
		Name, Peer, Tier, Direction string
		Rate                        int64
	}
	Flow    struct{ Name, Source, Destination string }
	Locator locatorNames
	Job     struct{ Name string }
	Message message

	flow flowNames
	job  *Job
}

// message is what a record of a connection, or of a job, is about. Numbers are Absent where
// there is none.
type message struct {
	Job, Step         int32
	Phase, Collective string
	Group             int32
}

// message returns the message whose packets a record of a flow counts; nothing if the flow is
// no connection.
func (n *names) message(f *Flow, t *metrics.Tag) message {
	j, m := n.jobs[f.Job], message{Job: metrics.Absent, Step: metrics.Absent, Group: metrics.Absent}
	if t.Step == 0 || f.Messages == 0 || j == nil {
		return m
	}
	m.Job, m.Step, m.Phase, m.Collective = j.Job, t.Step, j.phase(*t), j.collective(*t)
	if t.Collective != 0 {
		m.Group = t.Group
	}
	return m
}

// namedColumn completes a column with the tag names.
func (l *layout) namedColumn(c *column, path string, tag reflect.StructTag) {
	part, what, _ := strings.Cut(path, ".")
	l.need(part, c)
	name := func(field string, name func(n *names, s *subject, number int32) string) {
		c.typ = reflect.TypeFor[string]()
		c.values = func(k *chunk, holds func(int) bool) giver {
			number := k.numbers(field)
			return func(to []parquet.Value) {
				for i := range to {
					if holds == nil || holds(i) {
						to[i] = textValue(name(k.names, &k.subjects[i], number(i)))
					}
				}
			}
		}
	}
	switch part {
	case "Signal":
		name("Type", func(n *names, _ *subject, number int32) string { return n.signal(uint8(number)) })
	case "Message":
		if _, ofJob := l.Record.FieldByName("Job"); !ofJob {
			l.need("Flow", c)
		}
	case "Host":
		l.need("Job", c)
		name(what, func(n *names, s *subject, number int32) string { return n.rank(s.job, number) })
	}
	if c.values == nil {
		l.fieldColumn(c, fieldOf(reflect.TypeFor[subject](), path), tag, func(k *chunk) reflect.Value { return reflect.ValueOf(k.subjects) })
	}
}

// finders returns what finds the parts of subjects that the columns need, in the order in
// which it is called.
func (l *layout) finders(k *chunk) (list []func(i int, s *subject)) {
	add := func(part *column, find func(i int, s *subject)) {
		if holds := l.holds(part, k); holds != nil {
			always := find
			find = func(i int, s *subject) {
				if holds(i) {
					always(i, s)
				}
			}
		}
		list = append(list, find)
	}
	flow, message, job := l.parts["Flow"], l.parts["Message"], l.parts["Job"]
	if flow != nil {
		number, none := k.numbers("Flow"), flowNames{Flow: &Flow{}}
		add(flow, func(i int, s *subject) {
			if s.flow = none; number(i) != metrics.Absent {
				s.flow = k.names.flow(k.node, number(i))
			}
			s.Flow.Name, s.Flow.Source, s.Flow.Destination = s.flow.Name, s.flow.src, s.flow.dst
		})
	}
	if part := l.parts["Locator"]; part != nil {
		number := k.numbers("Locator")
		add(part, func(i int, s *subject) { s.Locator = k.names.locator(uint32(number(i))) })
	}
	if part := l.parts["Port"]; part != nil {
		node, port := k.numbers("Node"), k.numbers("Port")
		add(part, func(i int, s *subject) {
			p, to := k.names.port(node(i), port(i)), &s.Port
			to.Name, to.Peer, to.Tier, to.Direction, to.Rate = p.Name, p.peer, p.Tier, p.Direction, p.RateBPS
		})
	}
	if part := l.parts["Node"]; part != nil {
		number := k.numbers("Node")
		add(part, func(i int, s *subject) { s.Node.Name = k.names.node(number(i)) })
	}
	switch {
	case job != nil:
		number, tags := k.numbers("Job"), fields[metrics.Tag](k.records, l.path("Tag"))
		add(job, func(i int, s *subject) {
			s.job = k.names.job(k.node, number(i))
			s.Job.Name, s.Message.Phase, s.Message.Collective = s.job.Name, s.job.phase(*tags[i]), s.job.collective(*tags[i])
		})
	case message != nil:
		tags := fields[metrics.Tag](k.records, l.path("Tag"))
		add(message, func(i int, s *subject) { s.Message = k.names.message(s.flow.Flow, tags[i]) })
	}
	return list
}

// numbers returns what gives the number of a subject that a field of the records has.
func (k *chunk) numbers(field string) func(i int) int32 {
	f := fieldOf(k.records.Type().Elem(), field)
	switch f.Type.Kind() {
	case reflect.Uint8:
		list := fields[uint8](k.records, f.Index)
		return func(i int) int32 { return int32(*list[i]) }
	case reflect.Uint32:
		list := fields[uint32](k.records, f.Index)
		return func(i int) int32 { return int32(*list[i]) }
	}
	list := fields[int32](k.records, f.Index)
	return func(i int) int32 { return *list[i] }
}

// fieldOf returns the field at a path of names in a type, with its index.
func fieldOf(t reflect.Type, path string) (f reflect.StructField) {
	f.Type = t
	for name := range strings.SplitSeq(path, ".") {
		next, ok := f.Type.FieldByName(name)
		if !ok {
			panic(fmt.Sprintf("runfolder: %s has no field %s", t, path))
		}
		next.Index = append(append([]int(nil), f.Index...), next.Index...)
		f = next
	}
	return f
}
