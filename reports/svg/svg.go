// Package svg turns the SVG drawings of a report page into files of their own. It reads
// a drawing, gives each element the style that the page's style sheet has for it, and
// writes it as an SVG document that needs no style sheet, or as PNG. It supports what
// package reports draws with, and refuses other elements: it is not a renderer for SVG
// of others.
package svg

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of what a drawing may have.
const (
	maxElements = 400_000
	maxDepth    = 64
	maxSide     = 8000 // user units
)

// Drawing is an SVG document whose elements carry their styles.
type Drawing struct {
	Width, Height float64 // of its view box, in user units
	root          *element
}

// element is an element of a document. Its text is that of all its text nodes.
type element struct {
	name     string
	attrs    []xml.Attr // without class and style
	classes  []string
	inline   string // the style attribute
	style    style  // of the element itself, without what it inherits
	text     string
	children []*element
}

// attr returns the value of an attribute, or "".
func (e *element) attr(name string) string {
	for _, a := range e.attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// Parse reads a document and resolves its styles with a sheet's colours of a scheme. The
// document's size is that of its viewBox, which begins at 0 0.
func Parse(text string, sheet *Sheet, scheme Scheme) (*Drawing, error) {
	root, err := parse(strings.Map(allowed, text))
	if err != nil {
		return nil, fmt.Errorf("svg: %w", err)
	}
	d := &Drawing{root: root}
	box := strings.Fields(strings.ReplaceAll(root.attr("viewBox"), ",", " "))
	if root.name != "svg" || len(box) != 4 || box[0] != "0" || box[1] != "0" {
		return nil, fmt.Errorf("svg: want a document with a viewBox that begins at 0 0, got <%s viewBox=%q>", root.name, root.attr("viewBox"))
	}
	for i, to := range []*float64{&d.Width, &d.Height} {
		if *to, err = strconv.ParseFloat(box[2+i], 64); err != nil || !(*to > 0 && *to <= maxSide) {
			return nil, fmt.Errorf("svg: viewBox %q: want sizes from 0 to %d", root.attr("viewBox"), maxSide)
		}
	}
	sheet.apply(root, nil, scheme)
	return d, nil
}

// allowed replaces what no XML document may have (XML 1.0, Char), such as a control
// character in a name.
func allowed(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
	case r < ' ' || r == 0xFFFE || r == 0xFFFF:
		return utf8.RuneError
	}
	return r
}

func parse(text string) (*element, error) {
	decoder := xml.NewDecoder(strings.NewReader(text))
	var open []*element
	var root *element
	count := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if count++; count > maxElements || len(open) == maxDepth {
				return nil, fmt.Errorf("more than %d elements, or deeper than %d", maxElements, maxDepth)
			}
			e := newElement(t)
			switch {
			case len(open) > 0:
				top := open[len(open)-1]
				top.children = append(top.children, e)
			case root != nil:
				return nil, errors.New("a second document follows the first")
			default:
				root = e
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(t)
			}
		}
	}
	if root == nil {
		return nil, errors.New("no element")
	}
	return root, nil
}

func newElement(t xml.StartElement) *element {
	e := &element{name: t.Name.Local}
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "class":
			e.classes = strings.Fields(a.Value)
		case "style":
			e.inline = a.Value
		case "xmlns":
		default:
			e.attrs = append(e.attrs, xml.Attr{Name: xml.Name{Local: a.Name.Local}, Value: a.Value})
		}
	}
	return e
}

// kept are the attributes that a written document has, besides style. Those that serve
// the page's script are left out.
var kept = []string{"viewBox", "d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "transform", "href", "id", "points",
	"fill", "stroke", "stroke-width", "role"}

// WriteSVG writes the drawing as a document of its own, with the size of its view box.
func (d *Drawing) WriteSVG(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	write(&b, d.root, fmt.Sprintf(` xmlns="http://www.w3.org/2000/svg" width="%g" height="%g"`, d.Width, d.Height))
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func write(b *strings.Builder, e *element, more string) {
	b.WriteString("<" + e.name + more)
	for _, a := range e.attrs {
		if slices.Contains(kept, a.Name.Local) {
			b.WriteString(" " + a.Name.Local + `="`)
			xml.EscapeText(b, []byte(a.Value)) // a strings.Builder does not fail
			b.WriteByte('"')
		}
	}
	if len(e.style) > 0 {
		b.WriteString(` style="`)
		xml.EscapeText(b, []byte(e.style.text()))
		b.WriteByte('"')
	}
	if len(e.children) == 0 && e.text == "" {
		b.WriteString("/>")
		return
	}
	b.WriteByte('>')
	xml.EscapeText(b, []byte(strings.Trim(e.text, "\n\t")))
	for _, c := range e.children {
		write(b, c, "")
	}
	b.WriteString("</" + e.name + ">")
}
