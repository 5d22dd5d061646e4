package runfolder

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/metrics"
)

// subject is what the manifest knows of one record: of its Flow, its Node and Port, its
// Locator, its Job. What no column of a table needs is empty.
type subject struct {
	flow    flowNames
	port    portNames
	node    string
	locator locatorNames
	format  string // of the tags that have the locator
	job     *Job
	message message
}

// attribute is something of a subject that may be a column. From is what the tag from of a
// metrics.Column says: the subject's part, and what of it.
type attribute struct {
	from string
	typ  reflect.Type
	of   func(*subject) parquet.Value
}

// attributes returns all attributes but two, which need a field of the record: signal.name,
// of its Type, and host.FIELD, the host of the rank in a field.
func attributes() []attribute {
	text := func(from string, of func(s *subject) string) attribute {
		return attribute{from, reflect.TypeFor[string](), func(s *subject) parquet.Value { return textValue(of(s)) }}
	}
	number := func(from string, of func(s *subject) *int32) attribute {
		return attribute{from, reflect.TypeFor[int32](), func(s *subject) parquet.Value {
			if v := of(s); v != nil {
				return parquet.Int32Value(*v)
			}
			return parquet.NullValue()
		}}
	}
	return []attribute{
		text("flow.name", func(s *subject) string { return s.flow.Name }),
		text("flow.source", func(s *subject) string { return s.flow.src }),
		text("flow.destination", func(s *subject) string { return s.flow.dst }),
		text("node.name", func(s *subject) string { return s.node }),
		text("port.node", func(s *subject) string { return s.node }),
		text("port.name", func(s *subject) string { return s.port.Name }),
		text("port.peer", func(s *subject) string { return s.port.peer }),
		text("port.tier", func(s *subject) string { return s.port.Tier }),
		text("port.direction", func(s *subject) string { return s.port.Direction }),
		{"port.rate", reflect.TypeFor[int64](), func(s *subject) parquet.Value { return parquet.Int64Value(s.port.RateBPS) }},
		text("locator.format", func(s *subject) string { return s.format }),
		number("locator.shared", func(s *subject) *int32 { return &s.locator.shared }),
		number("locator.node", func(s *subject) *int32 { return s.locator.node }),
		text("locator.node_name", func(s *subject) string { return s.locator.nodeName }),
		number("locator.port", func(s *subject) *int32 { return s.locator.port }),
		text("locator.port_name", func(s *subject) string { return s.locator.portName }),
		text("locator.peer_name", func(s *subject) string { return s.locator.peerName }),
		text("locator.tier", func(s *subject) string { return s.locator.tier }),
		text("locator.direction", func(s *subject) string { return s.locator.direction }),
		text("job.name", func(s *subject) string { return s.job.Name }),
		text("job.phase", func(s *subject) string { return s.message.phase }),
		text("job.collective", func(s *subject) string { return s.message.collective }),
		number("message.job", func(s *subject) *int32 { return s.message.job }),
		number("message.step", func(s *subject) *int32 { return s.message.step }),
		text("message.phase", func(s *subject) string { return s.message.phase }),
		text("message.collective", func(s *subject) string { return s.message.collective }),
		number("message.group", func(s *subject) *int32 { return s.message.group }),
	}
}

// attributeColumn completes a column that is an attribute.
func (l *layout) attributeColumn(c *column) {
	part, what, _ := strings.Cut(c.from, ".")
	switch part {
	case "signal":
		c.typ = reflect.TypeFor[string]()
		types := l.path("Type")
		c.values = func(k *chunk) func(int) parquet.Value {
			numbers := fields[uint8](k.records, types)
			return func(i int) parquet.Value { return textValue(k.names.signal(*numbers[i])) }
		}
		return
	case "host":
		c.typ = reflect.TypeFor[string]()
		rank := l.path(what)
		c.values = func(k *chunk) func(int) parquet.Value {
			ranks := fields[int32](k.records, rank)
			return func(i int) parquet.Value { return textValue(k.names.rank(k.subjects[i].job, *ranks[i])) }
		}
		part = "job"
	default:
		for _, a := range l.attributes {
			if a.from == c.from {
				c.typ = a.typ
				c.values = func(k *chunk) func(int) parquet.Value {
					return func(i int) parquet.Value { return a.of(&k.subjects[i]) }
				}
			}
		}
		if c.values == nil {
			panic(fmt.Sprintf("runfolder: table %s, column %s: nothing is called %s", l.name, c.name, c.from))
		}
	}
	l.parts[part] = true
}

// finders returns what finds the parts of subjects that the columns need, in the order in
// which it is called.
func (l *layout) finders(k *chunk) (list []func(i int)) {
	if l.parts["flow"] || l.parts["message"] {
		number := integers(k.records, l.field("Flow"))
		list = append(list, func(i int) {
			to := &k.subjects[i].flow
			if flow := number(i); flow == metrics.Absent {
				*to = flowNames{Flow: &Flow{}}
			} else {
				*to = k.names.flow(k.node, int32(flow))
			}
		})
	}
	if l.parts["locator"] {
		numbers := fields[uint32](k.records, l.path("Locator"))
		list = append(list, func(i int) {
			k.subjects[i].locator, k.subjects[i].format = k.names.locator(*numbers[i]), k.names.formats.Format(*numbers[i])
		})
	}
	if l.parts["port"] || l.parts["node"] {
		nodes := fields[int32](k.records, l.path("Node"))
		if l.parts["port"] {
			ports := fields[int32](k.records, l.path("Port"))
			list = append(list, func(i int) { k.subjects[i].port = k.names.port(*nodes[i], *ports[i]) })
		}
		list = append(list, func(i int) { k.subjects[i].node = k.names.node(*nodes[i]) })
	}
	if l.parts["job"] {
		numbers, tags := fields[int32](k.records, l.path("Job")), fields[metrics.Tag](k.records, l.path("Tag"))
		list = append(list, func(i int) {
			j := k.names.job(k.node, *numbers[i])
			k.subjects[i].job, k.subjects[i].message = j, message{phase: j.phase(*tags[i]), collective: j.collective(*tags[i])}
		})
	}
	if l.parts["message"] {
		tags := fields[metrics.Tag](k.records, l.path("Tag"))
		list = append(list, func(i int) { k.subjects[i].message = k.names.message(k.subjects[i].flow.Flow, tags[i]) })
	}
	return list
}

// textValue returns a value that shares the memory of a text. The writer copies it.
func textValue(text string) parquet.Value {
	return parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(text), len(text)))
}
