package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/internal/spelling"
)

// Sweep is the key sweep of an experiment: the points at which csiglab sweep runs it. They
// are the items of List, each with every combination of the values of Axes and of Grid. An
// empty Sweep has one point, which changes nothing. A run of the experiment is without it.
type Sweep struct {
	Axes  []Axis
	Grid  []SweepAxis
	List  [][]Override
	Judge *Judge // nil without
}

// SweepAxis is the values of one path. They are overrides of the same path.
type SweepAxis struct {
	Path   string
	Values []Override
}

// Limits of a sweep.
const (
	maxSweepValues = 10_000
	maxSweepPoints = 100_000
)

// unswept are the top-level keys that points cannot change, with what to do instead.
var unswept = map[string]string{
	"baseline": "write another one into the experiment",
	"schema":   "it is the version of the file", "name": "it names the sweep", "sweep": "it is the sweep", "variants": "choose some with --variant",
	"seeds": "give the seeds with the key seeds, or with --seeds", "robust": "it is about csiglab stress alone", "tuned": "it is about csiglab stress alone",
}

// Points returns the number of points.
func (s *Sweep) Points() int {
	if s == nil {
		return 1
	}
	n := max(1, len(s.List))
	for _, axis := range s.Axes {
		if n *= len(axis.Values); n > maxSweepPoints {
			return n
		}
	}
	for _, axis := range s.Grid {
		if n *= len(axis.Values); n > maxSweepPoints {
			return n // the next could overflow
		}
	}
	return n
}

// Point returns the overrides of a point, those of the list before those of the axes and of
// the grid. The last path of the grid varies fastest.
func (s *Sweep) Point(i int) []Override {
	item, values, grid := s.place(i)
	return slices.Concat(item, overridesOf(values), grid)
}

// Values returns what a point has of Paths: names of the values of axes, values of paths, and
// "" where the point leaves a path alone.
func (s *Sweep) Values(i int) []string {
	item, values, grid := s.place(i)
	paths := s.Paths()
	list := make([]string, len(paths))
	for k, v := range values {
		list[k] = v.Name
	}
	for _, o := range slices.Concat(item, grid) {
		list[len(values)+slices.Index(paths[len(values):], o.Path)] = o.Value
	}
	return list
}

// place returns what a point consists of.
func (s *Sweep) place(i int) (item []Override, values []*AxisValue, grid []Override) {
	if s == nil {
		return nil, nil, nil
	}
	grid = make([]Override, len(s.Grid))
	for k := len(s.Grid) - 1; k >= 0; k-- {
		all := s.Grid[k].Values
		grid[k] = all[i%len(all)]
		i /= len(all)
	}
	values = make([]*AxisValue, len(s.Axes))
	for k := len(s.Axes) - 1; k >= 0; k-- {
		all := s.Axes[k].Values
		values[k] = &all[i%len(all)]
		i /= len(all)
	}
	if len(s.List) > 0 {
		item = s.List[i]
	}
	return item, values, grid
}

// Paths returns what points differ in: the names of the axes, then the paths of the list, then
// those of the grid.
func (s *Sweep) Paths() (paths []string) {
	if s == nil {
		return nil
	}
	for _, axis := range s.Axes {
		paths = append(paths, axis.Name)
	}
	for _, item := range s.List {
		for _, o := range item {
			if !slices.Contains(paths, o.Path) {
				paths = append(paths, o.Path)
			}
		}
	}
	for _, axis := range s.Grid {
		paths = append(paths, axis.Path)
	}
	return paths
}

// Changed returns the paths that points change.
func (s *Sweep) Changed() []string {
	paths := s.Paths()[len(s.Axes):]
	for _, axis := range s.Axes {
		for _, v := range axis.Values {
			for _, set := range v.set {
				paths = append(paths, set.name)
			}
		}
	}
	return paths
}

