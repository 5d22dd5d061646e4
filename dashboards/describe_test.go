package dashboards

// The JSON files are made from a compact description of the dashboards: go test ./dashboards
// -update writes them. What a dashboard shows is in the files boards_test.go,
// moreboards_test.go and queries_test.go; this file knows Grafana's JSON, and nothing of
// csiglab's metrics.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// schemaVersion is the version of Grafana's classic JSON. Grafana 10.3 and newer servers
// migrate it, and servers back to 10.0 show it as it is.
const schemaVersion = 39

// Board describes a dashboard.
type Board struct {
	UID, Title, Description string
	Compare                 bool     // it has variables for another run too, and one variant of each
	Counts                  bool     // it has a variable for the time over which counts become rates
	Choices                 []Choice // more variables
	Steps                   bool     // the steps of jobs are marked unless the user says otherwise
	Panels                  []Panel
}

// Choice is a variable with the values of a label of a family: all of them unless the user
// chooses, or one.
type Choice struct {
	Name, Family, Label string
	Title               string // "": the name
	One                 bool
	// Only has more labels of the family. With any, the user does not see the variable: panels
	// repeat for its values, which follow from other variables.
	Only string
}

// Panel describes a panel. Panels follow each other from left to right and from top to
// bottom.
type Panel struct {
	Kind          Kind
	Title         string
	Description   string // what is shown and how to read it
	Empty         []Reason
	Width, Height int    // in Grafana's grid, which is 24 wide
	Unit          string // of Grafana, such as percentunit
	Max           float64
	Decimals      int // 0: Grafana chooses
	Stack         bool
	Repeat        string    // variable of which each value has a panel of its own, one below the other
	Closed        bool      // a row whose panels are shown when it is clicked
	Reverse       bool      // colours of little are those of much
	Sort          string    // column that a table is sorted by, the greatest value first
	Matrix        [3]string // of a table: labels that are its rows and columns, and the field in its cells
	Links         []Link
	Order         string // field of a table that rows are ordered by, the greatest first, and that is not shown
	Looks         []Look // of columns
	Hues          bool   // of lines: variants have colours, what legends say beside the variant has dashes
	Colours       []LineColour
	Columns       []Column // of a table, from left to right; other fields are hidden
	Values        []Mapping
	Steps         []Step // colours from a value on; without any, Grafana's palette
	Queries       []Query
	Text          string // of a text, in Markdown
}

// Kind is Grafana's type of a panel.
type Kind string

// Kinds of panel: core panels alone, which each Grafana has.
const (
	Timeseries    Kind = "timeseries"
	Heatmap       Kind = "heatmap" // of the buckets of a histogram
	Signature     Kind = "ports"   // a heatmap with a row for each series
	Table         Kind = "table"   // of the last values
	StateTimeline Kind = "state-timeline"
	NodeGraph     Kind = "nodeGraph" // of a query of nodes and one of edges
	Text          Kind = "text"
	Row           Kind = "row"
)

// Reason says which runs cannot have what a panel shows: what follows on "a run that". The
// panel's description ends with it, and the panel says it where it has nothing to show.
type Reason string

// Query is a query of a panel.
type Query struct {
	Expr   string
	Legend string
	// Windows asks for each telemetry window of 100 us of a run that is stretched by 1000,
	// also where the data source says that values come once in a second. It is for gauges:
	// rates need several values.
	Windows bool
	// Counts asks for one value in each $window, with which $__interval is $window too.
	Counts bool
	// Or is the selector of a family, and the name of the series that a run has without it.
	Or [2]string
	// Blocks asks for one value in each second, as histograms of run folders have them.
	Blocks bool
}

// Link leads from a field of a panel to another page.
type Link struct{ Field, Title, URL string }

// Column is a column of a table. Field is Grafana's name of it: the name of a label, Value,
// or Value #A in a table of several queries. Labels have no Unit.
type Column struct{ Field, Name, Unit string }

