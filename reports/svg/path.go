package svg

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// point is a place in user units, or on the picture.
type point struct{ x, y float64 }

// matrix maps (x, y) to (a x + c y + e, b x + d y + f).
type matrix struct{ a, b, c, d, e, f float64 }

var identity = matrix{a: 1, d: 1}

func (m matrix) apply(p point) point {
	return point{m.a*p.x + m.c*p.y + m.e, m.b*p.x + m.d*p.y + m.f}
}

// then returns the matrix that applies n first and m afterwards.
func (m matrix) then(n matrix) matrix {
	return matrix{
		m.a*n.a + m.c*n.b, m.b*n.a + m.d*n.b, m.a*n.c + m.c*n.d, m.b*n.c + m.d*n.d,
		m.a*n.e + m.c*n.f + m.e, m.b*n.e + m.d*n.f + m.f,
	}
}

// parseTransform reads a transform attribute: translate, scale, rotate and matrix.
func parseTransform(text string) (matrix, error) {
	m := identity
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		name, args, ok := strings.Cut(rest, "(")
		var inner string
		if inner, rest, ok = cutClose(args, ok); !ok {
			return m, fmt.Errorf("transform %q", text)
		}
		var v []float64
		for _, field := range strings.FieldsFunc(inner, func(r rune) bool { return r == ' ' || r == ',' }) {
			number, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return m, fmt.Errorf("transform %q: %w", text, err)
			}
			v = append(v, number)
		}
		switch name = strings.TrimSpace(name); {
		case name == "translate" && len(v) == 2:
			m = m.then(matrix{1, 0, 0, 1, v[0], v[1]})
		case name == "scale" && len(v) == 1:
			m = m.then(matrix{v[0], 0, 0, v[0], 0, 0})
		case name == "scale" && len(v) == 2:
			m = m.then(matrix{v[0], 0, 0, v[1], 0, 0})
		case name == "rotate" && len(v) == 1:
			sin, cos := math.Sincos(v[0] * math.Pi / 180)
			m = m.then(matrix{cos, sin, -sin, cos, 0, 0})
		case name == "matrix" && len(v) == 6:
			m = m.then(matrix{v[0], v[1], v[2], v[3], v[4], v[5]})
		default:
			return m, fmt.Errorf("transform %q", text)
		}
	}
	return m, nil
}

func cutClose(text string, ok bool) (inner, rest string, found bool) {
	if !ok {
		return "", "", false
	}
	return strings.Cut(text, ")")
}

// line is a piece of a path, with its curves as short straight lines.
type line struct {
	points []point
	closed bool
}

// outline builds lines.
type outline struct {
	lines []line
	fine  float64 // longest straight line of a curve
}

func (o *outline) move(p point) { o.lines = append(o.lines, line{points: []point{p}}) }

func (o *outline) to(p point) {
	last := &o.lines[len(o.lines)-1]
	if last.closed {
		o.move(last.points[0])
		last = &o.lines[len(o.lines)-1]
	}
	last.points = append(last.points, p)
}

func (o *outline) at() point {
	last := &o.lines[len(o.lines)-1]
	if last.closed {
		return last.points[0]
	}
	return last.points[len(last.points)-1]
}

func (o *outline) cubic(b, c, d point) {
	a := o.at()
	length := math.Hypot(b.x-a.x, b.y-a.y) + math.Hypot(c.x-b.x, c.y-b.y) + math.Hypot(d.x-c.x, d.y-c.y)
	n := int(min(max(math.Ceil(length/o.fine), 2), 60))
	for i := 1; i <= n; i++ {
		t := float64(i) / float64(n)
		s := 1 - t
		p, q, r, w := s*s*s, 3*s*s*t, 3*s*t*t, t*t*t
		o.to(point{p*a.x + q*b.x + r*c.x + w*d.x, p*a.y + q*b.y + r*c.y + w*d.y})
	}
}

func (o *outline) quad(b, c point) {
	a := o.at()
	third := func(p, q point) point { return point{p.x + (q.x-p.x)*2/3, p.y + (q.y-p.y)*2/3} }
	o.cubic(third(a, b), third(c, b), c)
}

