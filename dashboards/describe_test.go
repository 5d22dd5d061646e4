package dashboards

// The JSON files are made from a compact description of the dashboards: go test ./dashboards
// -update writes them. What a dashboard shows is in the files boards_test.go,
// moreboards_test.go and queries_test.go; this file knows Grafana's JSON, and nothing of
// csiglab's metrics.

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// schemaVersion is the version of Grafana's classic JSON. Grafana 10.3 and newer servers
// migrate it, and servers back to 10.0 show it as it is.
const schemaVersion = 39

// Board describes a dashboard.
type Board struct {
	UID, Title, Description string
	Compare                 bool // it has variables for another run too
	Counts                  bool // it has a variable for the time over which counts become rates
	Panels                  []Panel
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
	Heatmap       Kind = "heatmap"  // of the buckets of a histogram
	Signature     Kind = "ports"    // a heatmap with a row for each series
	Stat          Kind = "stat"     // the last value
	Table         Kind = "table"    // of the last values
	BarGauge      Kind = "bargauge" // of the last values
	StateTimeline Kind = "state-timeline"
	Text          Kind = "text"
	Row           Kind = "row"
)

// Reason is a sentence that says which runs cannot have what a panel shows. It is the end
// of the panel's description.
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
}

// Column is a column of a table. Field is Grafana's name of it: the name of a label, Value,
// or Value #A in a table of several queries. Labels have no Unit.
type Column struct{ Field, Name, Unit string }

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
	return text.Bytes(), nil
}