// Look is how the values of a column look.
type Look struct {
	Column string
	Values []Mapping
	Steps  []Step // colours of the text
	Bar    bool   // values are drawn as bars
	Width  int    // in pixels
}

// LineColour is the colour of the lines whose names match a regular expression.
type LineColour struct{ Names, Colour string }

// Mapping is a text for a value.
type Mapping struct{ Value, Text, Colour string }

// Step is a colour from a value on. The first step is from the least value on.
type Step struct {
	From   float64
	Colour string
}

// object is a JSON object. Its keys are sorted, so that files do not change by chance.
type object = map[string]any

// JSON returns the dashboard as Grafana's classic JSON, indented, with a line feed at the
// end.
func (b *Board) JSON() ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(b.object()); err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", b.UID, err)
	}
	return short(text.Bytes()), nil
}

var small = regexp.MustCompile(`([\[{])\n *([^\[\]{}\n]{1,60}(?:\n *[^\[\]{}\n]{1,60}){0,4})\n *([\]}])`)

// short writes small objects and lists of JSON in one line each.
func short(text []byte) []byte {
	return small.ReplaceAllFunc(text, func(found []byte) []byte {
		var b []byte
		for line := range bytes.Lines(found) {
			line = bytes.TrimSpace(line)
			if b = append(b, line...); bytes.HasSuffix(line, []byte(",")) {
				b = append(b, ' ')
			}
		}
		return b
	})
}

func (b *Board) object() object {
	return object{
		"uid": b.UID, "title": b.Title, "description": b.Description, "id": nil, "schemaVersion": schemaVersion, "version": 0,
		"tags": []string{"csiglab"}, "editable": true, "graphTooltip": 1, "timezone": "utc", "refresh": "5s",
		"fiscalYearStartMonth": 0, "liveNow": false, "weekStart": "", "timepicker": object{},
		"time":        object{"from": "now-15m", "to": "now"},
		"annotations": object{"list": b.annotations()},
		"links": []object{{
			"type": "dashboards", "tags": []string{"csiglab"}, "title": "csiglab", "asDropdown": false, "includeVars": true, "keepTime": true,
			"icon": "external link", "targetBlank": false, "tooltip": "", "url": "",
		}},
		"templating": object{"list": b.variables()},
		"panels":     b.panels(),
	}
}

// annotations are what the data source knows of the time: faults, steps and phases, each of them
// to be switched on or off. They are lines at times that series have as values: a region of what
// lasts would fall apart where Grafana asks for fewer moments than the annotation's step.
func (b *Board) annotations() (list []object) {
	add := func(name, colour, expr, labels, title, text string, shown bool) {
		list = append(list, object{
			"name": name, "enable": shown, "hide": false, "iconColor": colour, "datasource": dataSource,
			"expr": of(labels, expr) + " * 1000", "step": "100ms", "titleFormat": title, "textFormat": text, "tagKeys": "variant", "useValueForTime": true,
		})
	}
	for _, run := range b.runs() {
		add("Steps"+run.of, "rgba(50, 116, 217, 0.5)", `csig_job_begin_timestamp_seconds{phase=""}`, run.labels, "{{job}}: step {{step}} begins", "{{variant}}", b.Steps)
		add("Phases"+run.of, "purple", `csig_job_begin_timestamp_seconds{phase!=""}`, run.labels, "{{job}}: step {{step}}, {{phase}} begins", "{{variant}}", false)
		// The last ones lie above the others.
		add("Faults"+run.of, "red", "csig_run_fault_timestamp_seconds{}", run.labels, "{{fault}}: {{kind}} at {{where}}, {{edge}}", "{{variant}}", true)
	}
	return list
}

type shownRun struct{ of, labels string }

// runs are the runs that a dashboard shows.
func (b *Board) runs() []shownRun {
	if b.Compare {
		return []shownRun{{" of run 1", own}, {" of run 2", other}}
	}
	return []shownRun{{"", own}}
}

var dataSource = object{"type": "prometheus", "uid": "${datasource}"}