// Check returns an error if the sweep has too many points, or a path twice.
func (s *Sweep) Check() error {
	if n := s.Points(); n > maxSweepPoints {
		return fmt.Errorf("the sweep has more than %d points", maxSweepPoints)
	}
	seen := map[string]Override{}
	for i, axis := range s.Grid {
		for _, other := range s.Grid[:i] {
			if dots(other.Path) == dots(axis.Path) {
				return &Error{File: axis.Values[0].Origin, Path: axis.Path, Msg: "the grid has the path twice"}
			}
		}
		seen[dots(axis.Path)] = axis.Values[0]
	}
	for _, item := range s.List {
		for _, o := range item {
			if in, ok := seen[dots(o.Path)]; ok {
				return &Error{File: o.Origin, Path: o.Path, Msg: "the grid has the path too (" + in.Origin + ")"}
			}
		}
	}
	for _, item := range s.List {
		for _, o := range item {
			seen[dots(o.Path)] = o
		}
	}
	for _, axis := range s.Axes {
		for _, v := range axis.Values {
			for _, set := range v.set {
				if in, ok := seen[dots(set.name)]; ok {
					return &Error{File: in.Origin, Path: in.Path, Msg: "the axis " + axis.Name + " sets the path too"}
				}
			}
		}
	}
	return nil
}

// ParseGrid reads "PATH=V1,V2" of an option such as --grid. Values are YAML, so that a list
// as a value stands in brackets and a comma in a value in quotes.
func ParseGrid(option, text string) (axis SweepAxis, err error) {
	whole := option + " " + shorten(text)
	fail := func(msg, suggestion string) (SweepAxis, error) {
		return axis, &Error{File: whole, Msg: msg, Suggestion: suggestion}
	}
	path, values, ok := strings.Cut(text, "=")
	path = strings.TrimSpace(path)
	if !ok || strings.TrimSpace(values) == "" {
		return fail("want path=value,value, such as links.ecn.high=100kB,200kB", "")
	}
	if msg, suggestion := checkSweptPath(path); msg != "" {
		return fail(msg, suggestion)
	}
	t, errs := parseTree([]byte("["+values+"]"), origin{file: whole}, true)
	if len(errs) > 0 {
		return axis, errs
	}
	axis, errs = parseAxis(path, t, func(*tree) string { return whole })
	if len(errs) > 0 {
		return axis, errs
	}
	return axis, nil
}

// ParseSweepList reads a YAML list of mappings from paths to values, as sweep.list is. dir is
// the folder that the names of files are relative to.
func ParseSweepList(source, dir string, data []byte) ([][]Override, error) {
	t, errs := parseTree(data, origin{file: source, dir: dir}, false)
	if len(errs) > 0 {
		return nil, errs
	}
	list, errs := parseSweepItems(t, "")
	if len(errs) > 0 {
		return nil, errs
	}
	return list, nil
}

// ParsePoint returns the override of one value of a list of points, such as a cell of a
// table. The value is YAML. place names it in messages; see ParseSweepList for dir.
func ParsePoint(path, value, place, dir string) (Override, error) {
	o := Override{Path: path, Origin: place, Dir: dir}
	if msg, suggestion := checkSweptPath(path); msg != "" {
		return o, &Error{File: place, Msg: msg, Suggestion: suggestion}
	}
	t, errs := parseTree([]byte(value), origin{file: place, dir: dir}, true)
	if len(errs) > 0 {
		return o, errs
	}
	if t.kind == null {
		return o, &Error{File: place, Path: path, Msg: "the value is empty"}
	}
	o.Value = inline(t)
	return o, nil
}

