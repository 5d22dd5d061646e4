package exposition

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"strconv"
	"strings"
)

// Format is a text format.
type Format uint8

// Formats.
const (
	Text        Format = iota // Prometheus' text format 0.0.4
	OpenMetrics               // OpenMetrics 1.0.0
)

var contentTypes = [...]string{"text/plain; version=0.0.4; charset=utf-8", "application/openmetrics-text; version=1.0.0; charset=utf-8"}

// ContentType returns the format's media type.
func (f Format) ContentType() string { return contentTypes[f] }

// WriteText writes all series in Prometheus' text format, without timestamps.
func (s *Set) WriteText(to io.Writer) error { return s.Write(to, Text) }

// Write writes all series in a format, without timestamps. It keeps its memory for the
// next call: the garbage collector of a node's process is off while it paces.
func (s *Set) Write(to io.Writer, format Format) error {
	t, _ := s.texts.Get().(*textWriter)
	if t == nil {
		t = &textWriter{}
		t.Writer = NewWriter(&t.text, format)
	}
	defer s.texts.Put(t)
	t.text.Reset()
	t.format, t.family = format, nil
	s.Each(func(sample Sample) { t.Write(s.of.Common, sample) })
	if err := t.Close(); err != nil {
		return err
	}
	_, err := to.Write(t.text.Bytes()) // a slow reader does not hold up Consume
	return err
}

// textWriter is a Writer into memory.
type textWriter struct {
	*Writer
	text bytes.Buffer
}

// Writer writes samples in a text format. The samples of one family come together. Build it
// with NewWriter.
type Writer struct {
	to     *bufio.Writer
	format Format
	family *Family
	// Stamp returns the timestamp of a sample, in seconds since the epoch. nil: samples
	// have none.
	Stamp  func(s *Sample) float64
	common Common // of head
	head   string // the common labels as text
	line   []byte
}

// NewWriter returns a Writer.
func NewWriter(to io.Writer, format Format) *Writer {
	return &Writer{to: bufio.NewWriter(to), format: format}
}

// Write writes a sample, and before the first one of a family its help, unit and type.
// Errors are Close's.
func (w *Writer) Write(common Common, s Sample) {
	if s.Family != w.family {
		w.family = s.Family
		w.describe(s.Family)
	}
	if w.head == "" || common != w.common {
		w.common, w.head = common, ""
		values := common.values()
		for i, name := range CommonLabels {
			w.head += string(appendLabel(nil, name, values[i]))
		}
	}
	b := append(append(w.line[:0], s.Family.Name...), suffixes[s.Part]...)
	b = append(b, '{')
	b = append(b, w.head...)
	for i, name := range s.Family.Labels {
		b = appendLabel(b, name, s.Labels[i])
	}
	if s.Part == PartBucket {
		b = append(b, `le="`...)
		from := len(b)
		b = s.appendBound(b)
		if w.format == OpenMetrics && !bytes.ContainsAny(b[from:], ".eI") {
			b = append(b, ".0"...) // OpenMetrics 1.0, Considerations: Canonical Numbers
		}
		b = append(b, `",`...)
	}
	b[len(b)-1] = '}' // the last comma
	b = append(b, ' ')
	b = appendNumber(b, s.Value)
	if w.Stamp != nil {
		stamped := s // s itself would be a new object each time
		at := w.Stamp(&stamped)
		b = append(b, ' ')
		if w.format == OpenMetrics {
			b = strconv.AppendFloat(b, at, 'f', -1, 64)
		} else {
			b = strconv.AppendInt(b, int64(math.Round(at*1000)), 10)
		}
	}
	w.line = append(b, '\n')
	w.to.Write(w.line) //nolint:errcheck // a bufio.Writer keeps its first error for Flush
}

// describe writes help, type and unit of a family.
func (w *Writer) describe(f *Family) {
	name, kind, help := f.Name, f.Type.String(), escapeHelp(f.Help)
	if w.format == OpenMetrics {
		switch f.Type {
		case Counter:
			name = strings.TrimSuffix(name, "_total")
		case Info:
			name = strings.TrimSuffix(name, "_info")
		}
		help = strings.ReplaceAll(help, `"`, `\"`)
	} else if f.Type == Info {
		kind = Gauge.String()
	}
	for _, line := range [...][2]string{{"HELP", help}, {"TYPE", kind}, {"UNIT", f.Unit}} {
		if line[0] == "UNIT" && (w.format != OpenMetrics || f.Unit == "") {
			continue
		}
		b := append(append(w.line[:0], "# "...), line[0]...)
		b = append(append(b, ' '), name...)
		b = append(append(b, ' '), line[1]...)
		w.line = append(b, '\n')
		w.to.Write(w.line) //nolint:errcheck // as above
	}
}

// Close ends the text and returns the first error.
func (w *Writer) Close() error {
	if w.format == OpenMetrics {
		w.to.WriteString("# EOF\n") //nolint:errcheck // as above
	}
	return w.to.Flush()
}

// appendLabel appends a label and a comma.
func appendLabel(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, '=', '"')
	value = strings.ToValidUTF8(value, "\uFFFD")
	for i := range len(value) {
		switch c := value[i]; c {
		case '\\', '"':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, c)
		}
	}
	return append(b, '"', ',')
}

func escapeHelp(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "\n", `\n`)
}

// appendNumber appends a value as Prometheus writes it.
func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(b, "+Inf"...)
	case math.IsInf(v, -1):
		return append(b, "-Inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