func (b *Board) variables() []object {
	list := []object{{
		"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus", "current": object{}, "options": []any{},
		"hide": 0, "includeAll": false, "multi": false, "refresh": 1, "regex": "", "skipUrlSync": false,
	}}
	list = append(list, choice("", "", b.Compare)...)
	if b.Compare {
		list = append(list, choice("other_", "Other ", true)...)
	}
	for _, c := range b.Choices {
		list = append(list, c.variable())
	}
	if b.Counts {
		list = append(list, window())
	}
	return list
}

// window returns the variable that chooses over how long counts become rates: by itself a
// hundredth of what is shown. Below three minutes of a lab, which is asked once in a
// second, the user has to choose.
func window() object {
	const auto = "$__auto_interval_window"
	option := func(text, value string, selected bool) object {
		return object{"text": text, "value": value, "selected": selected}
	}
	options := []object{option("auto", auto, true)}
	for _, s := range []string{"5s", "15s", "1m"} {
		options = append(options, option(s, s, false))
	}
	return object{
		"type": "interval", "name": "window", "label": "Rates over", "query": "5s,15s,1m", "auto": true, "auto_count": 100, "auto_min": "200ms",
		"current": option("auto", auto, false), "options": options, "hide": 0, "refresh": 2, "skipUrlSync": false,
	}
}

// choice returns the variables that choose a run, and one variant of it or all. The other run is
// preset to the first one, and its variant to the last one of the list, so that it is another one.
func choice(prefix, label string, one bool) (list []object) {
	other := prefix != ""
	variable := func(name, text, query string, many bool) object {
		if other {
			text = label + text
		} else {
			text = upper(text)
		}
		v := queryVariable(prefix+name, text, query, many)
		list = append(list, v)
		return v
	}
	of := func(label string) string {
		return fmt.Sprintf(`label_values(csig_run_info{run="$%srun"}, %s)`, prefix, label)
	}
	if run := variable("run", "run", "label_values(csig_run_info, run)", false); other {
		query := "query_result(sort_desc(max by (run) (2 * " + known(`{run="$run"}`) + " or " + known("") + ")))"
		run["query"], run["definition"], run["regex"], run["sort"] = object{"query": query, "refId": "Variables-other_run"}, query, `/run="([^"]*)"/`, 0
	}
	if v := variable("variant", "variant", of("variant"), !one); other {
		v["sort"] = 2
	}
	variable("seed", "seed", of("seed"), false)
	variable("stretch", "time stretch", of("stretch"), false)
	return list
}

// variable returns the variable of a choice.
func (c *Choice) variable() object {
	labels := `run="$run"`
	if c.Only != "" {
		labels += "," + c.Only
	}
	title := c.Title
	if title == "" {
		title = upper(c.Name)
	}
	v := queryVariable(c.Name, title, fmt.Sprintf(`label_values(%s{%s}, %s)`, c.Family, labels, c.Label), !c.One)
	if c.Only != "" {
		v["hide"] = 2
	}
	return v
}

// queryVariable returns a variable whose values the data source knows; of many of them the user
// may choose several, or all.
func queryVariable(name, text, query string, many bool) object {
	v := object{
		"type": "query", "name": name, "label": text, "datasource": dataSource,
		"query": object{"query": query, "refId": "Variables-" + name}, "definition": query,
		"current": object{}, "options": []any{}, "hide": 0, "includeAll": many, "multi": many, "refresh": 2, "regex": "", "skipUrlSync": false, "sort": 1,
	}
	if many {
		v["allValue"] = ".*"
		v["current"] = object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}}
	}
	return v
}

func upper(text string) string { return string(text[0]-'a'+'A') + text[1:] }

// panels places the panels in the grid and numbers them. Those below a closed row are its
// panels.
func (b *Board) panels() (list []object) {
	x, y, below := 0, 0, 0
	var row object // closed
	for i := range b.Panels {
		p := &b.Panels[i]
		if x+p.width() > 24 || p.Kind == Row {
			x, y = 0, below
		}
		o := p.object(i+1, object{"x": x, "y": y, "w": p.width(), "h": p.height()})
		switch {
		case p.Kind == Row:
			if row = nil; p.Closed {
				row = o
			}
			list = append(list, o)
		case row != nil:
			row["panels"] = append(row["panels"].([]any), o)
		default:
			list = append(list, o)
		}
		x, below = x+p.width(), max(below, y+p.height())
	}
	return list
}

