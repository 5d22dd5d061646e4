package exposition

import (
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
	}
	defer s.texts.Put(t)
	*t = textWriter{text: t.text[:0], format: format, head: s.head}
	s.Each(t.sample)
	if format == OpenMetrics {
		t.text = append(t.text, "# EOF\n"...)
	}
	_, err := to.Write(t.text) // a slow reader does not hold up Consume
	return err
}

// textWriter writes samples into memory. The samples of one family come together.
type textWriter struct {
	text   []byte
	format Format
	head   string // the common labels as text
	family *Family
}

// sample writes a sample, and before the first one of a family its help, type and unit.
func (t *textWriter) sample(s Sample) {
	if s.Family != t.family {
		t.family = s.Family
		t.text = s.Family.AppendDescription(t.text, t.format)
	}
	b := append(append(t.text, s.Family.Name...), suffixes[s.Part]...)
	b = append(append(b, '{'), t.head...)
	for i, name := range s.Family.Labels {
		b = AppendLabel(b, name, s.Labels[i])
	}
	if s.Part == PartBucket {
		b = append(b, `le="`...)
		from := len(b)
		b = s.appendBound(b)
		if t.format == OpenMetrics && !bytes.ContainsAny(b[from:], ".eI") {
			b = append(b, ".0"...) // OpenMetrics 1.0, Considerations: Canonical Numbers
		}
		b = append(b, `",`...)
	}
	b[len(b)-1] = '}' // the last comma
	t.text = append(AppendNumber(append(b, ' '), s.Value), '\n')
}

// AppendDescription appends the lines with the help, the type and the unit of a family.
func (f *Family) AppendDescription(b []byte, format Format) []byte {
	name, kind, help := f.Name, f.Type.String(), escapeHelp(f.Help)
	if format == OpenMetrics {
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
		if line[0] == "UNIT" && (format != OpenMetrics || f.Unit == "") {
			continue
		}
		for _, part := range [...]string{"# ", line[0], " ", name, " ", line[1], "\n"} {
			b = append(b, part...)
		}
	}
	return b
}

// AppendLabel appends a label and a comma.
func AppendLabel(b []byte, name, value string) []byte {
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

// AppendNumber appends a value as Prometheus writes it.
func AppendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(b, "+Inf"...)
	case math.IsInf(v, -1):
		return append(b, "-Inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