// arc goes round an ellipse whose axes are level (SVG 2, appendix B.2.4).
func (o *outline) arc(rx, ry float64, large, sweep bool, end point) {
	start := o.at()
	if rx == 0 || ry == 0 || start == end {
		o.to(end)
		return
	}
	x, y := (start.x-end.x)/2, (start.y-end.y)/2
	if over := x*x/(rx*rx) + y*y/(ry*ry); over > 1 {
		rx, ry = rx*math.Sqrt(over), ry*math.Sqrt(over)
	}
	f := math.Sqrt(max(0, (rx*rx*ry*ry-rx*rx*y*y-ry*ry*x*x)/(rx*rx*y*y+ry*ry*x*x)))
	if large == sweep {
		f = -f
	}
	cx, cy := f*rx*y/ry, -f*ry*x/rx
	from := math.Atan2((y-cy)/ry, (x-cx)/rx)
	span := math.Atan2((-y-cy)/ry, (-x-cx)/rx) - from
	if sweep && span < 0 {
		span += 2 * math.Pi
	} else if !sweep && span > 0 {
		span -= 2 * math.Pi
	}
	cx, cy = cx+(start.x+end.x)/2, cy+(start.y+end.y)/2
	n := int(min(max(math.Ceil(math.Abs(span)*max(rx, ry)/o.fine), 8), 90))
	for i := 1; i <= n; i++ {
		sin, cos := math.Sincos(from + span*float64(i)/float64(n))
		o.to(point{cx + rx*cos, cy + ry*sin})
	}
}

func (o *outline) rect(x, y, w, h, r float64) {
	r = min(r, w/2, h/2)
	o.move(point{x + r, y})
	o.to(point{x + w - r, y})
	o.arc(r, r, false, true, point{x + w, y + r})
	o.to(point{x + w, y + h - r})
	o.arc(r, r, false, true, point{x + w - r, y + h})
	o.to(point{x + r, y + h})
	o.arc(r, r, false, true, point{x, y + h - r})
	o.to(point{x, y + r})
	o.arc(r, r, false, true, point{x + r, y})
	o.lines[len(o.lines)-1].closed = true
}

func (o *outline) circle(x, y, r float64) {
	o.move(point{x + r, y})
	o.arc(r, r, false, true, point{x - r, y})
	o.arc(r, r, false, true, point{x + r, y})
	o.lines[len(o.lines)-1].closed = true
}

// path reads the d attribute of a path: M, L, H, V, C, A and Z, absolute or relative.
func (o *outline) path(d string) error {
	s := scanner{text: d}
	command := byte(0)
	for {
		s.space()
		if s.at == len(s.text) {
			return nil
		}
		if c := s.text[s.at]; c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			command = c
			s.at++
		} else if command == 0 || command == 'Z' || command == 'z' {
			return fmt.Errorf("path: a number at %d, want a command", s.at)
		}
		relative := command >= 'a'
		if len(o.lines) == 0 && command != 'M' && command != 'm' {
			return fmt.Errorf("path: begins with %q, want M", command)
		}
		var here, base point
		if len(o.lines) > 0 {
			here = o.at()
		}
		if relative {
			base = here
		}
		next := func() point { return point{base.x + s.number(), base.y + s.number()} }
		switch command {
		case 'M', 'm':
			o.move(next())
			command-- // further pairs of numbers are those of L or l
		case 'L', 'l':
			o.to(next())
		case 'H', 'h':
			o.to(point{base.x + s.number(), here.y})
		case 'V', 'v':
			o.to(point{here.x, base.y + s.number()})
		case 'C', 'c':
			b, c, d := next(), next(), next()
			o.cubic(b, c, d)
		case 'A', 'a':
			rx, ry, _ := s.number(), s.number(), s.number()
			large, sweep := s.number() != 0, s.number() != 0
			o.arc(math.Abs(rx), math.Abs(ry), large, sweep, next())
		case 'Z', 'z':
			o.lines[len(o.lines)-1].closed = true
		default:
			return fmt.Errorf("path: command %q is not supported", command)
		}
		if s.failed {
			return fmt.Errorf("path: want a number at %d", s.at)
		}
	}
}

// scanner reads numbers of a path.
type scanner struct {
	text   string
	at     int
	failed bool
}

func (s *scanner) space() {
	for s.at < len(s.text) && strings.IndexByte(" ,\n\t\r", s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *scanner) number() float64 {
	s.space()
	end, dot := s.at, false
	for end < len(s.text) {
		c := s.text[end]
		sign := (c == '-' || c == '+') && (end == s.at || s.text[end-1] == 'e')
		if c == '.' && dot || !(c >= '0' && c <= '9' || c == '.' || c == 'e' && end > s.at || sign) {
			break
		}
		dot = dot || c == '.'
		end++
	}
	v, err := strconv.ParseFloat(s.text[s.at:end], 64)
	if err != nil {
		s.failed = true
	}
	s.at = end
	return v
}