func (p *Panel) width() int {
	if p.Width == 0 || p.Repeat != "" { // Grafana gives repeated panels rows of their own
		return 24
	}
	return p.Width
}

func (p *Panel) height() int {
	switch {
	case p.Kind == Row:
		return 1
	case p.Height == 0:
		return 9 // ten rows of a legend
	}
	return p.Height
}

func (p *Panel) object(id int, place object) object {
	kind := p.Kind
	if kind == Signature {
		kind = Heatmap
	}
	o := object{"id": id, "type": kind, "title": p.Title, "gridPos": place}
	switch p.Kind {
	case Row:
		o["collapsed"], o["panels"] = p.Closed, []any{}
		return o
	case Text:
		o["options"] = object{"mode": "markdown", "content": p.Text}
		return o
	}
	o["description"], o["datasource"] = p.Description, dataSource
	for _, reason := range p.Empty {
		o["description"] = o["description"].(string) + " Empty for a run that " + string(reason) + "."
	}
	var targets []object
	for i, q := range p.Queries {
		targets = append(targets, p.target(q, string(rune('A'+i))))
	}
	o["targets"] = targets
	o["options"] = p.options()
	o["fieldConfig"] = object{"defaults": p.defaults(), "overrides": p.overrides()}
	if list := p.transformations(); len(list) > 0 {
		o["transformations"] = list
	}
	if p.Repeat != "" {
		o["repeat"], o["repeatDirection"] = p.Repeat, "v" // panels side by side would leave holes
	}
	return o
}

func (p *Panel) target(q Query, ref string) object {
	expr, legend := q.Expr+p.otherwise(q, ref), q.Legend
	if p.Hues {
		expr, legend = numbered(expr), "{{number}} "+legend
	}
	o := object{"refId": ref, "expr": expr, "datasource": dataSource, "editorMode": "code", "format": "time_series", "legendFormat": legend, "range": true, "instant": false}
	switch p.Kind {
	case Table, NodeGraph:
		o["range"], o["instant"] = false, true
	}
	switch p.Kind {
	case Table, NodeGraph:
		o["format"] = "table"
	case Heatmap:
		o["format"] = "heatmap"
	}
	switch {
	case q.Windows:
		o["interval"] = "100ms"
	case q.Counts:
		o["interval"] = "$window"
	case q.Blocks:
		o["interval"] = "1s"
	}
	return o
}

// nothing is what a panel says that has nothing to show.
func (p *Panel) nothing() string {
	var reasons []string
	for _, r := range p.Empty {
		reasons = append(reasons, string(r))
	}
	if slices.ContainsFunc(p.Queries, func(q Query) bool { return q.Counts }) {
		reasons = append(reasons, "has no whole step of this axis in the time shown")
	}
	if len(reasons) == 0 {
		return "not measured in the time shown"
	}
	return "This run " + strings.Join(reasons, ", or ")
}

// none stands in a cell without a value.
const none = "–"

// absent is the value of the series that stands for others that a run lacks. None of them is below 0.
const absent = -1

// otherwise adds to a query what a panel shows without any other value, where Grafana shows
// an error (a heatmap, a state timeline) or "No data" (a table of several queries).
func (p *Panel) otherwise(q Query, ref string) string {
	switch {
	case q.Or[0] != "":
		family := of(own, q.Or[0]+" @ end() or last_over_time("+q.Or[0]+"["+shown+"] @ end())")
		return fmt.Sprintf(` or label_replace(%d * absent(%s), "variant", "%s", "", "")`, absent, family, q.Or[1])
	case p.fallback() && ref == "A":
		return fmt.Sprintf(` or on () label_replace(vector(NaN), "%s", "%s", "", "")`, p.Columns[0].Field, p.nothing())
	}
	return ""
}