// parseSweep reads the key sweep of a file.
func parseSweep(t *tree) (*Sweep, Errors) {
	s := &Sweep{}
	if t == nil {
		return nil, nil
	}
	fail := func(t *tree, path, msg, suggestion string) (*Sweep, Errors) {
		return nil, Errors{t.at.error(path, msg, suggestion)}
	}
	switch {
	case t.kind == broken:
		return nil, nil // an error says why
	case t.kind != mapping:
		return fail(t, "sweep", fmt.Sprintf("want a mapping with the keys grid and list, got %v", t.kind), "")
	case len(t.keys) == 0:
		return fail(t, "sweep", "the mapping is empty; want the key grid, list or both", "")
	}
	var errs Errors
	for _, e := range t.keys {
		at := join("sweep", e.name)
		var more Errors
		switch e.name {
		case "grid":
			s.Grid, more = parseGrid(e.value, at)
		case "list":
			s.List, more = parseSweepItems(e.value, at)
		case "axes":
			s.Axes, more = parseAxes(e.value, at)
		case "judge": // needs the axes
		default:
			keys := []string{"axes", "grid", "list", "judge"}
			_, more = fail(&tree{at: e.at}, at, unknown("key", e.name, keys).Error(), spelling.Nearest(e.name, keys))
		}
		errs = append(errs, more...)
	}
	if judge := t.get("judge"); judge != nil && len(errs) == 0 {
		s.Judge, errs = parseJudge(judge, "sweep.judge", s.Axes)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	if err := s.Check(); err != nil {
		if e, ok := err.(*Error); ok {
			return nil, Errors{e}
		}
		return fail(t, "sweep", err.Error(), "")
	}
	return s, nil
}

// parseGrid reads a mapping from paths to lists of values.
func parseGrid(t *tree, at string) (grid []SweepAxis, errs Errors) {
	switch {
	case t.kind == broken:
		return nil, nil
	case t.kind != mapping || len(t.keys) == 0:
		return nil, Errors{t.at.error(at, "want a mapping from paths to lists of values, such as links.ecn.high: [100kB, 200kB]", "")}
	}
	for _, e := range t.keys {
		if msg, suggestion := checkSweptPath(e.name); msg != "" {
			errs = append(errs, e.at.error(join(at, e.name), msg, suggestion))
			continue
		}
		switch {
		case e.value.kind == broken:
			continue
		case e.value.kind != sequence:
			suggestion := ""
			if e.value.kind == scalar {
				suggestion = "[" + e.value.text + "]"
			}
			errs = append(errs, e.value.at.error(join(at, e.name), fmt.Sprintf("want a list of values, got %v", e.value.kind), suggestion))
			continue
		}
		axis, more := parseAxis(e.name, e.value, (*tree).place)
		grid, errs = append(grid, axis), append(errs, more...)
	}
	return grid, errs
}

// parseAxis reads the values of a path. place names a value in messages.
func parseAxis(path string, t *tree, place func(*tree) string) (axis SweepAxis, errs Errors) {
	bad := func(at *tree, msg string) {
		errs = append(errs, &Error{File: place(at), Path: path, Msg: msg})
	}
	axis.Path = path
	switch n := len(t.items); {
	case n == 0:
		bad(t, "the list is empty")
	case n > maxSweepValues:
		bad(t, fmt.Sprintf("%d values are too many; the most is %d", n, maxSweepValues))
		return axis, errs
	}
	seen := map[string]bool{}
	for _, item := range t.items {
		if item.kind == null {
			bad(item, "the value is empty")
			continue
		}
		text := inline(item)
		if seen[text] {
			bad(item, fmt.Sprintf("the value %s is given twice", text))
			continue
		}
		seen[text] = true
		axis.Values = append(axis.Values, Override{Path: path, Value: text, Origin: place(item), Dir: item.at.dir})
	}
	return axis, errs
}

// parseSweepItems reads a list of mappings from paths to values.
func parseSweepItems(t *tree, at string) (list [][]Override, errs Errors) {
	switch {
	case t.kind == broken:
		return nil, nil
	case t.kind != sequence || len(t.items) == 0:
		return nil, Errors{t.at.error(at, "want a list of points, each a mapping from paths to values, such as - {links.mtu: 1500B, links.trim: false}", "")}
	case len(t.items) > maxSweepPoints:
		return nil, Errors{t.at.error(at, fmt.Sprintf("%d points are too many; the most is %d", len(t.items), maxSweepPoints), "")}
	}
	for i, item := range t.items {
		where := fmt.Sprintf("%s[%d]", at, i)
		if item.kind != mapping || len(item.keys) == 0 {
			if item.kind != broken {
				errs = append(errs, item.at.error(where, "want a mapping from paths to values", ""))
			}
			continue
		}
		var point []Override
		for _, e := range item.keys {
			msg, suggestion := checkSweptPath(e.name)
			switch {
			case msg != "":
				errs = append(errs, e.at.error(join(where, e.name), msg, suggestion))
			case e.value.kind == broken:
			case e.value.kind == null:
				errs = append(errs, e.at.error(join(where, e.name), "the key has no value", ""))
			default:
				point = append(point, Override{Path: e.name, Value: inline(e.value), Origin: e.value.place(), Dir: e.value.at.dir})
			}
		}
		list = append(list, point)
	}
	return list, errs
}

// checkSweptPath returns what is wrong with a path of a sweep, and what was probably meant.
func checkSweptPath(path string) (msg, suggestion string) {
	if _, err := ParseSet("", path+"="); err != nil || path == "" {
		return fmt.Sprintf("%q is no path, such as hosts.cc.csig", path), ""
	}
	top, _, _ := strings.Cut(dots(path), ".")
	if instead, ok := unswept[top]; ok {
		return fmt.Sprintf("points cannot change %s: %s", top, instead), ""
	}
	var keys []string
	for _, k := range schema() {
		if !strings.Contains(k.path, ".") && unswept[k.path] == "" {
			keys = append(keys, k.path)
		}
	}
	if !slices.Contains(keys, top) {
		near := spelling.Nearest(top, keys)
		if near != "" {
			near += path[len(top):]
		}
		return unknown("key", top, keys).Error(), near
	}
	return "", ""
}

// place returns where a value was written, as file:line:column.
func (t *tree) place() string {
	if t.at.line == 0 {
		return t.at.file
	}
	return fmt.Sprintf("%s:%d:%d", t.at.file, t.at.line, t.at.column)
}

// Absolute returns the override with the names of files made absolute.
func (o Override) Absolute() Override {
	t, errs := parseTree([]byte(o.Value), origin{dir: o.Dir}, true)
	if len(errs) == 0 && t.absolute(brackets(dots(o.Path))) {
		o.Value = inline(t)
	}
	o.Dir = ""
	return o
}

// absolute makes the names of files in the value of a path absolute, and reports whether
// there are any.
func (t *tree) absolute(path string) (found bool) {
	if t.kind == scalar && keyAt(path).rule.file && t.text != "" {
		if name, _, err := inputPath(t.at.dir, t.text); err == nil {
			t.text, t.quoted = name, true
			return true
		}
	}
	for _, e := range t.keys {
		found = e.value.absolute(join(path, e.name)) || found
	}
	for _, item := range t.items {
		found = item.absolute(path+"[]") || found
	}
	return found
}

// safeInline are texts that mean themselves in a list in brackets.
var safeInline = lazy.Regexp(`^(-?[0-9.]|[A-Za-z0-9_./+])[A-Za-z0-9_./+%* >-]*$`)

// inline returns a value as YAML in one line.
func inline(t *tree) string {
	var parts []string
	switch t.kind {
	case mapping:
		for _, e := range t.keys {
			parts = append(parts, quote(e.name, !safeInline().MatchString(e.name))+": "+inline(e.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case sequence:
		for _, item := range t.items {
			parts = append(parts, inline(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case null:
		return "null"
	}
	return quote(t.text, t.quoted || !safeInline().MatchString(t.text) || strings.HasSuffix(t.text, " "))
}