func (b *Board) object() object {
	return object{
		"uid": b.UID, "title": b.Title, "description": b.Description, "id": nil, "schemaVersion": schemaVersion, "version": 0,
		"tags": []string{"csiglab"}, "editable": true, "graphTooltip": 1, "timezone": "browser", "refresh": "5s",
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

// annotations are the steps and phases that csiglab grafana push has marked.
func (b *Board) annotations() (list []object) {
	add := func(name, colour, prefix string) {
		list = append(list, object{
			"name": name, "enable": true, "hide": false, "iconColor": colour, "type": "tags",
			"datasource": object{"type": "grafana", "uid": "-- Grafana --"}, // built in, everywhere
			"target":     object{"type": "tags", "tags": []string{"csiglab", "run:$" + prefix + "run", "seed:$" + prefix + "seed"}, "matchAny": false, "limit": 1000},
		})
	}
	add("Steps and phases", "blue", "")
	if b.Compare {
		add("Steps and phases of the other run", "orange", "other_")
	}
	return list
}

var dataSource = object{"type": "prometheus", "uid": "${datasource}"}

func (b *Board) variables() []object {
	list := []object{{
		"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus", "current": object{}, "options": []any{},
		"hide": 0, "includeAll": false, "multi": false, "refresh": 1, "regex": "", "skipUrlSync": false,
	}}
	list = append(list, choice("", "")...)
	if b.Compare {
		list = append(list, choice("other_", "Other ")...)
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

// choice returns the variables that choose a run.
func choice(prefix, label string) (list []object) {
	variable := func(name, text, query string, many bool) {
		if prefix != "" {
			text = label + text
		} else {
			text = upper(text)
		}
		v := object{
			"type": "query", "name": prefix + name, "label": text, "datasource": dataSource,
			"query": object{"query": query, "refId": "Variables-" + prefix + name}, "definition": query,
			"current": object{}, "options": []any{}, "hide": 0, "includeAll": many, "multi": many, "refresh": 2, "regex": "", "skipUrlSync": false, "sort": 3,
		}
		if many {
			v["allValue"] = ".*"
			v["current"] = object{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}}
		}
		list = append(list, v)
	}
	of := func(label string) string {
		return fmt.Sprintf(`label_values(csig_run_info{run="$%srun"}, %s)`, prefix, label)
	}
	variable("run", "run", "label_values(csig_run_info, run)", false)
	variable("variant", "variant", of("variant"), true)
	variable("seed", "seed", of("seed"), false)
	variable("stretch", "time stretch", of("stretch"), false)
	return list
}

func upper(text string) string { return string(text[0]-'a'+'A') + text[1:] }

// panels places the panels in the grid and numbers them.
func (b *Board) panels() (list []object) {
	x, y, below := 0, 0, 0
	for i := range b.Panels {
		p := &b.Panels[i]
		if x+p.width() > 24 {
			x, y = 0, below
		}
		list = append(list, p.object(i+1, object{"x": x, "y": y, "w": p.width(), "h": p.height()}))
		x, below = x+p.width(), max(below, y+p.height())
	}
	return list
}

func (p *Panel) width() int {
	if p.Width == 0 {
		return 24
	}
	return p.Width
}

func (p *Panel) height() int {
	switch {
	case p.Kind == Row:
		return 1
	case p.Height == 0:
		return 8
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
		o["collapsed"], o["panels"] = false, []any{}
		return o
	case Text:
		o["options"] = object{"mode": "markdown", "content": p.Text}
		return o
	}
	o["description"], o["datasource"] = p.Description, dataSource
	for _, reason := range p.Empty {
		o["description"] = o["description"].(string) + " " + string(reason)
	}
	var targets []object
	for i, q := range p.Queries {
		targets = append(targets, p.target(q, string(rune('A'+i))))
	}
	o["targets"] = targets
	o["options"] = p.options()
	o["fieldConfig"] = object{"defaults": p.defaults(), "overrides": p.overrides()}
	if p.Kind == Table {
		o["transformations"] = p.transformations()
	}
	return o
}

func (p *Panel) target(q Query, ref string) object {
	o := object{"refId": ref, "expr": q.Expr, "datasource": dataSource, "editorMode": "code", "format": "time_series", "legendFormat": q.Legend, "range": true, "instant": false}
	switch p.Kind {
	case Stat, BarGauge, Table:
		o["range"], o["instant"] = false, true
	}
	switch p.Kind {
	case Table:
		o["format"] = "table"
	case Heatmap:
		o["format"] = "heatmap"
	}
	switch {
	case q.Windows:
		o["interval"] = "100ms"
	case q.Counts:
		o["interval"] = "$window"
	}
	return o
}

func (p *Panel) defaults() object {
	o := object{"unit": p.Unit, "min": 0, "noValue": "no data", "mappings": []any{}}
	if p.Unit == "" {
		o["unit"] = "none"
	}
	if p.Max != 0 {
		o["max"] = p.Max
	}
	if p.Decimals != 0 {
		o["decimals"] = p.Decimals
	}
	if len(p.Values) > 0 {
		values := object{}
		for i, m := range p.Values {
			values[m.Value] = object{"index": i, "text": m.Text, "color": m.Colour}
		}
		o["mappings"] = []object{{"type": "value", "options": values}}
	}
	if len(p.Steps) > 0 {
		var steps []object
		for i, s := range p.Steps {
			var from any = s.From
			if i == 0 {
				from = nil // Grafana's word for the least value
			}
			steps = append(steps, object{"value": from, "color": s.Colour})
		}
		o["thresholds"], o["color"] = object{"mode": "absolute", "steps": steps}, object{"mode": "thresholds"}
	}
	switch p.Kind {
	case Timeseries:
		custom := object{"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "showPoints": "auto", "spanNulls": false}
		if p.Stack {
			custom["stacking"], custom["fillOpacity"] = object{"mode": "normal", "group": "A"}, 30
		}
		o["custom"] = custom
	case StateTimeline:
		o["custom"] = object{"lineWidth": 0, "fillOpacity": 80}
		if len(p.Steps) == 0 {
			o["color"] = object{"mode": "continuous-BlPu"}
		}
	case BarGauge:
		if len(p.Steps) == 0 {
			o["color"] = object{"mode": "continuous-BlPu"}
		}
	}
	return o
}

func (p *Panel) options() object {
	reduce := object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false}
	switch p.Kind {
	case Timeseries:
		return object{"legend": object{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []string{}}, "tooltip": object{"mode": "multi", "sort": "desc"}}
	case Heatmap, Signature:
		colour := object{"mode": "scheme", "scheme": "BuPu", "steps": 64, "reverse": false, "exponent": 0.5, "fill": "dark-purple"}
		if p.Max != 0 {
			colour["min"], colour["max"] = 0, p.Max
		}
		o := object{
			"calculate": false, "cellGap": 0, "color": colour, "showValue": "never", "legend": object{"show": true}, "tooltip": object{"show": true, "yHistogram": false},
			"yAxis": object{"axisPlacement": "left", "unit": p.Unit}, "rowsFrame": object{"layout": "auto"}, "cellValues": object{"unit": "short"}, "filterValues": object{"le": 1e-9}, "exemplars": object{"color": "rgba(255,0,255,0.7)"},
		}
		if p.Kind == Signature {
			o["yAxis"], o["cellValues"], o["filterValues"] = object{"axisPlacement": "left"}, object{"unit": p.Unit}, object{}
		}
		return o
	case Stat:
		return object{"reduceOptions": reduce, "colorMode": "value", "graphMode": "none", "justifyMode": "auto", "orientation": "auto", "textMode": "auto"}
	case BarGauge:
		return object{"reduceOptions": reduce, "displayMode": "basic", "orientation": "horizontal", "showUnfilled": true, "valueMode": "color"}
	case Table:
		return object{"showHeader": true, "cellHeight": "sm", "footer": object{"show": false, "reducer": []string{"sum"}, "countRows": false, "fields": ""}}
	case StateTimeline:
		return object{"showValue": "auto", "rowHeight": 0.9, "mergeValues": true, "alignValue": "left", "legend": object{"displayMode": "list", "placement": "bottom", "showLegend": false}, "tooltip": object{"mode": "single", "sort": "none"}}
	}
	return object{}
}

// hidden lists the labels that the families of csiglab have. A table hides those that are
// not among its columns.
var hidden = []string{"Time", "__name__", "instance", "run", "variant", "seed", "stretch", "experiment", "runtime", "clock", "cc", "lb", "aqm", "csig",
	"node", "port", "tier", "direction", "job", "flow", "Value"}

// transformations join the queries of a table by their labels, and order and name its
// columns.
func (p *Panel) transformations() []object {
	hide, order, names := object{}, object{}, object{}
	for _, field := range hidden {
		hide[field] = true
	}
	for i, c := range p.Columns {
		delete(hide, c.Field)
		order[c.Field], names[c.Field] = i, c.Name
	}
	list := []object{{"id": "organize", "options": object{"excludeByName": hide, "indexByName": order, "renameByName": names}}}
	if len(p.Queries) > 1 {
		list = append([]object{{"id": "merge", "options": object{}}}, list...)
	}
	return list
}

// overrides give the columns of a table their units.
func (p *Panel) overrides() []object {
	list := []object{}
	for _, c := range p.Columns {
		if c.Unit != "" {
			list = append(list, object{
				"matcher": object{"id": "byName", "options": c.Name}, "properties": []object{{"id": "unit", "value": c.Unit}},
			})
		}
	}
	return list
}