// fallback reports whether the table has a row with the reasons why it has no others.
func (p *Panel) fallback() bool { return p.Kind == Table && len(p.Queries) > 1 && len(p.Empty) > 0 }

func (p *Panel) defaults() object {
	o := object{"unit": p.Unit, "min": 0, "noValue": p.nothing()}
	if p.Unit == "" {
		o["unit"] = "none"
	}
	if p.Max != 0 {
		o["max"] = p.Max
	}
	if p.Decimals != 0 {
		o["decimals"] = p.Decimals
	}
	values := p.Values
	if p.Kind == StateTimeline {
		values = append(values[:len(values):len(values)], Mapping{fmt.Sprint(absent), p.nothing(), "transparent"})
	}
	o["mappings"] = mappings(values)
	colours := p.Steps
	if len(colours) == 0 {
		colours = []Step{{0, "text"}} // Grafana's own say that 80 of anything is bad
	}
	o["thresholds"] = thresholds(colours)
	if len(p.Steps) > 0 {
		o["color"] = object{"mode": "thresholds"}
	}
	switch p.Kind {
	case Timeseries:
		custom := object{"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "showPoints": "auto", "spanNulls": false}
		o["color"] = object{"mode": "palette-classic"}
		if p.Stack {
			custom["stacking"], custom["fillOpacity"] = object{"mode": "normal", "group": "A"}, 30
		}
		o["custom"] = custom
	case StateTimeline:
		o["custom"] = object{"lineWidth": 0, "fillOpacity": 80}
		if len(p.Steps) == 0 {
			o["color"] = object{"mode": "continuous-BlPu"}
		}
	case Table:
		o["custom"] = object{"minWidth": 50} // by itself 150 pixels, which many columns have not
	}
	return o
}

func (p *Panel) options() object {
	switch p.Kind {
	case Timeseries:
		return object{"legend": object{"displayMode": "table", "placement": "right", "showLegend": true, "calcs": []string{"mean", "max"}}, "tooltip": object{"mode": "multi", "sort": "desc"}}
	case Heatmap, Signature:
		colour := object{"mode": "scheme", "scheme": "Blues", "steps": 64, "reverse": p.Reverse, "exponent": 0.5, "fill": "dark-purple"}
		if p.Kind == Signature { // of which much is red in both themes
			colour["scheme"], colour["exponent"] = "RdYlGn", 1
		}
		if p.Max != 0 {
			colour["min"], colour["max"] = 0, p.Max
		}
		o := object{
			"calculate": false, "cellGap": 0, "color": colour, "showValue": "never", "legend": object{"show": true}, "tooltip": object{"show": true, "yHistogram": false},
			"yAxis": object{"axisPlacement": "left", "unit": p.Unit}, "rowsFrame": object{"layout": "auto"}, "cellValues": object{"unit": "short"}, "filterValues": object{"le": 1e-9}, "exemplars": object{"color": "rgba(255,0,255,0.7)"},
		}
		if p.Kind == Signature {
			o["yAxis"], o["cellValues"], o["filterValues"] = object{"axisPlacement": "left"}, object{"unit": p.Unit}, object{"le": -1}
		}
		return o
	case NodeGraph:
		return object{"nodes": object{"mainStatUnit": p.Unit, "arcs": []object{}}, "edges": object{"mainStatUnit": p.Unit}}
	case Table:
		sort := []object{}
		if p.Sort != "" {
			sort = append(sort, object{"displayName": p.Sort, "desc": true})
		}
		return object{"sortBy": sort, "showHeader": true, "cellHeight": "sm", "footer": object{"show": false, "reducer": []string{"sum"}, "countRows": false, "fields": ""}}
	case StateTimeline:
		return object{"showValue": "auto", "rowHeight": 0.9, "mergeValues": true, "alignValue": "left", "legend": object{"displayMode": "list", "placement": "bottom", "showLegend": false}, "tooltip": object{"mode": "single", "sort": "none"}}
	}
	return object{}
}
